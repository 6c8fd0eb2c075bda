// The effective configuration: what it looks like, and that it loads to what it was made from.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

TEST(Effective, SpellsOutEveryDefault) {
  const auto settings = Load(
      "policies:\n"
      "  login: {algorithm: fixed-window, limit: 5, window: 1m}\n"
      "  daily: {algorithm: sliding-counter, limit: 10000, window: 1d, scope: client}\n"
      "  \"null\": {algorithm: token-bucket, capacity: 100, refill: 10, period: 1500ms}\n"
      "default_policy: \"null\"\n"
      "operations:\n"
      "- {id: login, match: {methods: [POST], host: \"*.a.example\", path: /login}, policies: "
      "[login]}\n"
      "- {id: rest, match: {}, policies: [\"null\", daily], cost: 2, subject: [client-ip]}\n"
      "- {id: health, match: {path: \"/{x}\"}, exempt: true}\n"
      "identity: {trusted_proxies: [\"::1/128\", 10.0.0.0/8]}\n"
      "pseudonym: {active_version: 2, keys: {2: {file: /a b.key}}}\n",
      "f", {});
  ASSERT_TRUE(settings) << settings.error().front().ToString();
  EXPECT_EQ(Effective(*settings), R"(provider: memory
failure_retry_after: 1s
default_policy: "null"
policies:
  login:
    algorithm: fixed-window
    limit: 5
    window: 1m
    revision: 1
    scope: operation
    maximum_cost: 5
    maximum_clock_regression: 500ms
    cleanup_grace: 1s
    failure_policy: fail-closed
    dedup:
      enabled: true
      ttl: 5s
      max_entries: 256
      max_bytes: 64KiB
  daily:
    algorithm: sliding-counter
    limit: 10000
    window: 1d
    revision: 1
    scope: client
    maximum_cost: 10000
    maximum_clock_regression: 500ms
    cleanup_grace: 1s
    failure_policy: fail-closed
    dedup:
      enabled: true
      ttl: 5s
      max_entries: 256
      max_bytes: 64KiB
  "null":
    algorithm: token-bucket
    capacity: 100
    refill: 10
    period: 1s500ms
    revision: 1
    scope: operation
    maximum_cost: 100
    maximum_clock_regression: 500ms
    cleanup_grace: 1s
    failure_policy: fail-closed
    dedup:
      enabled: true
      ttl: 5s
      max_entries: 256
      max_bytes: 64KiB
operations:
  - id: login
    match:
      methods: [POST]
      host: "*.a.example"
      path: /login
    policies: [login]
    cost: 1
  - id: rest
    match: {}
    policies: ["null", daily]
    cost: 2
    subject: [client-ip]
  - id: health
    match:
      path: "/{x}"
    exempt: true
identity:
  sources: [principal, api-key, client-ip]
  principal_header: X-Authenticated-User
  api_key_header: X-API-Key
  trusted_proxies: ["::1/128", 10.0.0.0/8]
  forwarded: x-forwarded-for
  ipv6_prefix: 64
  anonymous: shared
pseudonym:
  active_version: 2
  keys:
    2: {file: "/a b.key"}
memory:
  max_subjects: 1000000
redis:
  topology: standalone
  address: "127.0.0.1:6379"
  database: 0
  prefix: sluice
  command_timeout: 1s
  max_in_flight: 1024
  connections: 1
  wait_replicas: 0
  maximum_clock_skew: 1s
http:
  listen: "127.0.0.1:8080"
  budget: 750ms
  workers: 0
admin:
  listen: "127.0.0.1:9090"
log:
  level: info
  format: text
)");
}

TEST(Effective, LoadsToTheSameInItsShortestForm) {
  const auto settings = Load(kTwoLines, "f", {});
  ASSERT_TRUE(settings);
  const auto again = Load(Effective(*settings), "effective", {});
  ASSERT_TRUE(again) << again.error().front().ToString();
  EXPECT_TRUE(Equal(*settings, *again));
}

TEST(Effective, ShowsNoPassword) {
  const auto settings = Load(std::string(kTwoLines) + "redis: {password: \"hunter2 \"}", "f", {});
  ASSERT_TRUE(settings);
  const std::string text = Effective(*settings);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_NE(text.find("  password: \"***\"\n"), std::string::npos);
  const auto again = Load(text, "effective", {});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->redis.password, "***");
  EXPECT_FALSE(Equal(*settings, *again));  // it is no copy to serve with
}

