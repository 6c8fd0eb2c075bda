#include "src/app/doctor/finding.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::app::doctor {
namespace {

const std::vector<Finding> kFindings = {
    {Check::kVersion, "a:1", {Verdict::kOk, "redis 7.0.15", ""}},
    {Check::kPermission, "a:1", {Verdict::kFailed, "may not run HSET", "grant +hset"}},
    {Check::kTls, "b:2", {Verdict::kSkipped, "not configured", ""}},
    {Check::kMemoryPolicy, "b:2", {Verdict::kUnknown, "may not look", ""}},
};

std::string Text(bool has_colours) {
  TextReport report(has_colours);
  std::string text;
  for (const Finding& finding : kFindings) text += report.Add(finding);
  return text + TextReport::Summary(kFindings);
}

TEST(Finding, IsALineUnderItsSubjectWithWhatToDoBelow) {
  EXPECT_EQ(Text(false),
            "a:1\n"
            "  ✓ version           redis 7.0.15\n"
            "  ✗ permission        may not run HSET\n"
            "                      → grant +hset\n"
            "b:2\n"
            "  - tls               not configured\n"
            "  ? maxmemory-policy  may not look\n"
            "1 ✓  1 ✗  1 ?\n");
}

TEST(Finding, HasColouredMarksOnlyWhereTheyAreWanted) {
  EXPECT_FALSE(Text(false).contains('\x1b'));
  EXPECT_TRUE(Text(true).contains("  \x1b[31m✗\x1b[0m permission        may not"));
}

TEST(Finding, IsAnObjectInJson) {
  const auto json = nlohmann::json::parse(ToJson(kFindings));
  EXPECT_EQ(json["healthy"], false);
  ASSERT_EQ(json["findings"].size(), kFindings.size());
  const nlohmann::json failed = {{"check", "permission"},
                                 {"subject", "a:1"},
                                 {"verdict", "failed"},
                                 {"found", "may not run HSET"},
                                 {"remedy", "grant +hset"}};
  EXPECT_EQ(json["findings"][1], failed);
  EXPECT_TRUE(json["findings"][0]["remedy"].is_null());
}

TEST(Finding, OfASubjectThatIsNoUtf8IsJsonAllTheSame) {
  const Finding finding{Check::kPseudonymKey, "/keys/\xff", {}};
  EXPECT_TRUE(nlohmann::json::accept(ToJson(std::span(&finding, 1))));
}

TEST(Finding, OnlyAFailureIsUnhealthy) {
  EXPECT_FALSE(IsHealthy(kFindings));
  EXPECT_TRUE(IsHealthy(std::span(kFindings).subspan(2)));
  EXPECT_TRUE(IsHealthy({}));
}

TEST(Finding, QuotesAServerWithoutItsControlCharacters) {
  EXPECT_EQ(Quoted("ERR \x1b[31m\r\n\xc3\xa9"), "ERR ?[31m????");
  EXPECT_LE(Quoted(std::string(10'000, 'x')).size(), 200U);
}

}  // namespace
}  // namespace sluice::app::doctor
