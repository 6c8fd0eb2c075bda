// A bounded path to one server: a fixed number of connections that come back by themselves, and the
// word on whether calls may go out now.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/clock.h"
#include "sluice/outcome.h"

#include "src/redis/access.h"
#include "src/redis/connection.h"
#include "src/redis/session.h"
#include "src/redis/status.h"
#include "src/redis/stream.h"

namespace sluice::redis {

struct LaneOptions {
  Address address{};
  Access access{};
  SessionOptions session{};  ///< its login is filled in for each connection
  std::size_t connections = 1;
  std::optional<Milliseconds> maximum_clock_skew{};
};

/// The longest wait before the next attempt after so many failures in a row: 50 ms, doubled each
/// time, at most 5 s. The wait itself is drawn evenly from the upper half of that, so that clients
/// of one server do not come back together, and none makes more than ten attempts in five seconds.
[[nodiscard]] Milliseconds BackoffCeiling(unsigned failures);

/// Whom a lane tells. Called from the event loop, never from inside a member of the lane.
struct LaneListener {
  /// A reply. False: it makes no sense to whoever knows the script; the connection is given up,
  /// because its next replies may make no more.
  std::function<bool(Replied replied)> on_reply;
  /// A call to be made elsewhere. False: the connection is given up.
  std::function<bool(const Redirected& redirected)> on_redirected;
  std::function<void(const Dropped& dropped)> on_drop;
  /// What Health tells has changed.
  std::function<void()> on_health;
  /// After every change, when all replies and drops of it were told: there may be room, the lane
  /// may have come up or gone down.
  std::function<void()> on_change;
};

/// Thread safety: none; used on the thread of its event loop.
class Lane {
 public:
  Lane(boost::asio::io_context& loop, LaneOptions options, const Clock& clock, Status& status,
       LaneListener listener);
  /// Closes everything; nothing is told any more.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Why a new call should be refused at once, or none: then it can be sent or is worth waiting,
  /// since a connection is open or a first attempt to have one is being made.
  [[nodiscard]] std::optional<Outcome> Refusal() const;
  /// Somebody was refused: an attempt that is far away is drawn nearer, so that a server which is
  /// asked for is back in use within two seconds of its return.
  void Hurry();

  /// Whether it had a connection, or has failed to get one, and has none now.
  [[nodiscard]] bool IsLost() const;
  /// All but the address.
  [[nodiscard]] RedisNode Health() const;

  [[nodiscard]] bool CanSend(SteadyTime now) const { return Best(now) != nullptr; }
  /// Precondition: CanSend at the same `now`.
  void Send(Call call, Instant now);
  /// Writes what was sent since the last Flush.
  void Flush();

 private:
  // One of the lane's connections through all its lives.
  struct Place {
    explicit Place(boost::asio::io_context& loop) : backoff(loop) {}
    std::shared_ptr<Connection> connection{};  // null while it waits for the next attempt
    boost::asio::steady_timer backoff;
    unsigned failures = 0;  // attempts in a row that came to no use
    bool open = false;
    bool served = false;  // this connection was of use
  };

  Connection* Best(SteadyTime now) const;
  void Attempt(Place& place);
  void WaitForAttempt(Place& place, Milliseconds ceiling);
  void OnActions(Place& place, std::vector<Action> actions);
  void OnClosed(Place& place, Outcome why);
  void OnClock(const ClockReading& reading);
  [[nodiscard]] bool IsDown() const;
  [[nodiscard]] std::int64_t OpenConnections() const;

  boost::asio::io_context& loop_;
  LaneOptions options_;
  const Clock& clock_;
  Status& status_;
  LaneListener listener_;
  std::vector<std::unique_ptr<Place>> places_;
  std::mt19937_64 random_{std::random_device{}()};
  Outcome why_down_;
  bool was_open_ = false;
  bool clock_safe_ = true;
  std::optional<Milliseconds> clock_skew_;
  std::optional<std::chrono::microseconds> round_trip_;
  std::string eviction_policy_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace sluice::redis
