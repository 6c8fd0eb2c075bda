// What an evaluation came to. Four kinds that are never confused: it was decided, certainly nothing
// was charged, something may have been charged, or no retry can heal it.
//
//   std::visit on Outcome, or start with `IsAllowed(outcome)` if you only need the yes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/clock.h"

namespace sluice {

/// How much the numbers of an evaluated outcome can be trusted.
enum class Certainty : std::uint8_t {
  kCertain,
  kApproximateAlgorithm,  ///< a sliding counter is in the plan: it estimates the previous window
  kUnreplicated,          ///< too few replicas have it yet: a failover may forget the charge
};

/// One limit's own answer. In a denied evaluation a limit that did not object reports what it holds
/// uncharged, retry 0.
struct LimitAnswer {
  std::string_view
      policy{};  ///< the policy's id; a view into the plan, valid as long as that lives
  bool allowed = false;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;  ///< 0 .. limit
  Milliseconds reset_after{};  ///< until nothing is used any more
  std::optional<Milliseconds>
      retry_after{};  ///< 0 if allowed; the exact first wait that passes; none if it never can
  friend bool operator==(const LimitAnswer&, const LimitAnswer&) = default;
};

/// The decision was made. Allowed iff every limit allowed; only then something was charged.
struct Evaluated {
  bool allowed = false;
  Certainty certainty = Certainty::kCertain;
  bool replayed = false;              ///< answered from a record; nothing was charged this time
  std::size_t leading = 0;            ///< which of `limits` gives the top-level numbers
  std::vector<LimitAnswer> limits{};  ///< in the order of the plan, never empty

  [[nodiscard]] const LimitAnswer& LeadingLimit() const { return limits[leading]; }
  friend bool operator==(const Evaluated&, const Evaluated&) = default;
};

/// Certainly nothing was charged; trying again may help.
struct Unavailable {
  enum class Category : std::uint8_t {
    kAdmissionRejected,      ///< never sent: deadline over, engine full
    kUnavailableBeforeSend,  ///< no connection, or the bytes never left
    kNoMutationConfirmed,    ///< the store answered that it did not run the script
    kClockUnsafe,            ///< the caller's clock is further behind than the policy tolerates
  };
  Category category{};
  std::string detail{};  ///< for people; never holds an identity
  friend bool operator==(const Unavailable&, const Unavailable&) = default;
};

/// The cost may have been charged or not.
struct Indeterminate {
  enum class Category : std::uint8_t {
    kDeadlinePassed,  ///< sent, no answer in time
    kResponseLost,    ///< the connection broke after the bytes left
    kReplyMalformed,
    kScriptAborted,  ///< an error raised inside the script
  };
  Category category{};
  std::string detail{};
  friend bool operator==(const Indeterminate&, const Indeterminate&) = default;
};

/// Nothing was charged and a retry cannot heal it: somebody has to change something.
struct Incompatible {
  enum class Reason : std::uint8_t {
    kUnknownPolicy,
    kCostExceedsMaximum,
    kEvaluationIdConflict,
    kPermissionDenied,
    kServerIncompatible,
    kStateUnreadable,
  };
  Reason reason{};
  std::string detail{};
  friend bool operator==(const Incompatible&, const Incompatible&) = default;
};

using Outcome = std::variant<Evaluated, Unavailable, Indeterminate, Incompatible>;

/// True for an evaluated outcome that allows, false for everything else: fail closed.
[[nodiscard]] bool IsAllowed(const Outcome& outcome);

/// The contract's words, as they stand in JSON, logs and metrics ("clock-unsafe", …).
[[nodiscard]] std::string_view Name(Certainty certainty);
[[nodiscard]] std::string_view Name(Unavailable::Category category);
[[nodiscard]] std::string_view Name(Indeterminate::Category category);
[[nodiscard]] std::string_view Name(Incompatible::Reason reason);

}  // namespace sluice
