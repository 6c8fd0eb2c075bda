// One connection to a server as a state machine without a socket: bytes, events and `now` go in,
// actions come out. Whoever owns it does the reading, writing and waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/clock.h"
#include "sluice/outcome.h"

#include "src/redis/handshake.h"
#include "src/redis/resp.h"
#include "src/redis/session_options.h"
#include "src/redis/topology/redirect.h"

namespace sluice::redis {

/// A script call, already encoded.
struct Call {
  std::uint64_t id = 0;     ///< the caller's; comes back with the reply
  std::size_t script = 0;   ///< which of the session's scripts it runs
  std::string bytes{};      ///< EVALSHA …
  bool asks = false;        ///< ASKING goes before it, each time it is sent
  int replicas = 0;         ///< how many must confirm its writes; 0: its reply does not wait
  SteadyTime confirm_by{};  ///< when its reply is no use any more, so they are not waited for
};

/// How much of a call had left when its connection ended. A server runs whole commands only.
enum class Departure : std::uint8_t { kNone, kPartly, kFully };

/// Calls may be sent now.
struct Opened {};
/// The call's reply, or what its error reply means.
struct Replied {
  std::uint64_t id = 0;
  std::expected<Reply, Outcome> reply;
  std::string_view error{};      ///< the ErrorLabel of an error reply
  bool is_unreplicated = false;  ///< fewer than Call::replicas confirmed it in time
};
/// A cluster's node did not run the call and says who does.
struct Redirected {
  std::uint64_t id = 0;
  Redirect redirect{};
};
/// The call's reply will never come.
struct Dropped {
  std::uint64_t id = 0;
  Departure departure = Departure::kNone;
  bool malformed = false;  ///< its reply came and was no RESP
};
/// What a TIME told: the server's clock less ours when the reply was half-way, true to within
/// `uncertainty`.
struct ClockReading {
  Milliseconds skew{};
  Milliseconds uncertainty{};
  std::chrono::microseconds round_trip{};
};
/// What the server does when its memory is full, in its own word: "noeviction", "allkeys-lru", …
/// Comes before Opened, and not at all from a server that does not tell.
struct EvictionPolicy {
  std::string name;
};
/// The server had forgotten a script; it is being loaded again.
struct Reloaded {};
/// Close the socket, then say so with OnEnd.
struct CloseSocket {};
/// The end; always the last action. `why` is what calls should be answered that were not sent.
struct Closed {
  Outcome why;
};
using Action = std::variant<Opened, Replied, Redirected, Dropped, ClockReading, EvictionPolicy,
                            Reloaded, CloseSocket, Closed>;

/// Life: OnConnected, then any events, then OnEnd exactly once; after that the session is of no
/// use. Every call that was sent comes back as exactly one Replied, Redirected or Dropped. Replies
/// belong to commands in the order of sending and to nothing else: a call that nobody waits for
/// any more keeps its place until its reply or the end, so no other call can be given its answer.
///
/// Errors are outcomes whose details never hold a password or a reply's arguments.
/// Thread safety: none.
class Session {
 public:
  explicit Session(SessionOptions options);

  /// The socket is connected: asks all that handshake.h lists, in one go.
  void OnConnected(Instant now);
  void OnBytes(std::string_view bytes, Instant now);
  /// The first `bytes` of what BeginWrite gave have left.
  void OnWritten(std::size_t bytes);
  /// The time of NextTimer has come (or another).
  void OnTimer(Instant now);
  /// The socket is closed. `why` is one sentence for people. `write_unsure`: a write was under way
  /// and nobody knows how much of it left.
  void OnEnd(std::string_view why, bool write_unsure);

  /// Whether a call given now leaves with the next write: the handshake is over, no write is under
  /// way, the next one has room, and the server has not been silent for half of the reply timeout
  /// while it owed a reply. What would have to wait is better kept where its deadline is looked at.
  [[nodiscard]] bool CanSend(SteadyTime now) const;
  /// Precondition: CanSend.
  void Send(Call call, Instant now);

  /// What to write next, or empty if there is nothing or a write is under way. The view is good
  /// until OnWritten or OnEnd.
  [[nodiscard]] std::string_view BeginWrite();
  /// What happened since the last call, in order.
  [[nodiscard]] std::vector<Action> TakeActions() { return std::exchange(actions_, {}); }
  /// When to call OnTimer.
  [[nodiscard]] std::optional<SteadyTime> NextTimer() const;
  /// Calls that were sent and have no reply yet.
  [[nodiscard]] std::size_t calls_under_way() const { return calls_under_way_; }

 private:
  enum class Phase : std::uint8_t { kConnecting, kHandshake, kOpen, kDraining, kClosing, kEnded };

  // A reply that is told once replicas have confirmed its writes, or have not in time.
  struct Unconfirmed {
    Replied replied;
    int replicas = 0;
    SteadyTime by{};
  };

  // A command whose reply is owed.
  struct Slot {
    Command command;
    std::size_t index = 0;  // of a question: which script, which probe
    Instant sent;
    std::uint64_t begin = 0;  // its bytes, counted from the first byte of the connection
    std::uint64_t end = 0;
    Call call{};              // of kCall; the bytes are kept for a repeat after a reload
    std::uint64_t loads = 0;  // how often the script had been loaded when the call was sent
    bool repeated = false;    // the call was already told NOSCRIPT
  };

  void Queue(Slot&& slot, std::string_view bytes);  // `bytes` may be the slot's own
  void Ask(const Question& question, Instant now);
  void OnReply(Reply reply, Instant now);
  void OnAnswer(const Slot& question, const Reply& reply, Instant now);
  void OnCallReply(Slot slot, Reply reply, Instant now);
  void OnConfirmations(const Reply& replicas);
  void AskForConfirmations(Instant now);
  void QueueCall(Slot slot);
  void OnServerTime(const Slot& slot, const Reply& reply, Instant now);
  void Drain(Outcome why);
  void Fail(Outcome why);
  void Close();

  SessionOptions options_;
  ReplyReader reader_;
  Phase phase_ = Phase::kConnecting;
  std::deque<Slot> slots_;
  std::vector<std::uint64_t> loads_;  // one a script
  std::size_t calls_under_way_ = 0;
  std::deque<Unconfirmed> unconfirmed_;
  std::size_t confirming_ = 0;         // the first so many, whose WAIT is owed a reply
  bool replicas_are_missing_ = false;  // so said the last WAIT
  std::size_t handshake_left_ = 0;
  std::optional<SteadyTime> connected_;
  SteadyTime clock_due_ = SteadyTime::max();

  std::string output_;         // from `written_` on
  std::uint64_t queued_ = 0;   // counted from the first byte of the connection
  std::uint64_t offered_ = 0;  // given to BeginWrite
  std::uint64_t written_ = 0;
  std::string added_;  // queued while `output_` is being written
  bool malformed_ = false;
  std::optional<Outcome> why_;
  std::vector<Action> actions_;
};

}  // namespace sluice::redis
