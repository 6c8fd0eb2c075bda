// The texts in which the scripts tell and record what an evaluation found; lua/driver.lua describes
// them. An evaluation's whole answer follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/outcome.h"
#include "sluice/policy.h"

namespace sluice::redis {

/// Cuts the text up to the next separator, or to the end, off the front of `text`.
[[nodiscard]] std::string_view NextPiece(std::string_view& text, char separator);
[[nodiscard]] inline std::string_view NextWord(std::string_view& text) {
  return NextPiece(text, ' ');
}

/// A plain decimal number that is not negative.
[[nodiscard]] std::optional<std::int64_t> NumberOf(std::string_view text);

/// The numbers by which a plan's limits decide: "<limit>:<window>" or
/// "<capacity>:<period>:<refill>:<grace>" each, commas between.
[[nodiscard]] std::string PoliciesText(const Plan& plan);

/// `plan` with the numbers of an earlier PoliciesText, or none if that is no such text.
[[nodiscard]] std::optional<Plan> PlanOfText(const Plan& plan, std::string_view policies);

/// What `plan` decides on `cost` at `now` with the states that were found; none if the texts are
/// not what a script writes.
[[nodiscard]] std::optional<Evaluated> DecisionOf(const Plan& plan, std::int64_t cost,
                                                  std::string_view now, std::string_view states);

/// One of several evaluations that one call decides in turn.
struct Turn {
  std::int64_t now = 0;  ///< milliseconds since the epoch
  std::int64_t cost = 0;
};

/// What a plan of one limit decides on evaluations one after another, the first of which found this
/// state, last written then; none if the texts are not what a script writes.
[[nodiscard]] std::optional<std::vector<Outcome>> DecisionsOf(const Plan& plan,
                                                              std::string_view written,
                                                              std::string_view state,
                                                              std::span<const Turn> turns);

/// The outcome of an evaluation whose clock is too far behind.
[[nodiscard]] Unavailable ClockUnsafe();

}  // namespace sluice::redis
