// The engine in this process: exact under threads, bounded, nothing to install.
#pragma once

#include <cstdint>
#include <memory>

#include "sluice/limiter.h"

namespace sluice {

struct MemoryOptions {
  /// How many (subject, policy) states are held at most; never exceeded. 1 .. 2^32 - 2.
  /// A resident state takes under 200 bytes; memory is taken as states arrive.
  std::int64_t max_subjects = 1'000'000;
  /// How long a state is kept at least, counted on the steady clock. Zero outside of tests: with a
  /// manual clock a state's own expiry does not follow the evaluations' `now`.
  Milliseconds minimum_ttl{0};
};

/// What the engine holds and what it gave up, counted since it was made.
struct MemoryStatistics {
  std::int64_t resident = 0;  ///< states held now, with those about to be stored
  std::int64_t expired = 0;   ///< states that ran out and were removed
  std::int64_t evicted = 0;   ///< live states given up to make room
  std::int64_t rejected = 0;  ///< evaluations answered admission-rejected because nothing could go
  std::int64_t records = 0;   ///< dedup records held now
};

/// A Limiter over a sharded table in this process.
///
/// Thread safety: everything may be called from any thread. `Evaluate` completes before it returns.
/// An evaluation locks one shard, and all states of a client live in one shard.
class MemoryLimiter : public Limiter {
 public:
  /// Removes what has expired by `now`, a bounded part of the table a call, so that state goes away
  /// without traffic to its key. Call it every 100 ms or so; ten calls see all states
  /// that were there before.
  virtual void Sweep(SteadyTime now) = 0;

  [[nodiscard]] virtual MemoryStatistics Statistics() const = 0;
};

[[nodiscard]] std::unique_ptr<MemoryLimiter> MakeMemoryLimiter(const MemoryOptions& options);

}  // namespace sluice
