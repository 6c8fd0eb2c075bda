// The embedded engine. Invariants:
//
// - All states of a client are in one shard, so a plan is decided and stored under one lock, all or
//   nothing. No thread ever holds two shard locks.
// - `places_` counts resident entries plus the places that evaluations have taken for entries they
// are
//   about to insert. It never passes max_subjects, and an entry is only inserted into a place taken
//   before. So the bound holds at every instant, whatever the threads do.
// - A denial or a peek changes no state. What an evaluation notes on a denial (`denying_until`)
// only
//   keeps the entry from being given up.
// - Physical expiry is counted on the steady clock: when the machine's clock is set back, states
// that
//   are "from the future" still go after their time, and service returns to normal by itself.
#include "sluice/memory_limiter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <vector>

#include "src/limiter/decision.h"
#include "src/memory/shard.h"

namespace sluice {
namespace {

using limiter::State;
using memory::Entry;
using memory::Key;
using memory::Shard;
using memory::Tick;

// Enough entries a shard that its table is worth large pages; many more shards than workers are not
// needed, since a lock is held for some hundred nanoseconds.
constexpr std::int64_t kEntriesPerShard = 64 * 1024;
constexpr std::int64_t kMaximumShards = 4096;

// How many entries a sweep looks at before it lets evaluations in again: some ten microseconds.
constexpr std::size_t kSweepSlice = 2048;

// A full table changes under an evaluation's feet only when other threads evict what it had found;
// after this many tries it is answered admission-rejected.
constexpr int kTries = 4;

std::size_t ShardCount(std::int64_t max_subjects) {
  return std::bit_ceil(static_cast<std::size_t>(
      std::clamp<std::int64_t>(max_subjects / kEntriesPerShard, 1, kMaximumShards)));
}

// The entries of one plan and subject, found under the shard's lock.
struct Found {
  std::array<Key, Plan::kMaximumPolicies> keys;
  std::array<Entry*, Plan::kMaximumPolicies> entries{};
  std::array<State, Plan::kMaximumPolicies> loaded;
  std::array<const State*, Plan::kMaximumPolicies> states{};
  std::int64_t missing = 0;
};

std::uint16_t UsedShare(const LimitAnswer& answer) {
  if (answer.limit == 0) return 0;
  const double share =
      static_cast<double>(answer.limit - answer.remaining) / static_cast<double>(answer.limit);
  return static_cast<std::uint16_t>(share * std::numeric_limits<std::uint16_t>::max());
}

class ShardedLimiter final : public MemoryLimiter {
 public:
  explicit ShardedLimiter(const MemoryOptions& options)
      : options_(options), shards_(ShardCount(options.max_subjects)) {}

  void Evaluate(const Evaluation& evaluation, Completion completion) override {
    completion(Answer(evaluation));
  }

  void Sweep(SteadyTime now) override {
    const Tick tick = memory::TickOf(now);
    for (Shard& shard : shards_) {
      std::size_t left = 0;
      do {
        const std::lock_guard lock(shard.mutex);
        if (left == 0) left = shard.SweepShare(kSweepCalls);
        const std::size_t slice = std::min(left, kSweepSlice);
        Count(shard.Sweep(tick, slice));
        left -= slice;
      } while (left > 0);
    }
  }

  [[nodiscard]] MemoryStatistics Statistics() const override {
    MemoryStatistics statistics{
        .resident = places_, .expired = expired_, .evicted = evicted_, .rejected = rejected_};
    for (Shard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      statistics.records += shard.records();
    }
    return statistics;
  }

 private:
  static constexpr std::size_t kSweepCalls = 10;

  Outcome Answer(const Evaluation& evaluation) {
    const Plan& plan = *evaluation.plan;
    if (auto refusal = limiter::Refusal(plan, evaluation.cost)) return *std::move(refusal);
    if (evaluation.deadline <= evaluation.now.steady) {
      return Unavailable{Unavailable::Category::kAdmissionRejected,
                         "the deadline was over before the evaluation began"};
    }
    const std::size_t index = ShardIndex(evaluation.subject);
    std::int64_t wanted = 0;
    for (int tries = 0; tries < kTries; ++tries) {
      if (wanted > 0 && !TakePlaces(wanted, index, evaluation)) break;
      std::int64_t taken = wanted;
      std::optional<Outcome> outcome = Try(shards_[index], evaluation, taken, wanted);
      places_.fetch_sub(taken, std::memory_order_relaxed);  // what the try did not use
      if (outcome) return *std::move(outcome);
    }
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return Unavailable{Unavailable::Category::kAdmissionRejected,
                       "the memory engine is full and holds no state that can go"};
  }

