// Evaluations to try a server with: of a subject that is nobody's, in keys that are gone within two
// seconds or so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/limiter.h"
#include "sluice/policy.h"

#include "src/redis/resp.h"

namespace sluice::app::doctor {

/// Not copied or moved: what it makes refers to its plans.
class Probe {
 public:
  /// Keys begin with `prefix`, which is followed by the pseudonym of a random subject under a key
  /// version that no configuration can have. `is_fit` says whether the server in question keeps
  /// such a key.
  Probe(std::string prefix, const std::function<bool(const std::string& key)>& is_fit);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// A call of each script, encoded as the daemon does it; its evaluations are allowed.
  [[nodiscard]] std::vector<std::string> Calls(Instant now);
  /// What is wrong with the reply, no error reply, to the call of that index; or nothing.
  [[nodiscard]] std::optional<std::string> Objection(std::size_t call, const redis::Reply& reply);

  /// An evaluation that writes nothing.
  [[nodiscard]] Evaluation Peek(Instant now, SteadyTime deadline) const;

 private:
  // A plan with what of it one call decides.
  struct Trial {
    std::unique_ptr<const Plan> plan;
    std::vector<Evaluation> evaluations;
  };

  void Try(std::vector<Policy> policies, std::size_t evaluations);

  std::string prefix_;
  Subject subject_;
  std::vector<Trial> trials_;
};

}  // namespace sluice::app::doctor
