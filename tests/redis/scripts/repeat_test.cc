// Repeats of evaluations whose reply was lost: charged once, or nothing is known and nothing is
// charged.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::PlanOf;
using testing::SubjectNumber;

class Repeat : public ScriptsTest {
 protected:
  Outcome Again(const Evaluation& evaluation) {
    return client_.EvaluateOne(options_, evaluation, /*is_repeat=*/true);
  }
  // An id made here whose record goes to this place.
  Evaluation InPlace(const Plan& plan, std::uint8_t place, std::uint8_t salt) {
    Evaluation evaluation = EvaluationOf(plan, {SubjectNumber(1)});
    std::array<std::uint8_t, 16> bytes{};
    bytes[12] = salt;
    bytes[15] = place;
    evaluation.id = EvaluationId::FromBytes(bytes);
    return evaluation;
  }
  std::string Charged(const Plan& plan) { return Field(KeyIn(plan, SubjectNumber(1)), "count"); }

  void ExpectReplay(const Outcome& repeat, const Outcome& first) {
    auto again = std::get<Evaluated>(repeat);
    EXPECT_TRUE(std::exchange(again.replayed, false));
    EXPECT_TRUE(Outcome(again) == first);
  }
  void ExpectUnknown(const Outcome& repeat) {
    EXPECT_EQ(std::get<Indeterminate>(repeat).category, Indeterminate::Category::kResponseLost);
  }

  const Plan plan_ = PlanOf({{.id = "w", .algorithm = FixedWindow{500, 1h}}});
};

TEST_F(Repeat, OfWhatWasChargedIsAnsweredFromItsRecord) {
  for (const std::string id : {"", "from a caller"}) {
    const Evaluation evaluation =
        EvaluationOf(plan_, {.subject = SubjectNumber(1), .cost = 2, .id = id});
    const Outcome first = client_.EvaluateOne(options_, evaluation);
    const std::string charged = Charged(plan_);
    ExpectReplay(Again(evaluation), first);
    EXPECT_EQ(Charged(plan_), charged);
  }
}

TEST_F(Repeat, OfSeveralLimitsIsAnsweredFromItsRecord) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{9, 1h}},
                            {.id = "s", .algorithm = SlidingCounter{9, 1h}},
                            {.id = "b", .algorithm = TokenBucket{9, 1, 1s}}});
  const Evaluation evaluation = EvaluationOf(plan, {.subject = SubjectNumber(1), .cost = 2});
  const Outcome first = client_.EvaluateOne(options_, evaluation);
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  ExpectReplay(Again(evaluation), first);
}

TEST_F(Repeat, OfEveryEvaluationOfABatchIsAnsweredFromTheCallsRecord) {
  const Plan plan = PlanOf({{.id = "b", .algorithm = TokenBucket{40, 1, 1s}}});
  std::vector<Evaluation> evaluations;
  for (std::size_t i = 0; i < kMaximumBatch; ++i) {
    evaluations.push_back(EvaluationOf(plan, {SubjectNumber(1)}));
    if (i % 9 == 0) clock_.Advance(1s);
  }
  std::vector<Gathering::Item> items;
  for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
  const auto first = client_.Evaluate(options_, items);
  const std::string left = Field(KeyIn(plan, SubjectNumber(1)), "tokens");
  for (std::size_t i = 0; i < items.size(); ++i) ExpectReplay(Again(evaluations[i]), first[i]);
  // Together as well.
  for (Gathering::Item& item : items) item.is_repeat = true;
  const auto again = client_.Evaluate(options_, items);
  for (std::size_t i = 0; i < items.size(); ++i) ExpectReplay(again[i], first[i]);
  EXPECT_EQ(Field(KeyIn(plan, SubjectNumber(1)), "tokens"), left);
}

TEST_F(Repeat, WhoseBatchMadeRoomIsUnknownAndChargesNothing) {
  const auto batch = [&](std::uint8_t salt) {
    return std::vector<Evaluation>{InPlace(plan_, 4, salt), InPlace(plan_, 5, salt)};
  };
  const auto evaluate = [&](const std::vector<Evaluation>& evaluations) {
    const Gathering::Item items[] = {{.evaluation = &evaluations[0]},
                                     {.evaluation = &evaluations[1]}};
    return client_.Evaluate(options_, items);
  };
  const auto first = batch(1);
  evaluate(first);
  evaluate(batch(2));
  for (const Evaluation& one : first) ExpectUnknown(Again(one));
  EXPECT_EQ(Charged(plan_), "4");
  clock_.Advance(1ms);
  EXPECT_FALSE(std::get<Evaluated>(Again(InPlace(plan_, 4, 3))).replayed);
}

