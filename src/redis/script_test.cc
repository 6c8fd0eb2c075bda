// The codec without a server: which script a batch runs, what its command looks like, what replies
// mean.
#include "src/redis/script.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/resp.h"
#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;
using testing::PlanOf;
using testing::SubjectNumber;

constexpr std::size_t kBatches = 3;
constexpr std::size_t kDriver = 6;

Plan OneLimit(bool dedup = true) {
  return PlanOf({{.id = "w", .algorithm = FixedWindow{5, 60s}, .dedup = {.enabled = dedup}}});
}

Evaluation EvaluationOf(const Plan& plan, std::string id = "") {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = 33;  // the last digit is 1, the one before it too
  return {.plan = &plan,
          .subject = SubjectNumber(1),
          .cost = 1,
          .id = id.empty() ? EvaluationId::FromBytes(bytes) : EvaluationId::FromCaller(id),
          .now = ManualClock{}.Now(),
          .deadline = ManualClock{}.Now().steady + 750ms};
}

std::vector<std::string> WordsOf(const Call& call) {
  ReplyReader reader(1 << 20);
  reader.Feed(call.bytes);
  const Reply command = reader.Next().value().value();
  std::vector<std::string> words;
  for (const Reply& word : command.elements) words.push_back(word.text);
  return words;
}

Reply Text(std::string text) {
  return {.kind = Reply::Kind::kText, .text = std::move(text)};
}

TEST(Script, ShasAreThoseOfTheSources) {
  ASSERT_EQ(Scripts().size(), 7U);
  for (const Script& script : Scripts()) {
    EXPECT_EQ(script.sha.size(), 40U);
    EXPECT_EQ(script.source.find('@'), std::string_view::npos);  // every place was filled in
    EXPECT_FALSE(script.source.empty());
  }
  EXPECT_NE(Scripts()[0].sha, Scripts()[1].sha);
}

TEST(Script, PlainEvaluationsOfOneLimitRunTheLeanScriptOfItsAlgorithm) {
  const Plan plans[] = {OneLimit(), PlanOf({{.id = "s", .algorithm = SlidingCounter{5, 60s}}}),
                        PlanOf({{.id = "b", .algorithm = TokenBucket{5, 1, 1s}}})};
  for (std::size_t i = 0; i < 3; ++i) {
    const Evaluation evaluation = EvaluationOf(plans[i]);
    const std::vector<Gathering::Item> items{{.evaluation = &evaluation}};
    const Call call = EncodeCall({}, items);
    EXPECT_EQ(call.script, i);
    EXPECT_EQ(WordsOf(call)[1], Scripts()[i].sha);
    const std::vector<Gathering::Item> batch{{.evaluation = &evaluation},
                                             {.evaluation = &evaluation}};
    EXPECT_EQ(EncodeCall({}, batch).script, kBatches + i);
  }
}

TEST(Script, WhateverElseRunsTheDriver) {
  const Plan one = OneLimit();
  const Plan two = PlanOf({{.id = "a", .algorithm = FixedWindow{5, 60s}},
                           {.id = "b", .algorithm = FixedWindow{5, 60s}}});
  const Evaluation plain = EvaluationOf(one);
  const Evaluation named = EvaluationOf(one, "id");
  const Evaluation several = EvaluationOf(two);
  Evaluation peek = EvaluationOf(one);
  peek.mode = Mode::kPeek;
  using Items = std::vector<Gathering::Item>;
  const auto script_of = [](const Items& items) { return EncodeCall({}, items).script; };
  EXPECT_EQ(script_of(Items{{&several}}), kDriver);          // several limits
  EXPECT_EQ(script_of(Items{{&plain}, {&named}}), kDriver);  // an id that may be known already
  EXPECT_EQ(script_of(Items{{&plain, true}}), kDriver);      // a repeat
  EXPECT_EQ(script_of(Items{{&peek}}), kDriver);
}

TEST(Script, TheCommandCarriesKeysNumbersAndTheRecordsPlace) {
  const Plan plan = OneLimit();
  const Evaluation evaluation = EvaluationOf(plan);
  const std::vector<Gathering::Item> items{{.evaluation = &evaluation}};
  const std::vector<std::string> words = WordsOf(EncodeCall({.prefix = "p"}, items));
  const std::vector<std::string> expected{"EVALSHA", std::string(Scripts()[0].sha), "1",
                                          "p:1:{" + ClientPseudonym(evaluation.subject) + "}:w@1",
                                          "1767225600000",  // now
                                          "1",              // cost
                                          // the maximum clock regression; kept for: the records'
                                          // time, the regression
                                          "500 5500", "5", "60000", "own1", "0000000000011"};
  EXPECT_EQ(words, expected);
}

TEST(Script, AKeyIsKeptAsLongAsTheOptionSays) {
  const Plan plan = OneLimit(false);
  const Evaluation evaluation = EvaluationOf(plan);
  const std::vector<Gathering::Item> items{{.evaluation = &evaluation}};
  EXPECT_EQ(WordsOf(EncodeCall({}, items))[6], "500 1500");  // grace and regression
  EXPECT_EQ(WordsOf(EncodeCall({.minimum_ttl = 10min}, items))[6], "500 600000");
}

