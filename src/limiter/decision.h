// One evaluation over several limits, as pure functions on states that an engine has read. The
// steps are numbered as in docs/algorithms.md; an engine does the reading, the writing and the
// records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sluice/outcome.h"
#include "sluice/policy.h"

#include "src/limiter/algorithm/state.h"

namespace sluice::limiter {

/// Step 1, before any store is asked: why no engine should look at this cost, if so.
[[nodiscard]] std::optional<Incompatible> Refusal(const Plan& plan, std::int64_t cost);

/// Step 2: the `now` that holds for the whole plan, milliseconds: never before any stored state.
/// None if the caller's clock is further behind than a policy tolerates; then nothing may change.
/// `stored` has one state a policy, null where absent.
[[nodiscard]] std::optional<std::int64_t> PlanTime(const Plan& plan,
                                                   std::span<const State* const> stored,
                                                   std::int64_t now);

/// Steps 3 and 5: every policy takes its step at `now` (from PlanTime). If all allow, `next` holds
/// what to store, one state a policy; otherwise nothing is to be stored and `next` is of no use.
/// Precondition: no Refusal; `stored` and `next` have one element a policy.
[[nodiscard]] Evaluated Decide(const Plan& plan, std::span<const State* const> stored,
                               std::int64_t cost, std::int64_t now, std::span<State> next);

/// Which limit gives the top-level numbers of a decision.
[[nodiscard]] std::size_t LeadingLimit(bool allowed, std::span<const LimitAnswer> limits);

/// From when on a state of `policy` counts as absent, milliseconds since the epoch.
[[nodiscard]] std::int64_t ExpiryOf(const Policy& policy, const State& state);

/// How long a state of `policy` refuses a cost of 1, milliseconds from `now`; 0 if it admits it.
[[nodiscard]] std::int64_t DenyingFor(const Policy& policy, const State& state, std::int64_t now);

}  // namespace sluice::limiter
