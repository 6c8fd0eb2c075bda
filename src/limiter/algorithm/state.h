// What an engine keeps for one subject and policy, and the words the algorithms share.
#pragma once

#include <cstdint>

namespace sluice::limiter {

/// One counter. Amounts are units, times are milliseconds since the epoch. The first three members
/// are the algorithm's own, the last two are written with every store.
struct State {
  std::int64_t mark =
      0;  ///< start of the window; token bucket: the time its tokens were counted for
  std::int64_t amount = 0;    ///< consumed in that window; token bucket: tokens held
  std::int64_t previous = 0;  ///< sliding counter: consumed in the window before
  std::int64_t written = 0;   ///< the newest `now` this state was written with
  std::int64_t expires = 0;   ///< from here on the state counts as absent
  friend bool operator==(const State&, const State&) = default;
};

/// What a client is told about a state.
struct Level {
  std::int64_t remaining = 0;  ///< units
  std::int64_t reset = 0;      ///< milliseconds until nothing is used any more
};

/// A wait that never ends: the cost is larger than the limit.
inline constexpr std::int64_t kNever = -1;

/// Rounded up, for non-negative `a` and positive `b`.
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Every algorithm offers the same six pure functions, overloaded on its policy type:
//
//   At(policy, stored, now)          the state as it stands at `now`, nothing charged; `stored`
//   null if absent Admits(policy, state, cost, now) whether the cost fits Charge(policy, state,
//   cost)      takes the cost; only after Admits LevelOf(policy, state, now)      what remains and
//   when all is back WaitFor(policy, state, cost, now) for a cost that does not fit: the smallest
//   wait in milliseconds after
//                                    which it would, with no other traffic; kNever if it never can
//   ExpiryOf(policy, state)          when the state says no more than an absent one would, without
//   grace
//
// `now` is never before `stored->written`: the plan has seen to that.

}  // namespace sluice::limiter
