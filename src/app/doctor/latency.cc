#include "src/app/doctor/latency.h"

#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/app/doctor/asker.h"
#include "src/app/doctor/judgement.h"

namespace sluice::app::doctor {
namespace {

constexpr std::size_t kProbes = 200;

Outcome EvaluateAndWait(Limiter& limiter, const Probe& probe, Milliseconds patience) {
  std::promise<Outcome> promise;
  std::future<Outcome> outcome = promise.get_future();
  const Instant now = SystemClock().Now();
  limiter.Evaluate(probe.Peek(now, now.steady + patience),
                   [promise = std::move(promise)](Outcome given) mutable {
                     promise.set_value(std::move(given));
                   });
  return outcome.get();
}

}  // namespace

Judgement MeasureLatency(const RedisOptions& options, const Probe& probe, Milliseconds budget) {
  RedisOptions one = options;
  one.connections = 1;
  one.maximum_clock_skew.reset();  // another check's
  const auto limiter = MakeRedisLimiter(one);
  if (!limiter) return {Verdict::kFailed, limiter.error(), ""};

  // The first one waits for the connection as well.
  Outcome outcome = EvaluateAndWait(**limiter, probe, 2 * options.command_timeout);
  std::vector<std::chrono::microseconds> took;
  std::size_t slow = 0;
  // With more than one in a hundred slow, the others change nothing.
  while (IsAllowed(outcome) && took.size() < kProbes && slow <= kProbes / 100) {
    const SteadyTime began = SystemClock().Now().steady;
    outcome = EvaluateAndWait(**limiter, probe, budget);
    took.push_back(
        std::chrono::ceil<std::chrono::microseconds>(SystemClock().Now().steady - began));
    if (took.back() * 2 > budget) ++slow;
  }
  if (IsAllowed(outcome)) return JudgeLatency(std::move(took), budget);
  return {Verdict::kFailed,
          fmt::format("probe {} was not decided: {}", took.size(), DetailOf(outcome)),
          "look at the network and at SLOWLOG"};
}

}  // namespace sluice::app::doctor
