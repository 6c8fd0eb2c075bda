#include "sluice/edge.h"

#include <future>
#include <utility>

#include "src/edge/bridge.h"

namespace sluice {
namespace {

void CheckPositive(const char* place, Milliseconds duration, std::vector<EdgeError>& errors) {
  if (duration < Milliseconds{1}) errors.emplace_back(place, "is at least 1 ms");
}

}  // namespace

Edge::Edge(std::unique_ptr<Bridge> bridge) : bridge_(std::move(bridge)) {}
Edge::~Edge() = default;

std::expected<std::unique_ptr<Edge>, std::vector<EdgeError>> Edge::Create(
    EdgeSettings settings, Limiter& limiter, const Pseudonymizer& pseudonymizer, const Clock& clock,
    Observer observer) {
  std::vector<EdgeError> errors;
  edge::PolicyBook policies(settings.policies, errors);
  edge::Operations operations(settings, policies, errors);
  CheckPositive("budget", settings.budget, errors);
  CheckPositive("failure_retry_after", settings.failure_retry_after, errors);
  auto identifier = identity::Identifier::Create(settings.identity);
  if (!identifier) {
    const std::vector<EdgeError>& found = identifier.error();
    errors.insert(errors.end(), found.begin(), found.end());
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return std::unique_ptr<Edge>(new Edge(std::make_unique<Bridge>(
      *std::move(identifier), edge::Core{.policies = std::move(policies),
                                         .operations = std::move(operations),
                                         .anonymous = settings.identity.anonymous,
                                         .budget = settings.budget,
                                         .failure_retry_after = settings.failure_retry_after,
                                         .limiter = limiter,
                                         .pseudonymizer = pseudonymizer,
                                         .clock = clock,
                                         .observer = std::move(observer)})));
}

Peer Edge::PeerFrom(std::string_view address) const {
  return bridge_->identifier().PeerFrom(address);
}

RawIdentity Edge::Identify(const Peer& peer, std::span<const HeaderField> headers) const {
  return bridge_->identifier().Identify(peer, headers);
}

std::expected<RawIdentity, std::string> Edge::IdentityFrom(IdentityKind kind,
                                                           std::string_view value) const {
  return bridge_->identifier().IdentityFrom(kind, value);
}

void Edge::Judge(JudgedRequest request, AnswerHandler handler) {
  bridge_->Judge(std::move(request), std::move(handler));
}

Answer Edge::JudgeAndWait(JudgedRequest request) {
  // The promise goes with the handler: the thread that completes may still be inside set_value when
  // this one has the answer.
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  Judge(std::move(request), [promise = std::move(promise)](Answer given) mutable {
    promise.set_value(std::move(given));
  });
  return answer.get();
}

void Edge::Evaluate(EvaluateRequest request,
                    std::move_only_function<void(EvaluateReport)> handler) {
  bridge_->Evaluate(std::move(request), std::move(handler));
}

}  // namespace sluice
