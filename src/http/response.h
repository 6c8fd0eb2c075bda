// An answer as bytes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sluice/edge.h"

namespace sluice::http {

/// How an answer is sent on its connection.
struct ResponseForm {
  bool is_head = false;  ///< HEAD: the header fields of a body, without it
  bool is_http_1_0 = false;
  bool keep_alive = true;
  std::string_view date;  ///< value of the Date field; none if empty
};

/// Appends `answer` to `output`, with Content-Length and, where the peer must be told, Connection.
void AppendResponse(std::string& output, const Answer& answer, const ResponseForm& form);

/// "Too Many Requests" for 429; empty for a status without a registered phrase.
[[nodiscard]] std::string_view ReasonPhrase(int status);

/// `time` as RFC 9110 writes dates: "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string HttpDate(std::chrono::sys_seconds time);

}  // namespace sluice::http
