// n evaluations in one call are n evaluations one after another.
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::PlanOf;
using testing::SubjectNumber;

class Batch : public ScriptsTest {
 protected:
  // Such as wait for a key: no peeks, no ids of callers.
  std::vector<Evaluation> Plain(const Plan& plan, std::size_t count) {
    std::vector<Evaluation> evaluations = Mixed(plan, count);
    for (Evaluation& one : evaluations) {
      one.id = NextId();
      one.mode = Mode::kEvaluate;
    }
    return evaluations;
  }

  // `count` evaluations of differing costs, modes and times, some with ids that come again.
  std::vector<Evaluation> Mixed(const Plan& plan, std::size_t count) {
    std::vector<Evaluation> evaluations;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 5 == 0) clock_.Advance(Milliseconds{i % 7});
      Evaluation one = EvaluationOf(plan, {.subject = SubjectNumber(1),
                                           .cost = static_cast<std::int64_t>(1 + i % 3),
                                           .id = i % 4 == 0 ? "id " + std::to_string(i % 12) : "",
                                           .mode = i % 9 == 0 ? Mode::kPeek : Mode::kEvaluate});
      if (i % 11 == 0) one.now.wall -= i % 2 == 0 ? 3ms : 600ms;
      evaluations.push_back(std::move(one));
    }
    return evaluations;
  }

  std::vector<Outcome> Together(const std::vector<Evaluation>& evaluations) {
    std::vector<Gathering::Item> items;
    for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
    return client_.Evaluate(options_, items);
  }
  std::vector<Outcome> Singly(const std::vector<Evaluation>& evaluations) {
    std::vector<Outcome> outcomes;
    for (const Evaluation& one : evaluations) {
      outcomes.push_back(client_.EvaluateOne(options_, one));
    }
    return outcomes;
  }

  // A key's fields and values, as text, without the places for records of own ids: which of them a
  // call uses depends on its size.
  std::set<std::string> Contents(const std::string& key) {
    std::set<std::string> contents;
    const Reply hash = client_.Command({"HGETALL", key});
    for (std::size_t i = 0; i < hash.elements.size(); i += 2) {
      const std::string& field = hash.elements[i].text;
      if (field.starts_with("own") || field.starts_with("batch")) continue;
      contents.insert(field + " = " + hash.elements[i + 1].text);
    }
    return contents;
  }
};

TEST_F(Batch, GivesTheAnswersOfSingleCallsAndLeavesTheSameState) {
  const Plan plans[] = {
      PlanOf({{.id = "w", .algorithm = FixedWindow{40, 60s}, .dedup = {.max_entries = 3}}}),
      PlanOf({{.id = "s", .algorithm = SlidingCounter{40, 20ms}}}),
      PlanOf({{.id = "b", .algorithm = TokenBucket{20, 3, 5ms}, .dedup = {.enabled = false}}}),
      PlanOf({{.id = "w", .algorithm = FixedWindow{90, 60s}},
              {.id = "b", .algorithm = TokenBucket{20, 3, 5ms}}})};
  const std::string prefix = options_.prefix;
  for (const Plan& plan : plans) {
    for (std::size_t count = 1; count <= kMaximumBatch; ++count) {
      for (const bool plain : {false, true}) {
        SCOPED_TRACE(plan.policies()[0].id() + " " + std::to_string(count));
        const auto evaluations = plain ? Plain(plan, count) : Mixed(plan, count);
        options_.prefix = prefix + "-singly";
        const auto singly = Singly(evaluations);
        const std::string single_key = KeyIn(plan, SubjectNumber(1));
        options_.prefix = prefix + "-together";
        ASSERT_EQ(Together(evaluations), singly);
        ASSERT_EQ(Contents(KeyIn(plan, SubjectNumber(1))), Contents(single_key));
        clock_.Advance(Milliseconds{count});
      }
    }
  }
}

TEST_F(Batch, AdmitsExactlyTheLimit) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{50, 60s}}});
  std::vector<Evaluation> evaluations;
  for (std::size_t i = 0; i < kMaximumBatch; ++i) {
    evaluations.push_back(EvaluationOf(plan, {SubjectNumber(1)}));
  }
  std::int64_t allowed = 0;
  for (const Outcome& outcome : Together(evaluations)) allowed += IsAllowed(outcome);
  EXPECT_EQ(allowed, 50);
  EXPECT_EQ(Field(KeyIn(plan, SubjectNumber(1)), "count"), "50");
}

TEST_F(Batch, SeesItsOwnRecords) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{50, 60s}}});
  const testing::Ask ask{.subject = SubjectNumber(1), .id = "a"};
  testing::Ask other = ask;
  other.cost = 2;
  const auto outcomes =
      Together({EvaluationOf(plan, ask), EvaluationOf(plan, ask), EvaluationOf(plan, other)});
  EXPECT_FALSE(std::get<Evaluated>(outcomes[0]).replayed);
  EXPECT_TRUE(std::get<Evaluated>(outcomes[1]).replayed);
  EXPECT_EQ(std::get<Incompatible>(outcomes[2]).reason,
            Incompatible::Reason::kEvaluationIdConflict);
  EXPECT_EQ(Field(KeyIn(plan, SubjectNumber(1)), "count"), "1");
}

}  // namespace
}  // namespace sluice::redis
