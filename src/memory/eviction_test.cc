// A full table: what goes, what never goes, and what is answered when nothing can go.
#include <chrono>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

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

Evaluated Decided(Limiter& limiter, const Plan& plan, std::uint64_t client, const Clock& clock,
                  std::int64_t cost = 1) {
  return std::get<Evaluated>(
      EvaluateNow(limiter, plan, {.subject = SubjectNumber(client), .cost = cost}, clock));
}

TEST(FullTable, GivesUpTheStateThatLosesLeast) {
  const ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 3});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{10, 1min}}});
  Decided(*limiter, plan, 1, clock, 8);
  Decided(*limiter, plan, 2, clock, 2);
  Decided(*limiter, plan, 3, clock, 5);
  Decided(*limiter, plan, 4, clock, 1);
  EXPECT_EQ(limiter->Statistics().evicted, 1);
  EXPECT_EQ(limiter->Statistics().resident, 3);
  EXPECT_EQ(Decided(*limiter, plan, 1, clock).limits[0].remaining, 1);
  EXPECT_EQ(Decided(*limiter, plan, 3, clock).limits[0].remaining, 4);
}

TEST(FullTable, GivesUpWhatIsGoneBeforeAnythingElse) {
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 2});
  const Plan brief =
      PlanOf({{.id = "brief", .algorithm = FixedWindow{1, 1s}, .cleanup_grace = 0ms}});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{100, 1h}}});
  Decided(*limiter, brief, 1, clock);
  Decided(*limiter, plan, 2, clock);
  clock.Advance(2s);
  Decided(*limiter, plan, 3, clock);
  EXPECT_EQ(limiter->Statistics().evicted, 0);
  EXPECT_EQ(limiter->Statistics().expired, 1);
  EXPECT_EQ(Decided(*limiter, plan, 2, clock).limits[0].remaining, 98);
}

TEST(FullTable, NeverGivesUpADenial) {
  // An attacker flooded the table with new clients to flush their own record.
  const ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 4});
  const Plan login = PlanOf({{.id = "login", .algorithm = FixedWindow{5, 1min}}});
  for (int i = 0; i < 5; ++i) Decided(*limiter, login, 1, clock);
  // One unit is left of five, but a cost of two was refused: that denial holds as well.
  Decided(*limiter, login, 2, clock, 4);
  ASSERT_FALSE(Decided(*limiter, login, 2, clock, 2).allowed);
  for (std::uint64_t client = 100; client < 1'100; ++client) {
    Decided(*limiter, login, client, clock);
    ASSERT_LE(limiter->Statistics().resident, 4);
  }
  EXPECT_FALSE(Decided(*limiter, login, 1, clock).allowed);
  EXPECT_FALSE(Decided(*limiter, login, 2, clock, 2).allowed);
}

TEST(FullTable, RejectsNewClientsWhileEveryStateDenies) {
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 3});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{1, 10s}}});
  for (std::uint64_t client = 1; client <= 3; ++client) Decided(*limiter, plan, client, clock);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = EvaluateNow(*limiter, plan, {SubjectNumber(9)}, clock);
    EXPECT_EQ(std::get<Unavailable>(outcome).category, Unavailable::Category::kAdmissionRejected);
  }
  EXPECT_EQ(limiter->Statistics().rejected, 3);
  EXPECT_FALSE(Decided(*limiter, plan, 1, clock).allowed);  // the residents are still answered
  clock.Advance(10s + 64ms);  // the denials are over (counted in ticks of 64 ms)
  EXPECT_TRUE(Decided(*limiter, plan, 9, clock).allowed);
}

TEST(FullTable, TakesANewClientAsSoonAsOneStateDeniesNoMore) {
  // The memory of "nothing can go" must not outlive the reason.
  ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 2});
  const Plan slow = PlanOf({{.id = "slow", .algorithm = FixedWindow{1, 1h}}});
  const Plan quick = PlanOf({{.id = "quick", .algorithm = TokenBucket{1, 1, 1s}}});
  Decided(*limiter, slow, 1, clock);
  Decided(*limiter, quick, 2, clock);
  EXPECT_TRUE(
      std::holds_alternative<Unavailable>(EvaluateNow(*limiter, slow, {SubjectNumber(3)}, clock)));
  clock.Advance(1s + 64ms);
  EXPECT_TRUE(Decided(*limiter, slow, 3, clock).allowed);
}

TEST(FullTable, APlanLargerThanTheTableIsRejected) {
  const ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 1});
  const Plan plan = PlanOf({{.id = "a", .algorithm = FixedWindow{5, 1min}},
                            {.id = "b", .algorithm = FixedWindow{5, 1min}}});
  const Outcome outcome = EvaluateNow(*limiter, plan, {SubjectNumber(1)}, clock);
  EXPECT_EQ(std::get<Unavailable>(outcome).category, Unavailable::Category::kAdmissionRejected);
  EXPECT_EQ(limiter->Statistics().resident, 0);
}

TEST(FullTable, DoesNotGiveUpThePlansOwnStates) {
  const ManualClock clock;
  const auto limiter = MakeMemoryLimiter({.max_subjects = 2});
  const PolicySettings a{.id = "a", .algorithm = FixedWindow{100, 1min}};
  const PolicySettings b{.id = "b", .algorithm = FixedWindow{10, 1min}};
  Decided(*limiter, PlanOf({a}), 1, clock);     // loses least of all…
  Decided(*limiter, PlanOf({b}), 2, clock, 9);  // …but this one has to go
  const Evaluated both = Decided(*limiter, PlanOf({a, b}), 1, clock);
  EXPECT_EQ(both.limits[0].remaining, 98);
}

RC_GTEST_PROP(FullTable, HoldsItsBoundAndDeniesWhatItDenied, ()) {
  ManualClock clock;
  const auto max = *rc::gen::inRange<std::int64_t>(1, 20);
  const auto limiter = MakeMemoryLimiter({.max_subjects = max});
  const Plan plans[] = {PlanOf({{.id = "a", .algorithm = FixedWindow{3, 2s}}}),
                        PlanOf({{.id = "a", .algorithm = FixedWindow{3, 2s}},
                                {.id = "b", .algorithm = TokenBucket{2, 1, 300ms}}}),
                        PlanOf({{.id = "c", .algorithm = SlidingCounter{4, 1s}}})};
  // For each (client, plan): until when the last denial holds.
  std::map<std::pair<std::uint64_t, int>, WallTime> denied_until;
  for (int step = 0; step < 200; ++step) {
    const auto client = *rc::gen::inRange<std::uint64_t>(1, 40);
    const int which = *rc::gen::inRange(0, 3);
    clock.Advance(Milliseconds{*rc::gen::inRange(0, 60)});
    const Outcome outcome = EvaluateNow(*limiter, plans[which], {SubjectNumber(client)}, clock);
    RC_ASSERT(limiter->Statistics().resident <= max);
    const auto until = denied_until.find({client, which});
    const auto* evaluated = std::get_if<Evaluated>(&outcome);
    if (until != denied_until.end() && clock.Now().wall < until->second) {
      RC_ASSERT(evaluated != nullptr && !evaluated->allowed);
    }
    if (evaluated != nullptr && !evaluated->allowed) {
      denied_until[{client, which}] = clock.Now().wall + *evaluated->LeadingLimit().retry_after;
    }
  }
}

}  // namespace
}  // namespace sluice
