// Edge::Evaluate: what /v1 and the command line ask for.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/edge/edge_fixture.h"
#include "src/edge/outcome_json.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

class DirectEvaluationTest : public ::testing::Test {
 protected:
  EvaluateRequest Request(std::vector<std::string> policies, std::string operation = {}) {
    EvaluateRequest request;
    request.policies = std::move(policies);
    request.operation = std::move(operation);
    request.identity = edge_.Opaque("alice");
    return request;
  }
  const Evaluation& Last() const { return recording_.evaluations.back(); }

  AllowingLimiter allowing_;
  testing::RecordingLimiter recording_{allowing_};
  EdgeUnderTest edge_{recording_};
};

TEST_F(DirectEvaluationTest, ByPoliciesHasNoOperation) {
  const EvaluateReport report = edge_.Evaluate(Request({"daily", "login"}));
  EXPECT_TRUE(IsAllowed(report.outcome));
  ASSERT_EQ(report.plan->policies().size(), 2U);
  EXPECT_EQ(report.plan->policies()[0].id(), "daily");
  EXPECT_EQ(report.id, Last().id);
  EXPECT_EQ(report.failure_retry_after, 1s);
  EXPECT_EQ(Last().plan, report.plan.get());
  EXPECT_EQ(Last().subject.operation, Last().subject.client);
  EXPECT_EQ(Last().cost, 1);
  EXPECT_EQ(Last().mode, Mode::kEvaluate);
  EXPECT_EQ(Last().deadline, edge_.clock.Now().steady + 750ms);
  EXPECT_EQ(edge_.observations.back().operation, "");
  EXPECT_EQ(edge_.observations.back().policy, "daily");
}

TEST_F(DirectEvaluationTest, ByOperationSharesTheCountersOfItsRequests) {
  EvaluateRequest request = Request({}, "item");
  request.kind = IdentityKind::kClientIp;
  request.identity = *edge_.edge->IdentityFrom(IdentityKind::kClientIp, "203.0.113.9");
  edge_.Evaluate(std::move(request));
  edge_.Judge("GET", "/items/7", "203.0.113.9");
  ASSERT_EQ(recording_.evaluations.size(), 2U);
  EXPECT_EQ(recording_.evaluations[0].subject, recording_.evaluations[1].subject);
  EXPECT_EQ(recording_.evaluations[0].plan, recording_.evaluations[1].plan);
  EXPECT_EQ(recording_.evaluations[0].cost, 2);
  EXPECT_EQ(edge_.observations[0].operation, "item");
}

TEST_F(DirectEvaluationTest, TheCounterOfWhatNothingMatchesHasANameToo) {
  EXPECT_TRUE(IsAllowed(edge_.Evaluate(Request({}, "*")).outcome));
}

TEST_F(DirectEvaluationTest, TakesCostIdModeAndBudgetOfTheCaller) {
  EvaluateRequest request = Request({}, "item");
  request.cost = 7;
  request.evaluation_id = "order-17";
  request.mode = Mode::kPeek;
  request.budget = 30ms;
  const EvaluateReport report = edge_.Evaluate(std::move(request));
  EXPECT_EQ(report.id.ToString(), "order-17");
  EXPECT_TRUE(Last().id.is_from_caller());
  EXPECT_EQ(Last().id, report.id);
  EXPECT_EQ(Last().cost, 7);
  EXPECT_EQ(Last().mode, Mode::kPeek);
  EXPECT_EQ(Last().deadline, edge_.clock.Now().steady + 30ms);
}

