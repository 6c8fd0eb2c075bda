#include "src/redis/address.h"

#include <fmt/core.h>

namespace sluice::redis {

std::expected<Address, std::string> ParseAddress(std::string_view text) {
  if (text.starts_with("unix:")) {
    const std::string_view path = text.substr(5);
    if (path.empty() || path.size() > 107) {
      return std::unexpected(std::string("a unix socket's path has 1 to 107 bytes"));
    }
    return Address{.unix_path = std::string(path)};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::unexpected(std::string("an address is host:port, [v6]:port or unix:/path"));
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return std::unexpected(std::string("an IPv6 address stands in brackets: [v6]:port"));
  }
  const bool digits = port.find_first_not_of("0123456789") == std::string_view::npos;
  if (host.empty() || port.empty() || port.size() > 5 || !digits ||
      std::stoi(std::string(port)) < 1 || std::stoi(std::string(port)) > 65'535) {
    return std::unexpected(std::string("an address has a host and a port from 1 to 65535"));
  }
  return Address{.host = std::string(host), .port = std::string(port)};
}

std::string ToString(const Address& address) {
  if (!address.unix_path.empty()) return "unix:" + address.unix_path;
  if (address.host.contains(':')) return fmt::format("[{}]:{}", address.host, address.port);
  return fmt::format("{}:{}", address.host, address.port);
}

}  // namespace sluice::redis
