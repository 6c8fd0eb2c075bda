// The algorithms as traces: what happens call by call. Each trace is a fault that users of rate
// limiters have met; its comment says what went wrong there.
#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "src/limiter/decision.h"
#include "testing/harness.h"

namespace sluice::limiter {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kStart = 1'767'225'600'000;  // 2026-01-01T00:00:00Z, an edge of every window

// One counter and nothing else: Decide over a stored state, as every engine does it.
class Counter {
 public:
  explicit Counter(Algorithm algorithm)
      : plan_(testing::PlanOf({{.id = "p", .algorithm = algorithm}})) {}

  LimitAnswer Call(std::int64_t at, std::int64_t cost = 1) {
    const State* stored = state_ ? &*state_ : nullptr;
    State next;
    const Evaluated evaluated =
        Decide(plan_, std::span(&stored, 1), cost, kStart + at, std::span(&next, 1));
    if (evaluated.allowed) state_ = next;
    return evaluated.limits[0];
  }
  int AllowedAmong(std::int64_t first, std::int64_t last, std::int64_t step) {
    int allowed = 0;
    for (std::int64_t at = first; at <= last; at += step) allowed += Call(at).allowed;
    return allowed;
  }
  [[nodiscard]] const std::optional<State>& state() const { return state_; }

