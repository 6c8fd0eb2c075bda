#include "src/edge/evaluate_json.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "src/edge/edge_fixture.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

constexpr EvaluateJsonOptions kDirect{};  // as /v1
constexpr EvaluateJsonOptions kStream{.takes_mode = true, .takes_now = false};
constexpr EvaluateJsonOptions kManual{.takes_mode = true, .takes_now = true};

class EvaluateJsonTest : public ::testing::Test {
 protected:
  std::expected<EvaluateJson, std::string> Parse(std::string_view json,
                                                 const EvaluateJsonOptions& options = kDirect) {
    return ParseEvaluateRequest(json, options, *under_test_.edge);
  }
  std::string ErrorOf(std::string_view json, const EvaluateJsonOptions& options = kDirect) {
    const auto parsed = Parse(json, options);
    return parsed ? "(accepted)" : parsed.error();
  }

 private:
  AllowingLimiter limiter_;
  EdgeUnderTest under_test_{limiter_};
};

TEST_F(EvaluateJsonTest, TakesEveryField) {
  const auto parsed = Parse(R"({"policies":["login","daily"],"subject":"alice","cost":3,)"
                            R"("evaluation_id":"order-17","budget_ms":100})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  const EvaluateRequest& request = parsed->request;
  EXPECT_EQ(request.policies, (std::vector<std::string>{"login", "daily"}));
  EXPECT_EQ(request.operation, "");
  EXPECT_EQ(request.kind, IdentityKind::kOpaque);
  EXPECT_TRUE(request.identity.Has(IdentityKind::kOpaque));
  EXPECT_EQ(request.cost, 3);
  EXPECT_EQ(request.evaluation_id, "order-17");
  EXPECT_EQ(request.budget, 100ms);
  EXPECT_EQ(request.mode, Mode::kEvaluate);
  EXPECT_EQ(parsed->now, std::nullopt);
}

TEST_F(EvaluateJsonTest, LeavesOutWhatWasNotGiven) {
  const auto parsed =
      Parse(R"({"operation":"login","subject":{"kind":"client-ip","value":"203.0.113.9"}})");
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  EXPECT_EQ(parsed->request.operation, "login");
  EXPECT_TRUE(parsed->request.policies.empty());
  EXPECT_EQ(parsed->request.kind, IdentityKind::kClientIp);
  EXPECT_TRUE(parsed->request.identity.Has(IdentityKind::kClientIp));
  EXPECT_EQ(parsed->request.cost, std::nullopt);
  EXPECT_EQ(parsed->request.evaluation_id, std::nullopt);
  EXPECT_EQ(parsed->request.budget, std::nullopt);
}

TEST_F(EvaluateJsonTest, TakesBoundaryValues) {
  const auto parsed = Parse(R"({"policies":["p"],"subject":"a","cost":9007199254740991,)"
                            R"("budget_ms":60000,"now_ms":0,"mode":"peek"})",
                            kManual);
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  EXPECT_EQ(parsed->request.cost, kMaximumAmount);
  EXPECT_EQ(parsed->request.budget, 60s);
  EXPECT_EQ(parsed->request.mode, Mode::kPeek);
  EXPECT_EQ(parsed->now, WallTime{0ms});
}

TEST_F(EvaluateJsonTest, ModeAndTimeAreFieldsOnlyWhereTheyMeanSomething) {
  const std::string_view with_mode = R"({"policies":["p"],"subject":"a","mode":"peek"})";
  EXPECT_EQ(ErrorOf(with_mode, kDirect), R"(unknown field "mode")");
  EXPECT_EQ(ErrorOf(with_mode, kStream), "(accepted)");
  EXPECT_EQ(ErrorOf(with_mode, kManual), R"(a request has "now_ms")");
  const std::string_view with_now = R"({"policies":["p"],"subject":"a","now_ms":17})";
  EXPECT_EQ(ErrorOf(with_now, kDirect), R"(unknown field "now_ms")");
  EXPECT_EQ(ErrorOf(with_now, kStream), R"(unknown field "now_ms")");
  EXPECT_EQ(ErrorOf(with_now, kManual), "(accepted)");
}

TEST_F(EvaluateJsonTest, MalformedJsonNamesThePosition) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", "malformed JSON at byte 1"},
      {"{", "malformed JSON at byte 2"},
      {R"({"cost":})", "malformed JSON at byte 9"},
      {R"({"cost":1,})", "malformed JSON at byte 11"},
      {R"({"cost":01})", "malformed JSON at byte 10"},
      {R"({"a":1}{)", "malformed JSON at byte 8"},           // text after the object
      {"{\"a\":\"\xFF\"}", "malformed JSON at byte 7"},      // no UTF-8
      {"{\"a\":\"\xC0\xAF\"}", "malformed JSON at byte 7"},  // overlong
      {"{\"a\":\"\n\"}", "malformed JSON at byte 7"},        // raw control byte
      {R"({"a":"\ud800"})", "malformed JSON at byte 13"},    // half a surrogate pair
      {R"({"a":NaN})", "malformed JSON at byte 6"},
      {std::string_view("{}\0{}", 5), "malformed JSON at byte 3"},  // was taken for the end
      {R"({"a":1e999})", "malformed JSON: a number is too large"},
  };
  for (const auto& [json, error] : rows) EXPECT_EQ(ErrorOf(json), error) << json;
}

