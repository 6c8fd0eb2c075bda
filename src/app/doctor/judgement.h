// What a server's answers mean: pure functions from replies and figures to judgements.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/clock.h"

#include "src/app/doctor/finding.h"
#include "src/redis/enquiry.h"
#include "src/redis/resp.h"
#include "src/redis/session_options.h"

namespace sluice::app::doctor {

/// Names and values, as a server tells about itself.
using Fields = std::map<std::string, std::string, std::less<>>;

/// Those of a reply to INFO, or of one to HELLO or CONFIG GET, which is a list of pairs.
[[nodiscard]] Fields FieldsOf(const redis::Reply& reply);

/// What a user was shown, or kUnknown with what to grant, in words of an ACL ("+info").
/// `user` empty: the default user.
[[nodiscard]] std::expected<Fields, Judgement> Seen(const redis::Reply& reply,
                                                    std::string_view permission,
                                                    std::string_view user);

/// Whose commands are tried, and on which keys.
struct Account {
  std::string user{};    ///< empty: the default user
  std::string prefix{};  ///< of all keys
};

/// Why the scripts cannot be run by an account to which a command was answered so; none if this
/// reply is no obstacle. Refusals of one cause are equal, whichever command met it.
[[nodiscard]] std::optional<Judgement> JudgePermission(const redis::Words& command,
                                                       const redis::Reply& reply,
                                                       const Account& account);

/// What an error reply to a script or to PING means, and which check it belongs to: kScriptCache
/// where its first word tells no cause that another check looks at.
struct Refusal {
  Check check{};
  Judgement judgement{};
};
[[nodiscard]] Refusal JudgeRefusal(std::string_view error);

/// Of the reply to HELLO.
[[nodiscard]] Judgement JudgeVersion(const redis::Reply& hello);

/// What the configuration takes a server for.
struct Expectation {
  redis::Role kind = redis::Role::kStandalone;  ///< what the daemon would ask of it
  bool is_replica = false;                      ///< it is known to be none of the primaries
  int replicas = 0;                             ///< so many must stand behind a primary
};
/// `hello`: the fields of that reply.
[[nodiscard]] Judgement JudgeTopology(const Fields& hello, const Expectation& expected);

/// `skew`: the server's clock less this machine's, true to within `uncertainty`.
[[nodiscard]] Judgement JudgeClock(Milliseconds skew, Milliseconds uncertainty,
                                   Milliseconds maximum);

/// Of INFO's chapters of these names; `config` null: CONFIG GET was not allowed.
[[nodiscard]] Judgement JudgeMemoryPolicy(const Fields& memory);
[[nodiscard]] Judgement JudgeReplication(const Fields& replication, const Fields* config,
                                         const Expectation& expected);
[[nodiscard]] Judgement JudgePersistence(const Fields& persistence, const Fields* config);

/// `probes`: how long each took, in any order; not empty.
[[nodiscard]] Judgement JudgeLatency(std::vector<std::chrono::microseconds> probes,
                                     Milliseconds budget);

/// What a walk over the keys under the prefix has met.
struct KeyTally {
  std::size_t keys = 0;
  std::size_t without_expiry = 0;
  std::size_t of_other_types = 0;  ///< that are no hashes
  bool is_complete = true;         ///< false: the walk ended early, there are more keys

  /// A key, by the replies to TYPE and PTTL. It may have expired meanwhile.
  void Count(const redis::Reply& type, const redis::Reply& ttl);
};
[[nodiscard]] Judgement JudgeKeyspace(const KeyTally& tally, std::string_view prefix);

}  // namespace sluice::app::doctor
