#include "src/app/lane_watch.h"

#include <fmt/core.h>

namespace sluice::app {

std::vector<LaneChange> LaneWatch::Look(const std::vector<RedisHealth>& lanes) {
  std::vector<LaneChange> changes;
  last_.resize(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const RedisHealth& lane = lanes[i];
    if (!lane.ready && lane.category.empty()) continue;
    if (lane.ready != last_[i].ready || lane.category != last_[i].category) {
      changes.push_back({.lane = i,
                         .is_up = lane.ready,
                         .category = lane.category,
                         .reason = lane.reason,
                         .eviction_policy = lane.eviction_policy});
    }
    last_[i] = lane;
  }
  return changes;
}

std::string EvictionAdvice(const std::string& eviction_policy) {
  if (eviction_policy == "noeviction") return "";
  if (eviction_policy.empty()) {
    return "the server does not tell its maxmemory-policy: make sure that it is noeviction";
  }
  return fmt::format("maxmemory-policy is {}: a full server forgets counters; use noeviction",
                     eviction_policy);
}

std::vector<std::string> ReasonsNotReady(const std::vector<RedisHealth>& lanes) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].ready) continue;
    reasons.push_back(
        fmt::format("redis: lane {} of {} is down: {}", i + 1, lanes.size(), lanes[i].reason));
  }
  return reasons;
}

}  // namespace sluice::app
