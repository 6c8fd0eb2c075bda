#include "src/http/response.h"

#include <charconv>

#include <boost/beast/http/status.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sluice::http {
namespace {

void AppendNumber(std::string& output, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  output.append(digits, end);
}

void AppendField(std::string& output, std::string_view name, std::string_view value) {
  output.append(name).append(": ").append(value).append("\r\n");
}

void AppendStatusLine(std::string& output, int status) {
  if (status == 200) {
    output.append("HTTP/1.1 200 OK\r\n");
    return;
  }
  output.append("HTTP/1.1 ");
  AppendNumber(output, static_cast<std::size_t>(status));
  output.append(" ").append(ReasonPhrase(status)).append("\r\n");
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  namespace http = boost::beast::http;
  const http::status known = http::int_to_status(static_cast<unsigned>(status));
  if (known == http::status::unknown) return {};
  return http::obsolete_reason(known);
}

std::string HttpDate(std::chrono::sys_seconds time) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void AppendResponse(std::string& output, const Answer& answer, const ResponseForm& form) {
  AppendStatusLine(output, answer.status);
  if (!form.date.empty()) AppendField(output, "Date", form.date);
  for (const AnswerField& field : answer.headers) AppendField(output, field.name, field.value);
  output.append("Content-Length: ");
  AppendNumber(output, answer.body.size());
  output.append("\r\n");
  if (!form.keep_alive) {
    output.append("Connection: close\r\n");
  } else if (form.is_http_1_0) {
    output.append("Connection: keep-alive\r\n");
  }
  output.append("\r\n");
  if (!form.is_head) output.append(answer.body);
}

}  // namespace sluice::http
