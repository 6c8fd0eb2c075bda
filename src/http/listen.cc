#include "src/http/listen.h"

#include <charconv>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::http {
namespace {

namespace asio = boost::asio;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::string_view kUnixScheme = "unix:";

std::optional<std::uint64_t> InodeOfSocket(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  return status.st_ino;
}

/// Makes room for a new socket file, or says why there is none.
std::optional<std::string> RemoveStaleFile(asio::io_context& context, const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;  // bind reports anything else
  if (!S_ISSOCK(status.st_mode)) return "the file exists and is no socket";
  asio::local::stream_protocol::socket probe(context);
  ErrorCode ec;
  probe.connect({path}, ec);
  if (!ec) return "somebody listens there already";
  if (ec != asio::error::connection_refused) return ec.message();
  ::unlink(path.c_str());
  return std::nullopt;
}

std::expected<StreamProtocol::endpoint, std::string> Resolve(asio::io_context& context,
                                                             const ListenAddress& address) {
  if (!address.path.empty()) return asio::local::stream_protocol::endpoint(address.path);
  ErrorCode ec;
  const asio::ip::address literal = asio::ip::make_address(address.host, ec);
  if (!ec) return tcp::endpoint(literal, address.port);
  tcp::resolver resolver(context);
  const auto results =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, ec);
  if (ec) return std::unexpected(ec.message());
  return results.begin()->endpoint();
}

std::uint16_t PortOf(const Acceptor& acceptor) {
  const StreamProtocol::endpoint bound = acceptor.local_endpoint();
  if (bound.protocol().family() == AF_UNIX) return 0;
  tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), bound.data(), std::min(endpoint.capacity(), bound.size()));
  return endpoint.port();
}

/// Listens with what was bound, unless something failed before.
std::expected<Listener, std::string> Finish(Listener listener, ErrorCode ec) {
  if (!ec) listener.acceptor.listen(Acceptor::max_listen_connections, ec);
  if (!ec) listener.acceptor.native_non_blocking(true, ec);
  if (ec) return std::unexpected(ec.message());
  listener.port = PortOf(listener.acceptor);
  return listener;
}

}  // namespace

std::expected<ListenAddress, std::string> ParseListenAddress(std::string_view text) {
  if (text.starts_with(kUnixScheme)) {
    const std::string_view path = text.substr(kUnixScheme.size());
    if (!path.starts_with('/')) return std::unexpected("the path of a unix socket starts with /");
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      return std::unexpected(fmt::format("the path of a unix socket has at most {} bytes",
                                         sizeof(sockaddr_un::sun_path) - 1));
    }
    return ListenAddress{.host = {}, .port = 0, .path = std::string(path)};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::unexpected("an address is host:port, [v6]:port or unix:/path");
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    return std::unexpected("a port is a number from 0 to 65535");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::unexpected("an IPv6 address stands in brackets: [::1]:8080");
  }
  if (host.empty()) return std::unexpected("the host is missing; 0.0.0.0 or [::] means all");
  return ListenAddress{.host = std::string(host), .port = port, .path = {}};
}

SocketFile::SocketFile(std::string path)
    : path_(std::move(path)), inode_(InodeOfSocket(path_).value_or(0)) {}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), inode_(other.inode_) {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(inode_, other.inode_);
  return *this;
}

SocketFile::~SocketFile() {
  // Somebody may have replaced it in the meantime: theirs stays.
  if (!path_.empty() && InodeOfSocket(path_) == inode_) ::unlink(path_.c_str());
}

std::expected<Listener, std::string> Listen(asio::io_context& context,
                                            const ListenAddress& address) {
  const bool is_unix = !address.path.empty();
  if (is_unix) {
    if (auto reason = RemoveStaleFile(context, address.path)) return std::unexpected(*reason);
  }
  const auto endpoint = Resolve(context, address);
  if (!endpoint) return std::unexpected(endpoint.error());

  Listener listener{.acceptor = Acceptor(context), .file = {}, .port = 0};
  ErrorCode ec;
  listener.acceptor.open(endpoint->protocol(), ec);
  // A restart may not have to wait for old connections; a port that is listened on stays refused.
  if (!ec && !is_unix) listener.acceptor.set_option(Acceptor::reuse_address(true), ec);
  if (!ec) listener.acceptor.bind(*endpoint, ec);
  if (ec) return std::unexpected(ec.message());
  if (is_unix) listener.file = SocketFile(address.path);
  // Only once it is bound: from here on our own listeners may join, and before, nobody's were.
  if (!is_unix) listener.acceptor.set_option(ReusePort(true), ec);
  return Finish(std::move(listener), ec);
}

std::expected<Listener, std::string> ListenToo(asio::io_context& context, Listener& first) {
  ErrorCode ec;
  const auto endpoint = first.acceptor.local_endpoint(ec);
  if (ec) return std::unexpected(ec.message());
  Listener listener{.acceptor = Acceptor(context), .file = {}, .port = 0};
  if (first.port == 0) {
    const int same = ::fcntl(first.acceptor.native_handle(), F_DUPFD_CLOEXEC, 0);
    if (same < 0) return std::unexpected(std::generic_category().message(errno));
    listener.acceptor.assign(endpoint.protocol(), same, ec);
  } else {
    listener.acceptor.open(endpoint.protocol(), ec);
    if (!ec) listener.acceptor.set_option(Acceptor::reuse_address(true), ec);
    if (!ec) listener.acceptor.set_option(ReusePort(true), ec);
    if (!ec) listener.acceptor.bind(endpoint, ec);
  }
  return Finish(std::move(listener), ec);
}

}  // namespace sluice::http
