// A whole configuration: the values it comes to, its defaults, and errors of the document as a
// whole.
#include "src/config/settings.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kEveryChapter = R"(provider: memory                   # memory | redis
failure_retry_after: 1s            # told to clients when the outcome is not "evaluated"
default_policy: api                # must exist; applies to requests no operation matches
policies:                          # must not be empty
  login: {algorithm: fixed-window, limit: 5, window: 1m, revision: 2}
  api:   {algorithm: token-bucket, capacity: 100, refill: 10, period: 1s, maximum_cost: 20}
  daily: {algorithm: sliding-counter, limit: 10000, window: 1d, scope: client}
operations:                        # first match wins
  - {id: login, match: {methods: [POST], path: /login}, policies: [login, daily]}
  - {id: item,  match: {path: "/items/{id}"}, policies: [api, daily], cost: 2}
  - {id: files, match: {host: cdn.example.com, path: "/files/**"}, policies: [api], subject: [client-ip]}
  - {id: health, match: {path: /healthz}, exempt: true}
identity:
  sources: [principal, api-key, client-ip]   # first present wins
  principal_header: X-Authenticated-User
  api_key_header: X-API-Key
  trusted_proxies: [127.0.0.0/8, "::1/128"]
  forwarded: x-forwarded-for
  ipv6_prefix: 64
  anonymous: shared
pseudonym:
  active_version: 1
  keys: {1: {file: /etc/sluice/pseudonym-1.key}}
redis: {}
http:  {listen: 127.0.0.1:8080, budget: 750ms, workers: 0}
admin: {listen: 127.0.0.1:9090}
log:   {level: info, format: text}
)";

const std::string kRootKeys =
    "provider, failure_retry_after, policies, default_policy, operations, identity, pseudonym, "
    "memory, redis, http, admin, log";

Settings Loaded(std::string_view text) {
  auto settings = Load(text, "f", {});
  if (settings) return *std::move(settings);
  ADD_FAILURE() << settings.error().front().ToString();
  return {};
}

