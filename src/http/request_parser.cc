#include "src/http/request_parser.h"

#include <algorithm>
#include <functional>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include "src/http/character_set.h"

namespace sluice::http {
namespace {

namespace beast = boost::beast;
using beast::http::error;
using beast::http::field;

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

/// RFC 9112, section 3.2: origin, absolute, authority (CONNECT) and asterisk form (OPTIONS).
bool IsValidTarget(std::string_view method, std::string_view target) {
  if (method == "CONNECT") {
    return target.find('/') == std::string_view::npos && target.find(':') != std::string_view::npos;
  }
  if (target.starts_with('/')) return true;
  if (target == "*") return method == "OPTIONS";
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() > scheme.size() &&
        EqualsIgnoringCase(target.substr(0, scheme.size()), scheme)) {
      return target[scheme.size()] != '/';
    }
  }
  return false;
}

/// Whether the request line at the front of `input`, perhaps not complete, has a well-formed
/// version.
bool HasHttpVersion(std::string_view input) {
  constexpr std::string_view kShape = "HTTP/d.d\r\n";
  const std::size_t method_end = input.find(' ');
  const std::size_t target_end = input.find(' ', method_end + 1);
  if (method_end == std::string_view::npos || target_end == std::string_view::npos) return false;
  const std::string_view version = input.substr(target_end + 1, kShape.size());
  return std::ranges::equal(version, kShape.substr(0, version.size()), [](char c, char shape) {
    return shape == 'd' ? kDigits.Contains(c) : c == shape;
  });
}

/// The least that ends a chunked body, and so the least that is still to come before its end.
constexpr std::size_t kLastChunk = std::string_view("0\r\n\r\n").size();

constexpr ParseFailure Malformed(std::string_view detail) {
  return {.status = 400, .rejection = Rejection::kMalformed, .detail = detail};
}

constexpr ParseFailure kBodyTooLarge{413, Rejection::kBodyTooLarge,
                                     "The body is larger than this server takes."};
constexpr ParseFailure kHeaderTooLarge{431, Rejection::kHeaderTooLarge,
                                       "The header block is larger than this server takes."};
constexpr ParseFailure kTargetTooLong{414, Rejection::kHeaderTooLarge,
                                      "The request line is longer than this server takes."};

}  // namespace

void RequestParser::Machine::on_request_impl(Verb /*verb*/, StringView method, StringView target,
                                             int version, ErrorCode& ec) {
  if (!IsValidTarget(method, target)) {
    return owner_.Fail(ec, Malformed("The request target has no form that its method takes."));
  }
  owner_.method_ = owner_.Keep(method);
  owner_.target_ = owner_.Keep(target);
  owner_.version_ = version;
}

void RequestParser::Machine::on_field_impl(Field field, StringView name, StringView value,
                                           ErrorCode& ec) {
  owner_.OnField(field, name, value, ec);
}

void RequestParser::Machine::on_header_impl(ErrorCode& ec) {
  const OptionalLength length = content_length();
  owner_.keep_alive_ = keep_alive();
  owner_.OnHeadDone(length ? std::optional<std::uint64_t>(*length) : std::nullopt, ec);
}

std::size_t RequestParser::Machine::on_body_impl(StringView body, ErrorCode& /*ec*/) {
  owner_.body_.append(body.data(), body.size());
  return body.size();
}

