#include "src/identity/identify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/identity/ascii.h"
#include "src/identity/peer.h"

namespace sluice::identity {
namespace {

constexpr std::string_view kUnixPeer = "unix:";

// A token of RFC 9110 section 5.6.2, or empty for "no header".
bool IsHeaderNameOrEmpty(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").contains(c);
  });
}

// What all of the header's lines say if they say the same, else empty.
std::string_view AgreedValue(std::span<const HeaderField> headers, std::string_view name) {
  if (name.empty()) return {};
  std::optional<std::string_view> agreed;
  for (const HeaderField& field : headers) {
    if (!EqualsIgnoringCase(field.name, name)) continue;
    const std::string_view value = Trim(field.value);
    if (agreed && *agreed != value) return {};
    agreed = value;
  }
  return agreed.value_or(std::string_view{});
}

// The token of RFC 6750 credentials, else empty.
std::string_view BearerToken(std::string_view credentials) {
  const std::size_t space = credentials.find(' ');
  if (space == std::string_view::npos) return {};
  if (!EqualsIgnoringCase(credentials.substr(0, space), "Bearer")) return {};
  return Trim(credentials.substr(space));
}

}  // namespace

std::expected<Identifier, std::vector<EdgeError>> Identifier::Create(
    const IdentitySettings& settings) {
  std::vector<EdgeError> errors;
  const auto check_header = [&](std::string place, const std::string& name) {
    if (IsHeaderNameOrEmpty(name)) return;
    errors.push_back({std::move(place), '"' + name + "\" is not a header name"});
  };
  check_header("identity.principal_header", settings.principal_header);
  check_header("identity.api_key_header", settings.api_key_header);

  std::vector<Network> trusted;
  for (std::size_t i = 0; i < settings.trusted_proxies.size(); ++i) {
    auto network = ParseNetwork(settings.trusted_proxies[i]);
    if (network) {
      trusted.push_back(*network);
    } else {
      errors.push_back(
          {"identity.trusted_proxies[" + std::to_string(i) + "]", std::move(network).error()});
    }
  }
  if (settings.ipv6_prefix < 1 || settings.ipv6_prefix > 128) {
    errors.push_back(
        {"identity.ipv6_prefix", std::to_string(settings.ipv6_prefix) + " is outside 1 .. 128"});
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  return Identifier(settings, std::move(trusted));
}

Identifier::Identifier(const IdentitySettings& settings, std::vector<Network> trusted)
    : principal_header_(settings.principal_header),
      api_key_header_(settings.api_key_header),
      api_key_is_bearer_token_(EqualsIgnoringCase(settings.api_key_header, "Authorization")),
      ipv6_prefix_(settings.ipv6_prefix),
      client_address_(settings.forwarded, std::move(trusted)) {}

Peer Identifier::PeerFrom(std::string_view text) const {
  if (text == kUnixPeer) return PeerAccess::Make(std::nullopt, /*trusted=*/true);
  const std::optional<IpAddress> address = ParseEndpoint(text);
  return PeerAccess::Make(address, address && client_address_.Trusts(*address));
}

RawIdentity Identifier::Identify(const Peer& peer, std::span<const HeaderField> headers) const {
  RawIdentity identity;
  if (peer.trusted()) {
    identity.Add(IdentityKind::kPrincipal, std::string(AgreedValue(headers, principal_header_)));
    const std::string_view key = AgreedValue(headers, api_key_header_);
    identity.Add(IdentityKind::kApiKey,
                 std::string(api_key_is_bearer_token_ ? BearerToken(key) : key));
  }
  if (const std::optional<IpAddress> address = client_address_.Find(peer, headers)) {
    identity.Add(IdentityKind::kClientIp, CanonicalBytes(*address, ipv6_prefix_));
  }
  return identity;
}

std::expected<RawIdentity, std::string> Identifier::IdentityFrom(IdentityKind kind,
                                                                 std::string_view value) const {
  RawIdentity identity;
  if (kind == IdentityKind::kAnonymous) {
    if (!value.empty()) return std::unexpected("an anonymous client has no value");
    return identity;
  }
  if (value.empty()) return std::unexpected("the value is empty");
  if (value.size() > kMaximumValueBytes) {
    return std::unexpected("the value is longer than " + std::to_string(kMaximumValueBytes) +
                           " bytes");
  }
  if (kind == IdentityKind::kClientIp) {
    const std::optional<IpAddress> address = ParseAddress(value);
    if (!address) return std::unexpected("the value is neither an IPv4 nor an IPv6 address");
    identity.Add(kind, CanonicalBytes(*address, ipv6_prefix_));
  } else {
    identity.Add(kind, std::string(value));
  }
  return identity;
}

}  // namespace sluice::identity
