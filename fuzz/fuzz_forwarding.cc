// Peers, networks and forwarding headers as anybody may send them.
//
// An input is lines: the peer, a trusted network, then header lines "Name: value".
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>

#include "src/identity/client_address.h"
#include "src/identity/identify.h"
#include "src/identity/peer.h"

namespace {

using sluice::Forwarded;
using sluice::HeaderField;
using sluice::Peer;
using sluice::PeerAccess;
using sluice::identity::ClientAddressFinder;
using sluice::identity::IpAddress;
using sluice::identity::Network;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// What is read as an address is one: the system prints it and it is read back.
void CheckAddress(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  const bool is_v6 = address.family == IpAddress::Family::kV6;
  Require(inet_ntop(is_v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof(text)) !=
          nullptr);
  Require(sluice::identity::ParseAddress(text) == address);
  const std::string canonical = sluice::identity::CanonicalBytes(address, 64);
  Require(canonical.size() == (is_v6 ? 10u : 6u));
}

void CheckWalk(Forwarded forwarded, const std::vector<Network>& trusted, const Peer& peer,
               const std::vector<HeaderField>& headers) {
  const ClientAddressFinder finder(forwarded, trusted);
  const auto client = finder.Find(peer, headers);
  const auto own = PeerAccess::AddressOf(peer);
  Require(client || !own);                   // a client with an address never loses it
  Require(peer.trusted() || client == own);  // strangers speak for themselves
  if (client) CheckAddress(*client);

  // Once the walk has reached an untrusted client, nothing that this client may have sent further
  // left matters: here any header's value, as a line of its own or in the line that a proxy
  // appended to.
  if (!peer.trusted() || !client || finder.Trusts(*client)) return;
  for (const HeaderField& sent : headers) {
    std::vector<HeaderField> longer = headers;
    const std::string appended_to =
        std::string(sent.value) + ',' + std::string(headers.front().value);
    longer.front().value = appended_to;
    for (const std::string_view name : {"Forwarded", "X-Forwarded-For"}) {
      longer.insert(longer.begin(), {name, sent.value});
    }
    Require(finder.Find(peer, longer) == client);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view peer_text = TakeLine(rest);
  const std::string_view network_text = TakeLine(rest);
  std::vector<HeaderField> headers;
  while (!rest.empty() && headers.size() < 16) {
    const std::string_view line = TakeLine(rest);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    headers.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }

  sluice::IdentitySettings settings;
  settings.trusted_proxies = {"10.0.0.0/8", "fd00::/8"};
  std::vector<Network> trusted;
  for (const std::string& text : settings.trusted_proxies) {
    trusted.push_back(sluice::identity::ParseNetwork(text).value());
  }
  const auto network = sluice::identity::ParseNetwork(network_text);
  Require(network.has_value() == !sluice::CheckNetwork(network_text).has_value());
  if (network) {
    Require(network->Contains(network->base));
    trusted.push_back(*network);
    settings.trusted_proxies.emplace_back(network_text);
  }

  const auto identifier = sluice::identity::Identifier::Create(settings).value();
  const Peer peer = identifier.PeerFrom(peer_text);
  for (const Forwarded forwarded :
       {Forwarded::kXForwardedFor, Forwarded::kForwarded, Forwarded::kNone}) {
    CheckWalk(forwarded, trusted, peer, headers);
  }

  const auto identity = identifier.Identify(peer, headers);
  Require(peer.trusted() || !identity.Has(sluice::IdentityKind::kPrincipal));
  const auto named = identifier.IdentityFrom(sluice::IdentityKind::kClientIp, peer_text);
  Require(named.has_value() == sluice::identity::ParseAddress(peer_text).has_value());
  return 0;
}
