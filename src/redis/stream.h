// A connected stream of bytes to a server: TCP, a unix socket, or TLS over TCP.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include "sluice/redis_limiter.h"

#include "src/redis/address.h"

namespace sluice::redis {

/// The context for connections with these settings, or one sentence on which file is wrong and why.
[[nodiscard]] std::expected<std::shared_ptr<boost::asio::ssl::context>, std::string> MakeTlsContext(
    const RedisTls& tls);

/// Thread safety: none; used on the thread of its event loop. Handlers are called from the loop,
/// never from inside the call that takes them, each exactly once, also after Close.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using ErrorHandler = std::move_only_function<void(std::string error)>;
  using SizeHandler = std::move_only_function<void(std::string error, std::size_t size)>;

  /// `tls` null: no TLS. `server_name` is sent and verified; empty: the address's host.
  Stream(boost::asio::io_context& loop, std::shared_ptr<boost::asio::ssl::context> tls,
         std::string server_name);

  /// Resolves, connects to the first of the addresses that answers, and greets. An empty error is
  /// success.
  void Connect(Address address, ErrorHandler handler);
  /// One read at a time; an end of the stream is an error. `buffer` must live until the handler.
  void ReadSome(std::span<char> buffer, SizeHandler handler);
  /// One write at a time; `bytes` must live until the handler.
  void WriteSome(std::string_view bytes, SizeHandler handler);
  /// Ends everything that is under way. May be called again.
  void Close();

  /// Whether a write that failed may still have sent something: TLS takes bytes before they leave.
  [[nodiscard]] bool failed_write_is_unsure() const { return stream_.index() == 1; }

 private:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using TlsStream = boost::asio::ssl::stream<Socket>;

  Socket& socket();
  boost::asio::awaitable<std::string> Open(Address address);
  boost::asio::awaitable<std::string> OpenTcp(Address address);
  boost::asio::awaitable<std::string> ShakeHands(std::string host);

  boost::asio::io_context& loop_;
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::string server_name_;
  std::variant<Socket, TlsStream> stream_;
  bool closed_ = false;
};

}  // namespace sluice::redis
