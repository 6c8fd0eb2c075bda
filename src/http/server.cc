#include "src/http/server.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "src/http/listen.h"
#include "src/http/response.h"
#include "src/http/session_pool.h"
#include "src/http/socket.h"

namespace sluice::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// When the process has no file descriptor left, accepting again at once would only spin.
constexpr std::chrono::milliseconds kAcceptPause{100};

/// Connections that are accepted before the first worker's own get their turn.
constexpr int kAcceptBatch = 64;

/// Connections over the limit that are being told so. Even more are closed without a word.
constexpr std::int64_t kMaximumRefusals = 64;

std::string DateNow() {
  return HttpDate(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

/// One thread with its event loop, its place in the queue of new connections and those it took.
class Worker {
 public:
  Worker(const ConversationLimits& limits, const ServerOptions& options, const Service& service,
         ConnectionCounts& counts)
      : tick_(options.tick),
        make_part_(options.make_worker_part),
        maximum_connections_(options.maximum_connections),
        service_(service),
        counts_(counts),
        pool_(context_, limits, options.write_timeout, service, counts) {}

  asio::io_context& context() { return context_; }

  void Start(Listener listener) {
    listener_.emplace(std::move(listener));
    Accept();
    Sweep();
    pool_.Start();
    std::promise<void> has_part;
    std::future<void> started = has_part.get_future();
    thread_ = std::thread([this, has_part = std::move(has_part)]() mutable {
      const std::shared_ptr<void> part = make_part_ ? make_part_(context_) : nullptr;
      has_part.set_value();
      context_.run();
    });
    started.get();
  }

  /// From any thread, as is Join.
  void Stop(Milliseconds within) {
    asio::post(context_, [this, within] {
      listener_.reset();
      pool_.Drain([this] { context_.stop(); });
      bound_.expires_after(within);
      bound_.async_wait([this](const ErrorCode& ec) {
        if (!ec) context_.stop();
      });
    });
  }

  void Join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Sweep() {
    pool_.Sweep(std::chrono::steady_clock::now(), DateNow());
    sweep_.expires_after(tick_);
    sweep_.async_wait([this](const ErrorCode& ec) {
      if (!ec) Sweep();
    });
  }

  void Accept() {
    listener_->acceptor.async_wait(Acceptor::wait_read, [this](const ErrorCode& ec) {
      if (ec || !listener_) return;
      AcceptAll() ? Accept() : AcceptAfterPause();
    });
  }

  /// False if the system has no more descriptors to give.
  [[nodiscard]] bool AcceptAll() {
    const int listener = listener_->acceptor.native_handle();
    for (int i = 0; i < kAcceptBatch; ++i) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        Admit(Socket(fd));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return true;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return false;
      }
    }
    return true;
  }

  void AcceptAfterPause() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const ErrorCode& ec) {
      if (!ec && listener_) Accept();
    });
  }

  void Admit(Socket socket) {
    // Counted before it is compared: workers that accept at once do not pass the limit together.
    const bool is_refused = ++counts_.open > maximum_connections_;
    if (is_refused) {
      --counts_.open;
      if (++counts_.refused > kMaximumRefusals) {
        --counts_.refused;
        if (service_.on_reject) service_.on_reject(Rejection::kConnectionLimit);
        return;
      }
    }
    if (listener_->port != 0) socket.SendAtOnce();
    pool_.Open(std::move(socket), is_refused);
  }

  asio::io_context context_{1};
  asio::steady_timer sweep_{context_};
  asio::steady_timer bound_{context_};
  asio::steady_timer pause_{context_};
  const Milliseconds tick_;
  const WorkerPartFactory make_part_;
  const std::int64_t maximum_connections_;
  const Service& service_;
  ConnectionCounts& counts_;
  SessionPool pool_;
  std::optional<Listener> listener_;  // until a stop
  std::thread thread_;
};

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, Service service)
      : service_(std::move(service)),
        limits_{.parser = {.maximum_header = options.maximum_header,
                           .maximum_body = options.maximum_body},
                .request_timeout = options.header_timeout,
                .idle_timeout = options.idle_timeout} {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const int count = options.workers > 0 ? options.workers : cores;
    for (int i = 0; i < count; ++i) {
      workers_.push_back(std::make_unique<Worker>(limits_, options, service_, counts_));
    }
  }

  ~Impl() {  // NOLINT(bugprone-exception-escape): no memory to stop with ends the process
    Stop(Milliseconds{0});
    Join();
  }

  [[nodiscard]] std::expected<void, std::string> Start(const ListenAddress& address) {
    std::vector<Listener> listeners;
    for (const auto& worker : workers_) {
      auto listener = listeners.empty() ? Listen(worker->context(), address)
                                        : ListenToo(worker->context(), listeners.front());
      if (!listener) return std::unexpected(listener.error());
      listeners.push_back(*std::move(listener));
    }
    port_ = listeners.front().port;
    for (std::size_t i = 0; i < workers_.size(); ++i) workers_[i]->Start(std::move(listeners[i]));
    return {};
  }

  void Stop(Milliseconds within) {
    for (const auto& worker : workers_) worker->Stop(within);
  }

  void Join() {
    for (const auto& worker : workers_) worker->Join();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::int64_t connections() const { return counts_.open; }

 private:
  const Service service_;
  const ConversationLimits limits_;
  ConnectionCounts counts_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::uint16_t port_ = 0;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

std::expected<std::unique_ptr<Server>, std::string> Server::Start(const ServerOptions& options,
                                                                  Service service) {
  const auto reason = [&](const std::string& text) {
    return std::unexpected(fmt::format("cannot listen on {}: {}", options.listen, text));
  };
  const auto address = ParseListenAddress(options.listen);
  if (!address) return reason(address.error());
  try {
    auto impl = std::make_unique<Impl>(options, std::move(service));
    if (const auto started = impl->Start(*address); !started) return reason(started.error());
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const std::system_error& error) {  // no descriptor or no thread to be had
    return reason(error.what());
  }
}

std::uint16_t Server::port() const {
  return impl_->port();
}
std::int64_t Server::connections() const {
  return impl_->connections();
}
void Server::Stop(Milliseconds within) {
  impl_->Stop(within);
}
void Server::Join() {
  impl_->Join();
}

}  // namespace sluice::http
