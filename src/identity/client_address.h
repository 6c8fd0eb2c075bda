// Which address a request came from, given who handed it over and what the proxies say.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/edge.h"

#include "src/identity/ip_address.h"

namespace sluice::identity {

/// Walks the configured forwarding field from its right end, where the nearest proxy wrote, over
/// trusted hops; the first address that is not trusted is the client's.
///
/// - Only a trusted peer's field is read, and only the configured one of X-Forwarded-For and
/// Forwarded.
/// - All lines of the field are joined in order.
/// - A malformed hop stops the walk: the client is the last vouched address, that of the trusted
/// hop
///   which named the malformed one. Empty list elements and hops that name no address ("unknown",
///   "_hidden", "unix:") are malformed too: a proxy that could not name its client must not lend
///   its trust to whatever that client wrote further left.
/// - If every hop is trusted, the left-most is the client.
/// - A unix socket's peer is trusted and has no address: nothing usable in the field, no address.
///
/// The walk reads no further than the hop it stops at: what a client puts before it costs nothing,
/// even if it is thousands of hops. Over trusted hops it is linear in the field's bytes (which
/// transports bound) times the number of trusted networks. It does not allocate.
///
/// Thread safety: may be shared between threads.
class ClientAddressFinder {
 public:
  ClientAddressFinder(Forwarded forwarded, std::vector<Network> trusted);

  [[nodiscard]] bool Trusts(const IpAddress& address) const;

  [[nodiscard]] std::optional<IpAddress> Find(const Peer& peer,
                                              std::span<const HeaderField> headers) const;

 private:
  Forwarded forwarded_;
  std::vector<Network> trusted_;
};

}  // namespace sluice::identity
