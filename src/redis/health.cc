#include "src/redis/health.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace sluice::redis {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

Milliseconds Distance(const std::optional<Milliseconds>& skew) {
  return skew ? std::chrono::abs(*skew) : Milliseconds{-1};
}

// Whether one of the servers serves slots and is not ready; then why. A cause that is known goes
// before a first attempt that is being made.
void JudgeNodes(const SlotMap& map, RedisHealth& health) {
  health.ready = true;
  for (const RedisNode& node : health.nodes) {
    if (node.ready || !map.HasSlots(node.address)) continue;
    if (!health.ready && (!health.category.empty() || node.category.empty())) continue;
    health.ready = false;
    health.reason = map.primaries().size() == 1 ? node.reason
                                                : fmt::format("{}: {}", node.address, node.reason);
    health.category = node.category;
  }
}

}  // namespace

std::string DetailOf(const Outcome& outcome) {
  return std::visit(Overloaded{[](const Evaluated&) { return std::string(); },
                               [](const auto& failure) { return failure.detail; }},
                    outcome);
}

std::string CategoryOf(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const Evaluated&) { return std::string(); },
                 [](const Incompatible& failure) { return std::string(Name(failure.reason)); },
                 [](const auto& failure) { return std::string(Name(failure.category)); }},
      outcome);
}

RedisHealth Summary(const SlotMap& map, const std::optional<Outcome>& why_unknown,
                    std::vector<RedisNode> nodes) {
  RedisHealth health{.nodes = std::move(nodes)};
  for (const RedisNode& node : health.nodes) {
    if (Distance(node.clock_skew) > Distance(health.clock_skew)) {
      health.clock_skew = node.clock_skew;
    }
    if (health.eviction_policy.empty() || health.eviction_policy == "noeviction") {
      health.eviction_policy = node.eviction_policy;
    }
    health.round_trip = std::max(health.round_trip, node.round_trip);
  }
  if (why_unknown) {
    health.reason = DetailOf(*why_unknown);
    health.category = CategoryOf(*why_unknown);
  } else if (map.IsEmpty()) {
    health.reason = "asking who serves";
  } else if (map.Unserved() > 0) {
    health.reason = fmt::format("no server has {} of the {} hash slots", map.Unserved(), kSlots);
    health.category = Name(Unavailable::Category::kUnavailableBeforeSend);
  } else {
    JudgeNodes(map, health);
  }
  return health;
}

}  // namespace sluice::redis
