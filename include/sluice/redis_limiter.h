// The engine over Redis or Valkey: counters shared by every node that uses the same server.
//
//   auto limiter = sluice::MakeRedisLimiter({.address = "127.0.0.1:6379"});
//   (*limiter)->Evaluate(evaluation, [](sluice::Outcome outcome) { … });
//
// One Lua script call makes each decision atomically. When the server is slow, gone or half-way
// through a failover, the outcome says what is known: certainly nothing charged, or perhaps.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/limiter.h"

namespace sluice {

/// TLS to the server. The server's certificate is always verified.
struct RedisTls {
  std::string ca_file{};           ///< PEM; empty: the system's authorities
  std::string certificate_file{};  ///< PEM, with `key_file`: the client's own certificate
  std::string key_file{};
  std::string server_name{};  ///< asked for and verified; empty: the address's host
  friend bool operator==(const RedisTls&, const RedisTls&) = default;
};

/// How the server, or the servers, are put together.
enum class RedisTopology : std::uint8_t {
  kStandalone,  ///< one server, at `address`
  kSentinel,    ///< the primary that sentinels name
  kCluster,     ///< a cluster, found by asking any of its nodes
};

/// The sentinels that know where the primary is. Their login and TLS are their own; those of
/// RedisOptions are for the servers.
struct RedisSentinel {
  std::string master{};                  ///< the name by which sentinels know the primary
  std::vector<std::string> addresses{};  ///< host:port or [v6]:port; asked in turn
  std::string username{};
  std::string password{};
  std::string password_file{};  ///< read for every connection
  std::optional<RedisTls> tls{};
  friend bool operator==(const RedisSentinel&, const RedisSentinel&) = default;
};

/// Where the server is and how it is talked to. Defaults are those of the configuration.
struct RedisOptions {
  RedisTopology topology = RedisTopology::kStandalone;
  std::string address = "127.0.0.1:6379";  ///< standalone: host:port, [v6]:port or unix:/path
  /// Cluster: some of its nodes, host:port or [v6]:port; the others are found through them.
  std::vector<std::string> addresses{};
  RedisSentinel sentinel{};  ///< of the topology of that name
  std::string username{};    ///< empty: the default user
  std::string password{};    ///< empty: none, or that of `password_file`
  /// Read for every connection, so a changed password counts from the next one on. A line feed at
  /// its end is not part of the password.
  std::string password_file{};
  std::int64_t database = 0;      ///< 0 in a cluster
  std::string prefix = "sluice";  ///< of every key; printable, no space, no braces, <= 62 bytes
  std::optional<RedisTls> tls{};  ///< none: plain TCP
  /// How long the server may leave a command unanswered before its connection is given up, and how
  /// long connecting may take. 1 ms .. 1 min. Evaluations have their own deadlines besides.
  Milliseconds command_timeout{1'000};
  /// Evaluations under way at most, those included whose deadline passed but whose reply is still
  /// owed; one more is answered admission-rejected. 1 .. 1'000'000.
  std::int64_t max_in_flight = 1'024;
  int connections = 1;  ///< to each server; 1 .. 64
  /// How many replicas must have what an evaluation charged before it is answered, 0 .. 16. If
  /// fewer confirm it in time, the answer stays and its certainty is kUnreplicated. Up to half of
  /// an evaluation's time is waited.
  int wait_replicas = 0;
  /// How far this machine's clock and the server's may be apart; further, evaluations are answered
  /// clock-unsafe and not sent. None: not looked at (the caller's clock is not this machine's).
  std::optional<Milliseconds> maximum_clock_skew{1'000};
  /// How long a key is kept at least. Zero outside of tests: with a manual clock a key's own expiry
  /// does not follow the evaluations' `now`.
  Milliseconds minimum_ttl{0};
  friend bool operator==(const RedisOptions&, const RedisOptions&) = default;
};

/// What is known of one server that evaluations go to.
struct RedisNode {
  std::string address{};
  bool ready = false;
  std::string reason{};    ///< as in RedisHealth
  std::string category{};  ///< as in RedisHealth
  std::int64_t connections = 0;
  std::optional<Milliseconds> clock_skew{};
  std::optional<std::chrono::microseconds> round_trip{};
  std::string eviction_policy{};  ///< as in RedisHealth
};

/// Whether evaluations would be asked now, and if not, why.
struct RedisHealth {
  bool ready = false;
  std::string reason{};  ///< one line for people, empty if ready; never holds a secret
  /// What evaluations are answered meanwhile, as an outcome's category or reason. Empty if ready,
  /// and while a first attempt is being made: then they wait for it.
  std::string category{};
  /// The server's clock less this machine's, as last measured.
  std::optional<Milliseconds> clock_skew{};
  /// How long the exchange took that measured it.
  std::optional<std::chrono::microseconds> round_trip{};
  /// The server's maxmemory-policy as the last connection to it was told. With any but "noeviction"
  /// a full server forgets counters, so clients are let through that had nothing left. Empty: not
  /// known; the user may lack the permission for INFO, which nothing else needs.
  std::string eviction_policy{};
  /// Server by server, in the order of their addresses; the clock above is the worst of theirs.
  std::vector<RedisNode> nodes{};
};

/// What happened since the limiter was made.
struct RedisStatistics {
  std::int64_t in_flight = 0;         ///< evaluations under way now
  std::int64_t connections = 0;       ///< connections that are usable now
  std::int64_t connects = 0;          ///< connections that became usable
  std::int64_t connect_failures = 0;  ///< attempts that did not
  std::int64_t disconnects = 0;       ///< usable connections that ended
  std::int64_t calls = 0;             ///< script calls sent
  std::int64_t evaluations = 0;       ///< evaluations they carried, repeats included
  std::int64_t repeats = 0;           ///< evaluations sent again because their reply was lost
  std::int64_t reloads = 0;  ///< scripts loaded again because the server had forgotten them
  /// Error replies to script calls, by their first word ("BUSY", "OOM"); unknown words are "other".
  std::map<std::string, std::int64_t, std::less<>> error_replies{};
  /// Evaluations that were sent elsewhere because a server of a cluster said so.
  std::int64_t redirects = 0;
  std::int64_t map_changes = 0;   ///< times that slots, or the primary, were found elsewhere
  std::int64_t unreplicated = 0;  ///< evaluations answered with the certainty kUnreplicated
  std::int64_t rejected = 0;      ///< evaluations answered admission-rejected
  std::int64_t expired = 0;       ///< evaluations whose deadline passed before their answer
};

/// A Limiter over a server.
///
/// Thread safety: everything may be called from any thread except `Evaluate` of an engine that is
/// bound to an event loop. `Evaluate` calls the completion on the limiter's own thread, or on the
/// calling one if the evaluation is not even tried. Completions must not block.
/// The destructor answers what is under way (indeterminate if it was sent) and returns when all
/// completions have.
class RedisLimiter : public Limiter {
 public:
  [[nodiscard]] virtual RedisHealth Health() const = 0;
  [[nodiscard]] virtual RedisStatistics Statistics() const = 0;
};

/// Starts one thread that connects and stays connected; whether the server is there is `Health`'s
/// to say. Fails with one sentence if the options themselves are wrong. `clock` must outlive the
/// limiter and be the machine's, whatever clock the evaluations carry.
[[nodiscard]] std::expected<std::unique_ptr<RedisLimiter>, std::string> MakeRedisLimiter(
    const RedisOptions& options, const Clock& clock = SystemClock());

}  // namespace sluice
