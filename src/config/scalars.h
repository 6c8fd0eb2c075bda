// What scalars mean: numbers, durations and sizes, strictly, and back to text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"

namespace sluice::config {

/// What YAML 1.2's core schema takes a scalar without quotes for (YAML 1.2.2, 10.3.2).
enum class CoreType : std::uint8_t { kText, kNull, kBoolean, kNumber };
[[nodiscard]] CoreType CoreTypeOf(std::string_view text);

/// Decimal digits with an optional minus, no leading zero, nothing else. What 64 bits cannot hold
/// becomes the nearest that they can, so that a check of bounds refuses it.
[[nodiscard]] std::optional<std::int64_t> ParseInteger(std::string_view text);

/// "250ms", "10s", "1h30m", "7d": whole numbers with the units d, h, m, s, ms, in this order, each
/// at most once. Overflow becomes the largest duration. Formatting gives the same form back.
[[nodiscard]] std::optional<Milliseconds> ParseDuration(std::string_view text);
[[nodiscard]] std::string FormatDuration(Milliseconds duration);

/// Bytes: "512B", "64KiB", "1MiB", "2GiB". Overflow becomes the largest number. Formatting uses the
/// largest unit that divides the number.
[[nodiscard]] std::optional<std::int64_t> ParseSize(std::string_view text);
[[nodiscard]] std::string FormatSize(std::int64_t bytes);

/// The candidate that `text` is most likely a slip of, if one is close.
template <class Candidates>
[[nodiscard]] std::optional<std::string_view> ClosestTo(std::string_view text,
                                                        const Candidates& candidates);

/// How many single letters are added, dropped, changed or swapped with their neighbour between two
/// texts; upper and lower case count as equal.
[[nodiscard]] std::size_t EditDistance(std::string_view a, std::string_view b);

template <class Candidates>
std::optional<std::string_view> ClosestTo(std::string_view text, const Candidates& candidates) {
  constexpr std::size_t kLongest = 64;  // ids are no longer, and the work is bounded
  if (text.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> closest;
  std::size_t distance = 1 + (text.size() + 2) / 4;  // one slip in four letters, at least one
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t longer = std::max(text.size(), candidate.size());
    const std::size_t shorter = std::min(text.size(), candidate.size());
    if (longer - shorter >= distance) continue;  // so many letters at least are added
    const std::size_t found = EditDistance(text, candidate);
    if (found < distance) {
      distance = found;
      closest = candidate;
    }
  }
  return closest;
}

}  // namespace sluice::config