TEST_F(Repeat, OfWhatNeverArrivedIsDecidedNow) {
  for (const std::string id : {"", "from a caller"}) {
    const Evaluation lost = EvaluationOf(plan_, {.subject = SubjectNumber(2), .id = id});
    const auto answer = std::get<Evaluated>(Again(lost));
    EXPECT_FALSE(answer.replayed);
    EXPECT_TRUE(answer.allowed);
    ExpectReplay(Again(lost), answer);
  }
}

TEST_F(Repeat, OfADenialIsDecidedNow) {
  const Plan closed = PlanOf({{.id = "closed", .algorithm = FixedWindow{0, 1h}}});
  const Evaluation evaluation = EvaluationOf(closed, {SubjectNumber(1)});
  EXPECT_FALSE(std::get<Evaluated>(client_.EvaluateOne(options_, evaluation)).allowed);
  EXPECT_FALSE(std::get<Evaluated>(Again(evaluation)).replayed);
}

TEST_F(Repeat, WhoseRecordMadeRoomIsUnknownAndChargesNothing) {
  // Without a trace of the record the repeat was charged a second time.
  const Evaluation first = InPlace(plan_, 7, 1);
  const Evaluation second = InPlace(plan_, 7, 2);
  client_.EvaluateOne(options_, first);
  client_.EvaluateOne(options_, second);
  ExpectUnknown(Again(first));
  EXPECT_EQ(Charged(plan_), "2");
}

TEST_F(Repeat, IsDecidedNowWhereOnlyOlderRecordsAre) {
  client_.EvaluateOne(options_, InPlace(plan_, 7, 1));
  clock_.Advance(1ms);
  const Evaluation lost = InPlace(plan_, 7, 2);
  client_.EvaluateOne(options_, InPlace(plan_, 8, 3));  // as new, and somewhere else
  EXPECT_FALSE(std::get<Evaluated>(Again(lost)).replayed);
  EXPECT_EQ(Charged(plan_), "3");
}

TEST_F(Repeat, OfACallersIdIsUnknownOnceTheRingHasDroppedRecordsAsNew) {
  const Plan plan =
      PlanOf({{.id = "w", .algorithm = FixedWindow{500, 1h}, .dedup = {.max_entries = 2}}});
  const auto named = [&](std::string id) {
    return EvaluationOf(plan, {.subject = SubjectNumber(1), .id = std::move(id)});
  };
  const Evaluation lost = named("never arrived");
  for (const char* id : {"a", "b", "c", "d"}) client_.EvaluateOne(options_, named(id));
  ExpectUnknown(Again(lost));
  EXPECT_EQ(Charged(plan), "4");
  // Two records, one older than this first try: nothing as new was dropped.
  clock_.Advance(1ms);
  const Evaluation later = named("e");
  EXPECT_FALSE(std::get<Evaluated>(Again(later)).replayed);
  EXPECT_EQ(Charged(plan), "5");
}

TEST_F(Repeat, OfACallersIdAfterTheRecordsTimeIsUnknown) {
  const Plan plan =
      PlanOf({{.id = "w", .algorithm = FixedWindow{500, 1h}, .dedup = {.ttl = 10ms}}});
  const Evaluation evaluation = EvaluationOf(plan, {.subject = SubjectNumber(1), .id = "a"});
  client_.EvaluateOne(options_, evaluation);
  clock_.Advance(10ms);
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  ExpectUnknown(Again(evaluation));
  EXPECT_EQ(Charged(plan), "2");
}

TEST_F(Repeat, ThatIsLateIsStillRecognised) {
  // Others had moved the state's time on, and the repeat was told that its clock is unsafe though
  // it had been charged.
  const Evaluation evaluation = EvaluationOf(plan_, {SubjectNumber(1)});
  const Outcome first = client_.EvaluateOne(options_, evaluation);
  clock_.Advance(2s);
  EXPECT_TRUE(Decided(plan_, {SubjectNumber(1)}).allowed);
  ExpectReplay(Again(evaluation), first);
}

TEST_F(Repeat, OwnIdsDoNotPushOutCallers) {
  const Plan plan =
      PlanOf({{.id = "w", .algorithm = FixedWindow{500, 1h}, .dedup = {.max_entries = 1}}});
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).allowed);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = "a"}).replayed);
}

}  // namespace
}  // namespace sluice::redis