void RequestParser::Machine::on_chunk_header_impl(std::uint64_t size, StringView extensions,
                                                  ErrorCode& ec) {
  // A lone line feed inside a quoted extension ends the line for some programs.
  const bool has_control = std::ranges::any_of(
      extensions, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
  if (has_control)
    return owner_.Fail(ec, Malformed("A chunk extension holds a control character."));
  if (size > owner_.limits_.maximum_body - owner_.body_.size()) owner_.Fail(ec, kBodyTooLarge);
}

std::size_t RequestParser::Machine::on_chunk_body_impl(std::uint64_t /*remaining*/, StringView body,
                                                       ErrorCode& ec) {
  return on_body_impl(body, ec);
}

void RequestParser::OnField(field known, std::string_view name, std::string_view value,
                            ErrorCode& ec) {
  if (IsFolded(name, value)) return Fail(ec, Malformed("A header line is folded."));
  if (head_done_) return;  // a trailer: it may not speak for the request any more
  switch (known) {
    case field::host:
      if (++hosts_ > 1) return Fail(ec, Malformed("There is more than one Host field."));
      if (!kHostCharacters.ContainsAll(value))
        return Fail(ec, Malformed("The Host field is no host."));
      break;
    case field::content_length:
      if (++content_lengths_ > 1 || !kDigits.ContainsAll(value)) {
        return Fail(ec, Malformed("The Content-Length field is not one number."));
      }
      break;
    case field::transfer_encoding:
      if (is_http_1_0()) {
        return Fail(ec, Malformed("HTTP/1.0 has no transfer codings."));
      }
      if (!EqualsIgnoringCase(value, "chunked")) {
        return Fail(ec, Malformed("The only transfer coding that this server takes is chunked."));
      }
      break;
    case field::expect:
      if (is_http_1_0()) break;
      if (!EqualsIgnoringCase(value, "100-continue")) {
        return Fail(ec, {417, Rejection::kMalformed, "The only expectation is 100-continue."});
      }
      expects_continue_ = true;
      break;
    default:
      break;
  }
  // Together with the colon between them: they are one piece of the input.
  const auto gap = static_cast<std::uint32_t>(value.data() - name.data());
  const Extent field = Keep({name.begin(), value.end()});
  extents_.push_back({.name = {field.offset, static_cast<std::uint32_t>(name.size())},
                      .value = {field.offset + gap, field.size - gap}});
}

void RequestParser::OnHeadDone(std::optional<std::uint64_t> content_length, ErrorCode& ec) {
  head_done_ = true;
  if (hosts_ == 0 && !is_http_1_0()) return Fail(ec, Malformed("There is no Host field."));
  if (content_length > limits_.maximum_body) return Fail(ec, kBodyTooLarge);
  for (const FieldExtents& extents : extents_) {
    headers_.push_back({Text(extents.name), Text(extents.value)});
  }
}

// Beast joins folded lines, in a buffer of its own unless the first line was empty.
bool RequestParser::IsFolded(std::string_view name, std::string_view value) const {
  const auto before = std::less<const char*>{};
  const char* const end = input_.data() + input_.size();
  if (before(value.data(), input_.data()) || before(end, value.data())) return true;
  return std::string_view(name.end(), value.begin()).find('\r') != std::string_view::npos;
}

std::size_t RequestParser::Consume(std::string_view bytes) {
  std::size_t consumed = 0;
  if (!machine_->got_some()) {
    // Empty lines before a request line are ignored (RFC 9112, section 2.2).
    while (bytes.substr(consumed).starts_with("\r\n")) consumed += 2;
    if (bytes.substr(consumed) == "\r") return consumed;
  }
  while (consumed < bytes.size() && !machine_->is_done()) {
    input_ = bytes.substr(consumed);
    // Beast asserts that it never sees less of a last chunk once it has seen its size.
    if (head_done_ && machine_->chunked() && input_.size() < kLastChunk) break;
    ErrorCode ec;
    const bool was_head = !head_done_;
    const std::size_t used = machine_->put({input_.data(), input_.size()}, ec);
    consumed += used;
    if (was_head) head_bytes_ += used;
    if (ec && ec != error::need_more && !failure_) failure_ = FailureOf(ec);
    if (!failure_) CheckSize(ec == error::need_more ? input_.size() - used : 0);
    if (ec || failure_) break;
  }
  return consumed;
}

// `unread` bytes wait for the rest of the line, chunk header or trailer section they belong to.
void RequestParser::CheckSize(std::size_t unread) {
  const std::size_t size = head_done_ ? std::max(head_bytes_, unread) : head_bytes_ + unread;
  if (size > limits_.maximum_header) failure_ = TooLarge();
}

ParseFailure RequestParser::TooLarge() const {
  const bool has_request_line = !method().empty() || input_.find("\r\n") != std::string_view::npos;
  return has_request_line ? kHeaderTooLarge : kTargetTooLong;
}

ParseFailure RequestParser::FailureOf(const ErrorCode& ec) const {
  if (ec == error::header_limit) return TooLarge();
  if (ec == error::bad_version && HasHttpVersion(input_)) {
    return {505, Rejection::kVersion, "This server speaks HTTP/1.0 and HTTP/1.1."};
  }
  if (ec == error::bad_content_length || ec == error::multiple_content_length) {
    return Malformed("The Content-Length field is not one number.");
  }
  if (ec == error::bad_transfer_encoding) {
    return Malformed("The Transfer-Encoding field is repeated or stands beside a Content-Length.");
  }
  if (ec == error::bad_chunk || ec == error::bad_chunk_extension) {
    return Malformed("A chunk of the body is malformed.");
  }
  if (ec == error::bad_field || ec == error::bad_value) {
    return Malformed("A header field is malformed.");
  }
  if (ec == error::bad_line_ending) return Malformed("A line does not end in CR LF.");
  return Malformed("The request line is malformed.");
}

void RequestParser::Fail(ErrorCode& ec, const ParseFailure& failure) {
  failure_ = failure;
  ec = error::bad_value;
}

RequestParser::Extent RequestParser::Keep(std::string_view text) {
  const Extent extent{static_cast<std::uint32_t>(arena_.size()),
                      static_cast<std::uint32_t>(text.size())};
  arena_.append(text);
  return extent;
}

void RequestParser::Reset() {
  machine_.emplace(*this);
  failure_.reset();
  arena_.clear();
  extents_.clear();
  headers_.clear();
  body_.clear();
  head_bytes_ = 0;
  method_ = target_ = {};
  version_ = hosts_ = content_lengths_ = 0;
  head_done_ = keep_alive_ = expects_continue_ = false;
}

}  // namespace sluice::http
