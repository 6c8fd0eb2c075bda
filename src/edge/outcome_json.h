// An outcome as the JSON that programs read.
#pragma once

#include <string>
#include <string_view>

#include "sluice/edge.h"

namespace sluice::edge {

/// The category of every incompatible outcome; its reason tells them apart.
inline constexpr std::string_view kStateIncompatible = "state-incompatible";

/// The outcome as one line without a newline, the fields in the contract's order. A denial that can
/// never pass has `"retry_after_ms":null`.
[[nodiscard]] std::string ToJson(const EvaluateReport& report);

}  // namespace sluice::edge
