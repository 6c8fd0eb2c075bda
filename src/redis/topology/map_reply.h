// What servers say of who serves what, read into a SlotMap.
#pragma once

#include <expected>
#include <string>

#include "sluice/outcome.h"

#include "src/redis/address.h"
#include "src/redis/resp.h"
#include "src/redis/topology/slot_map.h"

namespace sluice::redis {

/// The reply to CLUSTER SHARDS. `asked`: the server that gave it; a node without a host is on the
/// same host as that. `tls`: which of a node's ports is of use. A node whose host is "?" or whose
/// port is missing or 0 is left out; a primary without slots stays if it is healthy. Fails if the
/// reply is an error, is none of that command's, or names nobody who serves a slot.
[[nodiscard]] std::expected<SlotMap, Outcome> ReadShards(const Reply& reply, const Address& asked,
                                                         bool tls);

/// The same for the reply to CLUSTER SLOTS, which has one port, that of the asking connection's
/// kind, and no primaries without slots.
[[nodiscard]] std::expected<SlotMap, Outcome> ReadSlots(const Reply& reply, const Address& asked);

/// A sentinel's reply to SENTINEL GET-MASTER-ADDR-BY-NAME `master`.
[[nodiscard]] std::expected<SlotMap, Outcome> ReadPrimary(const Reply& reply,
                                                          const std::string& master);

}  // namespace sluice::redis
