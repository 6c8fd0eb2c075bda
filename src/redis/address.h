// Where a server listens.
#pragma once

#include <compare>
#include <expected>
#include <string>
#include <string_view>

namespace sluice::redis {

struct Address {
  std::string host{};  ///< a name or a literal without brackets; empty for a unix socket
  std::string port{};
  std::string unix_path{};
  friend auto operator<=>(const Address&, const Address&) = default;
};

/// Reads host:port, [v6]:port or unix:/path, or says in one sentence what is wrong.
[[nodiscard]] std::expected<Address, std::string> ParseAddress(std::string_view text);
/// The text that parses to `address`.
[[nodiscard]] std::string ToString(const Address& address);

}  // namespace sluice::redis
