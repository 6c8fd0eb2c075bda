// Where a listener waits: parsed once, from the text of the configuration.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>

namespace sluice::config {

/// An IP address or host name with a port. Port 0 lets the system choose.
struct TcpAddress {
  std::string host;  ///< an IPv6 address without its brackets
  std::uint16_t port = 0;
  friend bool operator==(const TcpAddress&, const TcpAddress&) = default;
};

/// A unix socket; its path is absolute.
struct UnixAddress {
  std::string path;
  friend bool operator==(const UnixAddress&, const UnixAddress&) = default;
};

using ListenAddress = std::variant<TcpAddress, UnixAddress>;

/// "host:port", "[v6]:port" or "unix:/path"; else one sentence on what is wrong.
[[nodiscard]] std::expected<ListenAddress, std::string> ParseListenAddress(std::string_view text);
/// The text that parses to `address`.
[[nodiscard]] std::string ToString(const ListenAddress& address);

}  // namespace sluice::config
