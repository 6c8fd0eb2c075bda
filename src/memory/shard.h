// One shard of the table: the states of some clients behind one lock, and what goes when there is
// no room.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include <boost/unordered/unordered_flat_map.hpp>

#include "sluice/policy.h"
#include "sluice/subject.h"

#include "src/limiter/algorithm/state.h"
#include "src/limiter/replay.h"

namespace sluice::memory {

/// Steady time in ticks of 64 ms, rounded up: four bytes reach eight years.
using Tick = std::uint32_t;
[[nodiscard]] Tick TickOf(SteadyTime time);
[[nodiscard]] Tick TickAfter(SteadyTime time, std::int64_t milliseconds);

/// Which counter: a digest (the client's, or the client's for one operation) and the policy's
/// counter.
struct Key {
  std::uint64_t digest_head = 0;
  std::uint64_t digest_tail = 0;
  std::uint64_t counter = 0;
  friend bool operator==(const Key&, const Key&) = default;
};
[[nodiscard]] Key KeyOf(const Policy& policy, const Subject& subject);

/// A digest is keyed and uniform already, so it needs no further mixing.
struct KeyHash {
  using is_avalanching = void;
  std::size_t operator()(const Key& key) const noexcept { return key.digest_head ^ key.counter; }
};

/// One resident state. Its size decides what a subject costs; with the table's load it stays under
/// 200 bytes.
struct Entry {
  limiter::State state{};
  std::unique_ptr<limiter::ReplayRing> ring{};  ///< only where a caller brought an id
  Tick keep_until = 0;     ///< from here on the entry is gone, whatever the wall clock says
  Tick denying_until = 0;  ///< until here some request is refused because of this state
  /// The share of the limit that is used, of 65535: what forgetting the state would give away.
  std::uint16_t used_share = 0;

  [[nodiscard]] bool Gone(Tick now) const { return keep_until <= now; }
};

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

  /// Gives up the entry that loses least among a sample, moving on through the shard until one is
  /// found. Never one that is denying at `now` (unless it is gone), never one of `spared`.
  /// If nothing can go, `next_chance` is lowered to the tick at which something may.
  [[nodiscard]] Removed EvictOne(Tick now, std::span<const Key> spared, Tick& next_chance);

  /// Removes every entry that is gone.
  [[nodiscard]] Removed Sweep(Tick now);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::int64_t records() const;

 private:
  boost::unordered_flat_map<Key, Entry, KeyHash> entries_;
  Key hand_;  ///< where the next eviction starts looking
};

}  // namespace sluice::memory
