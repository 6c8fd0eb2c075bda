// ANY /check: forward authentication for nginx, Caddy, Traefik and whatever speaks like them.
//
// The judged request is the one that a trusted proxy describes, never the daemon's own request
// line:
//
// | family                     | method              | path and query    |
// |----------------------------|---------------------|-------------------|
// | nginx auth_request         | X-Original-Method   | X-Original-URI    |
// | Caddy, Traefik             | X-Forwarded-Method  | X-Forwarded-Uri   |
//
// Its host is X-Forwarded-Host, else X-Original-Host, else Host. A family is taken whole: a client
// could complete half of one through a proxy that passes its headers on. Where both are complete,
// or a header comes twice, the values must be equal. Anything else is 400 and names the header.
//
// `?deny=403` answers denials with 403, which nginx relays.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "sluice/edge.h"

#include "src/http/message.h"

namespace sluice::http {

void HandleCheck(Edge& edge, const Request& request, std::string_view query, Reply reply);

/// The request that a proxy asks about. Views into its headers.
struct ForwardedRequest {
  std::string_view method;
  std::string_view target;
  std::string_view host;
};

/// Reads it, or one sentence that names the header in question and repeats no value.
[[nodiscard]] std::expected<ForwardedRequest, std::string> ReadForwardedRequest(
    std::span<const HeaderField> headers);

}  // namespace sluice::http
