#include "src/telemetry/log.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "src/telemetry/names.h"

namespace sluice::telemetry {
namespace {

using namespace std::chrono_literals;

TEST(Render, TextIsOneLineWhateverAValueHolds) {
  EXPECT_EQ(Render(false, "listening", {{names::kAddress, "127.0.0.1:8080"}}),
            "listening address=127.0.0.1:8080");
  EXPECT_EQ(Render(false, "a\nb", {{names::kAddress, "c\r\nd"}}), "a b address=c  d");
}

TEST(Render, JsonIsValidWhateverTheTextHolds) {
  for (const std::string text :
       {"plain", "quote \" backslash \\", "line\nbreak", "bad utf-8 \xff\xfe", "%v {}"}) {
    const auto object =
        nlohmann::json::parse("{" + Render(true, text, {{names::kAddress, text}}) + "}");
    EXPECT_EQ(object.size(), 2u);
    EXPECT_TRUE(object.at("message").is_string());
    EXPECT_EQ(object.at("message"), object.at("address"));
  }
}

RC_GTEST_PROP(Render, JsonIsValidForAnyBytes, (const std::string& message)) {
  const auto object = nlohmann::json::parse("{" + Render(true, message, {}) + "}");
  RC_ASSERT(object.at("message").is_string());
}

TEST(Log, ColoursAreForTerminalsOnly) {
  ::testing::internal::CaptureStderr();
  Log log({});
  log.Write(Level::kError, "loud");
  EXPECT_EQ(::testing::internal::GetCapturedStderr().find('\x1b'), std::string::npos);
}

TEST(Log, WritesLinesFromItsLevelOnInItsFormat) {
  ::testing::internal::CaptureStderr();
  Log text({.level = Level::kWarn, .json = false});
  text.Write(Level::kInfo, "too low");
  text.Write(Level::kError, "loud", {{names::kReason, "because"}});
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines.find("too low"), std::string::npos);
  EXPECT_NE(lines.find("Z error loud reason=because\n"), std::string::npos);

  ::testing::internal::CaptureStderr();
  Log json({.level = Level::kTrace, .json = true});
  json.Write(Level::kTrace, "quiet");
  const auto object = nlohmann::json::parse(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(object.at("level"), "trace");
  EXPECT_EQ(object.at("message"), "quiet");
  EXPECT_TRUE(object.contains("time"));
}

TEST(Throttle, AdmitsOneLineAnIntervalAndCauseAndCountsTheRest) {
  Throttle throttle;
  const SteadyTime start{1h};
  EXPECT_EQ(throttle.Admit("a", start), 0);
  EXPECT_EQ(throttle.Admit("a", start + 1s), std::nullopt);
  EXPECT_EQ(throttle.Admit("b", start + 1s), 0);
  EXPECT_EQ(throttle.Admit("a", start + 9'999ms), std::nullopt);
  EXPECT_EQ(throttle.Admit("a", start + 10s), 2);
  EXPECT_EQ(throttle.Admit("a", start + 20s), 0);
}

}  // namespace
}  // namespace sluice::telemetry
