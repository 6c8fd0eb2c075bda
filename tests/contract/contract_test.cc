// What every engine must do alike, whatever it stores its counters in.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "testing/harness.h"
#include "testing/subjects.h"
#include "tests/contract/engines.h"

namespace sluice::contract {
namespace {

using namespace std::chrono_literals;
using testing::Ask;
using testing::PlanOf;
using testing::SubjectNumber;

class Contract : public ::testing::TestWithParam<Engine> {
 protected:
  Outcome Evaluate(const Plan& plan, const Ask& ask) {
    return testing::EvaluateNow(*limiter_, plan, ask, clock_);
  }
  Evaluated Decided(const Plan& plan, const Ask& ask) {
    return std::get<Evaluated>(Evaluate(plan, ask));
  }

  testing::ManualClock clock_;
  std::unique_ptr<Limiter> limiter_ = GetParam().make(10min);
};

TEST_P(Contract, RefusesTheSixthOfAMinute) {
  const Plan plan = PlanOf({{.id = "login", .algorithm = FixedWindow{5, 1min}}});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  const Evaluated sixth = Decided(plan, {SubjectNumber(1)});
  EXPECT_FALSE(sixth.allowed);
  EXPECT_EQ(sixth.LeadingLimit().retry_after, 1min);
  clock_.Advance(1min);
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
}

TEST_P(Contract, CountsClientsAndOperationsByTheScopeOfThePolicy) {
  const Plan by_operation = PlanOf({{.id = "a", .algorithm = FixedWindow{1, 1min}}});
  const Plan by_client =
      PlanOf({{.id = "b", .algorithm = FixedWindow{1, 1min}, .scope = Scope::kClient}});
  EXPECT_TRUE(Decided(by_operation, {SubjectNumber(1, 1)}).allowed);
  EXPECT_TRUE(Decided(by_operation, {SubjectNumber(1, 2)}).allowed);
  EXPECT_FALSE(Decided(by_operation, {SubjectNumber(1, 1)}).allowed);
  EXPECT_TRUE(Decided(by_client, {SubjectNumber(1, 1)}).allowed);
  EXPECT_FALSE(Decided(by_client, {SubjectNumber(1, 2)}).allowed);
  EXPECT_TRUE(Decided(by_client, {SubjectNumber(2, 1)}).allowed);
}

TEST_P(Contract, APlanIsAllOrNothing) {
  // Two limit kinds were both incremented where one of them refused.
  const Plan plan = PlanOf({{.id = "burst", .algorithm = FixedWindow{1, 1s}},
                            {.id = "daily", .algorithm = FixedWindow{10, 24h}}});
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(Decided(plan, {SubjectNumber(1)}).allowed);
  clock_.Advance(1s);
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[1].remaining, 8);
}

TEST_P(Contract, PlansShareTheCountersOfAPolicyTheyBothName) {
  const PolicySettings daily{.id = "daily", .algorithm = FixedWindow{10, 24h}};
  const PolicySettings login{.id = "login", .algorithm = FixedWindow{5, 1min}};
  const Plan alone = PlanOf({daily});
  const Plan both = PlanOf({login, daily});
  EXPECT_EQ(Decided(alone, {SubjectNumber(1)}).limits[0].remaining, 9);
  EXPECT_EQ(Decided(both, {SubjectNumber(1)}).limits[1].remaining, 8);
}

TEST_P(Contract, ANewRevisionStartsNewCountersAndANewLimitKeepsThem) {
  PolicySettings settings{.id = "p", .algorithm = FixedWindow{5, 1min}};
  EXPECT_EQ(Decided(PlanOf({settings}), {SubjectNumber(1)}).limits[0].remaining, 4);
  settings.algorithm = FixedWindow{50, 1min};
  EXPECT_EQ(Decided(PlanOf({settings}), {SubjectNumber(1)}).limits[0].remaining, 48);
  settings.revision = 2;
  EXPECT_EQ(Decided(PlanOf({settings}), {SubjectNumber(1)}).limits[0].remaining, 49);
}

TEST_P(Contract, APeekChargesNothing) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{2, 1min}}});
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(Decided(plan, {.subject = SubjectNumber(1), .mode = Mode::kPeek}).limits[0].remaining,
              1);
  }
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].remaining, 1);
}

TEST_P(Contract, ARepeatIsChargedOnceAndAConflictRefused) {
  // A retry of the same logical call was limited again.
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1min}}});
  const Evaluated first = Decided(plan, {.subject = SubjectNumber(1), .cost = 2, .id = "a"});
  clock_.Advance(1ms);
  Evaluated again = Decided(plan, {.subject = SubjectNumber(1), .cost = 2, .id = "a"});
  EXPECT_TRUE(again.replayed);
  again.replayed = false;
  EXPECT_EQ(again, first);
  const Outcome conflict = Evaluate(plan, {.subject = SubjectNumber(1), .cost = 3, .id = "a"});
  EXPECT_EQ(std::get<Incompatible>(conflict).reason, Incompatible::Reason::kEvaluationIdConflict);
  // The id is this subject's alone.
  EXPECT_FALSE(Decided(plan, {.subject = SubjectNumber(2), .cost = 3, .id = "a"}).replayed);
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].remaining, 2);
}

TEST_P(Contract, RefusesACostThatNoPolicyTakes) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1min}}});
  for (const std::int64_t cost :
       {std::int64_t{6}, std::int64_t{0}, std::int64_t{-5}, kMaximumAmount + 1}) {
    const Outcome outcome = Evaluate(plan, {.subject = SubjectNumber(1), .cost = cost});
    EXPECT_EQ(std::get<Incompatible>(outcome).reason, Incompatible::Reason::kCostExceedsMaximum);
  }
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].remaining, 4);
}

TEST_P(Contract, SequentialCallsChargeExactlyTheirNumber) {
  // The first call after a script was loaded was counted twice.
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{1'000, 1min}}});
  for (std::int64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].remaining, 1'000 - i);
  }
}

TEST_P(Contract, TwoHundredParallelCallsAtALimitOfFiftyAllowFifty) {
  const Plan plans[] = {PlanOf({{.id = "a", .algorithm = FixedWindow{50, 1min}}}),
                        PlanOf({{.id = "b", .algorithm = SlidingCounter{50, 1min}}}),
                        PlanOf({{.id = "c", .algorithm = TokenBucket{50, 1, 1min}}})};
  for (const Plan& plan : plans) {
    std::atomic<int> allowed = 0;
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < 8; ++thread) {
        threads.emplace_back([&] {
          for (int i = 0; i < 25; ++i) allowed += IsAllowed(Evaluate(plan, {SubjectNumber(1)}));
        });
      }
    }
    EXPECT_EQ(allowed, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Contract, ::testing::ValuesIn(kEngines),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace sluice::contract