TEST(Equality, SeesEveryMember) {
  // The property below is worth what this comparison is worth.
  const auto base = Load(kTwoLines, "f", {});
  ASSERT_TRUE(base);
  const auto changed = [&](auto change) {
    Settings other = *base;
    change(other);
    return !Equal(*base, other);
  };
  EXPECT_TRUE(changed([](Settings& s) { s.edge.policies.clear(); }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.operations.emplace_back(); }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.default_policy = "q"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.budget = Milliseconds{1}; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.failure_retry_after = Milliseconds{1}; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.sources.pop_back(); }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.principal_header = "X"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.api_key_header = "X"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.trusted_proxies = {"::1"}; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.forwarded = Forwarded::kNone; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.ipv6_prefix = 1; }));
  EXPECT_TRUE(changed([](Settings& s) { s.edge.identity.anonymous = Anonymous::kDeny; }));
  EXPECT_TRUE(changed([](Settings& s) { s.memory.max_subjects = 1; }));
  EXPECT_TRUE(changed([](Settings& s) { s.provider = Provider::kRedis; }));
  EXPECT_TRUE(changed([](Settings& s) { s.redis.password = "a"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.redis.tls.emplace(); }));
  EXPECT_TRUE(changed([](Settings& s) { s.pseudonym.active_version = 1; }));
  EXPECT_TRUE(changed([](Settings& s) { s.pseudonym.keys[1] = "a"; }));
  EXPECT_TRUE(changed([](Settings& s) { s.http.workers = 1; }));
  EXPECT_TRUE(changed([](Settings& s) { s.http.listen = UnixAddress{"/a"}; }));
  EXPECT_TRUE(changed([](Settings& s) { s.admin.listen = UnixAddress{"/a"}; }));
  EXPECT_TRUE(changed([](Settings& s) { s.log.level = LogLevel::kError; }));
  EXPECT_TRUE(changed([](Settings& s) { s.log.format = LogFormat::kJson; }));
}

// Generators of settings that a configuration can hold.

template <class T>
T Among(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}
Milliseconds DurationWithin(std::int64_t least, std::int64_t most) {
  return Milliseconds{*rc::gen::inRange(least, most + 1)};
}
std::int64_t NumberWithin(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange(least, most + 1);
}

// Letters that may need quotes in YAML, without control characters.
std::string AnyText() {
  std::string text;
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "Z", "0", "7", " ", "\"", "'", "\\", "#", ":", ": ", "-", "{", "}", "[", "]", ",", "&",
      "*", "!", "|", ">", "%", "@", "`", "~", "null", "true", "1e3", ".", "\u00e9", "\u2028"));
  for (const std::string& part : parts) text += part;
  return text + "x" + (parts.empty() ? "" : parts.front());
}

Algorithm AnyAlgorithm() {
  const std::int64_t window = NumberWithin(1, 366LL * 86'400'000);
  switch (NumberWithin(0, 2)) {
    case 0:
      return FixedWindow{NumberWithin(0, kMaximumAmount), Milliseconds{window}};
    case 1:
      return SlidingCounter{NumberWithin(0, kMaximumAmount / window), Milliseconds{window}};
    default: {
      const std::int64_t refill = NumberWithin(1, 1'000'000);
      const std::int64_t periods = 3660LL * 86'400'000 / window;
      return TokenBucket{NumberWithin(0, refill * std::min<std::int64_t>(periods, 1'000'000)),
                         refill, Milliseconds{window}};
    }
  }
}

