#include <chrono>

#include "sluice/clock.h"

namespace sluice {
namespace {

class MachineClock : public Clock {
 public:
  [[nodiscard]] Instant Now() const override {
    return {.wall = std::chrono::floor<Milliseconds>(std::chrono::system_clock::now()),
            .steady = std::chrono::steady_clock::now()};
  }
};

}  // namespace

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

}  // namespace sluice
