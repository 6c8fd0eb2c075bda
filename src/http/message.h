// What a transport hands to an endpoint, and the one thing an endpoint must do with it: answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "sluice/edge.h"

namespace sluice::http {

/// Why a request was refused without an evaluation; the label of a metric, so a closed set.
enum class Rejection : std::uint8_t {
  kMalformed,       ///< not HTTP/1.x as RFC 9112 has it
  kVersion,         ///< another HTTP version
  kHeaderTooLarge,  ///< request line or header block
  kBodyTooLarge,
  kTimeout,           ///< the request did not arrive in time
  kConnectionLimit,   ///< too many connections are open
  kUntrustedPeer,     ///< /v1 is for trusted peers
  kForwardedRequest,  ///< the headers of /check do not name one request
  kNoSuchPath,
  kMethodNotAllowed,
  kInvalidParameters,  ///< the query of a path, or a body that is not what /v1 takes
};

/// "malformed", "version", "header-too-large", …
[[nodiscard]] std::string_view Name(Rejection rejection);

/// A complete request. Views are valid until the handler has returned.
struct Request {
  std::string_view method;
  std::string_view target;  ///< as received: origin form, absolute form or "*"
  std::span<const HeaderField> headers;
  std::string_view body;
  const Peer& peer;  ///< lives as long as the connection
};

class Conversation;

/// The place of one answer on its connection. Move-only; call it exactly once, now or later, on the
/// thread that called the handler. One that is destroyed unanswered answers 500.
class Reply {
 public:
  explicit Reply(std::shared_ptr<Conversation> conversation);
  Reply(Reply&&) noexcept = default;
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  void operator()(const Answer& answer);
  /// Answers a request that was not evaluated, and counts why.
  void Reject(Rejection rejection, const Answer& answer);

 private:
  std::shared_ptr<Conversation> conversation_;
};

/// What a listener serves.
///
/// Thread safety: all members are called from every worker at the same time.
struct Service {
  std::function<void(const Request&, Reply)> handle;
  /// Resolves the other end of a connection, once for all of its requests.
  std::function<Peer(std::string_view address)> peer_from;
  /// Told about every refusal without an evaluation; may be empty.
  std::function<void(Rejection)> on_reject;
};

/// Whether `header` is called `name`, upper and lower case being equal.
[[nodiscard]] inline bool IsHeader(const HeaderField& header, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return header.name.size() == name.size() &&
         std::ranges::equal(header.name, name, {}, lower, lower);
}

}  // namespace sluice::http
