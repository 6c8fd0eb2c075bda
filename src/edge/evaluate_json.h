// Reading the JSON that asks for a direct evaluation: /v1 and `sluice evaluate --stream`.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/edge.h"

namespace sluice::edge {

/// Which fields a request may have beyond those of /v1.
struct EvaluateJsonOptions {
  bool takes_mode = false;  ///< "mode":"evaluate"|"peek"
  bool takes_now = false;   ///< "now_ms", which is required then
};

/// A request that somebody wrote as JSON.
struct EvaluateJson {
  EvaluateRequest request;      ///< complete, with its identity
  std::optional<WallTime> now;  ///< present iff the options take it
};

/// Reads one request strictly: a field it does not know or that comes twice, a value of the wrong
/// type or out of bounds, bad UTF-8 and text after the object are errors. `edge` makes the identity
/// of "subject", so that its raw value ends here.
///
///   policies       list of 1 to 16 different ids, or else
///   operation      an operation's id
///   subject        a text (kind "opaque"), or {"kind":"client-ip","value":"203.0.113.9"}
///   cost           1 .. 2^53 - 1, optional
///   evaluation_id  1 to 128 bytes of printable ASCII, optional
///   budget_ms      1 .. 60000, optional
///   mode, now_ms   as the options say; now_ms 0 .. 2^53 - 1
///
/// Fails with one sentence; of malformed JSON it names the position ("at byte 17", the first is 1).
/// It never repeats a value: the text may hold an identity.
[[nodiscard]] std::expected<EvaluateJson, std::string> ParseEvaluateRequest(
    std::string_view json, const EvaluateJsonOptions& options, const Edge& edge);

}  // namespace sluice::edge
