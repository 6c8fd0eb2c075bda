// Edge::Judge: from a request to its answer.
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/edge/edge_fixture.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

class JudgeTest : public ::testing::Test {
 protected:
  const Evaluation& Last() const { return recording_.evaluations.back(); }

  AllowingLimiter allowing_;
  testing::RecordingLimiter recording_{allowing_};
  EdgeUnderTest edge_{recording_};
};

TEST_F(JudgeTest, AsksTheLimiterOnceWithAllItNeeds) {
  edge_.clock.Advance(12'345ms);
  const Answer answer = edge_.Judge("POST", "/items/7?x=1");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(FieldOf(answer, "RateLimit"), R"("api";r=1;t=2, "daily";r=1;t=2)");
  EXPECT_EQ(FieldOf(answer, "RateLimit-Policy"), R"("api";q=100;w=10, "daily";q=10000;w=86400)");

  ASSERT_EQ(recording_.evaluations.size(), 1U);
  const Evaluation& asked = Last();
  EXPECT_EQ(asked.plan->policies()[0].id(), "api");
  EXPECT_EQ(asked.cost, 2);
  EXPECT_EQ(asked.mode, Mode::kEvaluate);
  EXPECT_EQ(asked.now.wall, edge_.clock.Now().wall);
  EXPECT_EQ(asked.now.steady, edge_.clock.Now().steady);
  EXPECT_EQ(asked.deadline, edge_.clock.Now().steady + 750ms);
  EXPECT_FALSE(asked.id.is_from_caller());
  EXPECT_EQ(asked.subject.key_version, 1U);
}

TEST_F(JudgeTest, TheBudgetOfTheSettingsIsTheDeadline) {
  EdgeSettings settings = TestSettings();
  settings.budget = 20ms;
  EdgeUnderTest edge(recording_, std::move(settings));
  edge.Judge("GET", "/");
  EXPECT_EQ(Last().deadline - Last().now.steady, 20ms);
}

TEST_F(JudgeTest, EachRequestHasItsOwnId) {
  edge_.Judge("GET", "/");
  edge_.Judge("GET", "/");
  EXPECT_NE(recording_.evaluations[0].id, recording_.evaluations[1].id);
}

TEST_F(JudgeTest, ASubjectIsTheClientsAndTheOperations) {
  edge_.Judge("POST", "/login");
  const Subject login = Last().subject;
  edge_.Judge("GET", "/items/7");
  const Subject item = Last().subject;
  edge_.Judge("GET", "/nowhere");
  const Subject unmatched = Last().subject;
  edge_.Judge("POST", "/login", "198.51.100.1");
  const Subject other = Last().subject;

  EXPECT_EQ(login.client, item.client);
  EXPECT_EQ(login.client, unmatched.client);
  EXPECT_NE(login.client, other.client);
  const std::set<Digest> operations{login.operation, item.operation, unmatched.operation,
                                    other.operation, login.client};
  EXPECT_EQ(operations.size(), 5U);
}

TEST_F(JudgeTest, APlanOfOneBudgetOverAllOperationsNeedsNoOperation) {
  edge_.Judge("GET", "/report");
  EXPECT_EQ(Last().subject.operation, Last().subject.client);
}

// Old wrong behaviour elsewhere: a path that the attacker chooses enters the key, and every request
// has a fresh budget.
TEST_F(JudgeTest, RandomPathsAreOneSubject) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const std::string_view prefix : {"/items/", "/", "/deep/er/"}) {
    std::set<Digest> operations;
    recording_.evaluations.clear();
    for (int i = 0; i < 1'000; ++i) {
      edge_.Judge("GET", std::string{prefix} + std::to_string(random()));
    }
    for (const Evaluation& asked : recording_.evaluations)
      operations.insert(asked.subject.operation);
    EXPECT_EQ(recording_.evaluations.size(), 1'000U) << prefix;
    EXPECT_EQ(operations.size(), 1U) << prefix;
  }
}

TEST_F(JudgeTest, NoSpellingOfAPathEscapesItsOperation) {
  for (const std::string_view target :
       {"/login", "/login/", "//login", "/%6Cogin", "/x/../login", "/x/%2e%2e/login?next=/",
        "http://example.com/login", "/./login#x"}) {
    edge_.Judge("POST", target);
    EXPECT_EQ(edge_.observations.back().operation, "login") << target;
  }
}

TEST_F(JudgeTest, TheHostOfAnAbsoluteUriOverrulesTheHostField) {
  edge_.Judge("GET", "http://cdn.example.com/files/a", "203.0.113.9", "example.com");
  EXPECT_EQ(edge_.observations.back().operation, "files");
  edge_.Judge("GET", "http://example.com/files/a", "203.0.113.9", "cdn.example.com");
  EXPECT_EQ(edge_.observations.back().operation, "*");
}