TEST(Settings, HoldTheValuesOfEveryPolicy) {
  const Settings settings = Loaded(kEveryChapter);
  ASSERT_EQ(settings.edge.policies.size(), 3u);
  const Policy& login = settings.edge.policies[0];
  EXPECT_EQ(login.id(), "login");
  EXPECT_EQ(login.algorithm(), Algorithm(FixedWindow{5, minutes{1}}));
  EXPECT_EQ(login.revision(), 2);
  EXPECT_EQ(login.scope(), Scope::kOperation);
  EXPECT_EQ(login.maximum_cost(), 5);
  EXPECT_EQ(login.maximum_clock_regression(), milliseconds{500});
  EXPECT_EQ(login.cleanup_grace(), seconds{1});
  EXPECT_EQ(login.dedup(), Dedup{});

  const Policy& api = settings.edge.policies[1];
  EXPECT_EQ(api.id(), "api");
  EXPECT_EQ(api.algorithm(), Algorithm(TokenBucket{100, 10, seconds{1}}));
  EXPECT_EQ(api.maximum_cost(), 20);
  EXPECT_EQ(api.revision(), 1);

  const Policy& daily = settings.edge.policies[2];
  EXPECT_EQ(daily.id(), "daily");
  EXPECT_EQ(daily.algorithm(), Algorithm(SlidingCounter{10'000, days{1}}));
  EXPECT_EQ(daily.scope(), Scope::kClient);
  EXPECT_EQ(settings.edge.default_policy, "api");
}

TEST(Settings, HoldTheValuesOfEveryOperation) {
  const Settings settings = Loaded(kEveryChapter);
  ASSERT_EQ(settings.edge.operations.size(), 4u);
  const OperationSettings expected[] = {
      {"login", {{"POST"}, "", "/login"}, {"login", "daily"}, 1, {}, false},
      {"item", {{}, "", "/items/{id}"}, {"api", "daily"}, 2, {}, false},
      {"files", {{}, "cdn.example.com", "/files/**"}, {"api"}, 1, {IdentityKind::kClientIp}, false},
      {"health", {{}, "", "/healthz"}, {}, 1, {}, true},
  };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(Equal(settings.edge.operations[i], expected[i])) << expected[i].id;
  }
}

TEST(Settings, HoldTheValuesOfEveryOtherChapter) {
  const Settings settings = Loaded(kEveryChapter);
  EXPECT_EQ(settings.edge.failure_retry_after, seconds{1});
  EXPECT_EQ(settings.edge.budget, milliseconds{750});
  const IdentitySettings& identity = settings.edge.identity;
  EXPECT_EQ(identity.sources, (std::vector{IdentityKind::kPrincipal, IdentityKind::kApiKey,
                                           IdentityKind::kClientIp}));
  EXPECT_EQ(identity.principal_header, "X-Authenticated-User");
  EXPECT_EQ(identity.api_key_header, "X-API-Key");
  EXPECT_EQ(identity.trusted_proxies, (Lines{"127.0.0.0/8", "::1/128"}));
  EXPECT_EQ(identity.forwarded, Forwarded::kXForwardedFor);
  EXPECT_EQ(identity.ipv6_prefix, 64);
  EXPECT_EQ(identity.anonymous, Anonymous::kShared);
  EXPECT_EQ(settings.pseudonym.active_version, 1u);
  EXPECT_EQ(settings.pseudonym.keys,
            (std::map<std::uint32_t, std::string>{{1, "/etc/sluice/pseudonym-1.key"}}));
  EXPECT_EQ(settings.http.listen, ListenAddress(TcpAddress{"127.0.0.1", 8080}));
  EXPECT_EQ(settings.http.workers, 0);
  EXPECT_EQ(settings.admin.listen, ListenAddress(TcpAddress{"127.0.0.1", 9090}));
  EXPECT_EQ(settings.log.level, LogLevel::kInfo);
  EXPECT_EQ(settings.log.format, LogFormat::kText);
}

TEST(Settings, HaveTheDocumentedDefaults) {
  // The chapters of the example hold defaults, apart from the proxies and the key.
  Settings expected = Loaded(kEveryChapter);
  const Settings settings = Loaded(kTwoLines);
  expected.edge.policies = settings.edge.policies;
  expected.edge.operations.clear();
  expected.edge.default_policy = "p";
  expected.edge.identity.trusted_proxies.clear();
  expected.pseudonym = {};
  EXPECT_TRUE(Equal(settings, expected));
  EXPECT_EQ(settings.memory.max_subjects, 1'000'000);
}

TEST(Settings, TakeValuesOtherThanTheDefaults) {
  const Settings settings = Loaded(std::string(kTwoLines) + R"(
failure_retry_after: 250ms
identity: {sources: [client-ip], principal_header: X-User, api_key_header: Authorization,
           forwarded: none, ipv6_prefix: 128, anonymous: deny}
pseudonym: {active_version: 2147483647, keys: {"1": {file: a.key}, 2147483647: {file: b.key}}}
memory: {max_subjects: 4294967294}
http: {listen: "unix:/run/sluice.sock", budget: 1m, workers: 256}
admin: {listen: "[::1]:0"}
log: {level: error, format: json}
)");
  EXPECT_EQ(settings.edge.failure_retry_after, milliseconds{250});
  EXPECT_EQ(settings.edge.identity.sources, std::vector{IdentityKind::kClientIp});
  EXPECT_EQ(settings.edge.identity.principal_header, "X-User");
  EXPECT_EQ(settings.edge.identity.api_key_header, "Authorization");
  EXPECT_EQ(settings.edge.identity.forwarded, Forwarded::kNone);
  EXPECT_EQ(settings.edge.identity.ipv6_prefix, 128);
  EXPECT_EQ(settings.edge.identity.anonymous, Anonymous::kDeny);
  EXPECT_EQ(settings.pseudonym.active_version, 2147483647u);
  EXPECT_EQ(settings.pseudonym.keys.size(), 2u);
  EXPECT_EQ(settings.memory.max_subjects, 4'294'967'294);
  EXPECT_EQ(settings.http.listen, ListenAddress(UnixAddress{"/run/sluice.sock"}));
  EXPECT_EQ(settings.edge.budget, minutes{1});
  EXPECT_EQ(settings.http.workers, 256);
  EXPECT_EQ(settings.admin.listen, ListenAddress(TcpAddress{"::1", 0}));
  EXPECT_EQ(settings.log.level, LogLevel::kError);
  EXPECT_EQ(settings.log.format, LogFormat::kJson);
}

TEST(Settings, LoadFromJson) {
  const Settings settings = Loaded(R"({
    "default_policy": "p",
    "policies": {"p": {"algorithm": "fixed-window", "limit": 5, "window": "1m",
                       "dedup": {"enabled": false, "max_bytes": "1KiB"}}},
    "operations": [{"id": "o", "match": {"path": "/x"}, "policies": ["p"], "cost": 3}],
    "pseudonym": {"active_version": 1, "keys": {"1": {"file": "a.key"}}}
  })");
  EXPECT_EQ(settings.edge.policies.at(0).algorithm(), Algorithm(FixedWindow{5, minutes{1}}));
  EXPECT_EQ(settings.edge.policies.at(0).dedup().max_bytes, 1024);
  EXPECT_FALSE(settings.edge.policies.at(0).dedup().enabled);
  EXPECT_EQ(settings.edge.operations.at(0).cost, 3);
  EXPECT_EQ(settings.pseudonym.keys.at(1), "a.key");
}

TEST(Settings, AreRefusedAsAWhole) {
  struct Row {
    std::string_view text;
    Lines errors;
  };
  const Lines missing = {"f:1:1: policies: the key is missing",
                         "f:1:1: default_policy: the key is missing"};
  const Row rows[] = {
      // nothing at all
      {"", missing},
      {"# nothing\n", missing},
      {"{}", missing},
      // a root that is no map
      {"[]", {"f:1:1: a list stands where a map belongs; allowed: key: value"}},
      {"policies", {"f:1:1: \"policies\" stands where a map belongs; allowed: key: value"}},
      // no policies; the name of the default one cannot exist then
      {"policies: {}\ndefault_policy: x\n",
       {"f:1:11: policies: there must be at least one policy",
        "f:2:17: default_policy: \"x\": there is no such policy"}},
      {"policies:\ndefault_policy: x\n",
       {"f:1:1: policies: the value is missing; write one, or leave the key out",
        "f:2:17: default_policy: \"x\": there is no such policy"}},
      // syntax: nothing else can be said
      {"policies: [\n", {"f:1:1: end of sequence flow not found; it starts at f:1:11"}},
  };
  for (const Row& row : rows) EXPECT_EQ(ErrorsOf(row.text), row.errors) << row.text;
}

TEST(Settings, ReportEverythingAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(
      ErrorsOf(R"(provider: etcd
failure_retry_after: 0s
polices: {}
policies:
  a: {algorithm: fixed-window, limit: -1, window: 0s, limits: 3}
default_policy: b
operations:
  - {id: x, policies: [a, c]}
http: {workers: many, listen: 8080}
log: {level: loud}
)"),
      (Lines{
          "f:1:11: provider: \"etcd\" is not known; allowed: memory, redis",
          "f:2:22: failure_retry_after: \"0s\" is out of bounds; allowed: 1ms to 1h",
          "f:3:1: polices: the key is not known (did you mean \"policies\"?); allowed: " +
              kRootKeys,
          "f:5:39: policies.a.limit: -1 is out of bounds; allowed: 0 to 9007199254740991",
          "f:5:51: policies.a.window: 0 ms is out of bounds; allowed: 1ms to 366d",
          "f:5:55: policies.a.limits: the key is not known (did you mean \"limit\"?); allowed: "
          "algorithm, limit, window, revision, maximum_cost, maximum_clock_regression, "
          "cleanup_grace, scope, failure_policy, dedup",
          "f:6:17: default_policy: \"b\": there is no such policy; allowed: a",
          "f:8:5: operations[0].match: the key is missing",
          "f:8:27: operations[0].policies[1]: \"c\": there is no such policy; allowed: a",
          "f:9:17: http.workers: \"many\" is no whole number; allowed: 0 to 256",
          "f:9:31: http.listen: \"8080\" is a number, not a text (put it in quotes to make it "
          "one)",
          "f:10:14: log.level: \"loud\" is not known; allowed: trace, debug, info, warn, error",
      }));
}

TEST(Settings, ReportManySlipsInBoundedWork) {
  // Old wrong behaviour: each of n unknown ids was compared with each of m policies, and columns of
  // a long line were counted from its start: minutes for a file of 1 MiB. Where that comes back,
  // this test does not end.
  std::string text = "default_policy: p0\noperations: [{id: a, match: {}, policies: [";
  for (int i = 0; i < 40'000; ++i) text += "unknown" + std::to_string(i) + ",";
  text += "]}]\npolicies:\n";
  for (int i = 0; i < 7'000; ++i) {
    text += "  p" + std::to_string(i) + ": {algorithm: fixed-window, limit: 5, window: 1m}\n";
  }
  const Lines errors = ErrorsOf(text);
  ASSERT_EQ(errors.size(), Errors::kMaximumShown + 1);
  EXPECT_EQ(errors.back(), "f: and 39800 more errors");
}

TEST(Places, LeadFromAPathToTheFile) {
  const Places places = Loaded(kEveryChapter).places;
  EXPECT_EQ(places.Find("operations[1].match.path"), "f:10:31");
  EXPECT_EQ(places.Find("operations[1].cost"), "f:10:77");
  EXPECT_EQ(places.Find("policies.login"), "f:5:3");
  EXPECT_EQ(places.Find("identity.trusted_proxies[1]"), "f:17:34");
  // A default has the place of the key that would hold it.
  EXPECT_EQ(places.Find("operations[1].match.host"), "f:10:17");
  EXPECT_EQ(places.Find("operations[0].cost"), "f:9:5");
  EXPECT_EQ(places.Find("memory.max_subjects"), "f:1:1");
  EXPECT_EQ(places.Find(""), "f:1:1");
}

TEST(LoadFile, ReadsAFileAndNamesItInErrors) {
  const std::string path = ::testing::TempDir() + "sluice-config-" + std::to_string(getpid());
  std::ofstream(path) << kTwoLines;
  EXPECT_TRUE(LoadFile(path, {}).has_value());
  std::ofstream(path) << kTwoLines << "x: 1\n";
  const auto refused = LoadFile(path, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().front().ToString(),
            path + ":3:1: x: the key is not known; allowed: " + kRootKeys);
  std::ofstream(path) << std::string(kMaximumDocumentBytes + 1, '#');
  ASSERT_FALSE(LoadFile(path, {}));
  std::filesystem::remove(path);
}

TEST(LoadFile, SaysWhyAFileCannotBeRead) {
  const auto missing = LoadFile("/nonexistent/sluice.yaml", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().front().ToString(),
            "/nonexistent/sluice.yaml: cannot be read: No such file or directory");
  const auto directory = LoadFile("/", {});
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().front().ToString(), "/: cannot be read: Is a directory");
}

}  // namespace
}  // namespace sluice::config