TEST_F(EvaluateJsonTest, AWrongShapeIsNamed) {
  const std::string_view base = R"("policies":["p"],"subject":"a")";
  const auto with = [&](std::string_view more) {
    return "{" + std::string{base} + "," + std::string{more} + "}";
  };
  const std::string cost = R"("cost" is a whole number from 1 to 9007199254740991)";
  const std::string budget = R"("budget_ms" is a whole number from 1 to 60000)";
  const std::string list = R"("policies" is a list of 1 to 16 ids)";
  const std::string either = R"(a request has either "policies" or "operation")";
  const std::string subject = R"("subject" is a text or has "kind" and "value")";
  const std::string id =
      R"("evaluation_id": an evaluation id is 1 to 128 bytes of printable ASCII)";
  const std::pair<std::string, std::string> rows[] = {
      {"[]", "a request is a JSON object"},
      {"null", "a request is a JSON object"},
      {with(R"("cots":1)"), R"(unknown field "cots")"},
      {with(R"("alice@example.com":1)"), "unknown field whose name is not shown"},
      {with(R"("cost":1,"cost":2)"), R"(a field comes twice: "cost")"},
      {with(R"("cost":1,"\u0063ost":2)"), R"(a field comes twice: "cost")"},  // other spelling
      {with(R"("x":[[1]])"), "the request is nested too deep"},
      // cost: negative or 0 would mint or probe quota, fractions and texts are not amounts
      {with(R"("cost":0)"), cost},
      {with(R"("cost":-1)"), cost},
      {with(R"("cost":1.0)"), cost},
      {with(R"("cost":1e3)"), cost},
      {with(R"("cost":"1")"), cost},
      {with(R"("cost":true)"), cost},
      {with(R"("cost":null)"), cost},
      {with(R"("cost":9007199254740992)"), cost},
      {with(R"("cost":18446744073709551615)"), cost},  // not -1
      {with(R"("cost":18446744073709551616)"), cost},
      {with(R"("cost":-9223372036854775809)"), cost},
      {with(R"("budget_ms":0)"), budget},
      {with(R"("budget_ms":60001)"), budget},
      {with(R"("budget_ms":-5)"), budget},
      {with(R"("evaluation_id":"")"), R"("evaluation_id" is not empty)"},
      {with(R"("evaluation_id":17)"), R"("evaluation_id" is a text)"},
      {with(R"("evaluation_id":"a\nb")"), id},
      {with(R"("evaluation_id":")" + std::string(129, 'a') + "\""), id},
      {with(R"("operation":"login")"), either},
      {R"({"subject":"a"})", either},
      {R"({"subject":"a","policies":[]})", list},
      {R"({"subject":"a","policies":"login"})", list},
      {R"({"subject":"a","policies":["1","2","3","4","5","6","7","8","9","10","11","12","13",)"
       R"("14","15","16","17"]})",
       list},
      {R"({"subject":"a","policies":["p",1]})", R"("policies" is a text)"},
      {R"({"subject":"a","policies":[""]})", R"("policies" is not empty)"},
      {R"({"subject":"a","policies":["p","p"]})", R"("policies" names a policy twice)"},
      {R"({"subject":"a","operation":""})", R"("operation" is not empty)"},
      {R"({"subject":"a","operation":["login"]})", R"("operation" is a text)"},
      {R"({"policies":["p"]})", R"(a request has a "subject")"},
      {R"({"policies":["p"],"subject":7})", subject},
      {R"({"policies":["p"],"subject":null})", subject},
      {R"({"policies":["p"],"subject":{"kind":"opaque"}})", subject},
      {R"({"policies":["p"],"subject":{"kind":"opaque","value":1}})", subject},
      {R"({"policies":["p"],"subject":{"kind":"opaque","value":"a","x":1}})", subject},
      {R"({"policies":["p"],"subject":{"kind":1,"value":"a"}})", subject},
      {R"({"policies":["p"],"subject":{"kind":"ip","value":"a"}})",
       R"("subject.kind" is principal, api-key, client-ip, opaque or anonymous)"},
  };
  for (const auto& [json, error] : rows) EXPECT_EQ(ErrorOf(json), error) << json;
}

