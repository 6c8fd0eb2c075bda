#include "src/identity/ip_address.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <arpa/inet.h>

#include "sluice/edge.h"

namespace sluice::identity {
namespace {

using Family = IpAddress::Family;

constexpr int kMappedPrefix = 96;
constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct ParsedAddress {
  IpAddress address;
  bool was_mapped = false;  // written as IPv4-mapped IPv6
};

// POSIX's inet_pton is exactly as strict as we want to be (no leading zeros, no short forms, no
// zone ids); it only needs a terminated string, and text that hides a terminator is refused.
std::optional<ParsedAddress> Parse(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.contains('\0')) return std::nullopt;
  std::ranges::copy(text, terminated.begin());

  ParsedAddress parsed;
  auto& [address, was_mapped] = parsed;
  address.family = text.contains(':') ? Family::kV6 : Family::kV4;
  const int posix_family = address.family == Family::kV6 ? AF_INET6 : AF_INET;
  if (inet_pton(posix_family, terminated.data(), address.bytes.data()) != 1) return std::nullopt;

  was_mapped = address.family == Family::kV6 &&
               std::ranges::equal(kMapped, std::span(address.bytes).first<12>());
  if (was_mapped) {
    address.family = Family::kV4;
    std::ranges::rotate(address.bytes, address.bytes.begin() + kMapped.size());
    std::fill(address.bytes.begin() + 4, address.bytes.end(), std::uint8_t{0});
  }
  return parsed;
}

bool IsPort(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.starts_with('_')) {
    return text.size() > 1 && std::ranges::all_of(text.substr(1), [&](char c) {
             return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                    c == '_' || c == '-';
           });
  }
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit);
}

std::string ToText(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.family == Family::kV6 ? AF_INET6 : AF_INET, address.bytes.data(), text.data(),
            text.size());
  return text.data();
}

std::string Quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

}  // namespace

std::optional<IpAddress> ParseAddress(std::string_view text) {
  return Parse(text).transform([](const ParsedAddress& parsed) { return parsed.address; });
}

std::optional<IpAddress> ParseEndpoint(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text.substr(1, close - 1);
    const std::string_view after = text.substr(close + 1);
    if (!inside.contains(':')) return std::nullopt;
    if (!after.empty() && !(after.front() == ':' && IsPort(after.substr(1)))) return std::nullopt;
    return ParseAddress(inside);
  }
  const std::size_t colon = text.find(':');
  const bool is_one_colon = colon != std::string_view::npos && colon == text.rfind(':');
  if (!is_one_colon) return ParseAddress(text);
  return IsPort(text.substr(colon + 1)) ? ParseAddress(text.substr(0, colon)) : std::nullopt;
}

IpAddress CutTo(IpAddress address, int prefix) {
  const auto whole = static_cast<std::size_t>(prefix / 8);
  if (whole == address.bytes.size()) return address;
  const auto kept = static_cast<std::uint8_t>(0xff00u >> (prefix % 8));
  address.bytes[whole] &= kept;
  std::fill(address.bytes.begin() + static_cast<std::ptrdiff_t>(whole) + 1, address.bytes.end(),
            std::uint8_t{0});
  return address;
}

std::string CanonicalBytes(const IpAddress& address, int ipv6_prefix) {
  const int prefix = address.family == Family::kV6 ? ipv6_prefix : address.bits();
  const IpAddress cut = CutTo(address, prefix);
  const auto covered = static_cast<std::size_t>((prefix + 7) / 8);
  std::string bytes;
  bytes.reserve(covered + 2);
  bytes += static_cast<char>(cut.family);
  std::ranges::copy(std::span(cut.bytes).first(covered), std::back_inserter(bytes));
  bytes += static_cast<char>(prefix);
  return bytes;
}

bool Network::Contains(const IpAddress& address) const {
  return address.family == base.family && CutTo(address, prefix) == base;
}

std::expected<Network, std::string> ParseNetwork(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto parsed = Parse(text.substr(0, slash));
  if (!parsed) {
    return std::unexpected(
        Quoted(text) + " is neither an IP address nor a network such as 10.0.0.0/8 or fd00::/8");
  }
  const IpAddress& address = parsed->address;
  if (slash == std::string_view::npos) return Network{address, address.bits()};

  // Bounds are those of the spelling: an IPv4-mapped network counts its prefix from the IPv6 side,
  // and one that starts before its last 32 bits always has bits set beyond its prefix.
  const std::string_view digits = text.substr(slash + 1);
  const int lowest = parsed->was_mapped ? kMappedPrefix : 0;
  const int highest = lowest + address.bits();
  int prefix = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  const bool is_number = error == std::errc{} && end == digits.data() + digits.size() &&
                         digits == std::to_string(prefix);
  if (!is_number || prefix < lowest || prefix > highest) {
    return std::unexpected(Quoted(text) + " has a prefix length outside " + std::to_string(lowest) +
                           " .. " + std::to_string(highest));
  }
  prefix -= lowest;
  const IpAddress base = CutTo(address, prefix);
  if (base != address) {
    return std::unexpected(Quoted(text) + " has bits set beyond its prefix, perhaps " +
                           ToText(base) + "/" + std::to_string(prefix) + " was meant");
  }
  return Network{base, prefix};
}

}  // namespace sluice::identity

namespace sluice {

std::optional<std::string> CheckNetwork(std::string_view network) {
  auto parsed = identity::ParseNetwork(network);
  if (parsed) return std::nullopt;
  return std::move(parsed).error();
}

}  // namespace sluice
