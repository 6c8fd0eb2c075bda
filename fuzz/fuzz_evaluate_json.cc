// Any bytes as a request of /v1 or a line of `sluice evaluate --stream`: never a crash, and what is
// accepted is within the contract's bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/edge.h"

#include "src/edge/evaluate_json.h"
#include "testing/limiters.h"

namespace {

using sluice::edge::EvaluateJsonOptions;

void Require(bool holds) {
  if (!holds) std::abort();
}

const sluice::Edge& Edge() {
  static sluice::testing::FailingLimiter limiter(sluice::Unavailable{});
  static const sluice::Pseudonymizer pseudonymizer(1, sluice::PseudonymKey::Random());
  static const std::unique_ptr<sluice::Edge> edge = [] {
    sluice::EdgeSettings settings;
    settings.policies = {*sluice::Policy::Create(
        {.id = "p", .algorithm = sluice::FixedWindow{1, std::chrono::seconds{1}}})};
    settings.default_policy = "p";
    return *sluice::Edge::Create(std::move(settings), limiter, pseudonymizer);
  }();
  return *edge;
}

void CheckRequest(std::string_view json, const EvaluateJsonOptions& options) {
  const auto parsed = sluice::edge::ParseEvaluateRequest(json, options, Edge());
  if (!parsed) {
    Require(!parsed.error().empty() && parsed.error().find('\n') == std::string::npos);
    return;
  }
  const sluice::EvaluateRequest& request = parsed->request;
  Require(request.policies.empty() != request.operation.empty());
  Require(request.policies.size() <= sluice::Plan::kMaximumPolicies);
  Require(request.identity.Has(request.kind));
  const std::int64_t cost = request.cost.value_or(1);
  Require(cost >= 1 && cost <= sluice::kMaximumAmount);
  const auto budget = request.budget.value_or(sluice::Milliseconds{1}).count();
  Require(budget >= 1 && budget <= 60'000);
  const std::size_t id_size = request.evaluation_id.value_or("x").size();
  Require(id_size >= 1 && id_size <= 128);
  Require(options.takes_mode || request.mode == sluice::Mode::kEvaluate);
  Require(options.takes_now == parsed->now.has_value());
  if (parsed->now) {
    const auto now = parsed->now->time_since_epoch().count();
    Require(now >= 0 && now <= sluice::kMaximumAmount);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  CheckRequest(json, {});
  CheckRequest(json, {.takes_mode = true, .takes_now = false});
  CheckRequest(json, {.takes_mode = true, .takes_now = true});
  return 0;
}