TEST_F(EvaluateJsonTest, ModeAndTimeAreStrictToo) {
  const std::string now = R"("now_ms" is a whole number from 0 to 9007199254740991)";
  const std::pair<std::string_view, std::string_view> rows[] = {
      {R"({"now_ms":-1})", now},
      {R"({"now_ms":1.5})", now},
      {R"({"now_ms":9007199254740992})", now},
      {R"({"mode":"Peek"})", R"("mode" is "evaluate" or "peek")"},
      {R"({"mode":1})", R"("mode" is "evaluate" or "peek")"},
  };
  for (const auto& [json, error] : rows) EXPECT_EQ(ErrorOf(json, kManual), error) << json;
}

// Old wrong behaviour elsewhere: the parser's own message quotes what it read, and a subject's name
// ends in an answer and a log.
TEST_F(EvaluateJsonTest, ErrorsNeverRepeatASubject) {
  const std::string_view requests[] = {
      R"({"policies":["p"],"subject":"zanzibar)",
      R"({"policies":["p"],"subject":zanzibar})",
      R"({"policies":["p"],"subject":{"kind":"client-ip","value":"zanzibar"}})",
      R"({"policies":["p"],"subject":{"kind":"zanzibar","value":"a"}})",
      R"({"policies":["p"],"subject":["zanzibar"]})",
      R"({"policies":["p"],"subject":"a","mode":"zanzibar"})",
      R"({"policies":["p"],"subject":"a","zanzibar@example.com":1})",
      R"({"policies":["p"],"subject":"a","evaluation_id":"zanzibar\n"})",
  };
  for (const std::string_view request : requests) {
    const auto parsed = Parse(request, kStream);
    ASSERT_FALSE(parsed.has_value()) << request;
    EXPECT_EQ(parsed.error().find("zanzibar"), std::string::npos) << parsed.error();
  }
}

TEST_F(EvaluateJsonTest, DeepNestingIsAnErrorNotACrash) {
  const std::string deep(30'000, '[');
  EXPECT_EQ(ErrorOf(deep), "malformed JSON at byte 30001");
  EXPECT_EQ(ErrorOf(deep + std::string(30'000, ']')), "the request is nested too deep");
}

}  // namespace
}  // namespace sluice::edge
