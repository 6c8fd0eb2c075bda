// IP addresses and networks: strict text in, canonical bytes out.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::identity {

/// An IPv4 or IPv6 address. One host has one value: parsing turns IPv4-mapped IPv6 (::ffff:a.b.c.d)
/// into IPv4. Nothing else is unwrapped: a NAT64 address (64:ff9b::a.b.c.d) is plain IPv6, so at
/// the default prefix all clients behind one NAT64 are one client.
struct IpAddress {
  enum class Family : std::uint8_t { kV4 = 4, kV6 = 6 };

  Family family = Family::kV4;
  std::array<std::uint8_t, 16> bytes{};  ///< network order; IPv4 takes the first 4, the rest is 0

  [[nodiscard]] int bits() const { return family == Family::kV4 ? 32 : 128; }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Reads an address and nothing but an address. IPv4 is a dotted quad of decimals without leading
/// zeros; IPv6 is any spelling of RFC 4291 section 2.2. Short, octal or hexadecimal IPv4 forms,
/// zone ids, brackets and blanks are refused. Does not allocate.
[[nodiscard]] std::optional<IpAddress> ParseAddress(std::string_view text);

/// Reads an address that may carry a port, as peers and proxies write them: "192.0.2.1",
/// "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:80". A bare IPv6 address is never
/// cut at its last colon. A port is 1 to 5 digits or an obfuscated one ("_x", RFC 7239); its value
/// is ignored.
[[nodiscard]] std::optional<IpAddress> ParseEndpoint(std::string_view text);

/// `address` with every bit after the first `prefix` cleared. Precondition: 0 <= prefix <= bits().
[[nodiscard]] IpAddress CutTo(IpAddress address, int prefix);

/// The bytes that pseudonyms of an address are made from: its family (4 or 6), then the network
/// bytes that the prefix covers (1 byte for 8 bits, the last one padded with zero bits), then the
/// prefix length. IPv4 keeps its 32 bits, IPv6 is cut to `ipv6_prefix`. Up to a prefix of 104 the
/// result fits std::string's own buffer.
[[nodiscard]] std::string CanonicalBytes(const IpAddress& address, int ipv6_prefix);

/// All addresses of one family that share the first `prefix` bits with `base`.
struct Network {
  IpAddress base;
  int prefix = 0;

  [[nodiscard]] bool Contains(const IpAddress& address) const;
  friend bool operator==(const Network&, const Network&) = default;
};

/// Reads "10.0.0.0/8", "::1/128" or a plain address (a network of one); an IPv4-mapped network is
/// that of IPv4. Otherwise one sentence, as `sluice::CheckNetwork` gives it. A network with bits
/// set beyond its prefix is refused, since nobody knows which of the two was meant.
[[nodiscard]] std::expected<Network, std::string> ParseNetwork(std::string_view text);

}  // namespace sluice::identity
