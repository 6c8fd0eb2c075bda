// Which endpoint a request is for.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sluice/edge.h"

#include "src/http/admin_endpoint.h"
#include "src/http/message.h"

namespace sluice::http {

/// A request target taken apart: origin or absolute form. Nothing is decoded.
struct Target {
  std::string_view path;
  std::string_view query;  ///< without '?'; empty if there is none
};
[[nodiscard]] Target SplitTarget(std::string_view target);

/// The data listener: /check, /v1/evaluate, /v1/peek. `edge` must outlive the service.
[[nodiscard]] Service DataService(Edge& edge, std::function<void(Rejection)> on_reject);

/// The admin listener: /livez, /readyz, /metrics.
[[nodiscard]] Service AdminService(AdminSources sources, std::function<void(Rejection)> on_reject);

}  // namespace sluice::http
