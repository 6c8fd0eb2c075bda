// Answers to requests that are refused without an evaluation.
#pragma once

#include <string_view>

#include "sluice/edge.h"

#include "src/edge/answer.h"
#include "src/http/response.h"

namespace sluice::http {

/// problem+json (RFC 9457) under the status's own phrase.
[[nodiscard]] inline Answer Problem(int status, std::string_view detail) {
  return edge::ProblemAnswer(status, ReasonPhrase(status), detail);
}

}  // namespace sluice::http
