// POST /v1/evaluate and /v1/peek: a direct evaluation for a trusted peer, JSON in, JSON out.
#pragma once

#include <string_view>

#include "sluice/edge.h"

#include "src/http/message.h"

namespace sluice::http {

/// Any Content-Type is taken: the body is JSON or 400.
void HandleEvaluate(Edge& edge, const Request& request, std::string_view query, Mode mode,
                    Reply reply);

}  // namespace sluice::http
