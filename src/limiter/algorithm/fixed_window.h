// fixed-window: counts in windows aligned to the epoch.
// The functions are described in state.h.
#pragma once

#include "sluice/policy.h"

#include "src/limiter/algorithm/state.h"

namespace sluice::limiter {

[[nodiscard]] State At(const FixedWindow& policy, const State* stored, std::int64_t now);
[[nodiscard]] bool Admits(const FixedWindow& policy, const State& state, std::int64_t cost,
                          std::int64_t now);
void Charge(const FixedWindow& policy, State& state, std::int64_t cost);
[[nodiscard]] Level LevelOf(const FixedWindow& policy, const State& state, std::int64_t now);
[[nodiscard]] std::int64_t WaitFor(const FixedWindow& policy, const State& state, std::int64_t cost,
                                   std::int64_t now);
[[nodiscard]] std::int64_t ExpiryOf(const FixedWindow& policy, const State& state);

}  // namespace sluice::limiter
