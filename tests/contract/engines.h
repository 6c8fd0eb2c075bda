// The engines that the contract suite runs against: one row each.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "sluice/memory_limiter.h"
#include "sluice/redis_limiter.h"

#ifdef SLUICE_REDIS_SERVER
#include "tests/redis/redis_server.h"
#endif

namespace sluice::contract {

/// How the suite gets a fresh store. `physical_ttl` is kept at least, since the suite moves `now`
/// by hand. The engine completes before `Evaluate` returns.
struct Engine {
  const char* name;
  std::unique_ptr<Limiter> (*make)(Milliseconds physical_ttl);
};

inline void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

#ifdef SLUICE_REDIS_SERVER
/// Waits for an engine that completes on a thread of its own, for longer than the suite's deadlines
/// are: how fast a machine is does not count here.
class WaitingLimiter final : public Limiter {
 public:
  explicit WaitingLimiter(std::unique_ptr<Limiter> engine) : engine_(std::move(engine)) {}
  void Evaluate(const Evaluation& evaluation, Completion completion) override {
    Evaluation patient = evaluation;
    patient.deadline = evaluation.now.steady + std::chrono::minutes{1};
    std::promise<Outcome> promise;
    std::future<Outcome> outcome = promise.get_future();
    engine_->Evaluate(patient, [promise = std::move(promise)](Outcome given) mutable {
      promise.set_value(std::move(given));
    });
    completion(outcome.get());
  }

 private:
  std::unique_ptr<Limiter> engine_;
};

/// An engine over the suite's one server, with keys of its own. Throws if there is none.
inline std::unique_ptr<Limiter> MakeOverRedis(Milliseconds physical_ttl) {
  static redis::RedisServer server;
  static int engines = 0;
  auto engine = MakeRedisLimiter({.address = server.address(),
                                  .prefix = "contract-" + std::to_string(++engines),
                                  .command_timeout = std::chrono::minutes{1},
                                  .maximum_clock_skew = std::nullopt,
                                  .minimum_ttl = physical_ttl});
  return std::make_unique<WaitingLimiter>(std::move(engine).value());
}
#endif

inline const Engine kEngines[] = {
    {"memory",
     [](Milliseconds physical_ttl) -> std::unique_ptr<Limiter> {
       return MakeMemoryLimiter({.minimum_ttl = physical_ttl});
     }},
#ifdef SLUICE_REDIS_SERVER
    {"redis", MakeOverRedis},
#endif
};

}  // namespace sluice::contract