Policy AnyPolicy(std::string id) {
  PolicySettings settings{.id = std::move(id), .algorithm = AnyAlgorithm()};
  settings.revision = NumberWithin(1, 2'147'483'647);
  settings.maximum_clock_regression = DurationWithin(0, 3'600'000);
  settings.cleanup_grace = DurationWithin(0, 3'600'000);
  settings.scope = Among({Scope::kOperation, Scope::kClient});
  settings.dedup = {*rc::gen::arbitrary<bool>(), DurationWithin(1, 3'600'000),
                    NumberWithin(1, 4096), NumberWithin(1024, 1024 * 1024)};
  auto policy = Policy::Create(settings);
  RC_ASSERT(policy.has_value());
  return *policy;
}

OperationSettings AnyOperation(std::size_t index, const std::vector<Policy>& policies) {
  OperationSettings operation;
  operation.id = "o" + std::to_string(index);
  operation.match.path = "/" + std::to_string(index) + Among<std::string>({"", "/{id}", "/**"});
  if (*rc::gen::arbitrary<bool>()) operation.match.methods = {"GET", "M-SEARCH"};
  if (*rc::gen::arbitrary<bool>()) operation.match.host = "*.example.com";
  operation.exempt = *rc::gen::arbitrary<bool>();
  if (operation.exempt) return operation;
  std::int64_t most = kMaximumAmount;
  for (const Policy& policy : policies) {
    operation.policies.push_back(policy.id());
    most = std::min(most, policy.maximum_cost());
  }
  operation.cost = NumberWithin(1, most);
  if (*rc::gen::arbitrary<bool>()) operation.sources = {IdentityKind::kApiKey};
  return operation;
}

ListenAddress AnyListenAddress(std::uint16_t port) {
  return Among<ListenAddress>({TcpAddress{"0.0.0.0", port}, TcpAddress{"::1", port},
                               TcpAddress{"localhost", port},
                               UnixAddress{"/run/x " + std::to_string(port)}});
}

// A login and TLS, of the servers or of the sentinels.
template <class Options>
void AnyLogin(Options& options) {
  switch (NumberWithin(0, 3)) {
    case 0:
      options.password = AnyText();
      break;
    case 1:
      options.username = AnyText();
      options.password_file = AnyText();
      break;
    default:
      break;
  }
  if (*rc::gen::arbitrary<bool>()) return;
  RedisTls& tls = options.tls.emplace();
  if (*rc::gen::arbitrary<bool>()) tls.ca_file = AnyText();
  if (*rc::gen::arbitrary<bool>()) tls.certificate_file = tls.key_file = AnyText();
  if (*rc::gen::arbitrary<bool>()) tls.server_name = "redis.example.com";
}

RedisOptions AnyRedis() {
  RedisOptions redis;
  AnyLogin(redis);
  redis.topology =
      Among({RedisTopology::kStandalone, RedisTopology::kSentinel, RedisTopology::kCluster});
  if (redis.topology == RedisTopology::kStandalone) {
    redis.address =
        Among<std::string>({"[::1]:1", "redis.example.com:65535", "unix:/run/r s.sock"});
    if (redis.address.starts_with("unix:")) redis.tls.reset();
  } else if (redis.topology == RedisTopology::kSentinel) {
    redis.sentinel.master = AnyText();
    redis.sentinel.addresses = {"[::1]:26379", "sentinel.example.com:1"};
    AnyLogin(redis.sentinel);
  } else {
    redis.addresses = {"10.0.0.1:7000", "node-b:7001"};
  }
  if (redis.topology != RedisTopology::kCluster) redis.database = NumberWithin(0, 2'147'483'647);
  redis.prefix = Among<std::string>({"s", "null", "1", "a:b#c\"", std::string(62, 'p')});
  redis.command_timeout = DurationWithin(1, 60'000);
  redis.max_in_flight = NumberWithin(1, 1'000'000);
  redis.connections = static_cast<int>(NumberWithin(1, 64));
  redis.wait_replicas = static_cast<int>(NumberWithin(0, 16));
  redis.maximum_clock_skew = DurationWithin(1, 3'600'000);
  return redis;
}

Settings AnySettings() {
  Settings settings;
  // Ids that YAML could take for something else.
  for (const char* id : {"a", "null", "true", "on", "B.c_d-9"}) {
    settings.edge.policies.push_back(AnyPolicy(id));
  }
  settings.edge.default_policy = Among<std::string>({"null", "true", "on"});
  const auto operations = static_cast<std::size_t>(NumberWithin(0, 4));
  for (std::size_t i = 0; i < operations; ++i) {
    settings.edge.operations.push_back(AnyOperation(i, settings.edge.policies));
  }
  settings.edge.budget = DurationWithin(1, 60'000);
  settings.edge.failure_retry_after = DurationWithin(1, 3'600'000);
  IdentitySettings& identity = settings.edge.identity;
  identity.sources = Among<std::vector<IdentityKind>>(
      {{IdentityKind::kClientIp},
       {IdentityKind::kApiKey, IdentityKind::kPrincipal},
       {IdentityKind::kClientIp, IdentityKind::kPrincipal, IdentityKind::kApiKey}});
  identity.principal_header = Among<std::string>({"X-User", "1", "true", "null", "!", "#", "&*|"});
  identity.api_key_header = Among<std::string>({"Authorization", "~", "`", "-"});
  identity.trusted_proxies = Among<std::vector<std::string>>({{}, {"::1/128", "10.0.0.0/8"}});
  identity.forwarded = Among({Forwarded::kXForwardedFor, Forwarded::kForwarded, Forwarded::kNone});
  identity.ipv6_prefix = static_cast<int>(NumberWithin(1, 128));
  identity.anonymous = Among({Anonymous::kShared, Anonymous::kDeny});
  if (*rc::gen::arbitrary<bool>()) {
    settings.pseudonym = {7u, {{7u, AnyText()}, {2'147'483'647u, AnyText()}}};
    settings.provider = Among({Provider::kMemory, Provider::kRedis});
  }
  settings.memory.max_subjects = NumberWithin(1, 4'294'967'294);
  settings.redis = AnyRedis();
  settings.http = {AnyListenAddress(1), static_cast<int>(NumberWithin(0, 256))};
  settings.admin = {AnyListenAddress(2)};
  settings.log = {Among({LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn,
                         LogLevel::kError}),
                  Among({LogFormat::kText, LogFormat::kJson})};
  return settings;
}

// All but a password, which it must not show.
RC_GTEST_PROP(Effective, LoadsToEqualSettings, ()) {
  const Settings settings = AnySettings();
  const std::string text = Effective(settings);
  const auto loaded = Load(text, "effective", {});
  if (!loaded) RC_FAIL(loaded.error().front().ToString() + "\n" + text);
  RC_ASSERT(Equal(Masked(settings), *loaded));
  RC_ASSERT(Effective(*loaded) == text);
}

}  // namespace
}  // namespace sluice::config
