// One connection from its first packet to its end: a session, its stream and its timer. Only a
// switch between them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/clock.h"

#include "src/redis/session.h"
#include "src/redis/stream.h"

namespace sluice::redis {

/// Thread safety: none; used on the thread of its event loop.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// Told what the session did, in order, without CloseSocket, which the connection performs. Also
  /// called with nothing when there may be room for calls again. After a Closed it is never called
  /// again. Never called from inside a member of the connection except Shutdown's own caller.
  using Listener = std::function<void(std::vector<Action> actions)>;

  Connection(boost::asio::io_context& loop, std::shared_ptr<Stream> stream, const Clock& clock,
             const SessionOptions& options, Listener listener);

  /// Connects and shakes hands, each within the session's reply timeout.
  void Open(const Address& address);

  [[nodiscard]] bool CanSend(SteadyTime now) const { return !ending_ && session_.CanSend(now); }
  [[nodiscard]] std::size_t calls_under_way() const { return session_.calls_under_way(); }
  void Send(Call call, Instant now) { session_.Send(std::move(call), now); }
  /// Writes what was sent.
  void Flush();
  /// Ends the connection, for `why`; its calls are dropped.
  void Abandon(std::string why);
  /// Ends it without a word to the listener: whoever owns it is going.
  void Shutdown();

 private:
  void Read();
  void Perform();
  void ArmTimer();
  void OnTimer();
  void End(std::string why);
  void FinishIfQuiet();

  std::shared_ptr<Stream> stream_;
  const Clock& clock_;
  Session session_;
  Listener listener_;
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
  Milliseconds connect_timeout_;
  std::optional<SteadyTime> connect_until_;
  int under_way_ = 0;  // operations of the stream whose handler is still to come
  bool write_unsure_ = false;
  bool ending_ = false;
  std::string why_;
  std::array<char, 16 * 1024> buffer_{};
};

}  // namespace sluice::redis
