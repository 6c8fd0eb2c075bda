// What must hold for every policy and every trace: waits are exact, remaining stays in its bounds,
// and no span admits more than the algorithm promises.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/limiter/decision.h"
#include "testing/harness.h"

namespace sluice::limiter {
namespace {

constexpr std::int64_t kStart = 1'767'225'600'000;

// Small numbers, so that a brute force over every millisecond stays quick and edges are hit often.
Algorithm AnyAlgorithm() {
  const auto limit = *rc::gen::inRange<std::int64_t>(0, 12);
  const Milliseconds window{*rc::gen::inRange<std::int64_t>(1, 120)};
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return FixedWindow{limit, window};
    case 1:
      return SlidingCounter{limit, window};
    default:
      return TokenBucket{limit, *rc::gen::inRange<std::int64_t>(1, 8), window};
  }
}

struct Request {
  std::int64_t at;
  std::int64_t cost;
};

std::vector<Request> AnyTrace(std::int64_t limit) {
  std::vector<Request> trace;
  std::int64_t at = kStart + *rc::gen::inRange<std::int64_t>(0, 200);
  const int length = *rc::gen::inRange(1, 40);
  for (int i = 0; i < length; ++i) {
    at += *rc::gen::inRange<std::int64_t>(0, 60);
    trace.push_back({at, *rc::gen::inRange<std::int64_t>(1, std::max<std::int64_t>(limit, 1) + 1)});
  }
  return trace;
}

class Run {
 public:
  explicit Run(const Algorithm& algorithm)
      : plan_(testing::PlanOf(
            {{.id = "p", .algorithm = algorithm, .cleanup_grace = Milliseconds{0}}})) {}

  LimitAnswer Call(const Request& request) {
    State next;
    const LimitAnswer answer = Decide(request, next);
    if (answer.allowed) state_ = next;
    return answer;
  }
  [[nodiscard]] LimitAnswer Ask(const Request& request) const {
    State unused;
    return Decide(request, unused);
  }
  [[nodiscard]] std::int64_t limit() const { return plan_.policies()[0].limit(); }

 private:
  LimitAnswer Decide(const Request& request, State& next) const {
    const State* stored = state_ ? &*state_ : nullptr;
    return limiter::Decide(plan_, std::span(&stored, 1), request.cost, request.at,
                           std::span(&next, 1))
        .limits[0];
  }

  Plan plan_;
  std::optional<State> state_;
};

RC_GTEST_PROP(EveryAlgorithm, RetryAfterIsTheExactFirstInstant, ()) {
  Run run(AnyAlgorithm());
  for (const Request& request : AnyTrace(run.limit())) {
    const LimitAnswer answer = run.Call(request);
    if (answer.allowed) {
      RC_ASSERT(answer.retry_after == Milliseconds{0});
      continue;
    }
    if (!answer.retry_after) {
      RC_ASSERT(request.cost > run.limit());
      continue;
    }
    const std::int64_t wait = answer.retry_after->count();
    RC_ASSERT(wait > 0);
    for (std::int64_t early = 0; early < wait; ++early) {
      RC_ASSERT(!run.Ask({request.at + early, request.cost}).allowed);
    }
    RC_ASSERT(run.Ask({request.at + wait, request.cost}).allowed);
  }
}

RC_GTEST_PROP(EveryAlgorithm, RemainingStaysWithinTheLimitAndIsWhatPasses, ()) {
  Run run(AnyAlgorithm());
  for (const Request& request : AnyTrace(run.limit())) {
    const LimitAnswer answer = run.Call(request);
    RC_ASSERT(answer.remaining >= 0);
    RC_ASSERT(answer.remaining <= run.limit());
    RC_ASSERT(answer.reset_after >= Milliseconds{0});
    if (answer.remaining > 0) RC_ASSERT(run.Ask({request.at, answer.remaining}).allowed);
    RC_ASSERT(!run.Ask({request.at, answer.remaining + 1}).allowed);
  }
}

RC_GTEST_PROP(EveryAlgorithm, AfterTheResetEverythingIsBackAndNotBefore, ()) {
  Run run(AnyAlgorithm());
  RC_PRE(run.limit() > 0);
  for (const Request& request : AnyTrace(run.limit())) {
    const std::int64_t reset = run.Call(request).reset_after.count();
    RC_ASSERT(run.Ask({request.at + reset, run.limit()}).allowed);
    // A fixed window with nothing in it still reports its end; the others report 0 then.
    if (reset > 0 && run.Ask({request.at, run.limit()}).remaining < run.limit()) {
      RC_ASSERT(!run.Ask({request.at + reset - 1, run.limit()}).allowed);
    }
  }
}

// The most that may pass in any span of `length` milliseconds.
std::int64_t Bound(const Algorithm& algorithm, std::int64_t length) {
  if (const auto* fixed = std::get_if<FixedWindow>(&algorithm)) {
    return fixed->limit * (length / fixed->window.count() + 2);  // windows that a span can touch
  }
  if (const auto* sliding = std::get_if<SlidingCounter>(&algorithm)) {
    return sliding->limit * (length / sliding->window.count() + 2);
  }
  const auto& bucket = std::get<TokenBucket>(algorithm);
  return bucket.capacity + bucket.refill * (length / bucket.period.count() + 1);
}

RC_GTEST_PROP(EveryAlgorithm, NoSpanAdmitsMoreThanTheBound, ()) {
  const Algorithm algorithm = AnyAlgorithm();
  Run run(algorithm);
  std::vector<Request> admitted;
  for (const Request& request : AnyTrace(run.limit())) {
    if (run.Call(request).allowed) admitted.push_back(request);
  }
  for (std::size_t first = 0; first < admitted.size(); ++first) {
    std::int64_t sum = 0;
    for (std::size_t last = first; last < admitted.size(); ++last) {
      sum += admitted[last].cost;
      RC_ASSERT(sum <= Bound(algorithm, admitted[last].at - admitted[first].at));
    }
  }
}

RC_GTEST_PROP(SlidingCounter, NoAlignedWindowAdmitsMoreThanTheLimit, ()) {
  const SlidingCounter algorithm{*rc::gen::inRange<std::int64_t>(1, 12),
                                 Milliseconds{*rc::gen::inRange<std::int64_t>(1, 120)}};
  Run run(algorithm);
  std::map<std::int64_t, std::int64_t> windows;
  for (const Request& request : AnyTrace(run.limit())) {
    if (run.Call(request).allowed) windows[request.at / algorithm.window.count()] += request.cost;
  }
  for (const auto& [window, sum] : windows) RC_ASSERT(sum <= algorithm.limit);
}

RC_GTEST_PROP(EveryAlgorithm, AnExpiredStateSaysNoMoreThanAnAbsentOne, ()) {
  // So that a store may drop it whenever it likes: its own expiry never changes an answer.
  const Algorithm algorithm = AnyAlgorithm();
  Run run(algorithm);
  RC_PRE(run.limit() > 0);
  const Request first{kStart + *rc::gen::inRange<std::int64_t>(0, 200), 1};
  const LimitAnswer charged = run.Call(first);
  const std::int64_t later =
      first.at + charged.reset_after.count() + *rc::gen::inRange<std::int64_t>(0, 300);
  for (std::int64_t cost = 1; cost <= run.limit(); ++cost) {
    RC_ASSERT(run.Ask({later, cost}).allowed);
    RC_ASSERT(run.Ask({later, cost}).remaining == Run(algorithm).Ask({later, cost}).remaining);
  }
}

}  // namespace
}  // namespace sluice::limiter
