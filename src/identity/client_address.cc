#include "src/identity/client_address.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "src/identity/ascii.h"
#include "src/identity/forwarded.h"
#include "src/identity/peer.h"

namespace sluice::identity {
namespace {

// The address of a line's last X-Forwarded-For hop, which is removed from it.
std::optional<IpAddress> TakeForwardedForHop(std::optional<std::string_view>& line) {
  const std::string_view all = *line;
  const std::size_t comma = all.rfind(',');
  if (comma == std::string_view::npos) {
    line.reset();
    return ParseEndpoint(Trim(all));
  }
  line = all.substr(0, comma);
  return ParseEndpoint(Trim(all.substr(comma + 1)));
}

std::optional<IpAddress> TakeForwardedHop(std::optional<std::string_view>& line) {
  return AddressOfElement(TakeLastElement(line));
}

}  // namespace

ClientAddressFinder::ClientAddressFinder(Forwarded forwarded, std::vector<Network> trusted)
    : forwarded_(forwarded), trusted_(std::move(trusted)) {}

bool ClientAddressFinder::Trusts(const IpAddress& address) const {
  return std::ranges::any_of(trusted_,
                             [&](const Network& network) { return network.Contains(address); });
}

std::optional<IpAddress> ClientAddressFinder::Find(const Peer& peer,
                                                   std::span<const HeaderField> headers) const {
  std::optional<IpAddress> reached = PeerAccess::AddressOf(peer);
  if (!peer.trusted() || forwarded_ == Forwarded::kNone) return reached;

  const bool is_rfc7239 = forwarded_ == Forwarded::kForwarded;
  const std::string_view name = is_rfc7239 ? "Forwarded" : "X-Forwarded-For";
  const auto take_hop = is_rfc7239 ? &TakeForwardedHop : &TakeForwardedForHop;
  for (const HeaderField& field : headers | std::views::reverse) {
    if (!EqualsIgnoringCase(field.name, name)) continue;
    for (std::optional<std::string_view> line = field.value; line;) {
      const std::optional<IpAddress> hop = take_hop(line);
      if (!hop) return reached;
      reached = hop;
      if (!Trusts(*hop)) return reached;
    }
  }
  return reached;
}

}  // namespace sluice::identity
