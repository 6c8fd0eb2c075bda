// The only type that holds who a client really is. It can be moved and consumed, not copied or
// printed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// What kind of value names a client. The order is that of the default `identity.sources`.
enum class IdentityKind : std::uint8_t {
  kPrincipal,  ///< a user name that a trusted proxy authenticated
  kApiKey,
  kClientIp,
  kOpaque,     ///< a text given to /v1 or the command line
  kAnonymous,  ///< nobody could be named; all such clients share one budget
};
inline constexpr std::size_t kIdentityKinds = 5;

/// "principal", "api-key", "client-ip", "opaque", "anonymous".
[[nodiscard]] std::string_view Name(IdentityKind kind);

/// The raw values that may name one client, at most one of each kind. Move-only and without a
/// formatter or stream operator: code that prints it does not compile. Only a Pseudonymizer reads
/// it.
///
/// Values are canonical bytes: a client address is its family, its bytes and the prefix it was cut
/// to.
class RawIdentity {
 public:
  RawIdentity() = default;
  RawIdentity(RawIdentity&&) noexcept = default;
  RawIdentity& operator=(RawIdentity&&) noexcept = default;
  RawIdentity(const RawIdentity&) = delete;
  RawIdentity& operator=(const RawIdentity&) = delete;
  ~RawIdentity() = default;

  /// Adds one raw value; an empty value counts as missing and is not added.
  void Add(IdentityKind kind, std::string value) {
    values_[static_cast<std::size_t>(kind)] = std::move(value);
  }
  [[nodiscard]] bool Has(IdentityKind kind) const {
    return kind == IdentityKind::kAnonymous || !values_[static_cast<std::size_t>(kind)].empty();
  }

 private:
  friend class Pseudonymizer;
  std::array<std::string, kIdentityKinds> values_;
};

/// The other end of a connection, resolved once for all of its requests (`Edge::PeerFrom`). Holds a
/// client's address, so it cannot be printed either.
class Peer {
 public:
  /// Whether the peer is one of `trusted_proxies` (or a unix socket's): only then its headers
  /// count.
  [[nodiscard]] bool trusted() const { return trusted_; }

 private:
  friend struct PeerAccess;  // src/identity: the one place that reads and makes peers
  std::array<std::uint8_t, 16> address_{};
  std::uint8_t family_ = 0;  // 0 none (a unix socket), 4, 6
  bool trusted_ = false;
};

}  // namespace sluice
