// The response fields RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers, the
// form of drafts 08 to 11: lists of String items), and the arithmetic of Retry-After.
//
//   RateLimit-Policy: "login";q=5;w=60, "daily";q=10000;w=86400
//   RateLimit: "login";r=4;t=42, "daily";r=9876;t=4000
//
// Both list every limit of the plan, the leading one first, then in the order of the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/outcome.h"
#include "sluice/policy.h"

namespace sluice::edge {

/// What RateLimit-Policy says of each policy, in the order of the plan; made once a plan.
///
/// `q` is the limit or the capacity; `w` the window or the time that refills an empty bucket, and
/// is left out unless it is a whole number of seconds above 0. Amounts above 10^15 - 1, the largest
/// Integer of RFC 9651, are given as that.
using PolicyItems = std::vector<std::string>;
[[nodiscard]] PolicyItems PolicyItemsOf(const Plan& plan);

/// The value of RateLimit-Policy. `leading` is an index into `items`.
[[nodiscard]] std::string PolicyField(std::span<const std::string> items, std::size_t leading);

/// The value of RateLimit. `r` is what remains; `t`, in seconds rounded up, is the wait of a limit
/// that refused, else the time until nothing of it is used any more. A limit that this request can
/// never pass has no `t`: any number would promise that waiting helps.
[[nodiscard]] std::string StateField(const Evaluated& evaluated);

/// Seconds after which the same request passes, rounded up and at least 1, so that who waits that
/// long is never too early; nothing if it never will. Precondition: denied.
[[nodiscard]] std::optional<std::int64_t> RetryAfterSeconds(const Evaluated& denied);

/// Whole seconds, rounded up.
[[nodiscard]] std::int64_t CeilSeconds(Milliseconds duration);

}  // namespace sluice::edge
