// From what is known of each server to the word on the whole deployment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/outcome.h"
#include "sluice/redis_limiter.h"

#include "src/redis/topology/slot_map.h"

namespace sluice::redis {

/// What a failure says to people ("" for an evaluated outcome), and its category or reason.
[[nodiscard]] std::string DetailOf(const Outcome& outcome);
[[nodiscard]] std::string CategoryOf(const Outcome& outcome);

/// Ready if somebody serves every slot and each of these servers is ready. Else the reason names
/// the first that is not. The clock is that of the worst server, the round trip the longest.
///
/// `nodes`: of the map's primaries and, it may be, of servers that are about to leave.
/// `why_unknown`: why there is no map, once that is known.
[[nodiscard]] RedisHealth Summary(const SlotMap& map, const std::optional<Outcome>& why_unknown,
                                  std::vector<RedisNode> nodes);

}  // namespace sluice::redis
