#include "src/edge/outcome_json.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

std::string Json(Outcome outcome, EvaluationId id = EvaluationId::FromCaller("01J")) {
  return ToJson({.plan = nullptr,
                 .outcome = std::move(outcome),
                 .id = std::move(id),
                 .failure_retry_after = 1s});
}

TEST(OutcomeJson, OfAnAllowedEvaluation) {
  const Evaluated evaluated{.allowed = true,
                            .certainty = Certainty::kApproximateAlgorithm,
                            .replayed = true,
                            .leading = 1,
                            .limits = {{.policy = "daily",
                                        .allowed = true,
                                        .limit = 10'000,
                                        .remaining = 9'999,
                                        .reset_after = 86'400'000ms,
                                        .retry_after = 0ms},
                                       {.policy = "login",
                                        .allowed = true,
                                        .limit = 5,
                                        .remaining = 4,
                                        .reset_after = 41'234ms,
                                        .retry_after = 0ms}}};
  EXPECT_EQ(Json(evaluated),
            R"({"outcome":"evaluated","allowed":true,"policy":"login","limit":5,"remaining":4,)"
            R"("reset_after_ms":41234,"retry_after_ms":0,"certainty":"approximate-algorithm",)"
            R"("replayed":true,"evaluation_id":"01J","limits":[)"
            R"({"policy":"daily","allowed":true,"limit":10000,"remaining":9999,)"
            R"("reset_after_ms":86400000,"retry_after_ms":0},)"
            R"({"policy":"login","allowed":true,"limit":5,"remaining":4,)"
            R"("reset_after_ms":41234,"retry_after_ms":0}]})");
}

TEST(OutcomeJson, OfADenialThatNeverPassesHasANullWait) {
  const Evaluated evaluated{.allowed = false,
                            .limits = {{.policy = "none",
                                        .allowed = false,
                                        .limit = kMaximumAmount,
                                        .remaining = 0,
                                        .reset_after = 0ms,
                                        .retry_after = std::nullopt}}};
  EXPECT_EQ(Json(evaluated),
            R"({"outcome":"evaluated","allowed":false,"policy":"none","limit":9007199254740991,)"
            R"("remaining":0,"reset_after_ms":0,"retry_after_ms":null,"certainty":"certain",)"
            R"("replayed":false,"evaluation_id":"01J","limits":[)"
            R"({"policy":"none","allowed":false,"limit":9007199254740991,"remaining":0,)"
            R"("reset_after_ms":0,"retry_after_ms":null}]})");
}

TEST(OutcomeJson, OfFailures) {
  EXPECT_EQ(Json(Unavailable{Unavailable::Category::kClockUnsafe, "not shown"}),
            R"({"outcome":"unavailable","category":"clock-unsafe","retry_after_ms":1000,)"
            R"("evaluation_id":"01J"})");
  EXPECT_EQ(Json(Indeterminate{Indeterminate::Category::kResponseLost, "not shown"}),
            R"({"outcome":"indeterminate","category":"response-lost","retry_after_ms":1000,)"
            R"("evaluation_id":"01J"})");
  EXPECT_EQ(Json(Incompatible{Incompatible::Reason::kUnknownPolicy, "there is no policy \"x\""}),
            R"({"outcome":"incompatible","category":"state-incompatible",)"
            R"("reason":"unknown-policy","detail":"there is no policy \"x\"",)"
            R"("evaluation_id":"01J"})");
}

TEST(OutcomeJson, EscapesWhatPeopleWrote) {
  const std::string text = Json(Incompatible{Incompatible::Reason::kServerIncompatible,
                                             "line\nbreak, \xC3\xA9 and a broken \xC3"},
                                EvaluationId::FromCaller(R"(a"b\c)"));
  const auto parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed["detail"], "line\nbreak, \xC3\xA9 and a broken \xEF\xBF\xBD");
  EXPECT_EQ(parsed["evaluation_id"], R"(a"b\c)");
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace sluice::edge
