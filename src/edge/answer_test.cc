#include "src/edge/answer.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/edge/edge_fixture.h"
#include "src/edge/rate_limit_fields.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;
using Fields = std::vector<std::pair<std::string, std::string>>;

const PolicyItems kItems{R"("login";q=5;w=60)", R"("daily";q=10000;w=86400)"};

Evaluated Decided(bool login, bool daily, std::optional<Milliseconds> retry) {
  return {.allowed = login && daily,
          .leading = login ? std::size_t{1} : std::size_t{0},
          .limits = {{.policy = "login",
                      .allowed = login,
                      .limit = 5,
                      .remaining = login ? 4 : 0,
                      .reset_after = 41'234ms,
                      .retry_after = login ? Milliseconds{0} : retry},
                     {.policy = "daily",
                      .allowed = daily,
                      .limit = 10'000,
                      .remaining = daily ? 9 : 0,
                      .reset_after = 4'000s,
                      .retry_after = daily ? Milliseconds{0} : retry}}};
}

Fields FieldsOf(const Answer& answer) {
  Fields fields;
  for (const AnswerField& field : answer.headers) {
    fields.emplace_back(std::string{field.name}, field.value);
  }
  return fields;
}

constexpr std::string_view kBothPolicies = R"("login";q=5;w=60, "daily";q=10000;w=86400)";
constexpr std::string_view kDailyFirst = R"("daily";q=10000;w=86400, "login";q=5;w=60)";

struct Row {
  Outcome outcome;
  int status;
  Fields fields;
  std::string body;
};

