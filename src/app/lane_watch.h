// What operators are told about the lanes to the server, from looks at their health.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sluice/redis_limiter.h"

namespace sluice::app {

/// A lane that came up, or went down or stays down for another cause.
struct LaneChange {
  std::size_t lane = 0;  ///< from 0
  bool is_up = false;
  std::string category{};  ///< of a lane that is down, as in RedisHealth
  std::string reason{};
  std::string eviction_policy{};  ///< of a lane that is up, as in RedisHealth
};

/// Thread safety: none.
class LaneWatch {
 public:
  /// What changed since the last look. A lane that only waits for its first attempt to connect is
  /// no news.
  [[nodiscard]] std::vector<LaneChange> Look(const std::vector<RedisHealth>& lanes);

 private:
  std::vector<RedisHealth> last_;
};

/// What operators should know of a server with this eviction policy, one sentence; empty if it
/// never forgets a counter before its time.
[[nodiscard]] std::string EvictionAdvice(const std::string& eviction_policy);

/// Why the lanes are not ready, one line each that is not; empty if all are.
[[nodiscard]] std::vector<std::string> ReasonsNotReady(const std::vector<RedisHealth>& lanes);

}  // namespace sluice::app
