// How a connection begins: what is asked before the first call, and what the replies say about the
// server. Permissions are found out here, because a command that is denied inside a script only
// shows as an error of the script, after which nobody knows what was charged.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/outcome.h"

#include "src/redis/resp.h"
#include "src/redis/session_options.h"

namespace sluice::redis {

/// The oldest server, major and minor version. The scripts need HSET with many fields (4.0) and
/// replication by effects (5.0); AUTH with a user and HELLO came with 6.0. 6.2 is the oldest that
/// anybody still maintains.
inline constexpr std::pair<std::int64_t, std::int64_t> kOldestServer{6, 2};

/// What a reply is owed to: a script call, or one of the questions below.
enum class Command : std::uint8_t {
  kAuth,
  kHello,
  kSelect,
  kLoad,
  kProbe,
  kMemory,
  kTime,
  kRole,
  kAsking,
  kWait,
  kCall,
};

/// A command that is no call of an evaluation's.
struct Question {
  Command command = Command::kTime;
  std::size_t index = 0;  ///< of the script that is loaded, or of the probe
  std::string bytes{};
};

/// All that is asked, in order and in one go: login, name, role, database, scripts, one probe for
/// each command that the scripts run, the memory's policy, the clock.
[[nodiscard]] std::vector<Question> HandshakeOf(const SessionOptions& options);
[[nodiscard]] Question LoadOf(const SessionOptions& options, std::size_t script);
[[nodiscard]] Question TimeQuestion();
/// Lets the next command pass to a slot that is on its way to the server.
[[nodiscard]] Question AskingQuestion();
/// Waits until so many replicas have what the connection wrote; the reply is how many have.
[[nodiscard]] Question WaitFor(int replicas, Milliseconds at_most);

/// Why nothing can be evaluated on a connection where a question was answered so, in the form in
/// which calls are told that were not sent; none if the reply is fine or decides nothing: HELLO and
/// INFO are courtesies, and of a probe only a missing permission counts, since anything else
/// (LOADING, READONLY, OOM, a proxy's own word) is told by the calls' replies better and may pass.
[[nodiscard]] std::optional<Outcome> Objection(const SessionOptions& options, Command command,
                                               std::size_t index, const Reply& reply);

/// The server's clock, since the epoch, from its reply to kTime; none if it does not say.
[[nodiscard]] std::optional<std::chrono::microseconds> ServerTimeOf(const Reply& time);

/// What the server does when its memory is full, as it writes it ("noeviction"), from its reply to
/// kMemory; none if it does not say.
[[nodiscard]] std::optional<std::string> EvictionPolicyOf(const Reply& memory);

/// The outcome of a call that was not sent.
[[nodiscard]] Outcome BeforeSend(std::string detail);
/// An error's outcome as calls are told that were not sent: what a retry cannot heal stays.
[[nodiscard]] Outcome BeforeSend(Outcome outcome);

}  // namespace sluice::redis
