#include "src/redis/stream.h"

#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/core.h>

namespace sluice::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::string Sentence(std::string_view doing, const error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return "the server closed the connection";
  }
  return fmt::format("{}: {}", doing, error.message());
}

// OpenSSL itself says only that the certificate was refused.
std::string HandshakeError(const SSL* tls, const std::string& name, const error_code& error) {
  const long refusal = SSL_get_verify_result(tls);
  if (refusal == X509_V_OK) return Sentence("the TLS handshake", error);
  // What is left unspecified is our own look at the name.
  if (refusal == X509_V_ERR_UNSPECIFIED) {
    return fmt::format("the TLS handshake: the server's certificate is not for {}", name);
  }
  return fmt::format("the TLS handshake: the server's certificate is refused: {}",
                     X509_verify_cert_error_string(refusal));
}

std::variant<asio::generic::stream_protocol::socket,
             asio::ssl::stream<asio::generic::stream_protocol::socket>>
MakeStream(asio::io_context& loop, asio::ssl::context* tls) {
  using Socket = asio::generic::stream_protocol::socket;
  using Made = std::variant<Socket, asio::ssl::stream<Socket>>;
  if (tls == nullptr) return Made(std::in_place_index<0>, loop);
  return Made(std::in_place_index<1>, loop, *tls);
}

}  // namespace

std::expected<std::shared_ptr<asio::ssl::context>, std::string> MakeTlsContext(
    const RedisTls& tls) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return std::unexpected(std::string("a client certificate and its key come together"));
  }
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  const auto failed = [&](std::string_view what, const std::string& file) {
    return std::unexpected(fmt::format("{} {}: {}", what, file, error.message()));
  };
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1,
                       error);
  context->set_verify_mode(asio::ssl::verify_peer, error);
  if (tls.ca_file.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(tls.ca_file, error);
  }
  if (error) return failed("cannot read the authorities in", tls.ca_file);
  if (tls.certificate_file.empty()) return context;
  context->use_certificate_chain_file(tls.certificate_file, error);
  if (error) return failed("cannot read the certificate in", tls.certificate_file);
  context->use_private_key_file(tls.key_file, asio::ssl::context::pem, error);
  if (error) return failed("cannot read the key in", tls.key_file);
  return context;
}

Stream::Stream(asio::io_context& loop, std::shared_ptr<asio::ssl::context> tls,
               std::string server_name)
    : loop_(loop),
      resolver_(loop),
      tls_(std::move(tls)),
      server_name_(std::move(server_name)),
      stream_(MakeStream(loop, tls_.get())) {}

Stream::Socket& Stream::socket() {
  if (auto* tls = std::get_if<TlsStream>(&stream_)) return tls->next_layer();
  return std::get<Socket>(stream_);
}

void Stream::Connect(Address address, ErrorHandler handler) {
  asio::co_spawn(loop_, Open(std::move(address)),
                 [self = shared_from_this(), handler = std::move(handler)](
                     const std::exception_ptr& thrown, std::string error) mutable {
                   if (thrown) error = "the connection could not be set up";
                   handler(std::move(error));
                 });
}

asio::awaitable<std::string> Stream::Open(Address address) {
  if (!address.unix_path.empty()) {
    const asio::local::stream_protocol::endpoint endpoint(address.unix_path);
    const auto [error] = co_await socket().async_connect(endpoint, kAwait);
    if (error) co_return Sentence("connecting", error);
  } else {
    std::string error = co_await OpenTcp(address);
    if (!error.empty()) co_return error;
  }
  if (tls_ != nullptr) co_return co_await ShakeHands(std::move(address.host));
  co_return std::string();
}

asio::awaitable<std::string> Stream::OpenTcp(Address address) {
  std::vector<tcp::endpoint> endpoints;
  error_code literal_error;
  const auto literal = asio::ip::make_address(address.host, literal_error);
  if (!literal_error) {
    endpoints.emplace_back(literal, static_cast<std::uint16_t>(std::stoi(address.port)));
  } else {
    const auto [error, results] =
        co_await resolver_.async_resolve(address.host, address.port, kAwait);
    if (error) co_return Sentence("resolving the address", error);
    for (const auto& result : results) endpoints.push_back(result.endpoint());
  }
  std::string why = "the address resolves to nothing";
  for (const tcp::endpoint& endpoint : endpoints) {
    if (closed_) co_return "connecting took too long";
    error_code ignored;
    socket().close(ignored);
    const auto [error] = co_await socket().async_connect(endpoint, kAwait);
    if (error) {
      why = Sentence("connecting", error);
      continue;
    }
    socket().set_option(tcp::no_delay(true), ignored);
    co_return std::string();
  }
  co_return why;
}

asio::awaitable<std::string> Stream::ShakeHands(std::string host) {
  auto& tls = std::get<TlsStream>(stream_);
  const std::string& name = server_name_.empty() ? host : server_name_;
  error_code error;
  tls.set_verify_callback(asio::ssl::host_name_verification(name), error);
  error_code is_name;
  (void)asio::ip::make_address(name, is_name);
  // RFC 6066, section 3: a literal address is no server name.
  if (is_name) SSL_set_tlsext_host_name(tls.native_handle(), name.c_str());
  if (closed_) co_return "connecting took too long";
  std::tie(error) = co_await tls.async_handshake(asio::ssl::stream_base::client, kAwait);
  if (error) co_return HandshakeError(tls.native_handle(), name, error);
  co_return std::string();
}

void Stream::ReadSome(std::span<char> buffer, SizeHandler handler) {
  std::visit(
      [&](auto& stream) {
        stream.async_read_some(asio::buffer(buffer.data(), buffer.size()),
                               [self = shared_from_this(), handler = std::move(handler)](
                                   const error_code& error, std::size_t size) mutable {
                                 handler(error ? Sentence("reading", error) : std::string(), size);
                               });
      },
      stream_);
}

void Stream::WriteSome(std::string_view bytes, SizeHandler handler) {
  std::visit(
      [&](auto& stream) {
        stream.async_write_some(asio::buffer(bytes.data(), bytes.size()),
                                [self = shared_from_this(), handler = std::move(handler)](
                                    const error_code& error, std::size_t size) mutable {
                                  handler(error ? Sentence("writing", error) : std::string(), size);
                                });
      },
      stream_);
}

void Stream::Close() {
  closed_ = true;
  resolver_.cancel();
  error_code ignored;
  socket().close(ignored);
}

}  // namespace sluice::redis
