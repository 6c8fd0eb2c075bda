// The connections of one worker, and the one place that waits for their sockets.
//
// Their sockets are watched by an epoll set of the pool's own, registered once and edge-triggered,
// which in turn is one descriptor of the io_context. Asio's own watching would re-arm each socket
// with a system call after each request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "sluice/clock.h"

#include "src/http/conversation.h"
#include "src/http/session.h"

namespace sluice::http {

/// What all workers of a server count together.
struct ConnectionCounts {
  std::atomic<std::int64_t> open = 0;
  std::atomic<std::int64_t> refused = 0;  ///< open only to be told that there are too many
};

/// Thread safety: none; used on its worker's thread, or while that does not run.
class SessionPool {
 public:
  /// Everything referred to must outlive the pool.
  SessionPool(boost::asio::io_context& context, const ConversationLimits& limits,
              Milliseconds write_timeout, const Service& service, ConnectionCounts& counts);
  ~SessionPool();
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;

  /// Starts to wait for sockets.
  void Start() { Wait(); }
  /// Adds a connection that `counts` counts already; a refused one is only told so.
  void Open(Socket socket, bool is_refused);
  /// Sets the time and applies the time-outs.
  void Sweep(SteadyTime now, std::string date);
  /// Lets every session end; `on_empty` is called when the last one has.
  void Drain(std::function<void()> on_empty);

  // For sessions.
  [[nodiscard]] const ConversationLimits& limits() const { return limits_; }
  [[nodiscard]] const Service& service() const { return service_; }
  [[nodiscard]] Milliseconds write_timeout() const { return write_timeout_; }
  /// As of the last sweep.
  [[nodiscard]] SteadyTime now() const { return now_; }
  [[nodiscard]] const std::string& date() const { return date_; }
  /// Where any session receives into; what it does not use up at once it must copy.
  [[nodiscard]] std::span<char> buffer() { return buffer_; }
  /// From now on tells `session` too when its socket takes output again.
  void WatchOutput(Session& session);
  void Remove(Session& session);

 private:
  void Wait();
  void Dispatch();
  /// `visit` may close the session it is given.
  template <class Visit>
  void ForEach(Visit visit);

  boost::asio::posix::stream_descriptor epoll_;
  const ConversationLimits& limits_;
  const Milliseconds write_timeout_;
  const Service& service_;
  ConnectionCounts& counts_;
  SteadyTime now_;
  std::string date_;
  std::function<void()> on_empty_;  // set once draining
  std::unordered_map<const Session*, std::unique_ptr<Session>> sessions_;
  std::vector<std::unique_ptr<Session>> closed_;  // an event for one may still be at hand
  std::array<char, 64 * 1024> buffer_;
};

}  // namespace sluice::http