  // One pass under the shard's lock. None if entries must be inserted and `taken` places are too
  // few: then nothing has changed and `wanted` says how many it takes. `taken` is lowered by what
  // was used.
  std::optional<Outcome> Try(Shard& shard, const Evaluation& evaluation, std::int64_t& taken,
                             std::int64_t& wanted) {
    const Plan& plan = *evaluation.plan;
    const std::size_t count = plan.policies().size();
    const Tick tick = memory::TickOf(evaluation.now.steady);
    const std::lock_guard lock(shard.mutex);

    Found found;
    memory::Removed removed;
    for (std::size_t i = 0; i < count; ++i) {
      found.keys[i] = memory::KeyOf(plan.policies()[i], evaluation.subject);
      found.entries[i] = shard.Find(found.keys[i], tick, removed);
      if (found.entries[i] == nullptr) {
        ++found.missing;
      } else {
        found.loaded[i] = found.entries[i]->Load(plan.policies()[i]);
        found.states[i] = &found.loaded[i];
      }
    }
    if (removed.expired > 0) Count(removed);

    const std::span<const State* const> states(found.states.data(), count);
    const auto now =
        limiter::PlanTime(plan, states, evaluation.now.wall.time_since_epoch().count());
    if (!now) {
      return Unavailable{Unavailable::Category::kClockUnsafe,
                         "the caller's clock is behind the stored state by more than the policy's "
                         "maximum_clock_regression"};
    }

    const bool repeatable = plan.dedup().enabled && evaluation.id.is_from_caller();
    if (repeatable && found.entries[0] != nullptr) {
      const auto* ring = shard.RingOf(found.keys[0], *found.entries[0]);
      const auto* record =
          ring != nullptr ? ring->Find(plan, evaluation.id.ToString(), *now) : nullptr;
      if (record != nullptr) {
        return std::visit([](auto answer) -> Outcome { return answer; },
                          limiter::Replay(plan, *record, evaluation.cost));
      }
    }

    std::array<State, Plan::kMaximumPolicies> next;
    Evaluated evaluated =
        limiter::Decide(plan, states, evaluation.cost, *now, std::span(next.data(), count));
    if (!evaluated.allowed) {
      NoteDenial(found, evaluated, evaluation.now.steady);
      return evaluated;
    }
    if (evaluation.mode == Mode::kPeek) return evaluated;

    if (found.missing > taken && !TakeFreePlaces(found.missing - taken)) {
      wanted = found.missing;
      return std::nullopt;
    }
    taken = std::max<std::int64_t>(0, taken - found.missing);
    Store(shard, evaluation, found, next, *now, evaluated, repeatable);
    return evaluated;
  }

  void Store(Shard& shard, const Evaluation& evaluation, const Found& found,
             std::span<const State> next, std::int64_t now, const Evaluated& evaluated,
             bool repeatable) {
    const auto policies = evaluation.plan->policies();
    const SteadyTime steady = evaluation.now.steady;
    const std::int64_t caller_now = evaluation.now.wall.time_since_epoch().count();
    // Entries that exist first: an insertion may move them.
    for (const bool existing : {true, false}) {
      for (std::size_t i = 0; i < policies.size(); ++i) {
        if ((found.entries[i] != nullptr) != existing) continue;
        Entry* entry = existing ? found.entries[i] : &shard.Insert(found.keys[i]);
        entry->Store(next[i]);
        std::int64_t keep = next[i].expires;
        if (i == 0 && repeatable) {
          shard.MakeRing(found.keys[i], *entry)
              .Add(*evaluation.plan, {.plan_hash = evaluation.plan->hash(),
                                      .id = evaluation.id.ToString(),
                                      .recorded_at = now,
                                      .cost = evaluation.cost,
                                      .answer = evaluated});
        }
        if (const auto* ring = shard.RingOf(found.keys[i], *entry)) {
          keep = std::max(keep, ring->expires());
        }
        keep += policies[i].maximum_clock_regression().count() - caller_now;
        entry->keep_until = memory::TickAfter(steady, std::max(keep, options_.minimum_ttl.count()));
        entry->used_share = UsedShare(evaluated.limits[i]);
        const std::int64_t denying =
            evaluated.limits[i].remaining > 0 ? 0 : limiter::DenyingFor(policies[i], next[i], now);
        entry->denying_until = denying == 0 ? 0 : memory::TickAfter(steady, denying);
        if (denying == 0) full_until_.store(0, std::memory_order_relaxed);
      }
    }
  }

