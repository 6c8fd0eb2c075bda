#include "src/config/listen_address.h"

#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/un.h>

#include "src/config/scalars.h"

namespace sluice::config {
namespace {

constexpr std::string_view kForms = "; allowed: host:port, [v6]:port or unix:/path";
constexpr std::string_view kUnixPrefix = "unix:";
// The kernel's field, less the zero that ends the path.
constexpr std::size_t kLongestUnixPath = sizeof(sockaddr_un::sun_path) - 1;

std::unexpected<std::string> Refuse(std::string_view reason) {
  return std::unexpected(fmt::format("{}{}", reason, kForms));
}

bool IsAddress(int family, const std::string& text) {
  std::array<std::uint8_t, sizeof(in6_addr)> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

bool IsHostName(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
  return !text.empty() && text.size() <= 253 && text.front() != '-' && text.front() != '.' &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

std::expected<ListenAddress, std::string> ParseUnix(std::string_view path) {
  if (!path.starts_with('/')) return Refuse("the path of a unix socket must start with /");
  if (path.size() > kLongestUnixPath) {
    return std::unexpected(
        fmt::format("the path of the unix socket has {} bytes; allowed: up to {}", path.size(),
                    kLongestUnixPath));
  }
  return UnixAddress{std::string(path)};
}

}  // namespace

std::expected<ListenAddress, std::string> ParseListenAddress(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return ParseUnix(text.substr(kUnixPrefix.size()));

  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Refuse("the port is missing");
  const auto port = ParseInteger(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) {
    return std::unexpected("the port is no number in bounds; allowed: 0 to 65535");
  }
  std::string host(text.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!IsAddress(AF_INET6, host)) return Refuse("no IPv6 address stands between the brackets");
  } else if (host.find(':') != std::string::npos) {
    return Refuse("an IPv6 address must stand in brackets");
  } else if (host.empty() || host == "*") {
    return Refuse("the host is missing (0.0.0.0 or [::] for all interfaces)");
  } else if (host.find_first_not_of("0123456789.") == std::string::npos) {
    // A name of digits and dots only is a mistyped address; no resolver should be asked for it.
    if (!IsAddress(AF_INET, host)) return Refuse("the host is no IPv4 address");
  } else if (!IsHostName(host)) {
    return Refuse("the host is no address and no host name");
  }
  return TcpAddress{std::move(host), static_cast<std::uint16_t>(*port)};
}

std::string ToString(const ListenAddress& address) {
  if (const auto* socket = std::get_if<UnixAddress>(&address)) {
    return fmt::format("{}{}", kUnixPrefix, socket->path);
  }
  const auto& tcp = std::get<TcpAddress>(address);
  const bool is_v6 = tcp.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", tcp.host, tcp.port)
               : fmt::format("{}:{}", tcp.host, tcp.port);
}

}  // namespace sluice::config
