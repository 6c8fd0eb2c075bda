// The edge: from a request that somebody received to the answer they should give.
//
//   auto edge = sluice::Edge::Create(std::move(settings), limiter, pseudonymizer);
//   auto peer = (*edge)->PeerFrom("203.0.113.9");                  // once a connection
//   (*edge)->Judge({.method = "POST", .target = "/login", .host = "example.com",
//                   .identity = (*edge)->Identify(peer, headers)},
//                  [](sluice::Answer answer) { … });
//
// Every transport (HTTP, gRPC, your own server) goes through here, so all give the same answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"
#include "sluice/limiter.h"
#include "sluice/pseudonymizer.h"
#include "sluice/raw_identity.h"

namespace sluice {

/// Which header names the client when the peer is trusted. Never both: one is the client's to
/// forge.
enum class Forwarded : std::uint8_t { kXForwardedFor, kForwarded, kNone };

/// What happens to a request whose client nothing names.
enum class Anonymous : std::uint8_t {
  kShared,  ///< all such clients share one budget
  kDeny,    ///< 401
};

/// How a client is named. Defaults are those of the configuration.
struct IdentitySettings {
  std::vector<IdentityKind> sources{IdentityKind::kPrincipal, IdentityKind::kApiKey,
                                    IdentityKind::kClientIp};  ///< the first one present wins
  std::string principal_header = "X-Authenticated-User";       ///< counts from trusted peers only
  std::string api_key_header = "X-API-Key";    ///< likewise; "Authorization" takes the Bearer token
  std::vector<std::string> trusted_proxies{};  ///< addresses and networks in CIDR form
  Forwarded forwarded = Forwarded::kXForwardedFor;
  int ipv6_prefix = 64;  ///< 1 .. 128: addresses of one network are one client
  Anonymous anonymous = Anonymous::kShared;
};

/// Which requests an operation covers. Empty members match everything.
struct RouteMatch {
  std::vector<std::string> methods{};  ///< case-sensitive; GET covers HEAD too
  std::string host{};  ///< without port, case-insensitive; "*.example.com" covers its subdomains
  std::string path{};  ///< "/items/{id}", "/files/**"; compared after normalisation
  friend bool operator==(const RouteMatch&, const RouteMatch&) = default;
};

/// A named group of routes and the policies it applies together.
struct OperationSettings {
  std::string id{};
  RouteMatch match{};
  std::vector<std::string> policies{};  ///< ids, in order; empty only if exempt
  std::int64_t cost = 1;
  std::vector<IdentityKind> sources{};  ///< empty: those of IdentitySettings
  bool exempt = false;                  ///< always allowed, nothing is counted
};

/// What an edge needs to know. `policies` holds every policy that operations and callers may name.
struct EdgeSettings {
  std::vector<Policy> policies{};
  std::string default_policy{};                 ///< applies to requests that no operation matches
  std::vector<OperationSettings> operations{};  ///< the first match wins
  IdentitySettings identity{};
  Milliseconds budget{750};                 ///< deadline of an evaluation = now + budget
  Milliseconds failure_retry_after{1'000};  ///< told to clients when the outcome is not "evaluated"
};

/// One reason why settings make no edge; `place` is a path such as "operations[2].match.path".
struct EdgeError {
  std::string place{};
  std::string message{};
};

/// Nothing, or one sentence on why `pattern` is no path pattern.
[[nodiscard]] std::optional<std::string> CheckPathPattern(std::string_view pattern);
/// Nothing, or one sentence on why `host` is no host to match.
[[nodiscard]] std::optional<std::string> CheckHostPattern(std::string_view host);
/// Nothing, or one sentence on why `network` is neither an address nor a network in CIDR form.
[[nodiscard]] std::optional<std::string> CheckNetwork(std::string_view network);

struct HeaderField {
  std::string_view name{};
  std::string_view value{};
};

/// A request as its edge saw it. The views must live until `Judge` has returned.
struct JudgedRequest {
  std::string_view method{};
  std::string_view target{};  ///< path and query, or an absolute URI
  std::string_view host{};    ///< as in the Host field, a port is ignored; may be empty
  RawIdentity identity{};     ///< from `Edge::Identify`
};

/// What every answer says of its outcome: the words of `X-Sluice-Outcome`.
enum class AnswerOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kUnavailable,
  kIndeterminate,
  kIncompatible,
  kExempt
};

/// "allowed", "denied", "unavailable", "indeterminate", "incompatible", "exempt".
[[nodiscard]] std::string_view Name(AnswerOutcome outcome);

struct AnswerField {
  std::string_view name{};  ///< a literal
  std::string value{};
};

/// What to tell the client. `status` 200 means: let the request pass, and give `headers` to its
/// response. Anything else is the whole response. Content-Length is the transport's to add.
struct Answer {
  int status = 500;
  AnswerOutcome outcome = AnswerOutcome::kIncompatible;
  std::vector<AnswerField>
      headers{};       ///< RateLimit, RateLimit-Policy, Retry-After, Content-Type, …
  std::string body{};  ///< empty, or problem+json (RFC 9457)
};

using AnswerHandler = std::move_only_function<void(Answer)>;

/// A direct evaluation, without a request: what /v1 and the command line ask for.
struct EvaluateRequest {
  std::vector<std::string> policies{};  ///< ids; empty if `operation` is given
  std::string operation{};              ///< an operation's id: its policies, its cost, its counters
  RawIdentity identity{};
  IdentityKind kind = IdentityKind::kOpaque;
  std::optional<std::int64_t> cost{};  ///< default: the operation's cost, or 1
  std::optional<std::string> evaluation_id{};
  std::optional<Milliseconds> budget{};  ///< default: that of EdgeSettings
  Mode mode = Mode::kEvaluate;
};

/// An outcome with what is needed to report it.
struct EvaluateReport {
  std::shared_ptr<const Plan>
      plan{};  ///< keeps the outcome's views alive; null if there was no plan
  Outcome outcome{};
  EvaluationId id{};
  Milliseconds failure_retry_after{};
};

/// Told after each judged request and direct evaluation. Views are valid during the call only.
struct Observation {
  std::string_view
      operation;              ///< "*" where none matched, empty for a direct evaluation by policies
  std::string_view policy{};  ///< the leading limit's, else the plan's first; empty for exempt
  AnswerOutcome outcome = AnswerOutcome::kIncompatible;
  std::string_view category{};  ///< the category or reason of an outcome that is not evaluated
  std::string_view detail{};    ///< the same for people, one sentence or none; never a secret
  bool replayed = false;
  bool anonymous = false;  ///< nothing named the client
  std::chrono::nanoseconds elapsed{};
};
using Observer = std::function<void(const Observation&)>;

/// Operations, identities and the answer table over one Limiter.
///
/// Thread safety: everything may be called from any thread if the Limiter and the Observer may.
class Edge {
 public:
  /// `limiter`, `pseudonymizer` and `clock` must outlive the edge. `observer` may be empty.
  [[nodiscard]] static std::expected<std::unique_ptr<Edge>, std::vector<EdgeError>> Create(
      EdgeSettings settings, Limiter& limiter, const Pseudonymizer& pseudonymizer,
      const Clock& clock = SystemClock(), Observer observer = {});

  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  ~Edge();

