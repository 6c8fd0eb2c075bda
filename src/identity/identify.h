// From a connection and its headers to the values that may name the client.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/edge.h"

#include "src/identity/client_address.h"

namespace sluice::identity {

/// Names clients as IdentitySettings say. It collects every value that is present; which of them
/// counts (`sources`) is the edge's choice, as is what becomes of a client that none names.
///
/// Thread safety: may be shared between threads.
class Identifier {
 public:
  /// A value given to `IdentityFrom` has at most this many bytes.
  static constexpr std::size_t kMaximumValueBytes = 1'024;

  /// Everything that is wrong with `trusted_proxies`, `ipv6_prefix` and the header names at once;
  /// places begin with "identity.". An empty header name means that no header gives this value.
  [[nodiscard]] static std::expected<Identifier, std::vector<EdgeError>> Create(
      const IdentitySettings& settings);

  /// As `Edge::PeerFrom`. A port is stripped ("192.0.2.1:80", "[2001:db8::1]:80").
  [[nodiscard]] Peer PeerFrom(std::string_view text) const;

  /// Every value that names the client: principal and API key from a trusted peer's headers, and
  /// the client's address (`ClientAddressFinder`) as `CanonicalBytes`.
  ///
  /// Header names are case-insensitive; values are bytes, kept as they are but for blanks around
  /// them. An empty value is a missing one. A header that is repeated with different values names
  /// nobody: one of them may be the client's own, and nothing tells which. "Authorization" as API
  /// key header gives the token of the Bearer scheme; any other scheme is a missing key.
  [[nodiscard]] RawIdentity Identify(const Peer& peer, std::span<const HeaderField> headers) const;

  /// The identity that a caller names outright, canonical as `Identify` makes it; else one sentence
  /// that does not repeat the value. `kAnonymous` takes the empty value, all others take 1 to
  /// kMaximumValueBytes bytes, `kClientIp` an address without port.
  [[nodiscard]] std::expected<RawIdentity, std::string> IdentityFrom(IdentityKind kind,
                                                                     std::string_view value) const;

 private:
  Identifier(const IdentitySettings& settings, std::vector<Network> trusted);

  std::string principal_header_;
  std::string api_key_header_;
  bool api_key_is_bearer_token_;
  int ipv6_prefix_;
  ClientAddressFinder client_address_;
};

}  // namespace sluice::identity
