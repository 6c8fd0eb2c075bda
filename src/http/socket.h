// A connected stream socket that never blocks.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace sluice::http {

enum class IoStatus : std::uint8_t {
  kDone,        ///< some bytes were moved
  kWouldBlock,  ///< none now
  kEnd,         ///< receiving: the peer sends no more
  kBroken,
};

struct IoResult {
  IoStatus status = IoStatus::kBroken;
  std::size_t size = 0;
};

/// Owns the file descriptor.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int fd() const { return fd_; }

  /// The peer's address as text, "unix:" for a unix socket's; empty if it is already gone.
  [[nodiscard]] std::string PeerAddress() const;

  [[nodiscard]] IoResult Receive(std::span<char> buffer) const {
    const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (size == 0) return {IoStatus::kEnd, 0};
    return Result(size);
  }
  [[nodiscard]] IoResult Send(std::string_view bytes) const {
    return Result(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  /// Small answers do not wait for the acknowledgement of earlier ones (TCP_NODELAY).
  void SendAtOnce() const;
  /// Tells the peer that nothing follows.
  void EndSending() const { ::shutdown(fd_, SHUT_WR); }

 private:
  static IoResult Result(ssize_t size) {
    if (size >= 0) return {IoStatus::kDone, static_cast<std::size_t>(size)};
    const bool is_transient = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return {is_transient ? IoStatus::kWouldBlock : IoStatus::kBroken, 0};
  }

  int fd_;
};

}  // namespace sluice::http
