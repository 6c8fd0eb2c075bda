// One shard of the table: the states of some clients behind one lock, and what goes when there is
// no room.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include <boost/unordered/unordered_flat_map.hpp>

#include "sluice/policy.h"
#include "sluice/subject.h"

#include "src/limiter/algorithm/state.h"
#include "src/limiter/replay.h"
#include "src/memory/page_allocator.h"

namespace sluice::memory {

/// Steady time in ticks of 64 ms, rounded up: four bytes reach eight years.
using Tick = std::uint32_t;
[[nodiscard]] Tick TickOf(SteadyTime time);
[[nodiscard]] Tick TickAfter(SteadyTime time, std::int64_t milliseconds);

/// Which counter: a digest (the client's, or the client's for one operation) with the policy's
/// counter mixed in. The digest is 128 bits that nobody can choose without the key, so the mixture
/// is as unlikely to collide as the digest itself.
struct Key {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
[[nodiscard]] Key KeyOf(const Policy& policy, const Subject& subject);

/// A key is uniform already and needs no further mixing.
struct KeyHash {
  using is_avalanching = void;
  std::size_t operator()(const Key& key) const noexcept { return key.head; }
};

/// One resident state. With its key it fills one cache line, since what an evaluation costs with a
/// million residents is the memory it has to wait for.
struct Entry {
  std::int64_t mark = 0;
  std::int64_t amount = 0;
  std::int64_t previous = 0;
  std::int64_t written = 0;
  Tick keep_until = 0;     ///< from here on the entry is gone, whatever the wall clock says
  Tick denying_until = 0;  ///< until here some request is refused because of this state
  /// The share of the limit that is used, of 65535: what forgetting the state would give away.
  std::uint16_t used_share = 0;
  bool has_ring = false;  ///< its records are in the shard's `rings`

  [[nodiscard]] bool Gone(Tick now) const { return keep_until <= now; }
  /// The state, its expiry computed by the policy as it is now.
  [[nodiscard]] limiter::State Load(const Policy& policy) const;
  void Store(const limiter::State& state);
};
static_assert(sizeof(Key) + sizeof(Entry) == 64);

/// What happened to entries of a shard, for the engine's totals.
struct Removed {
  std::int64_t expired = 0;
  std::int64_t evicted = 0;
};

/// Not thread safe by itself: lock `mutex` around every use.
class Shard {
 public:
  std::mutex mutex;

  /// The entry, or null if there is none; one that is gone is removed and counted in `removed`.
  /// Valid until the next Insert.
  [[nodiscard]] Entry* Find(const Key& key, Tick now, Removed& removed);

  /// A new entry for a key that has none.
  Entry& Insert(const Key& key) { return entries_[key]; }

  /// The records of an entry, null if it has none.
  [[nodiscard]] const limiter::ReplayRing* RingOf(const Key& key, const Entry& entry) const;
  /// The records of an entry, to add one.
  limiter::ReplayRing& MakeRing(const Key& key, Entry& entry);

  /// Gives up the entry that loses least among a sample, moving on through the shard until one is
  /// found. Never one that is denying at `now` (unless it is gone), never one of `spared`.
  /// If nothing can go, `next_chance` is lowered to the tick at which something may.
  [[nodiscard]] Removed EvictOne(Tick now, std::span<const Key> spared, Tick& next_chance);

  /// How many entries one of `calls` sweeps has to look at, so that together they see all of them.
  [[nodiscard]] std::size_t SweepShare(std::size_t calls);
  /// Removes those of the next `count` entries that are gone, moving on with each call.
  [[nodiscard]] Removed Sweep(Tick now, std::size_t count);

  [[nodiscard]] std::int64_t records() const;

 private:
  using Entries = boost::unordered_flat_map<Key, Entry, KeyHash, std::equal_to<Key>,
                                            PageAllocator<std::pair<const Key, Entry>>>;

  // Where a walk goes on: at the entry of `hand`, or at the beginning if that is gone.
  [[nodiscard]] Entries::iterator At(const Key& hand);
  void Remember(Key& hand, Entries::iterator at) const;
  void Erase(Entries::iterator at);

  Entries entries_;
  boost::unordered_flat_map<Key, limiter::ReplayRing, KeyHash> rings_;
  Key eviction_hand_;
  Key sweep_hand_;
  std::size_t sweep_size_ = 0;  ///< the entries there were when this round of sweeps began
};

}  // namespace sluice::memory
