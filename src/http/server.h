// The HTTP/1.x server: one thread and event loop a worker, a connection stays on its worker.
//
//   auto server = sluice::http::Server::Start({.listen = "127.0.0.1:8080"}, service);
//   …
//   (*server)->Stop(10s);
//   (*server)->Join();
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "sluice/clock.h"

#include "src/http/message.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming): Asio's
}

namespace sluice::http {

/// Makes what belongs to one worker alone, such as its connections to a store.
using WorkerPartFactory = std::function<std::shared_ptr<void>(boost::asio::io_context&)>;

struct ServerOptions {
  std::string listen{};  ///< host:port, [v6]:port or unix:/path; port 0 takes a free one
  int workers = 0;       ///< threads; 0 = one per core
  Milliseconds header_timeout{10'000};  ///< for a request's head, and again for its body: 408
  Milliseconds idle_timeout{75'000};    ///< for a connection without a request
  Milliseconds write_timeout{10'000};   ///< for a client that does not read its answers
  std::size_t maximum_header = 16 * 1024;
  std::size_t maximum_body = 64 * 1024;
  std::int64_t maximum_connections = 10'000;  ///< one more is answered 503 and closed
  Milliseconds tick{1'000};                   ///< how often time-outs are looked at
  /// Called on each worker's thread with its event loop before it serves. What it returns is
  /// destroyed on that thread when the worker has stopped; requests that are still unanswered then
  /// may be answered from its destructor. May be empty.
  WorkerPartFactory make_worker_part{};
};

/// Thread safety: every member may be called from any thread except a worker's.
class Server {
 public:
  /// Listens and starts the workers; returns when each has its part. Fails with one line that names
  /// the address and the reason.
  [[nodiscard]] static std::expected<std::unique_ptr<Server>, std::string> Start(
      const ServerOptions& options, Service service);

  /// `Stop(0)` and `Join`.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The port that is listened on; 0 for a unix socket.
  [[nodiscard]] std::uint16_t port() const;
  /// Connections that are open now.
  [[nodiscard]] std::int64_t connections() const;

  /// Begins to stop: accepts no more, closes idle connections, answers what is under way with
  /// `Connection: close`, and after `within` drops what is still open. Returns at once. A second
  /// call sets a new bound, `Stop(0)` ends at once.
  void Stop(Milliseconds within);
  /// Returns when a stop has come to its end.
  void Join();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::http
