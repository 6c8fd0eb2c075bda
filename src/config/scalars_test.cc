#include "src/config/scalars.h"

#include <array>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sluice::config {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Integer, ParsesDecimalDigitsOnly) {
  struct Row {
    std::string_view text;
    std::optional<std::int64_t> value;
  };
  const Row rows[] = {
      {"0", 0},
      {"7", 7},
      {"-7", -7},  // an integer; bounds refuse it where none is allowed
      {"-0", 0},
      {"3000000000", 3'000'000'000},  // old wrong behaviour elsewhere: 32 bits
      {"9223372036854775807", kMost},
      {"9223372036854775808", kMost},  // overflow saturates, so a check of bounds sees it
      {"99999999999999999999999", kMost},
      {"-99999999999999999999999", kLeast},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"+5", std::nullopt},
      {"010", std::nullopt},  // YAML 1.1 read 8
      {"00", std::nullopt},
      {"-01", std::nullopt},
      {"0o10", std::nullopt},
      {"0x1F", std::nullopt},
      {"1_000", std::nullopt},  // YAML 1.1 read 1000
      {"1:30", std::nullopt},   // YAML 1.1 read 90
      {"1e3", std::nullopt},
      {"1e-9", std::nullopt},
      {"1.0", std::nullopt},
      {".5", std::nullopt},
      {".inf", std::nullopt},
      {"inf", std::nullopt},
      {"nan", std::nullopt},
      {" 5", std::nullopt},
      {"5 ", std::nullopt},
      {"\xD9\xA5", std::nullopt},  // a digit, but not one of ASCII
  };
  for (const Row& row : rows) EXPECT_EQ(ParseInteger(row.text), row.value) << row.text;
}

TEST(Duration, ParsesUnitsInOrder) {
  struct Row {
    std::string_view text;
    std::optional<milliseconds> value;
  };
  const Row rows[] = {
      {"250ms", milliseconds{250}},
      {"10s", milliseconds{10'000}},
      {"10m", milliseconds{600'000}},
      {"1h30m", milliseconds{5'400'000}},
      {"7d", milliseconds{604'800'000}},
      {"1d2h3m4s5ms", milliseconds{93'784'005}},
      {"1m500ms", milliseconds{60'500}},  // m and ms are told apart
      {"0s", milliseconds{0}},            // bounds refuse it where it makes no sense
      {"90m", milliseconds{5'400'000}},
      {"99999999999999d", milliseconds{kMost}},   // overflow saturates
      {"9223372036854775807ms1s", std::nullopt},  // out of order, before any overflow
      {"106751991167d9223372036854775807ms", milliseconds{kMost}},
      {"", std::nullopt},
      {"10", std::nullopt},
      {"0", std::nullopt},
      {"s", std::nullopt},
      {"10 min", std::nullopt},
      {"10min", std::nullopt},
      {"10M", std::nullopt},  // is it minutes, or months?
      {"10S", std::nullopt},
      {"m10", std::nullopt},
      {"-1m", std::nullopt},
      {"+1m", std::nullopt},
      {"1.5h", std::nullopt},
      {"1e3s", std::nullopt},
      {"010s", std::nullopt},
      {"1 m", std::nullopt},
      {"1m ", std::nullopt},
      {"30m1h", std::nullopt},  // out of order
      {"1m1m", std::nullopt},   // twice
      {"1m30", std::nullopt},
      {"1w", std::nullopt},
      {"1month", std::nullopt},  // no fixed length: not a duration
      {"1y", std::nullopt},
      {"1us", std::nullopt},
      {"inf", std::nullopt},
      {"P1D", std::nullopt},
      {"1:30", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseDuration(row.text), row.value) << row.text;
}

TEST(Duration, IsFormattedWithItsLargestUnits) {
  EXPECT_EQ(FormatDuration(milliseconds{0}), "0s");
  EXPECT_EQ(FormatDuration(milliseconds{1}), "1ms");
  EXPECT_EQ(FormatDuration(milliseconds{60'000}), "1m");
  EXPECT_EQ(FormatDuration(milliseconds{90'500}), "1m30s500ms");
  EXPECT_EQ(FormatDuration(milliseconds{86'400'000}), "1d");
}

RC_GTEST_PROP(Duration, ParsesToWhatWasFormatted, ()) {
  const milliseconds duration{*rc::gen::inRange<std::int64_t>(0, kMost)};
  RC_ASSERT(ParseDuration(FormatDuration(duration)) == duration);
}

TEST(Size, ParsesBinaryUnits) {
  struct Row {
    std::string_view text;
    std::optional<std::int64_t> value;
  };
  const Row rows[] = {
      {"0B", 0},
      {"512B", 512},
      {"64KiB", 65'536},
      {"1MiB", 1'048'576},
      {"2GiB", 2'147'483'648},
      {"99999999999GiB", kMost},  // overflow saturates
      {"64KB", std::nullopt},     // 64,000 or 65,536?
      {"64kib", std::nullopt},
      {"64K", std::nullopt},
      {"65536", std::nullopt},
      {"1.5MiB", std::nullopt},
      {"1MiB512KiB", std::nullopt},  // one unit only
      {"64 KiB", std::nullopt},
      {"-1KiB", std::nullopt},
      {"KiB", std::nullopt},
      {"", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseSize(row.text), row.value) << row.text;
}

RC_GTEST_PROP(Size, ParsesToWhatWasFormatted, ()) {
  const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(0, kMost);
  RC_ASSERT(ParseSize(FormatSize(bytes)) == bytes);
}

TEST(CoreType, FollowsTheCoreSchemaOfYaml12) {
  struct Row {
    CoreType type;
    std::vector<std::string_view> texts;
  };
  const Row rows[] = {
      {CoreType::kNull, {"", "~", "null", "Null", "NULL"}},
      {CoreType::kBoolean, {"true", "True", "TRUE", "false", "False", "FALSE"}},
      {CoreType::kNumber,
       {"0", "-5", "+5", "010", "0o17", "0x1F", ".5", "5.", "1.5", "1e3", "-1.5E-3", ".inf",
        "-.INF", ".nan"}},
      // YAML 1.1 took the first of these for booleans, the next for numbers.
      {CoreType::kText,
       {"yes", "no", "on", "off", "y", "tRUE", "1_000", "1:30", "1e", "e3", ".", "0x", "0o8",
        "-.nan", "127.0.0.1", "2026-01-01", "nULL", "::1"}},
  };
  for (const Row& row : rows) {
    for (const std::string_view text : row.texts) EXPECT_EQ(CoreTypeOf(text), row.type) << text;
  }
}

TEST(EditDistance, CountsSlips) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("limit", "limit"), 0u);
  EXPECT_EQ(EditDistance("limt", "limit"), 1u);
  EXPECT_EQ(EditDistance("limiit", "limit"), 1u);
  EXPECT_EQ(EditDistance("lamit", "limit"), 1u);
  EXPECT_EQ(EditDistance("ilmit", "limit"), 1u);  // neighbours swapped
  EXPECT_EQ(EditDistance("LIMIT", "limit"), 0u);  // case does not count
}

TEST(ClosestTo, GivesOnlyWhatIsClose) {
  constexpr std::array<std::string_view, 3> kKnown{"limit", "window", "scope"};
  EXPECT_EQ(ClosestTo("limits", kKnown), "limit");
  EXPECT_EQ(ClosestTo("widnow", kKnown), "window");
  EXPECT_EQ(ClosestTo("refill", kKnown), std::nullopt);
  EXPECT_EQ(ClosestTo(std::string(65, 'l'), kKnown), std::nullopt);
}

}  // namespace
}  // namespace sluice::config
