// A gate between a client and its server that does to the bytes what networks do: delay them, lose
// them, cut the connection in the middle of a reply.
//
//   TcpGate gate("unix:/run/redis.sock");            // listens on a free port of 127.0.0.1
//   client.Connect(gate.address());
//   gate.Follow({.swallow_replies = true});
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::testing {

/// What a gate does from now on, also to connections that are open. Bytes that were swallowed are
/// gone, and so is all that would come after them in the same direction of the same connection.
struct GateScript {
  bool refuse = false;            ///< new connections are closed at once
  bool swallow_requests = false;  ///< with swallow_replies: a black hole
  bool swallow_replies = false;
  std::chrono::milliseconds delay_replies{0};
  /// So many more bytes of replies pass, over all connections; then the connection that carried the
  /// last one is reset and the gate goes back to letting everything through.
  std::optional<std::size_t> cut_after{};
};

/// Thread safety: every member may be called from any thread. Throws std::runtime_error if it
/// cannot listen.
class TcpGate {
 public:
  /// `server` is unix:/path or a port of 127.0.0.1.
  explicit TcpGate(std::string server)
      : server_(std::move(server)), wake_(::eventfd(0, EFD_CLOEXEC)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    if (wake_ < 0 || listener_ < 0 || ::bind(listener_, As(address), size) != 0 ||
        ::listen(listener_, 128) != 0 || ::getsockname(listener_, As(address), &size) != 0) {
      throw std::runtime_error("the gate cannot listen");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~TcpGate() {
    stop_ = true;
    Wake();
    thread_.join();
    for (Pair& pair : pairs_) Close(pair, false);
    ::close(listener_);
    ::close(wake_);
  }
  TcpGate(const TcpGate&) = delete;
  TcpGate& operator=(const TcpGate&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// Takes effect before it returns.
  void Follow(const GateScript& script) {
    const std::lock_guard lock(mutex_);
    script_ = script;
    Wake();
  }
  /// Resets every open connection.
  void Cut() {
    const std::lock_guard lock(mutex_);
    for (Pair& pair : pairs_) pair.over = true;
    Wake();
  }

  /// Connections that were let through since the gate was made.
  [[nodiscard]] std::int64_t accepted() const { return accepted_; }
  /// Bytes of requests and of replies that were swallowed.
  [[nodiscard]] std::int64_t swallowed() const { return swallowed_; }
  /// Times `cut_after` has cut.
  [[nodiscard]] std::int64_t cuts() const { return cuts_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Held {
    Time until;
    std::string bytes;
  };
  struct Pair {
    int client;
    int server;
    std::string to_server{};
    std::deque<Held> to_client{};
    bool requests_lost = false;
    bool replies_lost = false;
    bool over = false;
  };

  static sockaddr* As(auto& address) { return reinterpret_cast<sockaddr*>(&address); }
  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  void Wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }

  int ConnectToServer() const {
    int fd = -1;
    int result = -1;
    if (server_.starts_with("unix:")) {
      fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::strncpy(address.sun_path, server_.c_str() + 5, sizeof address.sun_path - 1);
      result = ::connect(fd, As(address), sizeof address);
    } else {
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address = Loopback(static_cast<std::uint16_t>(std::stoi(server_)));
      result = ::connect(fd, As(address), sizeof address);
    }
    if (result == 0) return fd;
    ::close(fd);
    return -1;
  }

  static void Close(const Pair& pair, bool reset) {
    if (reset) {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    ::close(pair.client);
    ::close(pair.server);
  }

  void Accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = script_.refuse ? -1 : ConnectToServer();
    if (server < 0) {
      ::close(client);
      return;
    }
    const int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pairs_.push_back({.client = client, .server = server});
    ++accepted_;
  }

  // Reads what is there; false at the end of the stream.
  static bool Read(int fd, std::string& into) {
    char buffer[16 * 1024];
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) into.append(buffer, static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
  }
  // Writes what goes; false if the other end is gone.
  static bool Write(int fd, std::string& from) {
    if (from.empty()) return true;
    const ssize_t size = ::send(fd, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size > 0) from.erase(0, static_cast<std::size_t>(size));
    return size > 0 || errno == EAGAIN || errno == EINTR;
  }

  void Swallow(std::string& bytes, bool& lost, bool swallow) {
    lost = lost || (swallow && !bytes.empty());
    if (!lost) return;
    swallowed_ += static_cast<std::int64_t>(bytes.size());
    bytes.clear();
  }

  void Move(Pair& pair, bool client_readable, bool server_readable, Time now) {
    std::string bytes;
    if (client_readable) {
      if (!Read(pair.client, bytes)) pair.over = true;
      Swallow(bytes, pair.requests_lost, script_.swallow_requests);
      pair.to_server += bytes;
    }
    bytes.clear();
    if (server_readable) {
      if (!Read(pair.server, bytes)) pair.over = true;
      Swallow(bytes, pair.replies_lost, script_.swallow_replies);
      if (!bytes.empty()) pair.to_client.push_back({now + script_.delay_replies, bytes});
    }
    if (!Write(pair.server, pair.to_server)) pair.over = true;
    while (!pair.over && !pair.to_client.empty() && pair.to_client.front().until <= now) {
      std::string& front = pair.to_client.front().bytes;
      bool cut = false;
      if (script_.cut_after) {
        cut = *script_.cut_after < front.size();
        if (cut) front.resize(*script_.cut_after);
        *script_.cut_after -= front.size();
      }
      if (!Write(pair.client, front)) pair.over = true;
      if (cut) {
        script_ = {};
        ++cuts_;
        pair.over = true;
      }
      if (!front.empty()) break;
      pair.to_client.pop_front();
    }
  }

  void Run() {
    while (!stop_) {
      std::vector<pollfd> polled{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      int timeout = -1;
      for (const Pair& pair : pairs_) {
        const auto events = [](bool writes) {
          return static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN);
        };
        const Time now = std::chrono::steady_clock::now();
        const bool held = !pair.to_client.empty();
        const bool due = held && pair.to_client.front().until <= now;
        if (held && !due) {
          const auto left =
              std::chrono::ceil<std::chrono::milliseconds>(pair.to_client.front().until - now);
          const int wait = static_cast<int>(left.count());
          timeout = timeout < 0 ? wait : std::min(timeout, wait);
        }
        polled.push_back({pair.client, events(due), 0});
        polled.push_back({pair.server, events(!pair.to_server.empty()), 0});
      }
      ::poll(polled.data(), polled.size(), timeout);
      const std::lock_guard lock(mutex_);
      if (polled[0].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(wake_, &count, sizeof count);
      }
      const Time now = std::chrono::steady_clock::now();
      std::size_t i = 2;
      for (Pair& pair : pairs_) {
        const bool client = polled[i].revents != 0;
        const bool server = polled[i + 1].revents != 0;
        i += 2;
        if (!pair.over) Move(pair, client, server, now);
      }
      pairs_.remove_if([](const Pair& pair) {
        if (pair.over) Close(pair, true);
        return pair.over;
      });
      if (polled[1].revents != 0) Accept();
    }
  }

  const std::string server_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> accepted_{0};
  std::atomic<std::int64_t> swallowed_{0};
  std::atomic<std::int64_t> cuts_{0};
  std::mutex mutex_;
  GateScript script_;
  std::list<Pair> pairs_;
  std::thread thread_;
};

}  // namespace sluice::testing
