// From an outcome to what the client is told: status, fields and body.
//
// | outcome                                      | judged request | direct evaluation (/v1) |
// |----------------------------------------------|----------------|-------------------------|
// | allowed, exempt                              | 200            | 200                     |
// | denied                                       | 429            | 429                     |
// | unavailable, indeterminate                   | 503            | 503                     |
// | incompatible: unknown-policy, cost           | 500            | 422                     |
// | incompatible: evaluation-id-conflict         | 500            | 409                     |
// | incompatible: anything else                  | 500            | 500                     |
// | nothing names the client, and that is denied | 401            |                         |
//
// Only 200 lets a request pass: everything else fails closed. Every answer has X-Sluice-Outcome and
// Cache-Control: no-store.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sluice/edge.h"
#include "sluice/outcome.h"

namespace sluice::edge {

/// Which of the words an outcome is told as.
[[nodiscard]] AnswerOutcome KindOf(const Outcome& outcome);

/// The category of an outcome that is not evaluated, of an incompatible one its reason; else empty.
[[nodiscard]] std::string_view CategoryOf(const Outcome& outcome);

/// What such an outcome says to people.
[[nodiscard]] std::string_view DetailOf(const Outcome& outcome);

/// The answer to a judged request. `policy_items` are those of the plan that was evaluated
/// (PolicyItemsOf). Refusals have a problem+json body (RFC 9457). An incompatible outcome's reason
/// and detail are for the operator, not for clients, and left out.
[[nodiscard]] Answer AnswerFor(const Outcome& outcome, std::span<const std::string> policy_items,
                               Milliseconds failure_retry_after);

/// The answer to a direct evaluation: the same fields, and the outcome as JSON for a body.
[[nodiscard]] Answer AnswerFor(const EvaluateReport& report);

/// The answer to a request that an exempt operation covers.
[[nodiscard]] Answer ExemptAnswer();

/// 401: nothing names the client and such clients are denied.
[[nodiscard]] Answer UnidentifiedAnswer();

/// A refusal before anything was judged (400, 404, 405, 413, 431, …), told as incompatible: nothing
/// was charged and a retry cannot heal it. `title` is the status's phrase; `detail` is one
/// sentence.
[[nodiscard]] Answer ProblemAnswer(int status, std::string_view title, std::string_view detail);

/// For proxies that relay few statuses: a 429 becomes `status`, without a body, and X-Sluice-Status
/// says 429. Other answers stay as they are.
[[nodiscard]] Answer AnswerWithDenyStatus(Answer answer, int status);

}  // namespace sluice::edge
