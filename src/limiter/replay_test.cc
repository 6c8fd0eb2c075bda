#include "src/limiter/replay.h"

#include <chrono>

#include <gtest/gtest.h>

#include "testing/harness.h"

namespace sluice::limiter {
namespace {

using namespace std::chrono_literals;

Plan PlanWith(Dedup dedup, std::string id = "p") {
  return testing::PlanOf(
      {{.id = std::move(id), .algorithm = FixedWindow{5, 1min}, .dedup = dedup}});
}

Record RecordOf(const Plan& plan, std::string id, std::int64_t at, std::int64_t cost = 1) {
  return {.plan_hash = plan.hash(),
          .id = std::move(id),
          .recorded_at = at,
          .cost = cost,
          .answer = {.allowed = true, .limits = {{.policy = "gone", .allowed = true}}}};
}

TEST(ReplayRing, FindsARecordUntilItsTimeIsOver) {
  const Plan plan = PlanWith({.ttl = 5s});
  ReplayRing ring;
  ring.Add(plan, RecordOf(plan, "a", 1'000));
  EXPECT_NE(ring.Find(plan, "a", 5'999), nullptr);
  EXPECT_EQ(ring.Find(plan, "a", 6'000), nullptr);
  EXPECT_EQ(ring.Find(plan, "b", 1'000), nullptr);
  EXPECT_EQ(ring.expires(), 6'000);
}

TEST(ReplayRing, TellsPlansApart) {
  const Plan plan = PlanWith({});
  const Plan other = PlanWith({}, "q");
  ReplayRing ring;
  ring.Add(plan, RecordOf(plan, "a", 0));
  EXPECT_EQ(ring.Find(other, "a", 1), nullptr);
}

TEST(ReplayRing, KeepsTheNewestEntries) {
  const Plan plan = PlanWith({.max_entries = 2});
  ReplayRing ring;
  for (const char* id : {"a", "b", "c"}) ring.Add(plan, RecordOf(plan, id, 0));
  EXPECT_EQ(ring.size(), 2u);
  EXPECT_EQ(ring.Find(plan, "a", 1), nullptr);
  EXPECT_NE(ring.Find(plan, "b", 1), nullptr);
  EXPECT_NE(ring.Find(plan, "c", 1), nullptr);
}

TEST(ReplayRing, KeepsWithinItsBytes) {
  const Plan plan = PlanWith({.max_bytes = 1024});
  const std::int64_t each = RecordBytes(128, 1);
  ReplayRing ring;
  for (char c = 'a'; c <= 'z'; ++c) ring.Add(plan, RecordOf(plan, std::string(128, c), 0));
  EXPECT_EQ(static_cast<std::int64_t>(ring.size()), 1024 / each);
  EXPECT_NE(ring.Find(plan, std::string(128, 'z'), 1), nullptr);
}

TEST(ReplayRing, TheLargestRecordFitsTheSmallestRing) {
  EXPECT_LE(RecordBytes(128, Plan::kMaximumPolicies), 1024);
}

TEST(Replay, GivesTheAnswerAgainUnderTheNamesOfThePresentPlan) {
  const Plan plan = PlanWith({});
  const auto replay = Replay(plan, RecordOf(plan, "a", 0, 2), 2);
  const auto& answer = std::get<Evaluated>(replay);
  EXPECT_TRUE(answer.replayed);
  EXPECT_EQ(answer.limits[0].policy, "p");
}

TEST(Replay, RefusesAnotherCost) {
  const Plan plan = PlanWith({});
  const auto replay = Replay(plan, RecordOf(plan, "a", 0, 2), 3);
  EXPECT_EQ(std::get<Incompatible>(replay).reason, Incompatible::Reason::kEvaluationIdConflict);
}

}  // namespace
}  // namespace sluice::limiter