TEST_F(DirectEvaluationTest, ThatCannotBeMadeIsIncompatibleAndAsksNothing) {
  const auto with_id = [&](std::string id) {
    EvaluateRequest request = Request({"login"});
    request.evaluation_id = std::move(id);
    return request;
  };
  using R = Incompatible::Reason;
  struct Row {
    EvaluateRequest request;
    R reason;
    std::string detail;
  };
  std::vector<Row> rows;
  rows.push_back({Request({"nope"}), R::kUnknownPolicy, "there is no policy \"nope\""});
  rows.push_back({Request({"login", "nope"}), R::kUnknownPolicy, "there is no policy \"nope\""});
  // What is no id may be anything, so it is not repeated.
  rows.push_back(
      {Request({"alice@example.com"}), R::kUnknownPolicy, "there is no policy of such a name"});
  rows.push_back({Request({}, "nope"), R::kUnknownPolicy, "there is no operation \"nope\""});
  rows.push_back({Request({}, "health"), R::kUnknownPolicy,
                  "the operation \"health\" is exempt: it has no policy to evaluate"});
  rows.push_back(
      {Request({}), R::kUnknownPolicy, "an evaluation names either policies or an operation"});
  rows.push_back({Request({"login"}, "login"), R::kUnknownPolicy,
                  "an evaluation names either policies or an operation"});
  rows.push_back({with_id("a\n"), R::kEvaluationIdConflict,
                  "an evaluation id is 1 to 128 bytes of printable ASCII"});
  for (Row& row : rows) {
    const EvaluateReport report = edge_.Evaluate(std::move(row.request));
    const auto* incompatible = std::get_if<Incompatible>(&report.outcome);
    ASSERT_NE(incompatible, nullptr) << row.detail;
    EXPECT_EQ(incompatible->reason, row.reason) << row.detail;
    EXPECT_EQ(incompatible->detail, row.detail);
    EXPECT_EQ(report.plan, nullptr);
    EXPECT_NE(report.id.ToString(), "");
    EXPECT_EQ(edge_.observations.back().outcome, AnswerOutcome::kIncompatible);
    EXPECT_EQ(edge_.observations.back().policy, "");
  }
  EXPECT_EQ(edge_.observations.size(), rows.size());
  EXPECT_TRUE(recording_.evaluations.empty());
}

TEST_F(DirectEvaluationTest, APolicyTwiceMakesNoPlan) {
  const EvaluateReport report = edge_.Evaluate(Request({"login", "login"}));
  EXPECT_TRUE(std::holds_alternative<Incompatible>(report.outcome));
  EXPECT_TRUE(recording_.evaluations.empty());
}

TEST_F(DirectEvaluationTest, AnIdentityWithoutTheKindIsAnonymous) {
  EvaluateRequest request = Request({"login"});
  request.kind = IdentityKind::kClientIp;  // the identity is an opaque one
  edge_.Evaluate(std::move(request));
  const Subject missing = Last().subject;
  EXPECT_TRUE(edge_.observations.back().anonymous);
  EvaluateRequest nobody = Request({"login"});
  nobody.identity = {};
  nobody.kind = IdentityKind::kAnonymous;
  edge_.Evaluate(std::move(nobody));
  EXPECT_EQ(Last().subject, missing);
}

TEST_F(DirectEvaluationTest, KindsAreSubjectsOfTheirOwn) {
  edge_.Evaluate(Request({"login"}));
  EvaluateRequest principal = Request({"login"});
  principal.kind = IdentityKind::kPrincipal;
  principal.identity = *edge_.edge->IdentityFrom(IdentityKind::kPrincipal, "alice");
  edge_.Evaluate(std::move(principal));
  EXPECT_NE(recording_.evaluations[0].subject.client, recording_.evaluations[1].subject.client);
}

TEST(DirectEvaluation, MayCompleteLateAndAfterItsEdgeIsGone) {
  AllowingLimiter allowing;
  testing::DelayingLimiter delaying(allowing);
  EdgeUnderTest edge(delaying);
  EvaluateRequest request;
  request.policies = {"login", "daily"};  // a plan made for this evaluation only
  request.identity = edge.Opaque("alice");
  std::string json;
  edge.edge->Evaluate(std::move(request),
                      [&](const EvaluateReport& report) { json = ToJson(report); });
  edge.edge.reset();
  EXPECT_EQ(json, "");
  delaying.Release();
  EXPECT_NE(json.find(R"("policy":"login")"), std::string::npos) << json;
}

}  // namespace
}  // namespace sluice::edge
