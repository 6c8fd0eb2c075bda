// A blocking HTTP client for tests: sends exactly the bytes it is given.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::http::testing {

struct Response {
  int status = 0;
  std::string head;  ///< with its empty line
  std::string body;

  /// The value of the first field called `name`, spelt exactly so; empty if there is none.
  [[nodiscard]] std::string Field(std::string_view name) const {
    const std::string start = "\r\n" + std::string(name) + ": ";
    const std::size_t at = head.find(start);
    if (at == std::string::npos) return {};
    return head.substr(at + start.size(), head.find("\r\n", at + 2) - at - start.size());
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  explicit Client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  Client(Client&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}
  Client& operator=(Client&&) = delete;
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// False if the server has closed.
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (size < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }
  void EndSending() const { ::shutdown(fd_, SHUT_WR); }

  /// The next response; nothing if the server closes before it is complete.
  [[nodiscard]] std::optional<Response> Receive(bool is_head = false) {
    std::size_t end = std::string::npos;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!More()) return std::nullopt;
    }
    Response response;
    response.head = received_.substr(0, end + 4);
    response.status = std::atoi(response.head.c_str() + std::strlen("HTTP/1.1 "));
    const std::size_t length =
        is_head ? 0 : std::strtoul(response.Field("Content-Length").c_str(), nullptr, 10);
    while (received_.size() < end + 4 + length) {
      if (!More()) return std::nullopt;
    }
    response.body = received_.substr(end + 4, length);
    received_.erase(0, end + 4 + length);
    return response;
  }
  [[nodiscard]] std::optional<Response> Ask(std::string_view request) {
    Send(request);
    return Receive();
  }
  /// Everything until the server closes.
  [[nodiscard]] std::string ReceiveAll() {
    while (More()) {
    }
    return std::exchange(received_, {});
  }

 private:
  void Connect(const sockaddr* address, socklen_t size) {
    // Only so that a test that fails does not hang: no test waits for it.
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (::connect(fd_, address, size) != 0) {
      ::close(std::exchange(fd_, -1));
      throw std::runtime_error(std::strerror(errno));
    }
  }
  bool More() {
    char buffer[16 * 1024];
    const ssize_t size = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (size <= 0) return false;
    received_.append(buffer, static_cast<std::size_t>(size));
    return true;
  }

  int fd_;
  std::string received_;
};

}  // namespace sluice::http::testing
