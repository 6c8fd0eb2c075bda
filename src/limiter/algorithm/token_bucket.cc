#include "src/limiter/algorithm/token_bucket.h"

#include <algorithm>

namespace sluice::limiter {

State At(const TokenBucket& policy, const State* stored, std::int64_t now) {
  State state;
  if (stored == nullptr) {
    state.mark = now;
    state.amount = policy.capacity;
    return state;
  }
  const std::int64_t period = policy.period.count();
  const std::int64_t periods = (now - stored->mark) / period;
  // Whole periods only: the rest of a period stays to be counted later. The product is formed only
  // where it cannot exceed the capacity, so it cannot overflow either.
  state.mark = stored->mark + periods * period;
  state.amount = std::min(policy.capacity, stored->amount);
  if (periods >= CeilDiv(policy.capacity - state.amount, policy.refill)) {
    state.amount = policy.capacity;
  } else {
    state.amount += periods * policy.refill;
  }
  return state;
}

bool Admits(const TokenBucket& /*policy*/, const State& state, std::int64_t cost,
            std::int64_t /*now*/) {
  return state.amount >= cost;
}

void Charge(const TokenBucket& /*policy*/, State& state, std::int64_t cost) {
  state.amount -= cost;
}

Level LevelOf(const TokenBucket& policy, const State& state, std::int64_t now) {
  return {.remaining = state.amount,
          .reset = std::max<std::int64_t>(0, ExpiryOf(policy, state) - now)};
}

std::int64_t WaitFor(const TokenBucket& policy, const State& state, std::int64_t cost,
                     std::int64_t now) {
  if (cost > policy.capacity) return kNever;
  return state.mark + CeilDiv(cost - state.amount, policy.refill) * policy.period.count() - now;
}

std::int64_t ExpiryOf(const TokenBucket& policy, const State& state) {
  return state.mark +
         CeilDiv(policy.capacity - state.amount, policy.refill) * policy.period.count();
}

}  // namespace sluice::limiter
