#include "src/memory/shard.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>

namespace sluice::memory {
namespace {

constexpr std::int64_t kTickMilliseconds = 64;

// How many entries an eviction compares before it takes the best of them: enough that the choice is
// among the better half with near certainty, few enough that a flood of new clients stays cheap.
constexpr int kSample = 32;

std::int64_t MillisecondsOf(SteadyTime time) {
  return std::chrono::floor<Milliseconds>(time.time_since_epoch()).count();
}

Tick Saturate(std::int64_t ticks) {
  return static_cast<Tick>(std::clamp<std::int64_t>(ticks, 0, std::numeric_limits<Tick>::max()));
}

// Less is lost first: nothing for an entry that is gone; then the share of a limit that would be
// handed out again; records would be lost on top, so an entry without them goes before one with.
auto Loss(const Entry& entry, Tick now) {
  return std::tuple(!entry.Gone(now), entry.ring != nullptr, entry.used_share, entry.keep_until);
}

}  // namespace

Tick TickOf(SteadyTime time) {
  return Saturate(MillisecondsOf(time) / kTickMilliseconds);
}

Tick TickAfter(SteadyTime time, std::int64_t milliseconds) {
  return Saturate((MillisecondsOf(time) + milliseconds) / kTickMilliseconds + 1);
}

Key KeyOf(const Policy& policy, const Subject& subject) {
  const Digest& digest = policy.scope() == Scope::kOperation ? subject.operation : subject.client;
  Key key{.counter = policy.counter_hash()};
  std::memcpy(&key.digest_head, digest.bytes.data(), sizeof key.digest_head);
  std::memcpy(&key.digest_tail, digest.bytes.data() + 8, sizeof key.digest_tail);
  return key;
}

Entry* Shard::Find(const Key& key, Tick now, Removed& removed) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  if (!found->second.Gone(now)) return &found->second;
  entries_.erase(found);
  ++removed.expired;
  return nullptr;
}

Removed Shard::EvictOne(Tick now, std::span<const Key> spared, Tick& next_chance) {
  auto at = entries_.find(hand_);
  auto best = entries_.end();
  int seen = 0;
  for (std::size_t left = entries_.size(); left > 0; --left) {
    if (at == entries_.end()) at = entries_.begin();
    const auto candidate = at++;
    const Entry& entry = candidate->second;
    if (std::ranges::find(spared, candidate->first) != spared.end()) continue;
    if (entry.denying_until > now && !entry.Gone(now)) {
      next_chance = std::min({next_chance, entry.denying_until, entry.keep_until});
      continue;
    }
    if (best == entries_.end() || Loss(entry, now) < Loss(best->second, now)) best = candidate;
    if (++seen == kSample) break;
  }
  hand_ = at == entries_.end() ? Key{} : at->first;
  if (best == entries_.end()) return {};
  const Removed removed = best->second.Gone(now) ? Removed{.expired = 1} : Removed{.evicted = 1};
  entries_.erase(best);
  return removed;
}

Removed Shard::Sweep(Tick now) {
  const auto gone = [now](const auto& item) { return item.second.Gone(now); };
  return {.expired = static_cast<std::int64_t>(boost::unordered::erase_if(entries_, gone))};
}

std::int64_t Shard::records() const {
  std::int64_t records = 0;
  for (const auto& [key, entry] : entries_) {
    if (entry.ring) records += static_cast<std::int64_t>(entry.ring->size());
  }
  return records;
}

}  // namespace sluice::memory
