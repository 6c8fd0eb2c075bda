// One HTTP/1.x request out of bytes (RFC 9112): Boost.Beast's parser, made strict wherever leniency
// lets two programs disagree about where a request ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/beast/http/basic_parser.hpp>

#include "sluice/edge.h"

#include "src/http/message.h"

namespace sluice::http {

struct ParserLimits {
  std::size_t maximum_header = 16 * 1024;  ///< bytes of request line and header fields
  std::size_t maximum_body = 64 * 1024;    ///< bytes of content, after decoding chunks
};

/// Why bytes are no request that can be served. The connection cannot go on after it.
struct ParseFailure {
  int status = 400;
  Rejection rejection = Rejection::kMalformed;
  std::string_view detail;  ///< a literal; never repeats what was received
};

/// Reads one request at a time; `Reset` makes it ready for the next one and keeps its memory.
///
/// Refused with 400 although lenient parsers take them: folded header lines, a repeated or listed
/// Content-Length, Content-Length beside Transfer-Encoding, any transfer coding that does not end
/// in chunked, a missing, repeated or invalid Host, control characters in chunk extensions.
/// Trailers are read and dropped.
class RequestParser {
 public:
  explicit RequestParser(const ParserLimits& limits) : limits_(limits) { Reset(); }
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Reads from the front of `bytes` and returns how many were used up. The rest must be given
  /// again with more behind it; it is at most `maximum_header` bytes. Precondition: neither done
  /// nor failed.
  [[nodiscard]] std::size_t Consume(std::string_view bytes);
  void Reset();

  /// Whether a byte of a request has come in; empty lines before it do not count.
  [[nodiscard]] bool has_started() const { return machine_->got_some(); }
  [[nodiscard]] bool done() const { return machine_->is_done() && !failure_; }
  [[nodiscard]] const std::optional<ParseFailure>& failure() const { return failure_; }

  /// Known from the end of the request line on, empty and false before; valid until `Reset`.
  [[nodiscard]] std::string_view method() const { return Text(method_); }
  [[nodiscard]] std::string_view target() const { return Text(target_); }
  [[nodiscard]] bool is_http_1_0() const { return version_ == 10; }

  /// Whether the head is complete; what follows is known then, until `Reset`.
  [[nodiscard]] bool head_done() const { return head_done_; }
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }
  /// The client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  [[nodiscard]] std::span<const HeaderField> headers() const { return headers_; }
  [[nodiscard]] std::string_view body() const { return body_; }

 private:
  using BeastParser = boost::beast::http::basic_parser<true>;
  using ErrorCode = boost::beast::error_code;

  /// A text in `arena_`; an offset, because the arena moves while it grows.
  struct Extent {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  struct FieldExtents {
    Extent name;
    Extent value;
  };

  class Machine final : public BeastParser {
   public:
    explicit Machine(RequestParser& owner) : owner_(owner) {
      // The owner counts both itself: it knows the whole head and can tell 413 from 400.
      body_limit(boost::none);
      header_limit(static_cast<std::uint32_t>(owner.limits_.maximum_header));
    }

   private:
    using Verb = boost::beast::http::verb;
    using Field = boost::beast::http::field;
    using StringView = boost::beast::string_view;
    using OptionalLength = boost::optional<std::uint64_t>;

    void on_request_impl(Verb verb, StringView method, StringView target, int version,
                         ErrorCode& ec) override;
    void on_response_impl(int, StringView, int, ErrorCode&) override {}
    void on_field_impl(Field field, StringView name, StringView value, ErrorCode& ec) override;
    void on_header_impl(ErrorCode& ec) override;
    void on_body_init_impl(const OptionalLength&, ErrorCode&) override {}
    std::size_t on_body_impl(StringView body, ErrorCode& ec) override;
    void on_chunk_header_impl(std::uint64_t size, StringView extensions, ErrorCode& ec) override;
    std::size_t on_chunk_body_impl(std::uint64_t remaining, StringView body,
                                   ErrorCode& ec) override;
    void on_finish_impl(ErrorCode&) override {}

    RequestParser& owner_;
  };

  void OnField(boost::beast::http::field field, std::string_view name, std::string_view value,
               ErrorCode& ec);
  void OnHeadDone(std::optional<std::uint64_t> content_length, ErrorCode& ec);
  void CheckSize(std::size_t unread);
  [[nodiscard]] ParseFailure TooLarge() const;
  [[nodiscard]] bool IsFolded(std::string_view name, std::string_view value) const;
  [[nodiscard]] ParseFailure FailureOf(const ErrorCode& ec) const;
  /// Stops the machine; `failure` is what `failure()` will say.
  void Fail(ErrorCode& ec, const ParseFailure& failure);
  Extent Keep(std::string_view text);
  [[nodiscard]] std::string_view Text(Extent extent) const {
    return std::string_view(arena_).substr(extent.offset, extent.size);
  }

  const ParserLimits limits_;
  std::optional<Machine> machine_;  // Beast's parsers read one message only
  std::optional<ParseFailure> failure_;
  std::string_view input_;  // what the machine is reading from, during Consume
  std::string arena_;
  std::vector<FieldExtents> extents_;
  std::vector<HeaderField> headers_;
  std::string body_;
  std::size_t head_bytes_ = 0;
  Extent method_;
  Extent target_;
  int version_ = 0;
  int hosts_ = 0;
  int content_lengths_ = 0;
  bool head_done_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
};

}  // namespace sluice::http
