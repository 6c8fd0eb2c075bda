// Who has which slots, as nodes of a cluster say it.
#pragma once

#include <expected>
#include <vector>

#include "sluice/outcome.h"

#include "src/app/doctor/asker.h"
#include "src/redis/access.h"
#include "src/redis/address.h"
#include "src/redis/topology/slot_map.h"

namespace sluice::app::doctor {

/// The map of the first of these nodes that has one, asked for as the daemon does it.
[[nodiscard]] std::expected<redis::SlotMap, Outcome> AskForMap(
    Asker& asker, const std::vector<redis::Address>& nodes, const redis::Access& access);

}  // namespace sluice::app::doctor
