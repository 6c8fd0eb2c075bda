// The shortest way to evaluate in a test: a limiter, a clock that stands still, and one call.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/limiter.h"

#include "testing/manual_clock.h"

namespace sluice::testing {

/// What one test evaluation asks; the clock and the plan come from the harness call.
struct Ask {
  Subject subject;
  std::int64_t cost = 1;
  std::string id{};  ///< as if a caller brought it; empty: made here
  Mode mode = Mode::kEvaluate;
};

/// Evaluates and returns the outcome of a limiter that completes at once.
inline Outcome EvaluateNow(Limiter& limiter, const Plan& plan, const Ask& ask, const Clock& clock) {
  const Instant now = clock.Now();
  std::optional<Outcome> result;
  limiter.Evaluate({.plan = &plan,
                    .subject = ask.subject,
                    .cost = ask.cost,
                    .id = ask.id.empty() ? EvaluationId{} : EvaluationId::FromCaller(ask.id),
                    .mode = ask.mode,
                    .now = now,
                    .deadline = now.steady + Milliseconds{750}},
                   [&](Outcome outcome) { result = std::move(outcome); });
  return std::move(result).value();
}

/// A plan of these settings; throws (fails the test) if they are invalid.
inline Plan PlanOf(std::vector<PolicySettings> settings) {
  std::vector<Policy> policies;
  for (auto& one : settings) policies.push_back(Policy::Create(std::move(one)).value());
  return Plan::Create(std::move(policies)).value();
}

}  // namespace sluice::testing
