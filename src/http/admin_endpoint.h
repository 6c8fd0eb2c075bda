// The admin listener: GET and HEAD of /livez, /readyz and /metrics.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/edge.h"

namespace sluice::http {

/// Where the admin listener's answers come from.
///
/// Thread safety: all are called from every worker at the same time.
struct AdminSources {
  /// Why the daemon is not ready, one line each; empty means ready.
  std::function<std::vector<std::string>()> reasons_not_ready;
  /// All metrics in the Prometheus text format 0.0.4.
  std::function<std::string()> metrics;
};

/// What makes the answer at `path`, or nothing if there is no such path. Refers to `sources`.
[[nodiscard]] std::optional<std::function<Answer()>> AdminAnswer(const AdminSources& sources,
                                                                 std::string_view path);

}  // namespace sluice::http
