#include "src/app/doctor/judgement.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include "src/redis/handshake.h"

namespace sluice::app::doctor {
namespace {

using redis::kOldestServer;
using redis::Reply;

constexpr std::string_view kMoreReplicas =
    "bring replicas back, or CONFIG SET min-replicas-to-write";
constexpr std::string_view kLookAtDisk = "look at the server's log, its disk and its `dir`";

Judgement Ok(std::string found) {
  return {.verdict = Verdict::kOk, .found = std::move(found)};
}
Judgement Failed(std::string found, std::string remedy) {
  return {.verdict = Verdict::kFailed, .found = std::move(found), .remedy = std::move(remedy)};
}
Judgement Unknown(std::string found, std::string remedy) {
  return {.verdict = Verdict::kUnknown, .found = std::move(found), .remedy = std::move(remedy)};
}

std::string_view Value(const Fields& fields, std::string_view name) {
  const auto field = fields.find(name);
  return field == fields.end() ? std::string_view() : field->second;
}

std::int64_t Number(const Fields& fields, std::string_view name) {
  const std::string_view text = Value(fields, name);
  std::int64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view NameOf(std::string_view user) {
  return user.empty() ? "default" : user;
}

// "SCRIPT LOAD", "HSET"; and as an ACL has them, "+script|load", "+hset".
std::string CommandOf(const redis::Words& words) {
  return words[0] == "SCRIPT" ? words[0] + ' ' + words[1] : words[0];
}
std::string PermissionFor(const redis::Words& words) {
  std::string permission = '+' + CommandOf(words);
  for (char& c : permission) {
    c = c == ' ' ? '|' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return permission;
}

bool IsRefusal(const Reply& reply) {
  return reply.kind == Reply::Kind::kError && reply.text.starts_with("NOPERM");
}
bool IsUnknownCommand(const Reply& reply) {
  return reply.kind == Reply::Kind::kError && reply.text.starts_with("ERR unknown command");
}

// "10 keys", "1 key".
std::string Some(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string Thousandths(std::chrono::microseconds time) {
  return fmt::format("{}.{:03} ms", time.count() / 1000, time.count() % 1000);
}

std::optional<std::pair<std::int64_t, std::int64_t>> VersionOf(std::string_view text) {
  std::pair<std::int64_t, std::int64_t> version;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.begin(), end, version.first);
  if (error != std::errc{} || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, version.second).ec != std::errc{}) return std::nullopt;
  return version;
}

Judgement JudgeReplica(const Fields& replication) {
  if (Value(replication, "master_link_status") == "up") return Ok("a replica, in step");
  return Failed("a replica whose link to its primary is down",
                "look at the replica's log; meanwhile a failover to it forgets counters");
}

}  // namespace

Fields FieldsOf(const Reply& reply) {
  Fields fields;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    fields[reply.elements[i].text] = Quoted(reply.elements[i + 1].text);
  }
  for (std::string_view text = reply.text; !text.empty();) {
    const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    fields[std::string(line.substr(0, colon))] = Quoted(line.substr(colon + 1));
  }
  return fields;
}

std::expected<Fields, Judgement> Seen(const Reply& reply, std::string_view permission,
                                      std::string_view user) {
  if (IsRefusal(reply)) {
    return std::unexpected(
        Unknown(fmt::format("user {} may not look", NameOf(user)),
                fmt::format("ACL SETUSER {} {}, or look as somebody who may: --redis-user",
                            NameOf(user), permission)));
  }
  if (reply.kind == Reply::Kind::kError) {
    return std::unexpected(Unknown("the server does not tell: " + Quoted(reply.text), ""));
  }
  return FieldsOf(reply);
}

std::optional<Judgement> JudgePermission(const redis::Words& command, const Reply& reply,
                                         const Account& account) {
  if (IsUnknownCommand(reply)) {
    return Failed(fmt::format("the server knows no {}", CommandOf(command)),
                  "undo its rename-command, or use a server that has it");
  }
  if (!IsRefusal(reply)) return std::nullopt;
  const std::string_view user = NameOf(account.user);
  // "… no permissions to access one of the keys …", against "… to run the 'hset' command".
  if (reply.text.contains("access") && reply.text.contains("channel")) {
    return Failed(fmt::format("user {} may not hear {}", user, command.back()),
                  fmt::format("ACL SETUSER {} &{}", user, command.back()));
  }
  if (reply.text.contains("access")) {
    return Failed(
        fmt::format("user {} may not use keys that begin with \"{}:\"", user, account.prefix),
        fmt::format("ACL SETUSER {} ~{}:*", user, account.prefix));
  }
  return Failed(fmt::format("user {} may not run {}", user, CommandOf(command)),
                fmt::format("ACL SETUSER {} {}", user, PermissionFor(command)));
}

Refusal JudgeRefusal(std::string_view error) {
  constexpr std::string_view kFailover = "wait until a failover or resharding has ended";
  struct Row {
    std::string_view word;
    Check check;
    std::string_view remedy;
  };
  static constexpr Row kRows[] = {
      {"NOREPLICAS", Check::kReplication, kMoreReplicas},
      {"MISCONF", Check::kPersistence, kLookAtDisk},
      {"OOM", Check::kMemoryPolicy, "raise maxmemory: a full server decides nothing"},
      {"READONLY", Check::kTopology, kFailover},
      {"MASTERDOWN", Check::kTopology, kFailover},
      {"MOVED", Check::kTopology, kFailover},
      {"ASK", Check::kTopology, kFailover},
      {"TRYAGAIN", Check::kTopology, kFailover},
      {"CLUSTERDOWN", Check::kTopology, kFailover},
  };
  std::string found = "the server refuses: " + Quoted(error);
  for (const auto& [word, check, remedy] : kRows) {
    // Servers before 7.0 wrap what a command inside the script was told: "ERR … -OOM …".
    if (error.starts_with(word) || error.contains(fmt::format("-{} ", word))) {
      return {check, Failed(std::move(found), std::string(remedy))};
    }
  }
  return {Check::kScriptCache, Failed(std::move(found), "look at the server's log and ACL LOG")};
}

Judgement JudgeVersion(const Reply& hello) {
  std::string remedy =
      fmt::format("use Redis {}.{} or newer, or Valkey", kOldestServer.first, kOldestServer.second);
  if (IsUnknownCommand(hello)) return Failed("older than 6.0: it knows no HELLO", remedy);
  const Fields fields = FieldsOf(hello);
  const std::string_view version = Value(fields, "version");
  const auto parsed = VersionOf(version);
  if (!parsed) return Unknown("the server does not tell", "");
  std::string found = fmt::format("{} {}", Value(fields, "server"), version);
  if (*parsed >= kOldestServer) return Ok(std::move(found));
  return Failed(std::move(found), std::move(remedy));
}

Judgement JudgeTopology(const Fields& hello, const Expectation& expected) {
  const std::string_view mode = Value(hello, "mode");
  if (mode.empty()) return Unknown("the server does not tell", "");
  if (mode == "sentinel") {
    return Failed("this is a sentinel, which holds no counters",
                  "set redis.topology: sentinel, and name it in redis.sentinel.addresses");
  }
  const bool is_cluster = expected.kind == redis::Role::kClusterNode;
  if (is_cluster && mode != "cluster") {
    return Failed("a standalone server, but a cluster is configured",
                  "set redis.topology: standalone and redis.address");
  }
  if (!is_cluster && mode == "cluster") {
    return Failed("a server in cluster mode, but no cluster is configured",
                  "set redis.topology: cluster and redis.addresses");
  }
  const std::string_view role = Value(hello, "role");
  if (role != "master" && !expected.is_replica) {
    return Failed(fmt::format("the server's role is {}: it takes no writes", role),
                  expected.kind == redis::Role::kStandalone
                      ? "set redis.address to its primary, or redis.topology: sentinel"
                      : "wait until a failover has ended; else look at who still names it");
  }
  return Ok(fmt::format("{}, {}", mode, role == "master" ? "primary" : "replica"));
}

Judgement JudgeClock(Milliseconds skew, Milliseconds uncertainty, Milliseconds maximum) {
  std::string found = fmt::format("{:+} ms (± {} ms) from this machine's, allowed are {} ms",
                                  skew.count(), uncertainty.count(), maximum.count());
  if (std::chrono::abs(skew) - uncertainty <= maximum) return Ok(std::move(found));
  return Failed(std::move(found),
                "set both clocks by NTP; until then requests are answered 503, clock-unsafe");
}

Judgement JudgeMemoryPolicy(const Fields& memory) {
  const std::string_view policy = Value(memory, "maxmemory_policy");
  if (policy.empty()) return Unknown("the server does not tell", "");
  if (policy != "noeviction") {
    return Failed(fmt::format("{}: a full server forgets counters, and lets clients through that "
                              "had nothing left",
                              policy),
                  "CONFIG SET maxmemory-policy noeviction");
  }
  const std::string_view used = Value(memory, "used_memory_human");
  if (Number(memory, "maxmemory") == 0) {
    return Ok(fmt::format("noeviction; {} used, no maxmemory", used));
  }
  return Ok(fmt::format("noeviction; {} used of {}", used, Value(memory, "maxmemory_human")));
}

Judgement JudgeReplication(const Fields& replication, const Fields* config,
                           const Expectation& expected) {
  const std::string_view role = Value(replication, "role");
  if (role.empty()) return Unknown("the server does not tell", "");
  if (role != "master") return JudgeReplica(replication);

  const std::int64_t replicas = Number(replication, "connected_slaves");
  std::int64_t online = 0;
  for (std::int64_t i = 0; i < replicas; ++i) {
    online += Value(replication, fmt::format("slave{}", i)).contains("state=online") ? 1 : 0;
  }
  // INFO counts good replicas only where some are required.
  const bool requires_some = replication.contains("min_slaves_good_slaves");
  const std::int64_t good = Number(replication, "min_slaves_good_slaves");
  const std::int64_t required =
      config != nullptr ? Number(*config, "min-replicas-to-write") : std::int64_t{requires_some};
  if (requires_some && good < required) {
    return Failed(fmt::format("{} of the {} replicas that min-replicas-to-write asks for: writes "
                              "are refused",
                              good, required),
                  std::string(kMoreReplicas));
  }
  if (online < replicas) {
    return Failed(fmt::format("{} of {} are in step", online, Some(replicas, "replica")),
                  "wait until the others are, or look at their logs");
  }
  if (replicas < expected.replicas) {
    return Failed(fmt::format("{}, needed are {}", Some(replicas, "replica"), expected.replicas),
                  "add replicas: they take the primary's place, or are waited for "
                  "(redis.wait_replicas)");
  }
  if (replicas == 0) return Ok("no replica: counters are lost with this server");
  return Ok(fmt::format("{}, min-replicas-to-write {}: a failover may forget what was charged last",
                        Some(replicas, "replica"),
                        config != nullptr ? std::to_string(required)
                        : requires_some   ? "is set"
                                          : "0"));
}

Judgement JudgePersistence(const Fields& persistence, const Fields* config) {
  if (!persistence.contains("aof_enabled")) return Unknown("the server does not tell", "");
  const auto is_broken = [&](std::string_view status) {
    return Value(persistence, status) == "err";
  };
  const bool has_file = Value(persistence, "aof_enabled") == "1";
  if (has_file && (is_broken("aof_last_write_status") || is_broken("aof_last_bgrewrite_status"))) {
    return Failed("the append-only file could not be written", std::string(kLookAtDisk));
  }
  if (is_broken("rdb_last_bgsave_status")) {
    return Failed("the last snapshot failed", std::string(kLookAtDisk));
  }
  if (has_file) {
    if (config == nullptr) return Ok("append-only file");
    const std::string_view sync = Value(*config, "appendfsync");
    return Ok(fmt::format("append-only file, fsync {}{}", sync,
                          sync == "everysec" ? ": a crash may forget the last second" : ""));
  }
  if (config == nullptr || !config->contains("save")) {
    return Unknown("no append-only file; whether there are snapshots CONFIG would tell",
                   "let the user run CONFIG GET (+config|get), or --redis-user");
  }
  if (Value(*config, "save").empty()) {
    return Failed("neither append-only file nor snapshots: a restart forgets all counters",
                  "CONFIG SET appendonly yes");
  }
  return Ok(
      fmt::format("snapshots only (save {}): a crash forgets what came after the last, now "
                  "{} changes",
                  Value(*config, "save"), Value(persistence, "rdb_changes_since_last_save")));
}

Judgement JudgeLatency(std::vector<std::chrono::microseconds> probes, Milliseconds budget) {
  std::ranges::sort(probes);
  // The smallest value that so many percent of the probes do not exceed.
  const auto percentile = [&](std::size_t percent) {
    return probes[(probes.size() * percent + 99) / 100 - 1];
  };
  std::string found =
      fmt::format("p50 {}, p99 {} of {} probes; http.budget is {} ms", Thousandths(percentile(50)),
                  Thousandths(percentile(99)), probes.size(), budget.count());
  if (percentile(99) * 2 <= budget) return Ok(std::move(found));
  return Failed(std::move(found),
                "too little is left of the budget: look at the network and at SLOWLOG, or raise "
                "http.budget");
}

void KeyTally::Count(const Reply& type, const Reply& ttl) {
  if (type.text == "none") return;
  ++keys;
  if (type.text != "hash") ++of_other_types;
  if (ttl.integer == -1) ++without_expiry;
}

Judgement JudgeKeyspace(const KeyTally& tally, std::string_view prefix) {
  const std::string found = fmt::format("{}{} under \"{}:\"", tally.is_complete ? "" : "at least ",
                                        Some(static_cast<std::int64_t>(tally.keys), "key"), prefix);
  if (tally.without_expiry == 0 && tally.of_other_types == 0) return Ok(found);
  return Failed(fmt::format("{}, of which {} never expire and {} are no hashes: something else "
                            "writes there",
                            found, tally.without_expiry, tally.of_other_types),
                fmt::format("give sluice a redis.prefix of its own; redis-cli --scan --pattern "
                            "'{}:*' shows the keys",
                            prefix));
}

}  // namespace sluice::app::doctor
