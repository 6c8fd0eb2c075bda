#include "src/redis/gathering.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "testing/harness.h"
#include "testing/manual_clock.h"
#include "testing/subjects.h"

namespace sluice::redis {
namespace {

using sluice::testing::PlanOf;
using sluice::testing::SubjectNumber;
using std::chrono::milliseconds;

PolicySettings Settings(bool dedup) {
  return {.id = "login",
          .algorithm = FixedWindow{.limit = 5, .window = std::chrono::minutes{1}},
          .dedup = {.enabled = dedup}};
}

Outcome Allowed(std::int64_t remaining, bool replayed = false) {
  return Evaluated{.allowed = true,
                   .replayed = replayed,
                   .limits = {{.policy = "login", .allowed = true, .remaining = remaining}}};
}

std::string Word(const Outcome& outcome) {
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    return (evaluated->replayed ? "replayed " : "evaluated ") +
           std::to_string(evaluated->limits[0].remaining);
  }
  if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    return std::string(Name(unavailable->category));
  }
  return std::string(Name(std::get<Indeterminate>(outcome).category));
}

Outcome Down() {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, "down"};
}

class GatheringTest : public ::testing::Test {
 protected:
  void Add(int name, std::uint64_t client, milliseconds budget = milliseconds{750},
           const Plan* of = nullptr, std::string id = {}, Mode mode = Mode::kEvaluate) {
    gathering.Add(
        {.evaluation = {.plan = of == nullptr ? &plan : of,
                        .subject = SubjectNumber(client),
                        .cost = name,  // tells the items of a batch apart
                        .id = id.empty() ? EvaluationId() : EvaluationId::FromCaller(id),
                        .mode = mode,
                        .now = clock.Now(),
                        .deadline = clock.Now().steady + budget},
         .completion = [this, name](Outcome outcome) { told.emplace_back(name, Word(outcome)); },
         .deadline = clock.Now().steady + budget});
  }

  static std::vector<int> Names(const Gathering::Batch& batch) {
    std::vector<int> names;
    for (const auto& item : batch.items) {
      names.push_back(static_cast<int>(item.evaluation->cost) * (item.is_repeat ? -1 : 1));
    }
    return names;
  }

  void Expire(milliseconds later) {
    clock.Advance(later);
    gathering.Expire(clock.Now().steady);
  }

  using Told = std::vector<std::pair<int, std::string>>;
  Told Answers() {
    for (auto& answer : gathering.TakeAnswers()) answer.Deliver();
    return std::exchange(told, {});
  }

  const Plan plan = PlanOf({Settings(true)});
  const Plan without_dedup = PlanOf({Settings(false)});
  sluice::testing::ManualClock clock;
  Gathering gathering;
  Told told;
};

TEST_F(GatheringTest, SendsWhatWaitsForTheSamePairTogether) {
  Add(1, 10);
  Add(2, 20);
  Add(3, 10);
  Add(4, 10, milliseconds{750}, &without_dedup);
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{1, 3}));
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{2}));
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{4}));
  EXPECT_FALSE(gathering.Next(64).has_value());
}

TEST_F(GatheringTest, GathersWhileACallOfThePairIsOut) {
  Add(1, 10);
  const auto first = gathering.Next(64);
  Add(2, 10);
  Add(3, 10);
  EXPECT_EQ(gathering.ready(), 0U);
  gathering.Settle(first->id, {Allowed(4)});
  EXPECT_EQ(Answers(), (Told{{1, "evaluated 4"}}));
  const auto second = gathering.Next(64);
  EXPECT_EQ(Names(*second), (std::vector{2, 3}));
  gathering.Settle(second->id, {Allowed(3), Allowed(2)});
  EXPECT_EQ(Answers(), (Told{{2, "evaluated 3"}, {3, "evaluated 2"}}));
  EXPECT_EQ(gathering.size(), 0U);
}

TEST_F(GatheringTest, CutsABatchAtItsMaximumAndKeepsTheOrder) {
  for (int name = 1; name <= 5; ++name) Add(name, 10);
  const auto first = gathering.Next(2);
  EXPECT_EQ(Names(*first), (std::vector{1, 2}));
  gathering.SettleAll(first->id, Allowed(0));
  EXPECT_EQ(Names(*gathering.Next(2)), (std::vector{3, 4}));
}

TEST_F(GatheringTest, AnswersEachByItsOwnDeadline) {
  Add(1, 10, milliseconds{300});
  Add(2, 10, milliseconds{100});
  EXPECT_EQ(gathering.NextDeadline(), clock.Now().steady + milliseconds{100});
  const auto batch = gathering.Next(64);
  Expire(milliseconds{100});
  EXPECT_EQ(Answers(), (Told{{2, "deadline-passed"}}));
  gathering.Settle(batch->id, {Allowed(4), Allowed(3)});
  EXPECT_EQ(Answers(), (Told{{1, "evaluated 4"}}));  // and 2 is not told again
}

