// Makes and reads peers; nothing else can.
#pragma once

#include <optional>

#include "sluice/raw_identity.h"

#include "src/identity/ip_address.h"

namespace sluice {

struct PeerAccess {
  /// `address` is missing for a unix socket's peer and for one that cannot be named.
  [[nodiscard]] static Peer Make(const std::optional<identity::IpAddress>& address, bool trusted) {
    Peer peer;
    peer.trusted_ = trusted;
    if (address) {
      peer.family_ = static_cast<std::uint8_t>(address->family);
      peer.address_ = address->bytes;
    }
    return peer;
  }

  [[nodiscard]] static std::optional<identity::IpAddress> AddressOf(const Peer& peer) {
    if (peer.family_ == 0) return std::nullopt;
    return identity::IpAddress{static_cast<identity::IpAddress::Family>(peer.family_),
                               peer.address_};
  }
};

}  // namespace sluice
