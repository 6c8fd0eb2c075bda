#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "src/config/chapters.h"
#include "src/config/listen_address.h"

namespace sluice::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Milliseconds kLeast{1};
constexpr std::int64_t kMaximumDatabase = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaximumInFlight = 1'000'000;
constexpr std::int64_t kMaximumConnections = 64;
constexpr std::size_t kMaximumPrefix = 62;  // RedisOptions: keys have a bound

constexpr std::int64_t kMaximumReplicas = 16;

// One sentence on why a server cannot be reached at `text`, or none.
std::optional<std::string> CheckServer(std::string_view text) {
  const auto address = ParseListenAddress(text);
  if (!address) return address.error();
  const auto* tcp = std::get_if<TcpAddress>(&*address);
  if (tcp != nullptr && tcp->port == 0) return "no server has the port 0; allowed: 1 to 65535";
  return std::nullopt;
}

// The same for one of several servers: those find each other over TCP.
std::optional<std::string> CheckTcpServer(std::string_view text) {
  if (text.starts_with("unix:")) return "sentinels and clusters are reached over TCP only";
  return CheckServer(text);
}

std::optional<std::string> CheckPrefix(std::string_view prefix) {
  const bool is_plain = std::ranges::all_of(
      prefix, [](char c) { return c > ' ' && c <= '~' && c != '{' && c != '}'; });
  if (is_plain && prefix.size() <= kMaximumPrefix) return std::nullopt;
  return "this is no prefix; allowed: 1 to 62 printable ASCII characters without space, { and }";
}

// A rule: a text that no message shows, wherever it was written.
std::optional<std::string> Secret(const Field& field) {
  Node node = field.node;
  node.confidential = true;
  return Text{}(Field{node, field.path, field.errors});
}

RedisTls ReadTls(const Field& field) {
  RedisTls tls;
  MapReader reader(field);
  reader.Optional("ca_file", Text{}, tls.ca_file);
  reader.Optional("certificate_file", Text{}, tls.certificate_file);
  reader.Optional("key_file", Text{}, tls.key_file);
  reader.Optional("server_name", Text{}, tls.server_name);
  if (reader.Has("certificate_file") != reader.Has("key_file")) {
    reader.Report(reader.Has("key_file") ? "key_file" : "certificate_file",
                  "a certificate and its key go together; give both files or none");
  }
  reader.Finish();
  return tls;
}

// A login, of the servers or of the sentinels.
template <class Options>
void ReadLogin(MapReader& reader, std::string_view chapter, Options& options) {
  reader.Optional("username", Text{}, options.username);
  reader.Optional("password", Secret, options.password);
  reader.Optional("password_file", Text{}, options.password_file);
  if (reader.Has("password") && reader.Has("password_file")) {
    reader.Report("password_file",
                  std::string(chapter) + ".password is given too; give one of them");
  }
  if (reader.Has("username") && !reader.Has("password") && !reader.Has("password_file")) {
    reader.Report("username",
                  fmt::format("a user needs {0}.password or {0}.password_file", chapter));
  }
}

RedisSentinel ReadSentinel(const Field& field) {
  RedisSentinel sentinel;
  MapReader reader(field);
  reader.Required("master", Text{}, sentinel.master);
  reader.Required("addresses", ListOf{Text{CheckTcpServer}}, sentinel.addresses);
  ReadLogin(reader, field.path, sentinel);
  if (const auto tls = reader.Find("tls")) sentinel.tls = ReadTls(*tls);
  reader.Finish();
  return sentinel;
}

// Where the servers are: one form for each topology, and no other beside it.
void ReadServers(MapReader& reader, RedisOptions& redis) {
  reader.Optional("topology", Choice<RedisTopology>{kTopologyWords}, redis.topology);
  switch (redis.topology) {
    case RedisTopology::kStandalone:
      reader.Optional("address", Text{CheckServer}, redis.address);
      reader.Refuse("addresses",
                    "a standalone server has one; give redis.address, or topology: cluster");
      reader.Refuse("sentinel", "it goes with topology: sentinel");
      return;
    case RedisTopology::kSentinel:
      if (const auto chapter = reader.FindRequired("sentinel")) {
        redis.sentinel = ReadSentinel(*chapter);
      }
      reader.Refuse("address", "the sentinels name the server; leave it out");
      reader.Refuse("addresses", "sentinels stand in redis.sentinel.addresses");
      return;
    case RedisTopology::kCluster:
      reader.Required("addresses", ListOf{Text{CheckTcpServer}}, redis.addresses);
      reader.Refuse("address", "a cluster's nodes stand in redis.addresses");
      reader.Refuse("sentinel", "it goes with topology: sentinel");
      return;
  }
}

}  // namespace

RedisOptions ReadRedis(const Field& field) {
  RedisOptions redis;
  MapReader reader(field);
  ReadServers(reader, redis);
  ReadLogin(reader, "redis", redis);
  reader.Optional("database", Integer{0, kMaximumDatabase}, redis.database);
  reader.Optional("prefix", Text{CheckPrefix}, redis.prefix);
  if (const auto tls = reader.Find("tls")) redis.tls = ReadTls(*tls);
  reader.Optional("command_timeout", Duration{kLeast, minutes{1}}, redis.command_timeout);
  reader.Optional("max_in_flight", Integer{1, kMaximumInFlight}, redis.max_in_flight);
  reader.Optional("connections", Integer{1, kMaximumConnections}, redis.connections);
  reader.Optional("wait_replicas", Integer{0, kMaximumReplicas}, redis.wait_replicas);
  reader.Optional("maximum_clock_skew", Duration{kLeast, hours{1}}, redis.maximum_clock_skew);

  if (redis.topology == RedisTopology::kCluster && redis.database != 0) {
    reader.Report("database", "a cluster has the database 0 only; leave it out");
  }
  if (reader.Has("tls") && redis.address.starts_with("unix:")) {
    reader.Report("tls", "a unix socket has no TLS; leave the chapter out");
  }
  reader.Finish();
  return redis;
}

}  // namespace sluice::config
