#include "src/limiter/algorithm/fixed_window.h"

#include <algorithm>

namespace sluice::limiter {

State At(const FixedWindow& policy, const State* stored, std::int64_t now) {
  State state;
  state.mark = now - now % policy.window.count();
  // Only the start decides which window a count belongs to; a store's own expiry never does.
  if (stored != nullptr && stored->mark == state.mark) state.amount = stored->amount;
  return state;
}

bool Admits(const FixedWindow& policy, const State& state, std::int64_t cost,
            std::int64_t /*now*/) {
  return state.amount + cost <= policy.limit;
}

void Charge(const FixedWindow& /*policy*/, State& state, std::int64_t cost) {
  state.amount += cost;
}

Level LevelOf(const FixedWindow& policy, const State& state, std::int64_t now) {
  return {.remaining = std::max<std::int64_t>(0, policy.limit - state.amount),
          .reset = state.mark + policy.window.count() - now};
}

std::int64_t WaitFor(const FixedWindow& policy, const State& state, std::int64_t cost,
                     std::int64_t now) {
  return cost > policy.limit ? kNever : LevelOf(policy, state, now).reset;
}

std::int64_t ExpiryOf(const FixedWindow& policy, const State& state) {
  return state.mark + policy.window.count();
}

}  // namespace sluice::limiter
