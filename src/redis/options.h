// From the public options to what the parts of the engine take.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

#include "sluice/redis_limiter.h"

#include "src/redis/node_lane.h"
#include "src/redis/topology_watch.h"

namespace sluice::redis {

struct EngineOptions {
  NodeOptions node{};
  WatchOptions watch{};
  std::size_t max_in_flight = 1;
};

/// The options checked, TLS files read; or one sentence that begins with the name of the option
/// that is wrong.
[[nodiscard]] std::expected<EngineOptions, std::string> CheckOptions(const RedisOptions& options);

}  // namespace sluice::redis
