// Where a node of a cluster sends a command that it does not serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/redis/address.h"
#include "src/redis/topology/slot.h"

namespace sluice::redis {

struct Redirect {
  enum class Kind : std::uint8_t {
    kMoved,     ///< the slot is elsewhere from now on
    kAsk,       ///< this once, after ASKING: the slot is on its way there
    kTryAgain,  ///< a little later, since the slot's keys are here and there
  };
  Kind kind = Kind::kTryAgain;
  Slot slot = 0;
  Address to{};  ///< of kMoved and kAsk; an empty host is that of the node that sent it

  friend bool operator==(const Redirect&, const Redirect&) = default;
};

/// Reads an error reply; none if it redirects nowhere. A redirect without a usable address ("?" for
/// a host, port 0) is a kTryAgain: the node will know better later. The command was not run.
///
/// The host ends at the last colon: IPv6 addresses come without brackets.
[[nodiscard]] std::optional<Redirect> ReadRedirect(std::string_view error);

}  // namespace sluice::redis
