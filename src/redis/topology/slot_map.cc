#include "src/redis/topology/slot_map.h"

#include <algorithm>

namespace sluice::redis {

SlotMap::SlotMap(const Address& only) : SlotMap() {
  Assign(0, kSlots - 1, only);
}

SlotMap::Index SlotMap::IndexOf(const Address& primary) {
  const auto found = std::ranges::find(primaries_, primary);
  const auto index = static_cast<Index>(found - primaries_.begin());
  if (found == primaries_.end()) primaries_.push_back(primary);
  return index;
}

void SlotMap::Assign(Slot first, Slot last, const Address& primary) {
  const auto begin = owners_.begin() + first;
  const auto end = owners_.begin() + last + 1;
  unserved_ -= static_cast<std::size_t>(std::count(begin, end, kNobody));
  std::fill(begin, end, IndexOf(primary));
}

void SlotMap::AddReplica(const Address& replica) {
  if (std::ranges::find(replicas_, replica) == replicas_.end()) replicas_.push_back(replica);
}

void SlotMap::FillGaps(const SlotMap& older) {
  for (Slot slot = 0; slot < kSlots && unserved_ != 0; ++slot) {
    if (owners_[slot] != kNobody) continue;
    if (const Address* owner = older.PrimaryOf(slot)) Assign(slot, slot, *owner);
  }
}

const Address* SlotMap::PrimaryOf(Slot slot) const {
  const Index owner = owners_[slot];
  return owner == kNobody ? nullptr : &primaries_[owner];
}

bool SlotMap::HasSlots(std::string_view address) const {
  for (std::size_t i = 0; i < primaries_.size(); ++i) {
    if (ToString(primaries_[i]) != address) continue;
    return std::ranges::find(owners_, static_cast<Index>(i)) != owners_.end();
  }
  return false;
}

bool SlotMap::RoutesAs(const SlotMap& other) const {
  if (!std::ranges::is_permutation(primaries_, other.primaries_)) return false;
  for (Slot slot = 0; slot < kSlots; ++slot) {
    const Address* mine = PrimaryOf(slot);
    const Address* theirs = other.PrimaryOf(slot);
    if ((mine == nullptr) != (theirs == nullptr)) return false;
    if (mine != nullptr && *mine != *theirs) return false;
  }
  return true;
}

}  // namespace sluice::redis