TEST(Script, RepliesBecomeOutcomes) {
  const Plan plan = OneLimit();
  const Evaluation evaluation = EvaluationOf(plan);
  const std::vector<Gathering::Item> items{{.evaluation = &evaluation}};
  const auto decoded = [&](std::string text) {
    return DecodeReply(items, Text(std::move(text))).value().front();
  };
  const auto allowed = std::get<Evaluated>(decoded("allowed 1767225601000 1767225600000:3"));
  EXPECT_TRUE(allowed.allowed);
  EXPECT_EQ(allowed.LeadingLimit().remaining, 1);
  // An allowed evaluation with a record is told by the record itself.
  EXPECT_EQ(std::get<Evaluated>(decoded("0000000000011 1767225601000 1767225600000:3")), allowed);
  auto replayed =
      std::get<Evaluated>(decoded("replayed 0000000000011 1767225601000 1767225600000:3"));
  EXPECT_TRUE(std::exchange(replayed.replayed, false));
  EXPECT_EQ(replayed, allowed);
  EXPECT_FALSE(std::get<Evaluated>(decoded("denied 1767225601000 1767225600000:5")).allowed);
  EXPECT_EQ(std::get<Unavailable>(decoded("clock-unsafe")).category,
            Unavailable::Category::kClockUnsafe);
  EXPECT_EQ(std::get<Indeterminate>(decoded("ambiguous")).category,
            Indeterminate::Category::kResponseLost);
  EXPECT_EQ(std::get<Incompatible>(decoded("unreadable 1")).reason,
            Incompatible::Reason::kStateUnreadable);
}

TEST(Script, ABatchsAnswersFollowFromWhatItsFirstFound) {
  const Plan plan = OneLimit();
  const Evaluation evaluation = EvaluationOf(plan);
  Evaluation late = evaluation;
  late.now.wall -= 501ms;
  const std::vector<Gathering::Item> items{{&evaluation}, {&late}, {&evaluation}, {&evaluation}};
  const auto decoded = DecodeReply(items, Text("found 1767225600000 1767225600000:3 2"));
  ASSERT_TRUE(decoded && decoded->size() == 4);
  EXPECT_EQ(std::get<Evaluated>((*decoded)[0]).LeadingLimit().remaining, 1);
  EXPECT_EQ(std::get<Unavailable>((*decoded)[1]).category, Unavailable::Category::kClockUnsafe);
  EXPECT_EQ(std::get<Evaluated>((*decoded)[2]).LeadingLimit().remaining, 0);
  EXPECT_FALSE(std::get<Evaluated>((*decoded)[3]).allowed);
  // The script allowed another number of them.
  EXPECT_FALSE(DecodeReply(items, Text("found 1767225600000 1767225600000:3 3")));
  EXPECT_FALSE(DecodeReply(items, Text("found 1767225600000 1767225600000:3")));
  EXPECT_FALSE(DecodeReply(items, Text("allowed 1767225600000 1767225600000:3")));
}

TEST(Script, ARecordedAnswerIsThatOfThePolicyAsItWas) {
  // After a change of limits the repeat was answered with the new ones.
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{2, 60s}}});
  const Evaluation evaluation = EvaluationOf(plan, "id");
  const std::vector<Gathering::Item> items{{.evaluation = &evaluation}};
  const auto outcome =
      DecodeReply(items, Text("replayed 7 700 1 1767225601000 5:30000 1767225600000:3"));
  const auto& answer = std::get<Evaluated>(outcome.value().front());
  EXPECT_TRUE(answer.replayed);
  EXPECT_EQ(answer.LeadingLimit().limit, 5);
  EXPECT_EQ(answer.LeadingLimit().remaining, 1);
  EXPECT_EQ(answer.LeadingLimit().reset_after, 29s);
  EXPECT_EQ(answer.LeadingLimit().policy.data(), plan.policies()[0].id().data());
}

TEST(Script, WhatIsNotTheScriptsIsNoOutcome) {
  const Plan plan = OneLimit();
  const Evaluation evaluation = EvaluationOf(plan);
  const std::vector<Gathering::Item> one{{.evaluation = &evaluation}};
  const std::vector<Gathering::Item> two{{.evaluation = &evaluation}, {.evaluation = &evaluation}};
  for (const std::string_view text : {
           "",                                         // nothing
           "OK",                                       // another script's
           "allowed",                                  // without its states
           "allowed 1767225601000 1767225600000:5",    // the limit is reached: not allowed
           "denied 1767225601000 1767225600000:3",     // and here it is not
           "allowed 1767225601000 1767225600000:1e3",  // scientific notation
           "0000000000012 1767225601000 -:-",          // another evaluation's record
           "replayed 0000000000011",                   // a record cut short
           "replayed 0000000000011 1767225601000 1767225600000:5",  // a denial is never recorded
           "conflict 1",                                            // that is its cost
           "unreadable 2",                                          // the plan has one limit
       }) {
    EXPECT_FALSE(DecodeReply(one, Text(std::string(text)))) << text;
  }
  EXPECT_FALSE(DecodeReply(one, {.kind = Reply::Kind::kInteger, .integer = 1}));
  EXPECT_FALSE(DecodeReply(one, {.kind = Reply::Kind::kNil}));
  // One reply for two, and one that is no text.
  EXPECT_FALSE(DecodeReply(two, Text("clock-unsafe")));
  EXPECT_FALSE(DecodeReply(
      two, {.kind = Reply::Kind::kArray, .elements = {Text("clock-unsafe"), {.integer = 1}}}));
}

}  // namespace
}  // namespace sluice::redis
