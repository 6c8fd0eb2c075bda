#include "src/http/check_endpoint.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/http/character_set.h"
#include "src/http/refusal.h"

namespace sluice::http {
namespace {

enum HeaderIndex : std::uint8_t {
  kOriginalMethod,
  kOriginalUri,
  kOriginalHost,
  kForwardedMethod,
  kForwardedUri,
  kForwardedHost,
  kHost,
  kHeaders,
};
constexpr std::array<std::string_view, kHeaders> kNames{
    "X-Original-Method",
    "X-Original-URI",
    "X-Original-Host",
    "X-Forwarded-Method",
    "X-Forwarded-Uri",
    "X-Forwarded-Host",
    "Host",
};

using Values = std::array<std::optional<std::string_view>, kHeaders>;
using Sentence = std::string;

bool IsMethod(std::string_view text) {
  return !text.empty() && kTokenCharacters.ContainsAll(text);
}

/// A path and query, an absolute URI, or "*"; the edge normalises it.
bool IsTarget(std::string_view text) {
  if (kWhitespace.ContainsAny(text)) return false;
  return text.starts_with('/') || text == "*" || text.find("://") != std::string_view::npos;
}

bool IsHost(std::string_view text) {
  return !text.empty() && kHostCharacters.ContainsAll(text);
}

std::expected<Values, Sentence> Collect(std::span<const HeaderField> headers) {
  Values values;
  for (const HeaderField& header : headers) {
    for (std::size_t i = 0; i < kHeaders; ++i) {
      if (!IsHeader(header, kNames[i])) continue;
      if (values[i] && *values[i] != header.value) {
        return std::unexpected(fmt::format("{} is given twice, differently.", kNames[i]));
      }
      values[i] = header.value;
    }
  }
  return values;
}

/// The value of one of two headers that mean the same; both may be given if they are equal.
std::expected<std::string_view, Sentence> Agreed(const Values& values, HeaderIndex original,
                                                 HeaderIndex forwarded) {
  if (values[original] && values[forwarded] && *values[original] != *values[forwarded]) {
    return std::unexpected(fmt::format("{} and {} differ.", kNames[original], kNames[forwarded]));
  }
  return values[forwarded] ? *values[forwarded] : values[original].value_or(std::string_view());
}

/// Which header is missing from a family that is given by half.
std::optional<HeaderIndex> Missing(const Values& values, HeaderIndex method, HeaderIndex uri) {
  if (values[method].has_value() == values[uri].has_value()) return std::nullopt;
  return values[method] ? uri : method;
}

}  // namespace

std::expected<ForwardedRequest, std::string> ReadForwardedRequest(
    std::span<const HeaderField> headers) {
  const auto values = Collect(headers);
  if (!values) return std::unexpected(values.error());
  for (const auto& [method, uri] :
       {std::pair{kOriginalMethod, kOriginalUri}, std::pair{kForwardedMethod, kForwardedUri}}) {
    if (const auto missing = Missing(*values, method, uri)) {
      return std::unexpected(fmt::format("{} is missing.", kNames[*missing]));
    }
  }
  if (!(*values)[kOriginalUri] && !(*values)[kForwardedUri]) {
    return std::unexpected(
        "X-Original-Method and X-Original-URI, or X-Forwarded-Method and X-Forwarded-Uri, are "
        "missing.");
  }
  const auto method = Agreed(*values, kOriginalMethod, kForwardedMethod);
  if (!method) return std::unexpected(method.error());
  const auto target = Agreed(*values, kOriginalUri, kForwardedUri);
  if (!target) return std::unexpected(target.error());
  auto host = Agreed(*values, kOriginalHost, kForwardedHost);
  if (!host) return std::unexpected(host.error());

  const auto malformed = [&](HeaderIndex original, HeaderIndex forwarded) {
    return std::unexpected(
        fmt::format("{} is malformed.", kNames[(*values)[forwarded] ? forwarded : original]));
  };
  if (!IsMethod(*method)) return malformed(kOriginalMethod, kForwardedMethod);
  if (!IsTarget(*target)) return malformed(kOriginalUri, kForwardedUri);
  const bool names_host = (*values)[kOriginalHost] || (*values)[kForwardedHost];
  if (names_host && !IsHost(*host)) return malformed(kOriginalHost, kForwardedHost);
  return ForwardedRequest{.method = *method,
                          .target = *target,
                          .host = names_host ? *host : (*values)[kHost].value_or("")};
}

void HandleCheck(Edge& edge, const Request& request, std::string_view query, Reply reply) {
  const bool denies_with_403 = query == "deny=403";
  if (!query.empty() && !denies_with_403) {
    return reply.Reject(Rejection::kInvalidParameters,
                        Problem(400, "The only query that /check takes is deny=403."));
  }
  if (!request.peer.trusted()) {
    return reply.Reject(Rejection::kUntrustedPeer,
                        Problem(400,
                                "X-Original-URI and X-Forwarded-Uri count from trusted proxies "
                                "only, and this peer is none."));
  }
  const auto judged = ReadForwardedRequest(request.headers);
  if (!judged) return reply.Reject(Rejection::kForwardedRequest, Problem(400, judged.error()));
  edge.Judge({.method = judged->method,
              .target = judged->target,
              .host = judged->host,
              .identity = edge.Identify(request.peer, request.headers)},
             [reply = std::move(reply), denies_with_403](Answer answer) mutable {
               reply(denies_with_403 ? edge::AnswerWithDenyStatus(std::move(answer), 403)
                                     : std::move(answer));
             });
}

}  // namespace sluice::http
