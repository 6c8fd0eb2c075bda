// A clock that stands still until a test moves it.
#pragma once

#include "sluice/clock.h"

namespace sluice::testing {

/// Both clocks start at a fixed moment (2026-01-01T00:00:00Z) and move together, unless only the
/// wall clock is set: that is how a step of the machine's time looks.
///
/// Thread safety: none; move it where nobody reads it.
class ManualClock : public Clock {
 public:
  static constexpr WallTime kStart{Milliseconds{1'767'225'600'000}};

  [[nodiscard]] Instant Now() const override { return now_; }

  void Advance(Milliseconds by) {
    now_.wall += by;
    now_.steady += by;
  }
  /// Moves the wall clock alone, forwards or backwards.
  void SetWall(WallTime wall) { now_.wall = wall; }

 private:
  Instant now_{kStart, SteadyTime{std::chrono::hours{1}}};
};

}  // namespace sluice::testing
