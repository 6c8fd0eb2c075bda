// Keys that hold something else: said so, never guessed, never a crash, never written.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::PlanOf;
using testing::SubjectNumber;

class Unreadable : public ScriptsTest {
 protected:
  // Asks with the lean script, with the driver and in a batch.
  void ExpectUnreadable(const Plan& plan) {
    const Evaluation plain = EvaluationOf(plan, {SubjectNumber(1)});
    const Evaluation named = EvaluationOf(plan, {.subject = SubjectNumber(1), .id = "id"});
    const Gathering::Item batch[] = {{.evaluation = &plain}, {.evaluation = &named}};
    std::vector<Outcome> outcomes = client_.Evaluate(options_, batch);
    outcomes.push_back(client_.EvaluateOne(options_, plain));
    outcomes.push_back(client_.EvaluateOne(options_, named));
    for (const Outcome& outcome : outcomes) {
      ASSERT_TRUE(std::holds_alternative<Incompatible>(outcome));
      const auto& incompatible = std::get<Incompatible>(outcome);
      EXPECT_EQ(incompatible.reason, Incompatible::Reason::kStateUnreadable);
      EXPECT_NE(incompatible.detail.find("\"p\""), std::string::npos) << incompatible.detail;
    }
  }
};

TEST_F(Unreadable, KeysOfOtherTypes) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 60s}}});
  const std::string key = KeyIn(plan, SubjectNumber(1));
  const std::vector<std::string> makers[] = {{"SET", key, "text"},
                                             {"LPUSH", key, "1"},
                                             {"SADD", key, "1"},
                                             {"ZADD", key, "1", "1"},
                                             {"XADD", key, "*", "f", "v"}};
  for (const auto& maker : makers) {
    SCOPED_TRACE(maker[0]);
    client_.Command({"DEL", key});
    client_.Command(maker);
    const std::string before = client_.Command({"DUMP", key}).text;
    ExpectUnreadable(plan);
    EXPECT_EQ(client_.Command({"DUMP", key}).text, before);
  }
}

TEST_F(Unreadable, HashesThatAreNoState) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = SlidingCounter{5, 60s}}});
  const std::string key = KeyIn(plan, SubjectNumber(1));
  // What the hash holds, and why it is no state of a sliding counter.
  using Fields = std::vector<std::string>;
  const Fields cases[] = {
      {"name", "alice"},             // a stranger's
      {"written", "1767225600000"},  // nothing but a time
      {"written", "1767225600000", "window", "1767225600000", "current", "1"},  // a field too few
      {"written", "1767225600000", "window", "1767225600000", "count", "1"},    // a fixed window's
      {"written", "x", "window", "1", "current", "1", "previous", "1"},         // no number
      {"written", "9", "window", "", "current", "1", "previous", "1"},          // nothing
      {"written", "9", "window", "1", "current", "-1", "previous", "1"},        // negative
      {"written", "9", "window", "1", "current", "1.5", "previous", "1"},       // half a unit
      {"written", "9", "window", "1", "current", "nan", "previous", "1"},       // nan
      {"written", "9", "window", "1", "current", "inf", "previous", "1"},       // inf
      {"written", "9", "window", "10", "current", "1", "previous", "1"},        // from the future
      // 2^53 and above: no double is sure to be that number
      {"written", "9", "window", "1", "current", "9007199254740992", "previous", "1"},
      {"written", "9", "window", "1", "current", "1", "previous", "9007199254740992"},
      {"written", "9007199254740992", "window", "1", "current", "1", "previous", "1"},
  };
  for (const Fields& fields : cases) {
    std::vector<std::string> words{"HSET", key};
    for (const std::string& field : fields) words.push_back(field);
    SCOPED_TRACE(::testing::PrintToString(words));
    client_.Command({"DEL", key});
    client_.Command(words);
    const std::string before = client_.Command({"DUMP", key}).text;
    ExpectUnreadable(plan);
    EXPECT_EQ(client_.Command({"DUMP", key}).text, before);
  }
}

TEST_F(Unreadable, OneKeyOfAPlanChangesNothingInTheOthers) {
  const Plan plan = PlanOf({{.id = "good", .algorithm = FixedWindow{5, 60s}},
                            {.id = "p", .algorithm = FixedWindow{5, 60s}}});
  client_.Command({"SET", KeyIn(plan, SubjectNumber(1), 1), "text"});
  ExpectUnreadable(plan);
  EXPECT_EQ(client_.Command({"EXISTS", KeyIn(plan, SubjectNumber(1), 0)}).integer, 0);
}

TEST_F(Unreadable, AnotherAlgorithmUnderTheSameRevision) {
  const Plan before = PlanOf({{.id = "p", .algorithm = TokenBucket{5, 1, 1s}}});
  const Plan after = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 60s}}});
  EXPECT_TRUE(Decided(before, {SubjectNumber(1)}).allowed);
  ExpectUnreadable(after);
  const Plan revised = PlanOf({{.id = "p", .revision = 2, .algorithm = FixedWindow{5, 60s}}});
  EXPECT_TRUE(Decided(revised, {SubjectNumber(1)}).allowed);
}

TEST_F(Unreadable, ACommandThatIsForbiddenIsNoStateButAnError) {
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{5, 60s}}});
  client_.Command({"ACL", "SETUSER", "narrow", "on", "nopass", "~*", "+evalsha", "+hset"});
  client_.Command({"AUTH", "narrow", "any"});
  const Evaluation evaluation = EvaluationOf(plan, {SubjectNumber(1)});
  const Gathering::Item item{.evaluation = &evaluation};
  const Reply reply = client_.Exchange(EncodeCall(options_, std::span(&item, 1)).bytes);
  EXPECT_EQ(reply.kind, Reply::Kind::kError);
}

}  // namespace
}  // namespace sluice::redis
