// What an engine tells about itself, written on its own thread and read from any other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/redis_limiter.h"

namespace sluice::redis {

/// Thread safety: every member may be called from any thread.
class Status {
 public:
  using Counter = std::atomic<std::int64_t>;
  Counter in_flight{0};
  Counter connections{0};
  Counter connects{0};
  Counter connect_failures{0};
  Counter disconnects{0};
  Counter calls{0};
  Counter evaluations{0};
  Counter repeats{0};
  Counter reloads{0};
  Counter redirects{0};
  Counter map_changes{0};
  Counter unreplicated{0};
  Counter rejected{0};
  Counter expired{0};

  [[nodiscard]] RedisStatistics Statistics() const {
    return {.in_flight = in_flight,
            .connections = connections,
            .connects = connects,
            .connect_failures = connect_failures,
            .disconnects = disconnects,
            .calls = calls,
            .evaluations = evaluations,
            .repeats = repeats,
            .reloads = reloads,
            .error_replies = ErrorReplies(),
            .redirects = redirects,
            .map_changes = map_changes,
            .unreplicated = unreplicated,
            .rejected = rejected,
            .expired = expired};
  }

  [[nodiscard]] RedisHealth Health() const {
    const std::lock_guard lock(mutex_);
    return health_;
  }
  /// `token`: of ErrorLabel, so that there are few.
  void CountErrorReply(std::string_view token) {
    const std::lock_guard lock(mutex_);
    auto found = error_replies_.find(token);
    if (found == error_replies_.end()) found = error_replies_.emplace(token, 0).first;
    ++found->second;
  }
  void SetHealth(RedisHealth health) {
    const std::lock_guard lock(mutex_);
    health_ = std::move(health);
  }

 private:
  [[nodiscard]] std::map<std::string, std::int64_t, std::less<>> ErrorReplies() const {
    const std::lock_guard lock(mutex_);
    return error_replies_;
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> error_replies_;
  RedisHealth health_{.ready = false, .reason = "not connected yet"};
};

}  // namespace sluice::redis
