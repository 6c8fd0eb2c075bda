#include "src/http/evaluate_endpoint.h"

#include <utility>

#include "src/edge/answer.h"
#include "src/edge/evaluate_json.h"
#include "src/http/refusal.h"

namespace sluice::http {

void HandleEvaluate(Edge& edge, const Request& request, std::string_view query, Mode mode,
                    Reply reply) {
  if (!request.peer.trusted()) {
    return reply.Reject(Rejection::kUntrustedPeer,
                        Problem(403, "Only trusted peers may evaluate directly."));
  }
  if (!query.empty()) {
    return reply.Reject(Rejection::kInvalidParameters, Problem(400, "This path takes no query."));
  }
  auto parsed = edge::ParseEvaluateRequest(request.body, {}, edge);
  if (!parsed) return reply.Reject(Rejection::kInvalidParameters, Problem(400, parsed.error()));
  parsed->request.mode = mode;
  edge.Evaluate(std::move(parsed->request),
                [reply = std::move(reply)](const EvaluateReport& report) mutable {
                  reply(edge::AnswerFor(report));
                });
}

}  // namespace sluice::http