TEST_F(JudgeTest, TargetsWithoutAPathAreNoOperations) {
  EXPECT_EQ(edge_.Judge("OPTIONS", "*").status, 200);
  EXPECT_EQ(edge_.observations.back().operation, "*");
  EXPECT_EQ(edge_.Judge("CONNECT", "example.com:443").status, 200);
  EXPECT_EQ(edge_.observations.back().operation, "*");
  EXPECT_EQ(edge_.Judge("CONNECT", "/report").status, 200);  // extended CONNECT (RFC 8441)
}

TEST_F(JudgeTest, MalformedRequestsAre400AndNotCounted) {
  for (const auto& [method, target] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"GET", ""},
           {"GET", "login"},
           {"GET", "example.com:443"},  // authority form is for CONNECT
           {"GET", "/%zz"},
           {"GET", "/a b"},
           {"", "/"},
           {"GE T", "/"}}) {
    const Answer answer = edge_.Judge(method, target);
    EXPECT_EQ(answer.status, 400) << method << " " << target;
    EXPECT_EQ(FieldOf(answer, "X-Sluice-Outcome"), "incompatible");
    EXPECT_EQ(FieldOf(answer, "Content-Type"), "application/problem+json");
    EXPECT_EQ(edge_.observations.back().category, "malformed-request");
  }
  EXPECT_TRUE(recording_.evaluations.empty());
}

TEST_F(JudgeTest, AnExemptOperationAsksNothing) {
  const Answer answer = edge_.Judge("GET", "/healthz");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(FieldOf(answer, "X-Sluice-Outcome"), "exempt");
  EXPECT_TRUE(recording_.evaluations.empty());
  ASSERT_EQ(edge_.observations.size(), 1U);
  EXPECT_EQ(edge_.observations[0].operation, "health");
  EXPECT_EQ(edge_.observations[0].policy, "");
  EXPECT_EQ(edge_.observations[0].outcome, AnswerOutcome::kExempt);
}

TEST_F(JudgeTest, TheFirstSourcePresentNamesTheClient) {
  const auto client = [&](std::string_view path, std::string_view host,
                          std::vector<HeaderField> headers) {
    edge_.Judge("GET", path, "127.0.0.1", host, std::move(headers));
    return Last().subject.client;
  };
  const HeaderField address{"X-Forwarded-For", "203.0.113.9"};
  const HeaderField alice{"X-Authenticated-User", "alice"};
  const HeaderField key{"X-API-Key", "k-1"};
  const Digest by_address = client("/x", "", {address});
  const Digest by_key = client("/x", "", {address, key});
  const Digest by_name = client("/x", "", {address, key, alice});
  EXPECT_EQ((std::set{by_address, by_key, by_name}).size(), 3U);
  EXPECT_EQ(client("/x", "", {{"X-Authenticated-User", ""}, address}), by_address);
  // An operation may have sources of its own.
  EXPECT_EQ(client("/files/a", "cdn.example.com", {address, key, alice}), by_address);
}

TEST_F(JudgeTest, ClientsThatNothingNamesShareOneBudget) {
  edge_.Judge("GET", "/", "unknown");
  const Subject first = Last().subject;
  EXPECT_TRUE(edge_.observations.back().anonymous);
  edge_.Judge("GET", "/", "not an address either");
  EXPECT_EQ(Last().subject, first);
  edge_.Judge("GET", "/", "203.0.113.9");
  EXPECT_NE(Last().subject, first);
  EXPECT_FALSE(edge_.observations.back().anonymous);
}

TEST_F(JudgeTest, ClientsThatNothingNamesAreRefusedIfSoSet) {
  EdgeSettings settings = TestSettings();
  settings.identity.anonymous = Anonymous::kDeny;
  EdgeUnderTest edge(recording_, std::move(settings));
  const Answer answer = edge.Judge("GET", "/", "unknown");
  EXPECT_EQ(answer.status, 401);
  EXPECT_NE(FieldOf(answer, "WWW-Authenticate"), "(absent)");
  EXPECT_TRUE(recording_.evaluations.empty());
  EXPECT_EQ(edge.observations.back().outcome, AnswerOutcome::kDenied);
  EXPECT_TRUE(edge.observations.back().anonymous);
  // An exempt operation asks nobody's name.
  EXPECT_EQ(edge.Judge("GET", "/healthz", "unknown").status, 200);
}

// Old wrong behaviour elsewhere: a client that repeats its own id is answered from the record and
// never charged.
TEST_F(JudgeTest, AClientsOwnIdsAreNotUsed) {
  const std::vector<HeaderField> headers{
      {"Idempotency-Key", "mine"}, {"X-Sluice-Evaluation-Id", "mine"}, {"Evaluation-Id", "mine"}};
  for (const std::string_view peer : {"203.0.113.9", "127.0.0.1"}) {
    edge_.Judge("POST", "/login", peer, "example.com", headers);
    EXPECT_FALSE(Last().id.is_from_caller());
    EXPECT_NE(Last().id.ToString(), "mine");
  }
  EXPECT_NE(recording_.evaluations[0].id, recording_.evaluations[1].id);
}

