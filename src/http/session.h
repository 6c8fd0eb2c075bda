// One connection: carries bytes between a socket and its Conversation.
#pragma once

#include <cstdint>
#include <memory>

#include "sluice/clock.h"

#include "src/http/conversation.h"
#include "src/http/socket.h"

namespace sluice::http {

class SessionPool;

/// Readiness is edge-triggered: an event says that something arrived since the last one. After a
/// receive that did not fill its buffer nothing is left, so a request of a kept-alive connection
/// costs a share of a wake-up, one receive and one send.
///
/// Thread safety: none; lives on its worker's thread, in its pool.
class Session {
 public:
  Session(SessionPool& pool, Socket socket, bool is_refused);

  /// Does what the socket is ready for: `events` of epoll.
  void OnEvents(std::uint32_t events);
  /// Applies the time-outs.
  void Tick(SteadyTime now);
  /// Closes if nothing is under way, else after the answer.
  void Drain();
  /// Drops the connection with whatever is under way.
  void Close();

  [[nodiscard]] const Socket& socket() const { return socket_; }
  /// Part of Close; the session itself stays until nothing can refer to it.
  void CloseSocket() { socket_ = Socket(-1); }
  [[nodiscard]] bool is_refused() const { return is_refused_; }
  /// Sends and receives whatever can be now.
  void Continue();

 private:
  void Receive();
  void Discard();
  void Linger();
  /// Sends what there is; false if some of it is left or the connection broke.
  [[nodiscard]] bool Flush();

  SessionPool& pool_;
  Socket socket_;
  const std::shared_ptr<Conversation> conversation_;
  SteadyTime blocked_since_;   // when output stopped flowing, or the lingering began
  bool has_input_ = false;     // the socket may have something to receive
  bool is_ending_ = false;     // and behind it the end of all input
  bool is_ended_ = false;      // that end was received
  bool is_blocked_ = false;    // output is left for which the socket has no room
  bool is_lingering_ = false;  // all is sent; reads on so that the client sees the end of it
  bool is_closed_ = false;
  const bool is_refused_;  // one too many: only told so
};

}  // namespace sluice::http
