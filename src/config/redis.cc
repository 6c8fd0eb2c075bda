#include <algorithm>
#include <limits>

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

// One sentence on why a server cannot be reached at `text`, or none.
std::optional<std::string> CheckServer(std::string_view text) {
  const auto address = ParseListenAddress(text);
  if (!address) return address.error();
  const auto* tcp = std::get_if<TcpAddress>(&*address);
  if (tcp != nullptr && tcp->port == 0) return "no server has the port 0; allowed: 1 to 65535";
  return std::nullopt;
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

}  // namespace

RedisOptions ReadRedis(const Field& field) {
  RedisOptions redis;
  MapReader reader(field);
  reader.Optional("address", Text{CheckServer}, redis.address);
  reader.Optional("username", Text{}, redis.username);
  reader.Optional("password", Secret, redis.password);
  reader.Optional("password_file", Text{}, redis.password_file);
  reader.Optional("database", Integer{0, kMaximumDatabase}, redis.database);
  reader.Optional("prefix", Text{CheckPrefix}, redis.prefix);
  if (const auto tls = reader.Find("tls")) redis.tls = ReadTls(*tls);
  reader.Optional("command_timeout", Duration{kLeast, minutes{1}}, redis.command_timeout);
  reader.Optional("max_in_flight", Integer{1, kMaximumInFlight}, redis.max_in_flight);
  reader.Optional("connections", Integer{1, kMaximumConnections}, redis.connections);
  reader.Optional("maximum_clock_skew", Duration{kLeast, hours{1}}, redis.maximum_clock_skew);

  if (reader.Has("password") && reader.Has("password_file")) {
    reader.Report("password_file", "redis.password is given too; give one of them");
  }
  if (reader.Has("username") && !reader.Has("password") && !reader.Has("password_file")) {
    reader.Report("username", "a user needs redis.password or redis.password_file");
  }
  if (reader.Has("tls") && redis.address.starts_with("unix:")) {
    reader.Report("tls", "a unix socket has no TLS; leave the chapter out");
  }
  reader.Finish();
  return redis;
}

}  // namespace sluice::config