// Every outcome a judged request can have, with the whole answer.
TEST(Answer, FollowsTheTable) {
  const auto refused = [](std::string_view word, Fields more = {}) {
    Fields fields{{"X-Sluice-Outcome", std::string{word}}, {"Cache-Control", "no-store"}};
    fields.insert(fields.end(), more.begin(), more.end());
    fields.emplace_back("Content-Type", "application/problem+json");
    return fields;
  };
  const auto failure = [](std::string_view category, bool charged) {
    return std::string{R"({"type":"about:blank","title":"Service Unavailable","status":503,)"} +
           (charged ? R"("detail":"The rate limiter gave no certain answer. )"
                      R"(The request may have been charged.")"
                    : R"("detail":"The rate limiter could not be asked. Nothing was charged.")") +
           R"(,"category":")" + std::string{category} + "\"}";
  };
  const auto quota = [](std::string_view detail, std::string_view policies) {
    return R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",)"
           R"("title":"Request cannot be satisfied as assigned quota has been exceeded",)"
           R"("status":429,"detail":")" +
           std::string{detail} + R"(","violated-policies":)" + std::string{policies} + "}";
  };
  const std::string incompatible =
      R"({"type":"about:blank","title":"Internal Server Error","status":500,)"
      R"("detail":"The rate limiter cannot decide about this request.",)"
      R"("category":"state-incompatible"})";
  const Fields retry{{"Retry-After", "2"}};  // 1001 ms, rounded up
  using U = Unavailable::Category;
  using I = Indeterminate::Category;
  using R = Incompatible::Reason;

  const Row rows[] = {
      // Allowed: numbers, no wait, no body.
      {Decided(true, true, {}),
       200,
       {{"X-Sluice-Outcome", "allowed"},
        {"Cache-Control", "no-store"},
        {"RateLimit-Policy", std::string{kDailyFirst}},
        {"RateLimit", R"("daily";r=9;t=4000, "login";r=4;t=42)"}},
       ""},
      // Denied by one limit.
      {Decided(false, true, 41'234ms), 429,
       refused("denied", {{"RateLimit-Policy", std::string{kBothPolicies}},
                          {"RateLimit", R"("login";r=0;t=42, "daily";r=9;t=4000)"},
                          {"Retry-After", "42"}}),
       quota("Try again in 42 s.", R"(["login"])")},
      // Denied by both.
      {Decided(false, false, 1ms), 429,
       refused("denied", {{"RateLimit-Policy", std::string{kBothPolicies}},
                          {"RateLimit", R"("login";r=0;t=1, "daily";r=0;t=1)"},
                          {"Retry-After", "1"}}),
       quota("Try again in 1 s.", R"(["login","daily"])")},
      // Denied for ever: no Retry-After, and no t.
      {Decided(false, true, {}), 429,
       refused("denied", {{"RateLimit-Policy", std::string{kBothPolicies}},
                          {"RateLimit", R"("login";r=0, "daily";r=9;t=4000)"}}),
       quota("No wait will let this request pass.", R"(["login"])")},
      // Unavailable: nothing was charged, no numbers.
      {Unavailable{U::kAdmissionRejected, "secret"}, 503, refused("unavailable", retry),
       failure("admission-rejected", false)},
      {Unavailable{U::kUnavailableBeforeSend, "secret"}, 503, refused("unavailable", retry),
       failure("unavailable-before-send", false)},
      {Unavailable{U::kNoMutationConfirmed, "secret"}, 503, refused("unavailable", retry),
       failure("no-mutation-confirmed", false)},
      {Unavailable{U::kClockUnsafe, "secret"}, 503, refused("unavailable", retry),
       failure("clock-unsafe", false)},
      // Indeterminate: never told as unavailable.
      {Indeterminate{I::kDeadlinePassed, "secret"}, 503, refused("indeterminate", retry),
       failure("deadline-passed", true)},
      {Indeterminate{I::kResponseLost, "secret"}, 503, refused("indeterminate", retry),
       failure("response-lost", true)},
      {Indeterminate{I::kReplyMalformed, "secret"}, 503, refused("indeterminate", retry),
       failure("reply-malformed", true)},
      {Indeterminate{I::kScriptAborted, "secret"}, 503, refused("indeterminate", retry),
       failure("script-aborted", true)},
      // Incompatible: no retry heals it, and clients learn no reason.
      {Incompatible{R::kUnknownPolicy, "secret"}, 500, refused("incompatible"), incompatible},
      {Incompatible{R::kCostExceedsMaximum, "secret"}, 500, refused("incompatible"), incompatible},
      {Incompatible{R::kEvaluationIdConflict, "secret"}, 500, refused("incompatible"),
       incompatible},
      {Incompatible{R::kPermissionDenied, "secret"}, 500, refused("incompatible"), incompatible},
      {Incompatible{R::kServerIncompatible, "secret"}, 500, refused("incompatible"), incompatible},
      {Incompatible{R::kStateUnreadable, "secret"}, 500, refused("incompatible"), incompatible},
  };
  for (const Row& row : rows) {
    const Answer answer = AnswerFor(row.outcome, kItems, 1'001ms);
    const std::string what = row.body + " " + std::string{CategoryOf(row.outcome)};
    EXPECT_EQ(answer.status, row.status) << what;
    EXPECT_EQ(answer.outcome, KindOf(row.outcome)) << what;
    EXPECT_EQ(FieldsOf(answer), row.fields) << what;
    EXPECT_EQ(answer.body, row.body) << what;
    if (!answer.body.empty()) {
      EXPECT_EQ(nlohmann::json::parse(answer.body)["status"], answer.status) << what;
    }
  }
}

TEST(Answer, ToADirectEvaluationIsTheOutcomeAsJson) {
  const auto plan =
      std::make_shared<const Plan>(*Plan::Create({TestPolicies()[0], TestPolicies()[2]}));
  using R = Incompatible::Reason;
  const struct {
    Outcome outcome;
    int status;
    bool has_numbers;
    std::string_view retry_after;
  } rows[] = {
      {Decided(true, true, {}), 200, true, "(absent)"},
      {Decided(false, true, 1'900ms), 429, true, "2"},
      {Decided(false, true, {}), 429, true, "(absent)"},
      {Unavailable{Unavailable::Category::kClockUnsafe}, 503, false, "1"},
      {Indeterminate{Indeterminate::Category::kResponseLost}, 503, false, "1"},
      {Incompatible{R::kUnknownPolicy}, 422, false, "(absent)"},
      {Incompatible{R::kCostExceedsMaximum}, 422, false, "(absent)"},
      {Incompatible{R::kEvaluationIdConflict}, 409, false, "(absent)"},
      {Incompatible{R::kPermissionDenied}, 500, false, "(absent)"},
      {Incompatible{R::kServerIncompatible}, 500, false, "(absent)"},
      {Incompatible{R::kStateUnreadable}, 500, false, "(absent)"},
  };
  for (const auto& row : rows) {
    const EvaluateReport report{.plan = plan,
                                .outcome = row.outcome,
                                .id = EvaluationId::FromCaller("id-1"),
                                .failure_retry_after = 250ms};
    const Answer answer = AnswerFor(report);
    EXPECT_EQ(answer.status, row.status) << answer.body;
    EXPECT_EQ(FieldOf(answer, "X-Sluice-Outcome"), Name(KindOf(row.outcome))) << answer.body;
    EXPECT_EQ(FieldOf(answer, "Cache-Control"), "no-store");
    EXPECT_EQ(FieldOf(answer, "Content-Type"), "application/json");
    EXPECT_EQ(FieldOf(answer, "Retry-After"), row.retry_after) << answer.body;
    EXPECT_EQ(FieldOf(answer, "RateLimit") != "(absent)", row.has_numbers) << answer.body;
    EXPECT_EQ(FieldOf(answer, "RateLimit-Policy") != "(absent)", row.has_numbers) << answer.body;
    EXPECT_EQ(nlohmann::json::parse(answer.body)["evaluation_id"], "id-1");
  }
}

TEST(Answer, ToADirectEvaluationWithoutAPlanHasNoNumbers) {
  const EvaluateReport report{.plan = nullptr,
                              .outcome = Incompatible{Incompatible::Reason::kUnknownPolicy, "none"},
                              .id = EvaluationId::FromCaller("x")};
  EXPECT_EQ(AnswerFor(report).status, 422);
}

TEST(Answer, ToAnExemptRequestIsBare) {
  const Answer answer = ExemptAnswer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.outcome, AnswerOutcome::kExempt);
  EXPECT_EQ(FieldsOf(answer),
            (Fields{{"X-Sluice-Outcome", "exempt"}, {"Cache-Control", "no-store"}}));
  EXPECT_EQ(answer.body, "");
}

TEST(Answer, ToAnUnidentifiedClientChallenges) {
  const Answer answer = UnidentifiedAnswer();
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(FieldsOf(answer), (Fields{{"X-Sluice-Outcome", "denied"},
                                      {"Cache-Control", "no-store"},
                                      {"WWW-Authenticate", R"(Bearer realm="sluice")"},
                                      {"Content-Type", "application/problem+json"}}));
  EXPECT_EQ(answer.body, R"({"type":"about:blank","title":"Unauthorized","status":401,)"
                         R"("detail":"The request does not say who sent it."})");
}

TEST(Answer, ForTransportsIsAProblemWithEscapedWords) {
  const Answer answer = ProblemAnswer(405, "Method Not Allowed", "use \"POST\"\n\xFF");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.outcome, AnswerOutcome::kIncompatible);
  EXPECT_EQ(FieldsOf(answer), (Fields{{"X-Sluice-Outcome", "incompatible"},
                                      {"Cache-Control", "no-store"},
                                      {"Content-Type", "application/problem+json"}}));
  EXPECT_EQ(answer.body, R"({"type":"about:blank","title":"Method Not Allowed","status":405,)"
                         "\"detail\":\"use \\\"POST\\\"\\n\xEF\xBF\xBD\"}");
}

// Old wrong behaviour elsewhere: nginx makes 500 of a 429, and a denial sent as 200 let all pass.
TEST(Answer, WithAnotherDenyStatusKeepsTheTrueOneAndDropsTheBody) {
  const Answer denied = AnswerFor(Decided(false, true, 41'234ms), kItems, 1s);
  const Answer answer = AnswerWithDenyStatus(denied, 403);
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(FieldsOf(answer), (Fields{{"X-Sluice-Outcome", "denied"},
                                      {"Cache-Control", "no-store"},
                                      {"RateLimit-Policy", std::string{kBothPolicies}},
                                      {"RateLimit", R"("login";r=0;t=42, "daily";r=9;t=4000)"},
                                      {"Retry-After", "42"},
                                      {"X-Sluice-Status", "429"}}));
  EXPECT_EQ(answer.body, "");
}

TEST(Answer, WithAnotherDenyStatusLeavesAllOthersAlone) {
  const Answer answers[] = {
      AnswerFor(Decided(true, true, {}), kItems, 1s),
      AnswerFor(Unavailable{Unavailable::Category::kClockUnsafe}, kItems, 1s),
      AnswerFor(Incompatible{Incompatible::Reason::kStateUnreadable}, kItems, 1s),
      ExemptAnswer(),
      UnidentifiedAnswer(),
      ProblemAnswer(400, "Bad Request", "x"),
  };
  for (const Answer& before : answers) {
    const Answer after = AnswerWithDenyStatus(before, 403);
    EXPECT_EQ(after.status, before.status);
    EXPECT_EQ(FieldsOf(after), FieldsOf(before));
    EXPECT_EQ(after.body, before.body);
  }
}

}  // namespace
}  // namespace sluice::edge