  /// The other end of a connection: a textual IP address, or "unix:" for a unix socket's peer,
  /// which is trusted. Text that is no address gives an untrusted peer without an address.
  [[nodiscard]] Peer PeerFrom(std::string_view address) const;

  /// Who sent a request: what a trusted peer's headers say, else the peer itself.
  [[nodiscard]] RawIdentity Identify(const Peer& peer, std::span<const HeaderField> headers) const;

  /// The identity that a caller names outright, canonical as `Identify` makes it; else one sentence
  /// that does not repeat the value.
  [[nodiscard]] std::expected<RawIdentity, std::string> IdentityFrom(IdentityKind kind,
                                                                     std::string_view value) const;

  /// Judges a request and calls `handler` exactly once, on the calling thread.
  void Judge(JudgedRequest request, AnswerHandler handler);

  /// `Judge` for servers that block; do not call it on the event loop that completes evaluations.
  [[nodiscard]] Answer JudgeAndWait(JudgedRequest request);

  /// Evaluates directly and calls `handler` exactly once, on the calling thread.
  void Evaluate(EvaluateRequest request, std::move_only_function<void(EvaluateReport)> handler);

 private:
  class Bridge;
  explicit Edge(std::unique_ptr<Bridge> bridge);
  std::unique_ptr<Bridge> bridge_;
};

}  // namespace sluice