TEST_F(JudgeTest, TellsTheObserver) {
  edge_.Judge("POST", "/login");
  ASSERT_EQ(edge_.observations.size(), 1U);
  const EdgeUnderTest::Seen& seen = edge_.observations.front();
  EXPECT_EQ(seen.operation, "login");
  EXPECT_EQ(seen.policy, "login");
  EXPECT_EQ(seen.outcome, AnswerOutcome::kAllowed);
  EXPECT_EQ(seen.category, "");
  EXPECT_FALSE(seen.replayed);
  EXPECT_EQ(seen.elapsed, 0ns);
}

TEST(Judge, FailsClosedOnEveryOutcomeThatDoesNotAllow) {
  using U = Unavailable::Category;
  using I = Indeterminate::Category;
  using R = Incompatible::Reason;
  const Outcome outcomes[] = {
      Unavailable{U::kAdmissionRejected},     Unavailable{U::kUnavailableBeforeSend},
      Unavailable{U::kNoMutationConfirmed},   Unavailable{U::kClockUnsafe},
      Indeterminate{I::kDeadlinePassed},      Indeterminate{I::kResponseLost},
      Indeterminate{I::kReplyMalformed},      Indeterminate{I::kScriptAborted},
      Incompatible{R::kUnknownPolicy},        Incompatible{R::kCostExceedsMaximum},
      Incompatible{R::kEvaluationIdConflict}, Incompatible{R::kPermissionDenied},
      Incompatible{R::kServerIncompatible},   Incompatible{R::kStateUnreadable}};
  for (const Outcome& outcome : outcomes) {
    testing::FailingLimiter failing(outcome);
    EdgeUnderTest edge(failing);
    const Answer answer = edge.Judge("POST", "/login");
    EXPECT_EQ(answer.status, std::holds_alternative<Incompatible>(outcome) ? 500 : 503);
    EXPECT_EQ(FieldOf(answer, "RateLimit"), "(absent)");
    ASSERT_EQ(edge.observations.size(), 1U);
    EXPECT_EQ(edge.observations[0].policy, "login");  // the plan's first
    EXPECT_EQ(edge.observations[0].outcome, answer.outcome);
    EXPECT_NE(edge.observations[0].category, "");
  }
}

// Old wrong behaviour: what the engine said about its failure reached no log.
TEST(Judge, TellsTheObserverWhyNothingWasDecided) {
  testing::FailingLimiter failing(
      Indeterminate{Indeterminate::Category::kScriptAborted, "EVALSHA: an error in the script"});
  EdgeUnderTest edge(failing);
  (void)edge.Judge("POST", "/login");
  ASSERT_EQ(edge.observations.size(), 1U);
  EXPECT_EQ(edge.observations[0].category, "script-aborted");
  EXPECT_EQ(edge.observations[0].detail, "EVALSHA: an error in the script");
}

TEST(Judge, AnAnswerMayComeLate) {
  AllowingLimiter allowing;
  testing::DelayingLimiter delaying(allowing);
  EdgeUnderTest edge(delaying);
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    // The request's views end before the answer comes.
    const std::string target = "/items/" + std::to_string(i);
    const std::vector<HeaderField> none;
    edge.edge->Judge({.method = "GET",
                      .target = target,
                      .host = "example.com",
                      .identity = edge.edge->Identify(edge.edge->PeerFrom("203.0.113.9"), none)},
                     [&](const Answer& answer) {
                       EXPECT_EQ(answer.status, 200);
                       ++answers;
                     });
  }
  EXPECT_EQ(delaying.waiting(), 3U);
  EXPECT_EQ(answers, 0);
  edge.clock.Advance(40ms);
  delaying.Release();
  EXPECT_EQ(answers, 3);
  ASSERT_EQ(edge.observations.size(), 3U);
  EXPECT_EQ(edge.observations[2].elapsed, 40ms);
  EXPECT_EQ(edge.observations[2].operation, "item");
}

// A new configuration replaces the edge while evaluations of the old one are on their way.
TEST(Judge, AnAnswerMayComeAfterItsEdgeIsGone) {
  AllowingLimiter allowing;
  testing::DelayingLimiter delaying(allowing);
  EdgeUnderTest edge(delaying);
  std::string state;
  edge.edge->Judge({.method = "GET", .target = "/", .host = "", .identity = {}},
                   [&](const Answer& answer) { state = FieldOf(answer, "RateLimit"); });
  edge.edge.reset();
  delaying.Release();
  EXPECT_EQ(state, R"("api";r=1;t=2)");
}

TEST(Judge, WaitingTakesAnAnswerFromAnotherThread) {
  class ThreadLimiter : public Limiter {
   public:
    void Evaluate(const Evaluation& evaluation, Completion completion) override {
      thread = std::jthread(
          [this, plan = evaluation.plan, completion = std::move(completion)]() mutable {
            Evaluation asked;
            asked.plan = plan;
            allowing.Evaluate(asked, std::move(completion));
          });
    }
    AllowingLimiter allowing;
    std::jthread thread;
  };
  ThreadLimiter limiter;
  EdgeUnderTest edge(limiter);
  EXPECT_EQ(edge.Judge("GET", "/report").status, 200);
  limiter.thread.join();
}

}  // namespace
}  // namespace sluice::edge
