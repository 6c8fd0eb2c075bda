// Where a server listens.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

namespace sluice::http {

using StreamProtocol = boost::asio::generic::stream_protocol;
using Acceptor = boost::asio::basic_socket_acceptor<StreamProtocol>;

/// "host:port", "[v6]:port" or "unix:/path", taken apart.
struct ListenAddress {
  std::string host;  ///< empty for a unix socket
  std::uint16_t port = 0;
  std::string path;  ///< of a unix socket
};

/// The address that `text` names, or one sentence on why it names none.
[[nodiscard]] std::expected<ListenAddress, std::string> ParseListenAddress(std::string_view text);

/// Removes a unix socket's file when it goes, if the file is still the one that was bound.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile();

 private:
  std::string path_;
  std::uint64_t inode_ = 0;
};

struct Listener {
  Acceptor acceptor;
  SocketFile file;
  std::uint16_t port = 0;  ///< the bound one; 0 for a unix socket
};

/// Binds and listens. Refuses an address that anybody else listens on; a unix socket's file that
/// nobody listens on any more is replaced. Fails with the reason, without the address.
[[nodiscard]] std::expected<Listener, std::string> Listen(boost::asio::io_context& context,
                                                          const ListenAddress& address);

/// One more listener where `first` listens, for another event loop. The kernel deals connections
/// out to TCP listeners (SO_REUSEPORT); those of a unix socket share one queue.
[[nodiscard]] std::expected<Listener, std::string> ListenToo(boost::asio::io_context& context,
                                                             Listener& first);

}  // namespace sluice::http
