// State goes away by itself, in its time and not before.
#include <chrono>

#include <gtest/gtest.h>

#include "sluice/memory_limiter.h"

#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::EvaluateNow;
using testing::ManualClock;
using testing::PlanOf;
using testing::SubjectNumber;

void SweepAll(MemoryLimiter& limiter, const Clock& clock) {
  for (int i = 0; i < 10; ++i) limiter.Sweep(clock.Now().steady);
}

TEST(Sweep, RemovesOneOffClientsWithoutTrafficToTheirKeys) {
  // Engines that swept only on writes, or never, grew until the process was killed.
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 1'000'000});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1s}}});
  constexpr std::uint64_t kClients = 1'000'000;
  for (std::uint64_t client = 0; client < kClients; ++client) {
    EvaluateNow(*limiter, plan, {SubjectNumber(client)}, clock);
  }
  ASSERT_EQ(limiter->Statistics().resident, 1'000'000);
  clock.Advance(5s);
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 0);
  EXPECT_EQ(limiter->Statistics().expired, 1'000'000);
  EXPECT_EQ(limiter->Statistics().evicted, 0);
}

TEST(Sweep, KeepsAStateForTheToleratedClockRegression) {
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({});
  const Plan plan = PlanOf({{.id = "p",
                             .algorithm = FixedWindow{5, 1s},
                             .maximum_clock_regression = 10s,
                             .cleanup_grace = 2s}});
  EvaluateNow(*limiter, plan, {SubjectNumber(1)}, clock);
  clock.Advance(12'999ms);  // window 1 s, grace 2 s, tolerance 10 s
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 1);
  clock.Advance(65ms);  // ticks are 64 ms
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 0);
}

TEST(Sweep, ForgetsABucketOnlyOnceItIsFullAgain) {
  // A TTL in the wrong unit forgot the bucket after seconds: a full one again for the attacker.
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({});
  const Plan plan = PlanOf({{.id = "p", .algorithm = TokenBucket{3, 1, 15s}}});
  EvaluateNow(*limiter, plan, {.subject = SubjectNumber(1), .cost = 3}, clock);
  clock.Advance(44'999ms);
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 1);
  clock.Advance(1s + 500ms + 65ms);
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 0);
}

TEST(Sweep, DoesNothingBeforeTheMinimumTtl) {
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.minimum_ttl = 10min});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1s}}});
  EvaluateNow(*limiter, plan, {SubjectNumber(1)}, clock);
  clock.Advance(9min);
  SweepAll(*limiter, clock);
  EXPECT_EQ(limiter->Statistics().resident, 1);
}

TEST(Sweep, AStateThatIsGoneButNotSweptStartsAnew) {
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 1});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 1s}}});
  EvaluateNow(*limiter, plan, {.subject = SubjectNumber(1), .cost = 5, .id = "a"}, clock);
  clock.Advance(1h);
  const auto outcome = EvaluateNow(*limiter, plan, {.subject = SubjectNumber(1), .id = "a"}, clock);
  EXPECT_EQ(std::get<Evaluated>(outcome).limits[0].remaining, 4);
  EXPECT_EQ(limiter->Statistics().resident, 1);
  // The place it holds is counted once: after it has gone another client finds room.
  clock.Advance(1h);
  SweepAll(*limiter, clock);
  EXPECT_TRUE(IsAllowed(EvaluateNow(*limiter, plan, {SubjectNumber(2)}, clock)));
}

}  // namespace
}  // namespace sluice
