#include "src/http/router.h"

#include <memory>
#include <utility>

#include "src/edge/answer.h"
#include "src/http/check_endpoint.h"
#include "src/http/evaluate_endpoint.h"
#include "src/http/refusal.h"

namespace sluice::http {
namespace {

void RejectUnknownPath(Reply reply) {
  reply.Reject(Rejection::kNoSuchPath, Problem(404, "There is nothing at this path."));
}

void RejectMethod(Reply reply, std::string_view allowed) {
  Answer answer = Problem(405, "This path does not take this method.");
  answer.headers.push_back({"Allow", std::string(allowed)});
  reply.Reject(Rejection::kMethodNotAllowed, answer);
}

void ServeData(Edge& edge, const Request& request, Reply reply) {
  const Target target = SplitTarget(request.target);
  if (target.path == "/check") return HandleCheck(edge, request, target.query, std::move(reply));
  const bool is_peek = target.path == "/v1/peek";
  if (!is_peek && target.path != "/v1/evaluate") return RejectUnknownPath(std::move(reply));
  if (request.method != "POST") return RejectMethod(std::move(reply), "POST");
  HandleEvaluate(edge, request, target.query, is_peek ? Mode::kPeek : Mode::kEvaluate,
                 std::move(reply));
}

void ServeAdmin(const AdminSources& sources, const Request& request, Reply reply) {
  const Target target = SplitTarget(request.target);
  const auto answer = AdminAnswer(sources, target.path);
  if (!answer) return RejectUnknownPath(std::move(reply));
  if (request.method != "GET" && request.method != "HEAD") {
    return RejectMethod(std::move(reply), "GET, HEAD");
  }
  reply((*answer)());
}

}  // namespace

Target SplitTarget(std::string_view target) {
  // Only the absolute form has a scheme; the parser let no other through.
  if (const std::size_t scheme = target.find("://");
      scheme != std::string_view::npos && !target.starts_with('/')) {
    const std::size_t path = target.find_first_of("/?", scheme + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return {.path = target, .query = {}};
  return {.path = target.substr(0, question), .query = target.substr(question + 1)};
}

Service DataService(Edge& edge, std::function<void(Rejection)> on_reject) {
  return {.handle = [&edge](const Request& request,
                            Reply reply) { ServeData(edge, request, std::move(reply)); },
          .peer_from = [&edge](std::string_view address) { return edge.PeerFrom(address); },
          .on_reject = std::move(on_reject)};
}

Service AdminService(AdminSources sources, std::function<void(Rejection)> on_reject) {
  return {.handle = [sources = std::move(sources)](
                        const Request& request,
                        Reply reply) { ServeAdmin(sources, request, std::move(reply)); },
          .peer_from = [](std::string_view) { return Peer(); },
          .on_reject = std::move(on_reject)};
}

}  // namespace sluice::http
