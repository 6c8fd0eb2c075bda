// sliding-counter: the previous window counts by the share of it that the sliding window still
// covers. The functions are described in state.h.
#pragma once

#include "sluice/policy.h"

#include "src/limiter/algorithm/state.h"

namespace sluice::limiter {

[[nodiscard]] State At(const SlidingCounter& policy, const State* stored, std::int64_t now);
[[nodiscard]] bool Admits(const SlidingCounter& policy, const State& state, std::int64_t cost,
                          std::int64_t now);
void Charge(const SlidingCounter& policy, State& state, std::int64_t cost);
[[nodiscard]] Level LevelOf(const SlidingCounter& policy, const State& state, std::int64_t now);
[[nodiscard]] std::int64_t WaitFor(const SlidingCounter& policy, const State& state,
                                   std::int64_t cost, std::int64_t now);
[[nodiscard]] std::int64_t ExpiryOf(const SlidingCounter& policy, const State& state);

}  // namespace sluice::limiter
