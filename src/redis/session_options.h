// What a session is told before it connects: whom it speaks to, how it logs in, what it loads and
// tries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"

namespace sluice::redis {

/// A Lua script as the server knows it: `sha` is the SHA-1 of `source` in lower case.
struct Script {
  std::string_view sha;
  std::string_view source;
};

/// A command that the scripts run, in a form that changes nothing: whether the user may run it is
/// all that it is to show.
struct Probe {
  std::string name{};  ///< as a refusal calls it, with the key: "HGET on sluice:…"
  std::string bytes{};
};

/// What kind of server a connection must lead to; another kind is refused in the handshake.
enum class Role : std::uint8_t {
  kStandalone,  ///< not in cluster mode
  kPrimary,     ///< the same, and no replica
  kClusterNode,
};

struct SessionOptions {
  Role role = Role::kStandalone;
  std::string username{};
  std::string password{};  ///< empty: no login
  std::int64_t database = 0;
  std::string client_name = "sluice";
  std::span<const Script> scripts{};    ///< loaded before the first call; must outlive the session
  std::vector<Probe> probes{};          ///< tried before the first call
  bool read_clock = true;               ///< ask for the server's TIME
  Milliseconds clock_interval{10'000};  ///< between two TIMEs; they keep an idle connection alive
  Milliseconds reply_timeout{1'000};    ///< a reply that is owed for longer ends the connection
  std::size_t maximum_reply_bytes = std::size_t{1} << 20;
};

}  // namespace sluice::redis
