// What the user of a connection must be allowed to do for the scripts to run.
#pragma once

#include <string_view>
#include <vector>

#include "src/redis/session_options.h"

namespace sluice::redis {

/// A probe for each command that the scripts run and for running them, on a key under the prefix
/// that never exists.
[[nodiscard]] std::vector<Probe> Probes(std::string_view prefix);

/// Of what calls need besides: in a cluster while a slot moves, and where replicas must confirm.
[[nodiscard]] Probe AskingProbe();
[[nodiscard]] Probe WaitProbe();

}  // namespace sluice::redis
