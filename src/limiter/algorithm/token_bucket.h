// token-bucket: holds tokens, gains some after each whole period.
// The functions are described in state.h.
#pragma once

#include "sluice/policy.h"

#include "src/limiter/algorithm/state.h"

namespace sluice::limiter {

[[nodiscard]] State At(const TokenBucket& policy, const State* stored, std::int64_t now);
[[nodiscard]] bool Admits(const TokenBucket& policy, const State& state, std::int64_t cost,
                          std::int64_t now);
void Charge(const TokenBucket& policy, State& state, std::int64_t cost);
[[nodiscard]] Level LevelOf(const TokenBucket& policy, const State& state, std::int64_t now);
[[nodiscard]] std::int64_t WaitFor(const TokenBucket& policy, const State& state, std::int64_t cost,
                                   std::int64_t now);
[[nodiscard]] std::int64_t ExpiryOf(const TokenBucket& policy, const State& state);

}  // namespace sluice::limiter
