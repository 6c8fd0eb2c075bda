// The chapter of the Redis provider: its values, what is refused, and that a password stays secret.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kKey = "pseudonym: {active_version: 1, keys: {1: {file: a.key}}}\n";

RedisOptions Loaded(const std::string& chapter, const Lines& environment = {}) {
  const auto settings = Load(std::string(kTwoLines) + chapter, "f", environment);
  if (settings) return settings->redis;
  ADD_FAILURE() << settings.error().front().ToString();
  return {};
}

TEST(Redis, IsTheProviderOnceThereIsAKey) {
  const auto settings = Load(std::string(kTwoLines) + kKey + "provider: redis\n", "f", {});
  ASSERT_TRUE(settings) << settings.error().front().ToString();
  EXPECT_EQ(settings->provider, Provider::kRedis);
  EXPECT_EQ(settings->redis, RedisOptions{});
  EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + "provider: redis"),
            (Lines{"f:3:11: provider: redis needs a pseudonym key, the same on every node, or no "
                   "other process finds the counters; make one with \"sluice keygen FILE\" and "
                   "name it in pseudonym.keys"}));
}

TEST(Redis, TakesEveryKey) {
  const RedisOptions redis = Loaded(R"(
redis:
  address: redis.example.com:6380
  username: sluice
  password_file: /run/secrets/redis
  database: 3
  prefix: edge-1
  tls: {ca_file: ca.pem, certificate_file: me.pem, key_file: me.key, server_name: redis.internal}
  command_timeout: 250ms
  max_in_flight: 64
  connections: 2
  maximum_clock_skew: 300ms
)");
  EXPECT_EQ(redis, (RedisOptions{.address = "redis.example.com:6380",
                                 .username = "sluice",
                                 .password_file = "/run/secrets/redis",
                                 .database = 3,
                                 .prefix = "edge-1",
                                 .tls = RedisTls{.ca_file = "ca.pem",
                                                 .certificate_file = "me.pem",
                                                 .key_file = "me.key",
                                                 .server_name = "redis.internal"},
                                 .command_timeout = milliseconds{250},
                                 .max_in_flight = 64,
                                 .connections = 2,
                                 .maximum_clock_skew = milliseconds{300}}));
  // TLS with the system's authorities and the address's own name.
  EXPECT_EQ(Loaded("redis: {tls: {}}").tls, RedisTls{});
}

TEST(Redis, TakesAClustersNodes) {
  const RedisOptions redis = Loaded(R"(
redis:
  topology: cluster
  addresses: ["10.0.0.1:7000", "[2001:db8::2]:7000"]
  wait_replicas: 1
)");
  EXPECT_EQ(redis, (RedisOptions{.topology = RedisTopology::kCluster,
                                 .addresses = {"10.0.0.1:7000", "[2001:db8::2]:7000"},
                                 .wait_replicas = 1}));
  EXPECT_EQ(Loaded("", {"SLUICE_REDIS__TOPOLOGY=cluster", "SLUICE_REDIS__ADDRESSES=a:1,b:2"}),
            (RedisOptions{.topology = RedisTopology::kCluster, .addresses = {"a:1", "b:2"}}));
}

TEST(Redis, TakesSentinelsWithALoginOfTheirOwn) {
  const RedisOptions redis = Loaded(R"(
redis:
  topology: sentinel
  password_file: /run/secrets/redis
  sentinel:
    master: edge
    addresses: ["10.0.0.1:26379", "10.0.0.2:26379"]
    username: asker
    password: "4711"
    tls: {ca_file: sentinel-ca.pem}
)");
  EXPECT_EQ(redis, (RedisOptions{.topology = RedisTopology::kSentinel,
                                 .sentinel = {.master = "edge",
                                              .addresses = {"10.0.0.1:26379", "10.0.0.2:26379"},
                                              .username = "asker",
                                              .password = "4711",
                                              .tls = RedisTls{.ca_file = "sentinel-ca.pem"}},
                                 .password_file = "/run/secrets/redis"}));
  EXPECT_EQ(Loaded("redis: {topology: sentinel, sentinel: {master: m, addresses: [\"a:1\"]}}",
                   {"SLUICE_REDIS__SENTINEL__PASSWORD_FILE=/run/secrets/sentinel"})
                .sentinel.password_file,
            "/run/secrets/sentinel");
}

// Where the servers are is said in one form, that of the topology.
TEST(Redis, RefusesTheAddressesOfAnotherTopology) {
  struct Row {
    std::string chapter;  // on line 3
    Lines errors;
  };
  const Row rows[] = {
      {"redis: {topology: ring}",
       {"f:3:19: redis.topology: \"ring\" is not known; allowed: standalone, sentinel, cluster"}},
      {"redis: {addresses: [\"a:1\"]}",
       {"f:3:9: redis.addresses: a standalone server has one; give redis.address, or topology: "
        "cluster"}},
      {"redis: {sentinel: {master: m}}",
       {"f:3:9: redis.sentinel: it goes with topology: sentinel"}},
      {"redis: {topology: cluster}", {"f:3:1: redis.addresses: the key is missing"}},
      {"redis: {topology: cluster, addresses: []}",
       {"f:3:39: redis.addresses: the list must not be empty"}},
      {"redis: {topology: cluster, addresses: [\"a:1\"], address: \"a:1\"}",
       {"f:3:48: redis.address: a cluster's nodes stand in redis.addresses"}},
      {"redis: {topology: cluster, addresses: [\"unix:/a\"]}",
       {"f:3:40: redis.addresses[0]: \"unix:/a\": sentinels and clusters are reached over TCP "
        "only"}},
      {"redis: {topology: cluster, addresses: [\"a:1\"], database: 1}",
       {"f:3:58: redis.database: a cluster has the database 0 only; leave it out"}},
      {"redis: {topology: sentinel, address: \"a:1\"}",
       {"f:3:1: redis.sentinel: the key is missing",
        "f:3:29: redis.address: the sentinels name the server; leave it out"}},
      {"redis: {topology: sentinel, sentinel: {addresses: [\"a:1\"], username: u}}",
       {"f:3:29: redis.sentinel.master: the key is missing",
        "f:3:70: redis.sentinel.username: a user needs redis.sentinel.password or "
        "redis.sentinel.password_file"}},
      {"redis: {wait_replicas: 17}",
       {"f:3:24: redis.wait_replicas: \"17\" is out of bounds; allowed: 0 to 16"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + row.chapter), row.errors) << row.chapter;
  }
}

