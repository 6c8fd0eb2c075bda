#include "src/http/admin_endpoint.h"

#include <utility>

namespace sluice::http {
namespace {

Answer Text(int status, std::string_view media_type, std::string body) {
  return {.status = status,
          .outcome = AnswerOutcome::kExempt,
          .headers = {{"Content-Type", std::string(media_type)}, {"Cache-Control", "no-store"}},
          .body = std::move(body)};
}

constexpr std::string_view kPlain = "text/plain; charset=utf-8";

// Alive says nothing of what the daemon depends on: a restart would not heal that.
Answer Live() {
  return Text(200, kPlain, "alive\n");
}

Answer Ready(const AdminSources& sources) {
  const std::vector<std::string> reasons = sources.reasons_not_ready();
  if (reasons.empty()) return Text(200, kPlain, "ready\n");
  std::string body;
  for (const std::string& reason : reasons) body.append(reason).append("\n");
  return Text(503, kPlain, std::move(body));
}

Answer Metrics(const AdminSources& sources) {
  return Text(200, "text/plain; version=0.0.4; charset=utf-8", sources.metrics());
}

}  // namespace

std::optional<std::function<Answer()>> AdminAnswer(const AdminSources& sources,
                                                   std::string_view path) {
  if (path == "/livez") return Live;
  if (path == "/readyz") return [&sources] { return Ready(sources); };
  if (path == "/metrics") return [&sources] { return Metrics(sources); };
  return std::nullopt;
}

}  // namespace sluice::http
