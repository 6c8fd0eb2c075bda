#include "src/config/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::config {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
// From the largest down: formatting and the order of a duration's parts follow it.
constexpr std::array<Unit, 5> kDurationUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizeUnits{
    {{"GiB", std::int64_t{1} << 30}, {"MiB", std::int64_t{1} << 20}, {"KiB", 1'024}, {"B", 1}}};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t LeadingDigits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

std::int64_t SaturatingMultiply(std::int64_t a, std::int64_t b) {
  return a > kLargest / b ? kLargest : a * b;
}
std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  return a > kLargest - b ? kLargest : a + b;
}

// Cuts "<number><unit>" off the front of `text`. `units` are those still allowed; on success they
// become the ones below the unit that was read.
std::optional<std::int64_t> TakePart(std::string_view& text, std::span<const Unit>& units) {
  const std::size_t digits = LeadingDigits(text);
  const std::optional<std::int64_t> number = ParseInteger(text.substr(0, digits));
  if (!number) return std::nullopt;
  text.remove_prefix(digits);
  const std::size_t letters =
      static_cast<std::size_t>(std::ranges::find_if(text, IsDigit) - text.begin());
  const auto unit = std::ranges::find(units, text.substr(0, letters), &Unit::name);
  if (unit == units.end()) return std::nullopt;
  text.remove_prefix(letters);
  units = std::span<const Unit>(std::next(unit), units.end());
  return SaturatingMultiply(*number, unit->factor);
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool IsDecimalOrFloat(std::string_view text) {
  const auto sign = [&] {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  };
  sign();
  const std::size_t whole = LeadingDigits(text);
  text.remove_prefix(whole);
  std::size_t fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = LeadingDigits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return false;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    sign();
    const std::size_t exponent = LeadingDigits(text);
    if (exponent == 0) return false;
    text.remove_prefix(exponent);
  }
  return text.empty();
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool IsPrefixed(std::string_view text, std::string_view prefix, std::string_view digits) {
  return text.starts_with(prefix) && text.size() > prefix.size() &&
         text.find_first_not_of(digits, prefix.size()) == std::string_view::npos;
}

}  // namespace

CoreType CoreTypeOf(std::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) return CoreType::kNull;
  if (IsOneOf(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) return CoreType::kBoolean;
  if (IsDecimalOrFloat(text) || IsPrefixed(text, "0o", "01234567") ||
      IsPrefixed(text, "0x", "0123456789abcdefABCDEF")) {
    return CoreType::kNumber;
  }
  std::string_view unsigned_text = text;
  if (text.starts_with('-') || text.starts_with('+')) unsigned_text.remove_prefix(1);
  if (IsOneOf(unsigned_text, {".inf", ".Inf", ".INF"}) || IsOneOf(text, {".nan", ".NaN", ".NAN"})) {
    return CoreType::kNumber;
  }
  return CoreType::kText;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || LeadingDigits(digits) != digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
    return text.starts_with('-') ? std::numeric_limits<std::int64_t>::min() : kLargest;
  }
  return value;
}

std::optional<Milliseconds> ParseDuration(std::string_view text) {
  std::span<const Unit> units = kDurationUnits;
  std::int64_t sum = 0;
  do {
    const std::optional<std::int64_t> part = TakePart(text, units);
    if (!part) return std::nullopt;
    sum = SaturatingAdd(sum, *part);
  } while (!text.empty());
  return Milliseconds{sum};
}

std::string FormatDuration(Milliseconds duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string text;
  for (const Unit& unit : kDurationUnits) {
    if (rest >= unit.factor) text += fmt::format("{}{}", rest / unit.factor, unit.name);
    rest %= unit.factor;
  }
  return text;
}

std::optional<std::int64_t> ParseSize(std::string_view text) {
  std::span<const Unit> units = kSizeUnits;
  const std::optional<std::int64_t> bytes = TakePart(text, units);
  return text.empty() ? bytes : std::nullopt;
}

std::string FormatSize(std::int64_t bytes) {
  const auto unit = std::ranges::find_if(
      kSizeUnits, [&](const Unit& u) { return bytes >= u.factor && bytes % u.factor == 0; });
  if (unit == kSizeUnits.end()) return fmt::format("{}B", bytes);
  return fmt::format("{}{}", bytes / unit->factor, unit->name);
}

// The restricted Damerau-Levenshtein distance: rows of the table, two of them kept.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    };
    return lower(x) == lower(y);
  };
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace sluice::config