TEST(Redis, RefusesWhatItCannotUse) {
  struct Row {
    std::string chapter;  // on line 3
    Lines errors;
  };
  const std::string forms = "; allowed: host:port, [v6]:port or unix:/path";
  const Row rows[] = {
      {"redis: {address: localhost}",
       {"f:3:18: redis.address: \"localhost\": the port is missing" + forms}},
      {"redis: {address: localhost:0}",
       {"f:3:18: redis.address: \"localhost:0\": no server has the port 0; allowed: 1 to 65535"}},
      {"redis: {url: x}",
       {"f:3:9: redis.url: the key is not known; allowed: topology, address, username, password, "
        "password_file, database, prefix, tls, command_timeout, max_in_flight, connections, "
        "wait_replicas, maximum_clock_skew"}},
      // both ways to say a password, or a user without one
      {"redis: {password: a, password_file: b}",
       {"f:3:37: redis.password_file: redis.password is given too; give one of them"}},
      {"redis: {username: a}",
       {"f:3:19: redis.username: a user needs redis.password or redis.password_file"}},
      {"redis: {prefix: \"a{b}\"}",
       {"f:3:17: redis.prefix: \"a{b}\": this is no prefix; allowed: 1 to 62 printable ASCII "
        "characters without space, { and }"}},
      {"redis: {database: -1}",
       {"f:3:19: redis.database: \"-1\" is out of bounds; allowed: 0 to 2147483647"}},
      {"redis: {command_timeout: 0s}",
       {"f:3:26: redis.command_timeout: \"0s\" is out of bounds; allowed: 1ms to 1m"}},
      {"redis: {max_in_flight: 0, connections: 65}",
       {"f:3:24: redis.max_in_flight: \"0\" is out of bounds; allowed: 1 to 1000000",
        "f:3:40: redis.connections: \"65\" is out of bounds; allowed: 1 to 64"}},
      {"redis: {maximum_clock_skew: 0s}",
       {"f:3:29: redis.maximum_clock_skew: \"0s\" is out of bounds; allowed: 1ms to 1h"}},
      // half a client certificate; TLS where there is none
      {"redis: {tls: {key_file: a}}",
       {"f:3:25: redis.tls.key_file: a certificate and its key go together; give both files or "
        "none"}},
      {"redis: {address: \"unix:/a\", tls: {}}",
       {"f:3:34: redis.tls: a unix socket has no TLS; leave the chapter out"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + row.chapter), row.errors) << row.chapter;
  }
}

TEST(Redis, ErrorsShowNoPassword) {
  // Old wrong behaviour: what a message is about was quoted in it, a password too.
  for (const std::string password : {"4711", "\"a\\tb\"", "true"}) {
    const Lines errors =
        ErrorsOf(std::string(kTwoLines) + "redis: {password: " + password + "}", {});
    ASSERT_EQ(errors.size(), 1u) << password;
    EXPECT_TRUE(errors.front().starts_with("f:3:19: redis.password: ")) << errors.front();
    EXPECT_EQ(errors.front().find("4711"), std::string::npos) << errors.front();
  }
}

TEST(Redis, AVariableNamesThePasswordFileOrHoldsThePassword) {
  // The key password_file wins over the suffix: so a changed file is read again.
  const RedisOptions by_file = Loaded("", {"SLUICE_REDIS__PASSWORD_FILE=/run/secrets/redis"});
  EXPECT_EQ(by_file.password_file, "/run/secrets/redis");
  EXPECT_EQ(by_file.password, "");
  EXPECT_EQ(Loaded("", {"SLUICE_REDIS__PASSWORD=4711"}).password, "4711");
  EXPECT_EQ(Loaded("", {"SLUICE_REDIS__TLS__CA_FILE=/etc/ca.pem"}).tls,
            RedisTls{.ca_file = "/etc/ca.pem"});

  // The suffix works on these keys as on all others.
  const std::string path = ::testing::TempDir() + "sluice-redis-name-" + std::to_string(getpid());
  std::ofstream(path) << "/run/secrets/other\n";
  EXPECT_EQ(Loaded("", {"SLUICE_REDIS__PASSWORD_FILE_FILE=" + path}).password_file,
            "/run/secrets/other");
  std::filesystem::remove(path);

  // A password in the file and a variable for its file are two answers to one question.
  EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + "redis: {password: a}",
                     {"SLUICE_REDIS__PASSWORD_FILE=/run/secrets/redis"}),
            (Lines{"SLUICE_REDIS__PASSWORD_FILE: redis.password_file: redis.password is given too; "
                   "give one of them"}));
}

}  // namespace
}  // namespace sluice::config
