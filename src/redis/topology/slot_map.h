// Who serves which hash slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/redis/address.h"
#include "src/redis/topology/slot.h"

namespace sluice::redis {

/// A plain value. A server without cluster mode serves all slots.
class SlotMap {
 public:
  SlotMap() : owners_(kSlots, kNobody) {}
  /// All slots are this server's.
  explicit SlotMap(const Address& only);

  /// Makes `primary` the owner of the slots `first` to `last`, both included.
  void Assign(Slot first, Slot last, const Address& primary);
  /// Adds a primary that has no slots yet.
  void AddPrimary(const Address& primary) { (void)IndexOf(primary); }
  /// Adds a server that has no slots and never will as long as it is a replica.
  void AddReplica(const Address& replica);

  /// Gives the slots that nobody serves to those whom `older` names for them.
  void FillGaps(const SlotMap& older);

  /// Null if nobody serves it. Good until the next Assign or AddPrimary.
  [[nodiscard]] const Address* PrimaryOf(Slot slot) const;
  /// The slots that nobody serves.
  [[nodiscard]] std::size_t Unserved() const { return unserved_; }
  [[nodiscard]] bool IsEmpty() const { return unserved_ == kSlots; }
  /// Whether the primary at this address, as ToString spells it, serves a slot.
  [[nodiscard]] bool HasSlots(std::string_view address) const;

  [[nodiscard]] const std::vector<Address>& primaries() const { return primaries_; }
  [[nodiscard]] const std::vector<Address>& replicas() const { return replicas_; }

  /// Whether both send each slot to the same server, and know the same primaries.
  [[nodiscard]] bool RoutesAs(const SlotMap& other) const;

 private:
  using Index = std::uint16_t;
  static constexpr Index kNobody = 0xFFFF;

  Index IndexOf(const Address& primary);

  std::vector<Index> owners_;  // one a slot, into primaries_
  std::size_t unserved_ = kSlots;
  std::vector<Address> primaries_;
  std::vector<Address> replicas_;
};

}  // namespace sluice::redis