 private:
  Plan plan_;
  std::optional<State> state_;
};

TEST(FixedWindow, ClosesAtItsEdgeHoweverOftenItIsCalled) {
  // A TTL renewed by every call never let the window close.
  Counter counter(FixedWindow{5, 60s});
  std::int64_t remaining = 5;
  for (const std::int64_t at : {0, 10'000, 20'000, 30'000, 59'000}) {
    EXPECT_EQ(counter.Call(at).remaining, --remaining);
  }
  const LimitAnswer denied = counter.Call(59'500);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.retry_after, 500ms);
  const LimitAnswer next = counter.Call(60'000);
  EXPECT_TRUE(next.allowed);
  EXPECT_EQ(next.remaining, 4);
}

TEST(FixedWindow, NeverReportsLessThanNothing) {
  // 3,2,1,0,-1 was reported for a limit of 3.
  Counter counter(FixedWindow{3, 1min});
  for (const std::int64_t remaining : {2, 1, 0, 0, 0})
    EXPECT_EQ(counter.Call(0).remaining, remaining);
}

TEST(FixedWindow, IsAlignedToTheClockNotToTheFirstCall) {
  // At 10:40 a client with 1 an hour is told 20 minutes, not 60.
  Counter counter(FixedWindow{1, 1h});
  ASSERT_TRUE(counter.Call(40 * 60'000).allowed);
  EXPECT_EQ(counter.Call(40 * 60'000).retry_after, 20min);
}

TEST(FixedWindow, LetsTwiceItsLimitPassAcrossAnEdgeAndTheSlidingCounterDoesNot) {
  Counter fixed(FixedWindow{5, 60s});
  Counter sliding(SlidingCounter{5, 60s});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(fixed.Call(59'900).allowed);
    EXPECT_TRUE(sliding.Call(59'900).allowed);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(fixed.Call(60'000).allowed);
    EXPECT_FALSE(sliding.Call(60'000).allowed);
  }
}

TEST(FixedWindow, CountsPastThirtyTwoBits) {
  Counter counter(FixedWindow{3'000'000'000, 31 * 24h});
  EXPECT_EQ(counter.Call(0).remaining, 2'999'999'999);
}

TEST(SlidingCounter, WeighsThePreviousWindow) {
  // remaining was reported from the current window alone; the previous one's index was wrong.
  Counter counter(SlidingCounter{100, 10s});
  ASSERT_TRUE(counter.Call(0, 50).allowed);
  ASSERT_TRUE(counter.Call(11'000, 10).allowed);  // 10 % into the next: 45 weigh in
  EXPECT_EQ(counter.Call(11'000, 46).remaining, 45);
  EXPECT_FALSE(counter.Call(11'000, 46).allowed);
  const LimitAnswer exact = counter.Call(11'000, 45);
  EXPECT_TRUE(exact.allowed);
  EXPECT_EQ(exact.remaining, 0);
}

TEST(SlidingCounter, CutsACountThatItsOwnBoundsWouldNotAllow) {
  // A count from a time of larger limits: the product with the window must stay exact.
  const SlidingCounter policy{100, std::chrono::days{366}};
  const Plan plan = testing::PlanOf({{.id = "p", .algorithm = policy}});
  const State stored{.mark = kStart - kStart % policy.window.count(),
                     .amount = kMaximumAmount,
                     .previous = kMaximumAmount,
                     .written = kStart,
                     .expires = kStart + 10};
  const State* pointer = &stored;
  State next;
  const Evaluated evaluated =
      Decide(plan, std::span(&pointer, 1), 1, kStart + 1, std::span(&next, 1));
  EXPECT_FALSE(evaluated.allowed);
  EXPECT_GT(*evaluated.limits[0].retry_after, 0ms);
  EXPECT_LE(*evaluated.limits[0].retry_after, 2 * policy.window);
}

TEST(TokenBucket, KeepsThePartOfAPeriodThatHasPassed) {
  // A time reset on every admission wrongly denied a tenth of jittered calls.
  Counter counter(TokenBucket{4, 1, 1s});
  ASSERT_TRUE(counter.Call(0, 4).allowed);
  EXPECT_EQ(counter.Call(500).retry_after, 500ms);
  EXPECT_EQ(counter.AllowedAmong(1'000, 10'000, 500), 10);
}

TEST(TokenBucket, RefillsHoweverOftenItIsAsked) {
  // Tokens added per call were truncated to 0 for ever.
  Counter counter(TokenBucket{1, 1, 1s});
  EXPECT_EQ(counter.AllowedAmong(0, 10'000, 1), 11);
}

TEST(TokenBucket, RefillsInPeriodsShorterThanASecond) {
  Counter counter(TokenBucket{1, 1, 100ms});
  EXPECT_EQ(counter.AllowedAmong(0, 1'900, 100), 20);
}

TEST(TokenBucket, NeverHoldsMoreThanItsCapacity) {
  Counter counter(TokenBucket{10, 1, 1s});
  ASSERT_TRUE(counter.Call(0, 5).allowed);
  EXPECT_EQ(counter.Call(100'000).remaining, 9);
}

TEST(TokenBucket, AllowsBurstAndRateAsDocumented) {
  Counter counter(TokenBucket{3, 3, 1s});
  EXPECT_EQ(counter.AllowedAmong(0, 4'900, 100), 15);
}

TEST(TokenBucket, IsNotForgottenBeforeItIsFull) {
  // A TTL computed as a count of periods but used as seconds gave a full bucket after 3 s.
  Counter counter(TokenBucket{3, 1, 15s});
  ASSERT_TRUE(counter.Call(0, 3).allowed);
  EXPECT_EQ(counter.state()->expires, kStart + 45'000 + 1'000);
  EXPECT_FALSE(counter.Call(14'999).allowed);
  EXPECT_TRUE(counter.Call(15'000).allowed);
  EXPECT_EQ(counter.Call(15'001).retry_after, 14'999ms);
}

TEST(TokenBucket, NeedsTheWholeCost) {
  // tokens > 0 was checked where tokens >= cost was meant.
  Counter counter(TokenBucket{5, 1, 1h});
  ASSERT_TRUE(counter.Call(0, 4).allowed);
  const LimitAnswer denied = counter.Call(0, 5);
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.remaining, 1);
  EXPECT_TRUE(counter.Call(0, 1).allowed);
}

TEST(TokenBucket, TheWaitCountsThePartOfAPeriodThatHasPassed) {
  Counter counter(TokenBucket{5, 1, 60s});
  ASSERT_TRUE(counter.Call(0, 5).allowed);
  EXPECT_EQ(counter.Call(59'000).retry_after, 1s);
  EXPECT_TRUE(counter.Call(60'000).allowed);
  EXPECT_EQ(counter.Call(60'001).retry_after, 59'999ms);
}

TEST(TokenBucket, DoesNotOverflowAfterALongAbsence) {
  // periods * refill would leave 64 bits; the bucket is simply full.
  Counter counter(TokenBucket{kMaximumAmount, kMaximumAmount / 2, 1ms});
  ASSERT_TRUE(counter.Call(0, kMaximumAmount).allowed);
  EXPECT_EQ(counter.Call(1'000'000'000'000).remaining, kMaximumAmount - 1);
}

TEST(EveryAlgorithm, ALimitOfZeroDeniesTheFirstCallForEver) {
  for (const Algorithm& algorithm :
       {Algorithm{FixedWindow{0, 1s}}, Algorithm{SlidingCounter{0, 1s}},
        Algorithm{TokenBucket{0, 1, 1s}}}) {
    Counter counter(algorithm);
    const LimitAnswer answer = counter.Call(0);
    EXPECT_FALSE(answer.allowed);
    EXPECT_EQ(answer.retry_after, std::nullopt);
    EXPECT_EQ(answer.remaining, 0);
  }
}

TEST(EveryAlgorithm, DeniedCallsDoNotPutOffTheEnd) {
  // Denials that were counted kept a hammering client out for ever.
  for (const Algorithm& algorithm :
       {Algorithm{FixedWindow{2, 1s}}, Algorithm{SlidingCounter{2, 1s}},
        Algorithm{TokenBucket{2, 1, 1s}}}) {
    Counter counter(algorithm);
    ASSERT_TRUE(counter.Call(100, 2).allowed);
    const auto retry_at = Milliseconds{200} + *counter.Call(200).retry_after;
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(counter.Call(201).allowed);
    EXPECT_EQ(Milliseconds{201} + *counter.Call(201).retry_after, retry_at);
    EXPECT_TRUE(counter.Call(retry_at.count()).allowed);
  }
}

}  // namespace
}  // namespace sluice::limiter
