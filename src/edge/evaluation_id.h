// Ids of evaluations: those made here and those that callers bring.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/limiter.h"

namespace sluice::edge {

/// A new id in the layout of a ULID: 48 bits of `now` in milliseconds, then 80 bits from the
/// operating system's random source, fetched ahead for each thread. No lock and no clock; aborts if
/// the system gives no random bytes, because an id that repeats would be answered without charge.
///
/// Thread safety: may be called from any thread, also after a fork.
[[nodiscard]] EvaluationId NewEvaluationId(WallTime now);

/// The id that a trusted caller brought: 1 to 128 bytes of printable ASCII; else one sentence,
/// which does not repeat it.
[[nodiscard]] std::expected<EvaluationId, std::string> EvaluationIdFromCaller(
    std::string_view text);

}  // namespace sluice::edge
