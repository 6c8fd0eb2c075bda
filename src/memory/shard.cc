#include "src/memory/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

#include "src/limiter/decision.h"

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
  return std::tuple(!entry.Gone(now), entry.has_ring, entry.used_share, entry.keep_until);
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
  Key key;
  std::memcpy(&key.head, digest.bytes.data(), sizeof key.head);
  std::memcpy(&key.tail, digest.bytes.data() + sizeof key.head, sizeof key.tail);
  key.head ^= policy.counter_hash();
  key.tail ^= std::rotl(policy.counter_hash(), 32);
  return key;
}

limiter::State Entry::Load(const Policy& policy) const {
  limiter::State state{.mark = mark, .amount = amount, .previous = previous, .written = written};
  state.expires = limiter::ExpiryOf(policy, state);
  return state;
}

void Entry::Store(const limiter::State& state) {
  mark = state.mark;
  amount = state.amount;
  previous = state.previous;
  written = state.written;
}

Entry* Shard::Find(const Key& key, Tick now, Removed& removed) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  if (!found->second.Gone(now)) return &found->second;
  Erase(found);
  ++removed.expired;
  return nullptr;
}

const limiter::ReplayRing* Shard::RingOf(const Key& key, const Entry& entry) const {
  return entry.has_ring ? &rings_.find(key)->second : nullptr;
}

limiter::ReplayRing& Shard::MakeRing(const Key& key, Entry& entry) {
  entry.has_ring = true;
  return rings_[key];
}

Removed Shard::EvictOne(Tick now, std::span<const Key> spared, Tick& next_chance) {
  auto at = At(eviction_hand_);
  auto best = entries_.end();
  int seen = 0;
  for (std::size_t left = entries_.size(); left > 0 && seen < kSample; --left) {
    if (at == entries_.end()) at = entries_.begin();
    const auto candidate = at++;
    const Entry& entry = candidate->second;
    if (std::ranges::find(spared, candidate->first) != spared.end()) continue;
    if (entry.denying_until > now && !entry.Gone(now)) {
      next_chance = std::min({next_chance, entry.denying_until, entry.keep_until});
      continue;
    }
    if (best == entries_.end() || Loss(entry, now) < Loss(best->second, now)) best = candidate;
    ++seen;
  }
  Remember(eviction_hand_, at);
  if (best == entries_.end()) return {};
  const bool gone = best->second.Gone(now);
  Erase(best);
  return gone ? Removed{.expired = 1} : Removed{.evicted = 1};
}

std::size_t Shard::SweepShare(std::size_t calls) {
  if (sweep_hand_ == Key{}) sweep_size_ = entries_.size();
  return (sweep_size_ + calls - 1) / calls;
}

Removed Shard::Sweep(Tick now, std::size_t count) {
  Removed removed;
  auto at = At(sweep_hand_);
  for (; count > 0 && at != entries_.end(); --count) {
    const auto candidate = at++;
    if (!candidate->second.Gone(now)) continue;
    Erase(candidate);
    ++removed.expired;
  }
  Remember(sweep_hand_, at);
  return removed;
}

std::int64_t Shard::records() const {
  std::int64_t records = 0;
  for (const auto& [key, ring] : rings_) records += static_cast<std::int64_t>(ring.size());
  return records;
}

Shard::Entries::iterator Shard::At(const Key& hand) {
  const auto at = entries_.find(hand);
  return at == entries_.end() ? entries_.begin() : at;
}

void Shard::Remember(Key& hand, Entries::iterator at) const {
  hand = at == entries_.end() ? Key{} : at->first;
}

void Shard::Erase(Entries::iterator at) {
  if (at->second.has_ring) rings_.erase(at->first);
  entries_.erase(at);
}

}  // namespace sluice::memory
