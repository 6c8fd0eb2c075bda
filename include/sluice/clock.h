// Time as Sluice sees it: one reading of both clocks, made at the edge and passed down as an
// argument.
//
// Start here if you write a test: `Instant` is a plain value, and `testing/manual_clock.h` moves it
// by hand.
#pragma once

#include <chrono>

namespace sluice {

using Milliseconds = std::chrono::milliseconds;

/// Milliseconds since the Unix epoch, UTC. Windows and periods are aligned to it; it may step.
using WallTime = std::chrono::sys_time<Milliseconds>;

/// A clock that never steps. Deadlines and physical expiry are counted on it, never windows.
using SteadyTime = std::chrono::steady_clock::time_point;

/// One reading of both clocks at the same moment. Everything an evaluation computes (window,
/// remaining, reset, retry) comes from one Instant.
struct Instant {
  WallTime wall;
  SteadyTime steady;
};

/// Where an edge takes its Instants from.
///
/// Thread safety: `Now` may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant Now() const = 0;
};

/// The machine's own clocks. Lives as long as the program.
[[nodiscard]] const Clock& SystemClock();

}  // namespace sluice
