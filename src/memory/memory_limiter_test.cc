// What only the embedded engine does; what all engines do alike is in tests/contract.
#include "sluice/memory_limiter.h"

#include <chrono>

#include <gtest/gtest.h>

#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::Ask;
using testing::EvaluateNow;
using testing::ManualClock;
using testing::PlanOf;
using testing::SubjectNumber;

class Engine : public ::testing::Test {
 protected:
  Outcome Evaluate(const Plan& plan, const Ask& ask) {
    return EvaluateNow(*limiter_, plan, ask, clock_);
  }
  Evaluated Decided(const Plan& plan, const Ask& ask) {
    return std::get<Evaluated>(Evaluate(plan, ask));
  }

  ManualClock clock_;
  std::unique_ptr<MemoryLimiter> limiter_ = MakeMemoryLimiter({});
};

TEST_F(Engine, APeekAndADenialWriteNothing) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{2, 1min}}});
  EXPECT_EQ(Decided(plan, {.subject = SubjectNumber(1), .mode = Mode::kPeek}).limits[0].remaining,
            1);
  EXPECT_EQ(limiter_->Statistics().resident, 0);
  EXPECT_FALSE(
      Decided(PlanOf({{.id = "closed", .algorithm = FixedWindow{0, 1s}}}), {SubjectNumber(1)})
          .allowed);
  EXPECT_EQ(limiter_->Statistics().resident, 0);
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].remaining, 1);
}

TEST_F(Engine, ARecordOutlivesTheStateItWasChargedTo) {
  // The state of a 10 ms window is gone long before a 5 s record.
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{1, 10ms}, .cleanup_grace = 0ms}});
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).allowed);
  clock_.Advance(4'999ms);
  for (int i = 0; i < 10; ++i) limiter_->Sweep(clock_.Now().steady);
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).replayed);
  clock_.Advance(1ms);
  EXPECT_FALSE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).replayed);
}

TEST_F(Engine, KeepsRecordsOnlyForIdsThatACallerBrought) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{100, 1min}}});
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  EXPECT_EQ(limiter_->Statistics().records, 0);
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).allowed);
  EXPECT_EQ(limiter_->Statistics().records, 1);
}

TEST_F(Engine, RefusesWhatNoStoreShouldSee) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1min}}});
  for (const std::int64_t cost :
       {std::int64_t{6}, std::int64_t{0}, std::int64_t{-5}, kMaximumAmount + 1}) {
    const Outcome outcome = Evaluate(plan, {.subject = SubjectNumber(1), .cost = cost});
    EXPECT_EQ(std::get<Incompatible>(outcome).reason, Incompatible::Reason::kCostExceedsMaximum);
  }
  EXPECT_EQ(limiter_->Statistics().resident, 0);
}

TEST_F(Engine, ADeadlineThatIsOverIsRejectedUncharged) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1min}}});
  std::optional<Outcome> outcome;
  const Instant now = clock_.Now();
  limiter_->Evaluate(
      {.plan = &plan, .subject = SubjectNumber(1), .now = now, .deadline = now.steady},
      [&](Outcome result) { outcome = std::move(result); });
  EXPECT_EQ(std::get<Unavailable>(*outcome).category, Unavailable::Category::kAdmissionRejected);
  EXPECT_EQ(limiter_->Statistics().resident, 0);
}

TEST_F(Engine, AClockSetBackIsUnsafeAndHealsByItself) {
  // A negative elapsed time drained buckets, or denied everybody until the clock had caught up.
  const Plan plan = PlanOf({{.id = "p", .algorithm = TokenBucket{10, 1, 1s}}});
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .cost = 10}).allowed);
  const WallTime before = clock_.Now().wall;
  clock_.SetWall(before - 500ms);
  EXPECT_EQ(Decided(plan, {SubjectNumber(1)}).limits[0].retry_after, 1s);
  clock_.SetWall(before - 1h);
  EXPECT_EQ(std::get<Unavailable>(Evaluate(plan, {SubjectNumber(1)})).category,
            Unavailable::Category::kClockUnsafe);
  EXPECT_TRUE(Decided(plan, {SubjectNumber(2)}).allowed);  // nobody else is affected
  clock_.Advance(13s);  // 10 s to refill, 1 s grace, the tolerance, by the steady clock
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
}

}  // namespace
}  // namespace sluice
