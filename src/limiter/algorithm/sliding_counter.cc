#include "src/limiter/algorithm/sliding_counter.h"

#include <algorithm>

namespace sluice::limiter {
namespace {

// A count written under a larger limit or another window may exceed what this policy's bounds
// allow. Cut to the largest count whose product with the window is exact: it still denies, and the
// Lua twin, which computes with doubles, cuts it the same way.
std::int64_t Exact(const SlidingCounter& policy, std::int64_t count) {
  return std::min(count, kMaximumAmount / policy.window.count());
}

std::int64_t Used(const SlidingCounter& policy, const State& state, std::int64_t now) {
  const std::int64_t window = policy.window.count();
  const std::int64_t elapsed = now - state.mark;
  return state.previous * (window - elapsed) / window + state.amount;
}

}  // namespace

State At(const SlidingCounter& policy, const State* stored, std::int64_t now) {
  const std::int64_t window = policy.window.count();
  State state;
  state.mark = now - now % window;
  if (stored == nullptr) return state;
  if (stored->mark == state.mark) {
    state.amount = Exact(policy, stored->amount);
    state.previous = Exact(policy, stored->previous);
  } else if (stored->mark == state.mark - window) {
    state.previous = Exact(policy, stored->amount);
  }
  return state;
}

bool Admits(const SlidingCounter& policy, const State& state, std::int64_t cost, std::int64_t now) {
  return Used(policy, state, now) + cost <= policy.limit;
}

void Charge(const SlidingCounter& /*policy*/, State& state, std::int64_t cost) {
  state.amount += cost;
}

Level LevelOf(const SlidingCounter& policy, const State& state, std::int64_t now) {
  const std::int64_t window = policy.window.count();
  Level level;
  level.remaining = std::max<std::int64_t>(0, policy.limit - Used(policy, state, now));
  // A count c of the window that ended at `end` is gone once c * (rest of the window) < window.
  if (state.amount > 0) {
    level.reset = state.mark + 2 * window - (window - 1) / state.amount - now;
  } else if (state.previous > 0) {
    level.reset =
        std::max<std::int64_t>(0, state.mark + window - (window - 1) / state.previous - now);
  }
  return level;
}

std::int64_t WaitFor(const SlidingCounter& policy, const State& state, std::int64_t cost,
                     std::int64_t now) {
  if (cost > policy.limit) return kNever;
  const std::int64_t window = policy.window.count();
  const std::int64_t room = policy.limit - cost;
  if (state.amount <= room) {
    // The previous window alone stands in the way, and fades within this window.
    const std::int64_t fade = ((room - state.amount + 1) * window - 1) / state.previous;
    return state.mark + window - fade - now;
  }
  const std::int64_t fade = ((room + 1) * window - 1) / state.amount;
  return state.mark + 2 * window - fade - now;
}

std::int64_t ExpiryOf(const SlidingCounter& policy, const State& state) {
  return state.mark + 2 * policy.window.count();
}

}  // namespace sluice::limiter
