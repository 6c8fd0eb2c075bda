// The walk from a request to its answer: the inside of Edge.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "sluice/edge.h"

#include "src/edge/operations.h"
#include "src/edge/policy_book.h"
#include "src/identity/identify.h"

namespace sluice {
namespace edge {

/// What all evaluations of an edge share.
struct Core {
  PolicyBook policies;
  Operations operations;
  Anonymous anonymous;
  Milliseconds budget;
  Milliseconds failure_retry_after;
  Limiter& limiter;
  const Pseudonymizer& pseudonymizer;
  const Clock& clock;
  Observer observer;
};

}  // namespace edge

/// Reads the clock once, finds operation and subject, asks the Limiter and turns the outcome into
/// an answer. The core is shared with each evaluation, so one that completes late finds it alive
/// even if the edge is gone.
///
/// Thread safety: as that of Edge.
class Edge::Bridge {
 public:
  Bridge(identity::Identifier identifier, edge::Core core)
      : identifier_(std::move(identifier)),
        core_(std::make_shared<const edge::Core>(std::move(core))) {}

  [[nodiscard]] const identity::Identifier& identifier() const { return identifier_; }

  /// A malformed target or method is 400 (observed as "malformed-request"), a client that nothing
  /// names 401 if such are denied ("unidentified"), an exempt operation allowed; the Limiter is not
  /// asked then.
  void Judge(JudgedRequest request, AnswerHandler handler) const;

  /// A request that names no plan (an unknown policy or operation, an exempt operation, both or
  /// neither of policies and operation) is Incompatible(unknown-policy), a caller's id that is none
  /// Incompatible(evaluation-id-conflict); the Limiter is not asked. An identity that lacks `kind`
  /// is the anonymous one.
  void Evaluate(EvaluateRequest request,
                std::move_only_function<void(EvaluateReport)> handler) const;

 private:
  identity::Identifier identifier_;
  std::shared_ptr<const edge::Core> core_;
};

}  // namespace sluice
