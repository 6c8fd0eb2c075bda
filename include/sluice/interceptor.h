// A limiter around your own HTTP handler: asks first, calls the handler only if the request may
// pass.
//
//   sluice::Intercept(edge, peer, std::move(request), handle, send);
//
// Written for Boost.Beast's http::request and http::response<http::string_body>, but it names none
// of their types and needs no Boost: anything with the same members will do.
// `examples/beast_server.cc` is a whole service around it. A server with another kind of request
// calls `Edge::Judge` itself, see `examples/httplib_server.cc`.
#pragma once

#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/edge.h"

namespace sluice {

/// The header fields of a Beast-like `request`, as views into it.
template <class Request>
[[nodiscard]] std::vector<HeaderField> HeaderFieldsOf(const Request& request) {
  std::vector<HeaderField> fields;
  for (const auto& field : request) {
    const auto name = field.name_string();
    const auto value = field.value();
    fields.push_back({{name.data(), name.size()}, {value.data(), value.size()}});
  }
  return fields;
}

/// What `edge` judges a Beast-like `request` of `peer` by. Views into the request, which must live
/// until `Edge::Judge` has returned.
template <class Request>
[[nodiscard]] JudgedRequest JudgedRequestOf(const Edge& edge, const Peer& peer,
                                            const Request& request) {
  const std::vector<HeaderField> fields = HeaderFieldsOf(request);
  const auto method = request.method_string();
  const auto target = request.target();
  const auto host = request["Host"];
  return {.method = {method.data(), method.size()},
          .target = {target.data(), target.size()},
          .host = {host.data(), host.size()},
          .identity = edge.Identify(peer, fields)};
}

/// Gives the fields of an allowed `answer` (RateLimit, RateLimit-Policy, …) to the response that
/// the handler made. Fields of the same names are replaced; Cache-Control stays the handler's own.
template <class Response>
void AddAnswerFields(const Answer& answer, Response& response) {
  for (const AnswerField& field : answer.headers) {
    if (field.name != "Cache-Control") response.set(field.name, field.value);
  }
}

/// The whole response to a request that may not pass. `Response` has a body that a std::string can
/// be assigned to. The body is left out of an answer to HEAD, its length is told.
template <class Response, class Request>
[[nodiscard]] Response RefusalFor(Answer answer, const Request& request) {
  Response response;
  response.version(request.version());
  response.result(static_cast<unsigned>(answer.status));
  response.keep_alive(request.keep_alive());
  for (const AnswerField& field : answer.headers) response.set(field.name, field.value);
  response.content_length(answer.body.size());
  const auto method = request.method_string();
  if (std::string_view(method.data(), method.size()) != "HEAD") {
    response.body() = std::move(answer.body);
  }
  return response;
}

/// Judges `request` and calls `send(Response)` exactly once, on the calling thread: at once with
/// the engine in memory, later with an engine that has to wait. `next`, which makes a Response of a
/// `const Request&`, is called only if the request may pass; a failing limiter lets nothing pass.
/// Neither may throw.
///
/// `edge` must outlive the call of `send`; `peer` is used before `Intercept` returns.
template <class Request, class Next, class Send>
void Intercept(Edge& edge, const Peer& peer, Request request, Next next, Send send) {
  using Response = std::invoke_result_t<Next&, const Request&>;
  // Judge refers to the request until it returns, the handler until it is called: either may be
  // last.
  const auto kept = std::make_shared<const Request>(std::move(request));
  edge.Judge(JudgedRequestOf(edge, peer, *kept),
             [kept, next = std::move(next), send = std::move(send)](Answer answer) mutable {
               if (answer.status != 200) {
                 send(RefusalFor<Response>(std::move(answer), *kept));
                 return;
               }
               Response response = next(*kept);
               AddAnswerFields(answer, response);
               send(std::move(response));
             });
}

}  // namespace sluice