// Old wrong behaviour: what had waited too long was sent all the same and charged for nobody.
TEST_F(GatheringTest, NeverSendsWhatIsOverWhileItWaits) {
  Add(1, 10, milliseconds{100});
  Add(2, 10, milliseconds{200});
  Expire(milliseconds{100});
  EXPECT_EQ(Answers(), (Told{{1, "unavailable-before-send"}}));
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{2}));
}

TEST_F(GatheringTest, HasNothingToSendWhenAllIsOver) {
  Add(1, 10, milliseconds{100});
  Expire(milliseconds{100});
  EXPECT_EQ(gathering.ready(), 0U);
  EXPECT_FALSE(gathering.NextDeadline().has_value());
}

// The server still owes a reply: its place is no room for somebody else.
TEST_F(GatheringTest, KeepsThePlaceOfWhatIsAnsweredUntilItsBatchEnds) {
  Add(1, 10, milliseconds{100});
  const auto batch = gathering.Next(64);
  Expire(milliseconds{100});
  EXPECT_EQ(gathering.size(), 1U);
  EXPECT_TRUE(gathering.Items(batch->id).empty());
  gathering.SettleAll(batch->id, Down());
  EXPECT_EQ(gathering.size(), 0U);
  EXPECT_EQ(Answers(), (Told{{1, "deadline-passed"}}));
}

TEST_F(GatheringTest, SendsAgainBeforeAllOthersWhatCertainlyWasNotRun) {
  Add(1, 10);
  Add(2, 10);
  const auto batch = gathering.Next(64);
  Add(3, 10);
  Add(4, 20);
  gathering.Unsend(batch->id);
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{1, 2, 3}));
  EXPECT_TRUE(Answers().empty());
}

TEST_F(GatheringTest, RepeatsALostReplyOnce) {
  Add(1, 10);
  const auto first = gathering.Next(64);
  EXPECT_EQ(gathering.Lose(first->id), 1U);
  const auto second = gathering.Next(64);
  EXPECT_EQ(Names(*second), (std::vector{-1}));
  EXPECT_EQ(gathering.Lose(second->id), 0U);
  EXPECT_EQ(Answers(), (Told{{1, "response-lost"}}));
  EXPECT_EQ(gathering.ready(), 0U);
}

// Old wrong behaviour: a retry of a call without a record charged twice.
TEST_F(GatheringTest, NeverRepeatsWhatTheServerWouldNotRecognise) {
  Add(1, 10, milliseconds{750}, &without_dedup);
  EXPECT_EQ(gathering.Lose(gathering.Next(64)->id), 0U);
  EXPECT_EQ(Answers(), (Told{{1, "response-lost"}}));
}

TEST_F(GatheringTest, RepeatsAPeekWithoutDedup) {
  Add(1, 10, milliseconds{750}, &without_dedup, {}, Mode::kPeek);
  EXPECT_EQ(gathering.Lose(gathering.Next(64)->id), 1U);
}

TEST_F(GatheringTest, DoesNotRepeatWhatIsAnswered) {
  Add(1, 10, milliseconds{100});
  const auto batch = gathering.Next(64);
  Expire(milliseconds{100});
  EXPECT_EQ(gathering.Lose(batch->id), 0U);
  EXPECT_EQ(gathering.ready(), 0U);
}

// The first try may have charged, so nothing but an answer of the script excuses it.
TEST_F(GatheringTest, NeverSaysOfARepeatThatNothingWasCharged) {
  Add(1, 10);
  EXPECT_EQ(gathering.Lose(gathering.Next(64)->id), 1U);
  const auto repeat = gathering.Next(64);
  gathering.SettleAll(repeat->id,
                      Unavailable{Unavailable::Category::kNoMutationConfirmed, "LOADING"});
  EXPECT_EQ(Answers(), (Told{{1, "response-lost"}}));

  Add(2, 10, milliseconds{100});
  EXPECT_EQ(gathering.Lose(gathering.Next(64)->id), 1U);
  Expire(milliseconds{100});
  EXPECT_EQ(Answers(), (Told{{2, "response-lost"}}));
}

// Old wrong behaviour: a repeat after its record's time was charged a second time.
TEST_F(GatheringTest, RepeatsOnlyAsLongAsARecordLasts) {
  PolicySettings settings = Settings(true);
  settings.dedup.ttl = milliseconds{50};
  const Plan brief = PlanOf({settings});
  Add(1, 10, milliseconds{750}, &brief);
  gathering.Lose(gathering.Next(64)->id);
  Expire(milliseconds{49});
  EXPECT_EQ(gathering.ready(), 1U);
  Expire(milliseconds{1});
  EXPECT_EQ(gathering.ready(), 0U);
  EXPECT_EQ(Answers(), (Told{{1, "response-lost"}}));
}

