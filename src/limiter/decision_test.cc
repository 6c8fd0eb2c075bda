// Several limits in one decision, and the clock that they share.
#include "src/limiter/decision.h"

#include <chrono>

#include <gtest/gtest.h>

#include "testing/harness.h"

namespace sluice::limiter {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kStart = 1'767'225'600'000;

Plan TwoWindows(std::int64_t burst, std::int64_t daily) {
  return testing::PlanOf({{.id = "burst", .algorithm = FixedWindow{burst, 1s}},
                          {.id = "daily", .algorithm = FixedWindow{daily, 24h}}});
}

TEST(Refusal, ComesBeforeAnyStoreIsAsked) {
  const Plan plan = TwoWindows(2, 100);
  EXPECT_EQ(Refusal(plan, 2), std::nullopt);
  // The smallest maximum_cost of the plan counts, whichever policy it belongs to.
  EXPECT_EQ(Refusal(plan, 3)->reason, Incompatible::Reason::kCostExceedsMaximum);
  EXPECT_NE(Refusal(plan, 3)->detail.find("\"burst\""), std::string::npos);
  // A negative cost minted quota; zero was taken for one.
  EXPECT_TRUE(Refusal(plan, 0));
  EXPECT_TRUE(Refusal(plan, -1));
}

TEST(PlanTime, IsTheNewestOfAllStatesWithinTheTolerance) {
  const Plan plan = TwoWindows(2, 100);
  const State older{.written = kStart + 100};
  const State newer{.written = kStart + 500};
  const State* states[] = {&older, &newer};
  EXPECT_EQ(PlanTime(plan, states, kStart + 700), kStart + 700);
  EXPECT_EQ(PlanTime(plan, states, kStart), kStart + 500);
  EXPECT_EQ(PlanTime(plan, states, kStart - 1), std::nullopt);  // 501 ms behind `newer`
  const State* absent[] = {nullptr, nullptr};
  EXPECT_EQ(PlanTime(plan, absent, kStart - 1), kStart - 1);
}

TEST(Decide, ADenialOfOneLimitLeavesTheOthersUncharged) {
  const Plan plan = TwoWindows(1, 100);
  const State spent{.mark = kStart, .amount = 1, .written = kStart, .expires = kStart + 2'000};
  const State used{.mark = kStart, .amount = 40, .written = kStart, .expires = kStart + 90'000'000};
  const State* states[] = {&spent, &used};
  State next[2];
  const Evaluated evaluated = Decide(plan, states, 1, kStart + 10, next);
  EXPECT_FALSE(evaluated.allowed);
  EXPECT_EQ(evaluated.leading, 0u);
  EXPECT_EQ(evaluated.limits[1].remaining, 60);
  EXPECT_TRUE(evaluated.limits[1].allowed);
  EXPECT_EQ(evaluated.limits[1].retry_after, 0ms);
}

TEST(Decide, AStateIsAbsentFromItsExpiryOn) {
  const Plan plan = testing::PlanOf({{.id = "p", .algorithm = TokenBucket{2, 1, 1s}}});
  const State spent{.mark = kStart, .amount = 0, .written = kStart, .expires = kStart + 10};
  const State* states[] = {&spent};
  State next[1];
  EXPECT_FALSE(Decide(plan, states, 1, kStart + 9, next).allowed);
  EXPECT_TRUE(Decide(plan, states, 1, kStart + 10, next).allowed);
}

TEST(Decide, OneSlidingCounterMakesThePlanApproximate) {
  const Plan plan = testing::PlanOf({{.id = "a", .algorithm = FixedWindow{9, 1s}},
                                     {.id = "b", .algorithm = SlidingCounter{9, 1s}}});
  const State* states[] = {nullptr, nullptr};
  State next[2];
  EXPECT_EQ(Decide(plan, states, 1, kStart, next).certainty, Certainty::kApproximateAlgorithm);
}

LimitAnswer Allowed(std::int64_t remaining, std::int64_t limit, Milliseconds reset) {
  return {.policy = {},
          .allowed = true,
          .limit = limit,
          .remaining = remaining,
          .reset_after = reset,
          .retry_after = 0ms};
}
LimitAnswer Denied(std::optional<Milliseconds> retry) {
  return {.policy = {},
          .allowed = false,
          .limit = 1,
          .remaining = 0,
          .reset_after = 0ms,
          .retry_after = retry};
}

TEST(LeadingLimit, FollowsTheRules) {
  struct Row {
    bool allowed;
    std::vector<LimitAnswer> limits;
    std::size_t leading;
  };
  const Row rows[] = {
      // the smallest share, not the smallest number
      {true, {Allowed(4, 5, 1s), Allowed(70, 100, 1s)}, 1},
      // equal shares: the longest reset
      {true, {Allowed(1, 2, 1s), Allowed(50, 100, 2s)}, 1},
      // equal in everything: the order of the plan
      {true, {Allowed(1, 2, 1s), Allowed(50, 100, 1s)}, 0},
      // shares whose products leave 64 bits: 2^53 - 3 of 2^53 - 1 is less than 2^53 - 2 of it
      {true,
       {Allowed(kMaximumAmount - 1, kMaximumAmount, 1s),
        Allowed(kMaximumAmount - 2, kMaximumAmount, 1s)},
       1},
      // the longest wait
      {false, {Denied(1s), Denied(2s)}, 1},
      // one that never passes before any wait
      {false, {Denied(1h), Denied(std::nullopt)}, 1},
      {false, {Denied(std::nullopt), Denied(1h)}, 0},
      // a limit that allowed never leads a denial
      {false, {Allowed(0, 5, 1h), Denied(1s)}, 1},
      {false, {Denied(1s), Denied(1s)}, 0},
  };
  for (const Row& row : rows) EXPECT_EQ(LeadingLimit(row.allowed, row.limits), row.leading);
}

}  // namespace
}  // namespace sluice::limiter