  // A refusal of a larger cost protects the state as well: it denies somebody at this moment.
  static void NoteDenial(const Found& found, const Evaluated& evaluated, SteadyTime steady) {
    for (std::size_t i = 0; i < evaluated.limits.size(); ++i) {
      const LimitAnswer& answer = evaluated.limits[i];
      if (answer.allowed || found.entries[i] == nullptr || !answer.retry_after) continue;
      Tick& until = found.entries[i]->denying_until;
      until = std::max(until, memory::TickAfter(steady, answer.retry_after->count()));
    }
  }

  // Takes `count` places if so many are free.
  bool TakeFreePlaces(std::int64_t count) {
    std::int64_t places = places_.load(std::memory_order_relaxed);
    do {
      if (places + count > options_.max_subjects) return false;
    } while (!places_.compare_exchange_weak(places, places + count, std::memory_order_relaxed));
    return true;
  }

  // Takes `count` places, giving up other states for them. Called without a lock.
  bool TakePlaces(std::int64_t count, std::size_t first, const Evaluation& evaluation) {
    if (count > options_.max_subjects) return false;
    const Tick now = memory::TickOf(evaluation.now.steady);
    std::array<Key, Plan::kMaximumPolicies> keys;
    const auto policies = evaluation.plan->policies();
    std::ranges::transform(policies, keys.begin(), [&](const Policy& policy) {
      return memory::KeyOf(policy, evaluation.subject);
    });
    const std::span<const Key> spared(keys.data(), policies.size());
    while (!TakeFreePlaces(count)) {
      if (!EvictSomewhere(first, now, spared)) return false;
    }
    return true;
  }

  // Looks in every shard before it says that nothing can go, and remembers until when that holds:
  // a full table of denials must not cost a walk a request.
  bool EvictSomewhere(std::size_t first, Tick now, std::span<const Key> spared) {
    if (full_until_.load(std::memory_order_relaxed) > now) return false;
    Tick next_chance = std::numeric_limits<Tick>::max();
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      Shard& shard = shards_[(first + i) % shards_.size()];
      const std::lock_guard lock(shard.mutex);
      const memory::Removed removed = shard.EvictOne(now, spared, next_chance);
      Count(removed);
      if (removed.expired + removed.evicted > 0) return true;
    }
    // The spared entries are this evaluation's own: another one may give them up.
    const bool only_denials = spared.size() < 2;
    if (only_denials) full_until_.store(next_chance, std::memory_order_relaxed);
    return false;
  }

  void Count(const memory::Removed& removed) {
    places_.fetch_sub(removed.expired + removed.evicted, std::memory_order_relaxed);
    expired_.fetch_add(removed.expired, std::memory_order_relaxed);
    evicted_.fetch_add(removed.evicted, std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t ShardIndex(const Subject& subject) const {
    // Other bits of the digest than the table inside the shard starts from.
    return (subject.client.bytes[14] << 8 | subject.client.bytes[15]) & (shards_.size() - 1);
  }

  const MemoryOptions options_;
  mutable std::vector<Shard> shards_;
  std::atomic<std::int64_t> places_{0};
  std::atomic<Tick> full_until_{0};
  std::atomic<std::int64_t> expired_{0};
  std::atomic<std::int64_t> evicted_{0};
  std::atomic<std::int64_t> rejected_{0};
};

}  // namespace

std::unique_ptr<MemoryLimiter> MakeMemoryLimiter(const MemoryOptions& options) {
  return std::make_unique<ShardedLimiter>(options);
}

}  // namespace sluice