// A record found by a repeat of an id made here is that of its own first try.
TEST_F(GatheringTest, SaysReplayedOfARepeatOnlyToACallersId) {
  Add(1, 10);
  Add(2, 20, milliseconds{750}, nullptr, "brought");
  for (const auto& lost : {gathering.Next(64)->id, gathering.Next(64)->id}) gathering.Lose(lost);
  for (int i = 0; i < 2; ++i) gathering.Settle(gathering.Next(64)->id, {Allowed(4, true)});
  Told told_now = Answers();
  std::ranges::sort(told_now);
  EXPECT_EQ(told_now, (Told{{1, "evaluated 4"}, {2, "replayed 4"}}));
}

TEST_F(GatheringTest, FailsWhatWaitsButLetsRepeatsWaitForTheServer) {
  Add(1, 10);
  gathering.Lose(gathering.Next(64)->id);
  Add(2, 10);
  Add(3, 20);
  const auto out = gathering.Next(1);
  Add(4, 10);
  gathering.FailWaiting(Down());
  Told told_now = Answers();
  std::ranges::sort(told_now);
  EXPECT_EQ(told_now, (Told{{2, "unavailable-before-send"},
                            {3, "unavailable-before-send"},
                            {4, "unavailable-before-send"}}));
  EXPECT_EQ(Names(*out), (std::vector{-1}));
  EXPECT_EQ(gathering.size(), 1U);
}

TEST_F(GatheringTest, HandsWhatWaitsToAnotherWithItsDeadline) {
  Add(1, 10);
  const auto out = gathering.Next(64);
  Add(2, 10);
  Add(3, 20, milliseconds{100});
  Gathering other;
  for (auto& pending : gathering.TakeWaiting()) other.Add(std::move(pending));
  EXPECT_EQ(gathering.size(), 1U);  // what is out
  EXPECT_EQ(other.size(), 2U);
  EXPECT_EQ(other.NextDeadline(), clock.Now().steady + milliseconds{100});
  clock.Advance(milliseconds{100});
  EXPECT_EQ(other.Expire(clock.Now().steady), 1U);
  EXPECT_EQ(other.TakeAnswers().size(), 1U);
  EXPECT_EQ(Names(*other.Next(64)), (std::vector{2}));
  gathering.Settle(out->id, {Allowed(4, false)});
  EXPECT_EQ(Answers(), (Told{{1, "evaluated 4"}}));
}

// A batch that a server sent elsewhere goes there whole, without what was answered meanwhile.
TEST_F(GatheringTest, HandsABatchToAnother) {
  Add(1, 10, milliseconds{50});
  Add(2, 10);
  const auto out = gathering.Next(64);
  Add(3, 10);
  Expire(milliseconds{50});
  EXPECT_EQ(Answers(), (Told{{1, "deadline-passed"}}));
  Gathering other;
  for (auto& pending : gathering.TakeBatch(out->id)) {
    pending.asks = true;
    ++pending.redirects;
    other.Add(std::move(pending));
  }
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{3}));  // it need not wait any more
  const auto there = other.Next(64);
  EXPECT_EQ(Names(*there), (std::vector{2}));
  EXPECT_TRUE(there->asks);
  EXPECT_EQ(there->deadline, clock.Now().steady + milliseconds{700});
  EXPECT_EQ(other.size(), 1U);
  EXPECT_EQ(gathering.size(), 1U);
}

TEST_F(GatheringTest, SaysOfARedirectedOneThatItWasNotRun) {
  Add(1, 10, milliseconds{50});
  std::vector<Gathering::Pending> taken = gathering.TakeBatch(gathering.Next(64)->id);
  ++taken.front().redirects;
  gathering.Add(std::move(taken.front()));
  Expire(milliseconds{50});
  EXPECT_EQ(Answers(), (Told{{1, "no-mutation-confirmed"}}));
}

TEST_F(GatheringTest, AnswersEverythingAtTheEnd) {
  Add(1, 10);
  gathering.Lose(gathering.Next(64)->id);
  Add(2, 20);
  Add(3, 30);
  ASSERT_TRUE(gathering.Next(1).has_value());
  gathering.FailAll(Down(), Indeterminate{Indeterminate::Category::kResponseLost, "end"});
  EXPECT_EQ(Answers().size(), 3U);
  EXPECT_EQ(gathering.size(), 0U);
}

TEST_F(GatheringTest, LetsACompletionEvaluateAgain) {
  gathering.Add({.evaluation = {.plan = &plan,
                                .subject = SubjectNumber(1),
                                .now = clock.Now(),
                                .deadline = {}},
                 .completion = [this](const Outcome&) { Add(2, 10); },
                 .deadline = clock.Now().steady});
  gathering.Expire(clock.Now().steady);
  EXPECT_TRUE(Answers().empty());
  EXPECT_EQ(Names(*gathering.Next(64)), (std::vector{2}));
}

}  // namespace
}  // namespace sluice::redis
