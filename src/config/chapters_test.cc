// What is refused in the chapters of plain keys, and how a value of the wrong type is.
#include <gtest/gtest.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

struct Row {
  std::string text;  // on line 3
  Lines errors;
};

void ExpectErrors(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + row.text + "\n"), row.errors) << row.text;
  }
}

TEST(Chapter, TakesValuesAtItsBounds) {
  for (const std::string_view text : {
           "failure_retry_after: 1ms",
           "failure_retry_after: 1h",
           "http: {budget: 1ms}",
           "http: {budget: 60s}",
           "http: {workers: 256}",
           "memory: {max_subjects: 1}",
           "identity: {ipv6_prefix: 1}",
           "identity: {trusted_proxies: []}",
           "operations: []",
           "redis: {}",
           "log: {}",
       }) {
    EXPECT_EQ(ErrorsOf(std::string(kTwoLines) + std::string(text)), Lines{}) << text;
  }
}

TEST(Chapter, RefusesValuesBeyondItsBounds) {
  ExpectErrors({
      {"failure_retry_after: 3601s",
       {"f:3:22: failure_retry_after: \"3601s\" is out of bounds; allowed: 1ms to 1h"}},
      {"http: {budget: 0s}", {"f:3:16: http.budget: \"0s\" is out of bounds; allowed: 1ms to 1m"}},
      {"http: {budget: 61s}",
       {"f:3:16: http.budget: \"61s\" is out of bounds; allowed: 1ms to 1m"}},
      {"http: {workers: 257}",
       {"f:3:17: http.workers: \"257\" is out of bounds; allowed: 0 to 256"}},
      {"http: {workers: -1}", {"f:3:17: http.workers: \"-1\" is out of bounds; allowed: 0 to 256"}},
      {"memory: {max_subjects: 0}",
       {"f:3:24: memory.max_subjects: \"0\" is out of bounds; allowed: 1 to 4294967294"}},
      {"memory: {max_subjects: 99999999999999999999}",
       {"f:3:24: memory.max_subjects: \"99999999999999999999\" is out of bounds; allowed: 1 to "
        "4294967294"}},
      {"identity: {ipv6_prefix: 0}",
       {"f:3:25: identity.ipv6_prefix: \"0\" is out of bounds; allowed: 1 to 128"}},
      {"identity: {ipv6_prefix: 129}",
       {"f:3:25: identity.ipv6_prefix: \"129\" is out of bounds; allowed: 1 to 128"}},
  });
}

TEST(Chapter, RefusesWhatIsNoWholeNumber) {
  const auto refused = [](std::string_view shown, std::string_view why) {
    return Lines{"f:3:17: http.workers: \"" + std::string(shown) + "\" " + std::string(why) +
                 "; allowed: 0 to 256"};
  };
  constexpr std::string_view kNoNumber = "is no whole number";
  constexpr std::string_view kOctal =
      "is no whole number (octal, hexadecimal and leading zeros are not read)";
  ExpectErrors({
      {"http: {workers: \"4\"}",
       refused("4", "is a text, not a whole number (write it without quotes)")},
      {"http: {workers: 'a'}", refused("a", "is a text, not a whole number")},
      {"http: {workers: 010}", refused("010", kOctal)},  // YAML 1.1 read 8
      {"http: {workers: 0o10}", refused("0o10", kOctal)},
      {"http: {workers: 0x10}", refused("0x10", kOctal)},
      {"http: {workers: 1_0}", refused("1_0", "is no whole number (write it without _)")},
      {"http: {workers: 1:30}",  // YAML 1.1 read 90
       refused("1:30", "is no whole number (base 60 is not read)")},
      {"http: {workers: 1e2}", refused("1e2", kNoNumber)},
      {"http: {workers: 1e-9}", refused("1e-9", kNoNumber)},
      {"http: {workers: .5}", refused(".5", kNoNumber)},
      {"http: {workers: 1.0}", refused("1.0", kNoNumber)},
      {"http: {workers: +4}", refused("+4", kNoNumber)},
      {"http: {workers: .inf}", refused(".inf", kNoNumber)},
      {"http: {workers: .nan}", refused(".nan", kNoNumber)},
      {"http: {workers: inf}", refused("inf", kNoNumber)},
      {"http: {workers: true}", refused("true", kNoNumber)},
      {"http: {workers: [4]}",
       {"f:3:17: http.workers: a list stands where a single value belongs; allowed: 0 to 256"}},
      {"http: {workers: {}}",
       {"f:3:17: http.workers: a map stands where a single value belongs; allowed: 0 to 256"}},
      {"http: {workers: }",
       {"f:3:8: http.workers: the value is missing; write one, or leave the key out"}},
      {"http: {workers: ~}",
       {"f:3:8: http.workers: the value is missing; write one, or leave the key out"}},
      // a text too long to show, and one that would play with the terminal
      {"http: {workers: " + std::string(61, '9') + "x}",
       {"f:3:17: http.workers: a text of 62 bytes is no whole number; allowed: 0 to 256"}},
      {"http: {workers: \"\\e[1m\"}",
       {"f:3:17: http.workers: a text of 4 bytes is a text, not a whole number; allowed: 0 to "
        "256"}},
  });
}

TEST(Chapter, RefusesWhatIsNoDuration) {
  const std::string form =
      "; allowed: numbers with the units d, h, m, s, ms, such as 250ms or 1h30m, from 1ms to 1m";
  ExpectErrors({
      {"http: {budget: 750}",
       {"f:3:16: http.budget: \"750\" is no duration (the unit is missing)" + form}},
      {"http: {budget: 10 min}", {"f:3:16: http.budget: \"10 min\" is no duration" + form}},
      {"http: {budget: 10M}", {"f:3:16: http.budget: \"10M\" is no duration" + form}},
      {"http: {budget: m10}", {"f:3:16: http.budget: \"m10\" is no duration" + form}},
      {"http: {budget: -1m}", {"f:3:16: http.budget: \"-1m\" is no duration" + form}},
      {"http: {budget: 1month}", {"f:3:16: http.budget: \"1month\" is no duration" + form}},
      {"http: {budget: [1s]}",
       {"f:3:16: http.budget: a list stands where a single value belongs; allowed: 1ms to 1m"}},
  });
}

TEST(Chapter, RefusesWhatIsNoText) {
  ExpectErrors({
      {"identity: {principal_header: 5}",
       {"f:3:30: identity.principal_header: \"5\" is a number, not a text (put it in quotes to "
        "make "
        "it one)"}},
      {"identity: {principal_header: true}",
       {"f:3:30: identity.principal_header: \"true\" is a boolean, not a text (put it in quotes to "
        "make it one)"}},
      {"identity: {principal_header: \"\"}",
       {"f:3:30: identity.principal_header: the text must not be empty"}},
      {"identity: {principal_header: \"a\\0b\"}",
       {"f:3:30: identity.principal_header: the text holds control characters"}},
      {"identity: {principal_header: \"X User\"}",
       {"f:3:30: identity.principal_header: \"X User\": it is no name of a header field; allowed: "
        "letters, digits and !#$%&'*+-.^_`|~"}},
      {"identity: {principal_header: [X]}",
       {"f:3:30: identity.principal_header: a list stands where a single value belongs; allowed: a "
        "text"}},
  });
}

TEST(Chapter, RefusesWhatIsNoListOrMap) {
  ExpectErrors({
      {"identity: {sources: principal}",
       {"f:3:21: identity.sources: \"principal\" stands where a list belongs; allowed: [a, b]"}},
      {"identity: {sources: []}", {"f:3:21: identity.sources: the list must not be empty"}},
      {"identity: {sources: [client-ip, client-ip]}",
       {"f:3:33: identity.sources[1]: \"client-ip\" is already in the list, at f:3:22"}},
      {"identity: {sources: [client-ip, , api-key]}",
       {"f:3:33: identity.sources[1]: the value is missing; write one, or leave the key out"}},
      {"identity: {sources: [user, client-ip, opaque]}",
       {"f:3:22: identity.sources[0]: \"user\" is not known; allowed: principal, api-key, "
        "client-ip",
        "f:3:39: identity.sources[2]: \"opaque\" is not known; allowed: principal, api-key, "
        "client-ip"}},
      {"identity: []",
       {"f:3:11: identity: a list stands where a map belongs; allowed: key: value"}},
      {"http: 127.0.0.1:80",
       {"f:3:7: http: \"127.0.0.1:80\" stands where a map belongs; allowed: key: value"}},
      // a chapter whose keys are all commented out
      {"http:", {"f:3:1: http: the value is missing; write one, or leave the key out"}},
  });
}

TEST(Chapter, RefusesKeysNobodyKnows) {
  const std::string root_keys =
      "; allowed: provider, failure_retry_after, policies, default_policy, operations, identity, "
      "pseudonym, memory, redis, http, admin, log";
  const std::string http_keys = "; allowed: listen, budget, workers";
  ExpectErrors({
      {"htpp: {}", {"f:3:1: htpp: the key is not known (did you mean \"http\"?)" + root_keys}},
      {"HTTP: {}", {"f:3:1: HTTP: the key is not known (did you mean \"http\"?)" + root_keys}},
      {"tracing: {}", {"f:3:1: tracing: the key is not known" + root_keys}},
      {"http: {lisen: x}",
       {"f:3:8: http.lisen: the key is not known (did you mean \"listen\"?)" + http_keys}},
      {"http: {\"\": 1}", {"f:3:8: http.: the key is not known" + http_keys}},
      {"http: {<<: {workers: 1}}",
       {"f:3:8: http.<<: merge keys are not supported; write the values out"}},
  });
}

TEST(Identity, RefusesNetworksAndWordsItDoesNotKnow) {
  ExpectErrors({
      {"identity: {trusted_proxies: [10.0.0.1/8]}",
       {"f:3:30: identity.trusted_proxies[0]: \"10.0.0.1/8\" has bits set beyond its prefix, "
        "perhaps "
        "10.0.0.0/8 was meant"}},
      {"identity: {trusted_proxies: [localhost]}",
       {"f:3:30: identity.trusted_proxies[0]: \"localhost\" is neither an IP address nor a network "
        "such as 10.0.0.0/8 or fd00::/8"}},
      {"identity: {forwarded: xff}",
       {"f:3:23: identity.forwarded: \"xff\" is not known; allowed: x-forwarded-for, forwarded, "
        "none"}},
      {"identity: {anonymous: allow}",
       {"f:3:23: identity.anonymous: \"allow\" is not known; allowed: shared, deny"}},
  });
}

TEST(Pseudonym, RefusesWhatNamesNoUsableKey) {
  ExpectErrors({
      {"pseudonym: {}",
       {"f:3:1: pseudonym.keys: the key is missing",
        "f:3:1: pseudonym.active_version: the key is missing"}},
      {"pseudonym: {active_version: 1, keys: {}}",
       {"f:3:38: pseudonym.keys: there must be at least one key"}},
      {"pseudonym: {active_version: 2, keys: {1: {file: a}}}",
       {"f:3:29: pseudonym.active_version: there is no key of this version in pseudonym.keys"}},
      {"pseudonym: {active_version: \"1\", keys: {1: {file: a}}}",
       {"f:3:29: pseudonym.active_version: \"1\" is a text, not a whole number (write it without "
        "quotes); allowed: 1 to 2147483647"}},
      {"pseudonym: {active_version: 1, keys: {1: {}}}",
       {"f:3:39: pseudonym.keys.1.file: the key is missing"}},
      {"pseudonym: {active_version: 1, keys: {1: a.key}}",
       {"f:3:42: pseudonym.keys.1: \"a.key\" stands where a map belongs; allowed: key: value"}},
      {"pseudonym: {active_version: 1, keys: {1: {file: a}, 1: {file: b}}}",
       {"f:3:53: pseudonym.keys.1: the key is already set at f:3:39"}},
      {"pseudonym: {active_version: 1, keys: {0: {file: a}, v1: {file: b}, 01: {file: c}}}",
       {"f:3:39: pseudonym.keys.0: \"0\" is out of bounds; allowed: 1 to 2147483647",
        "f:3:53: pseudonym.keys.v1: \"v1\" is no whole number; allowed: 1 to 2147483647",
        "f:3:68: pseudonym.keys.01: \"01\" is no whole number (octal, hexadecimal and leading "
        "zeros "
        "are not read); allowed: 1 to 2147483647"}},
  });
}

TEST(Provider, IsOneOfTwo) {
  ExpectErrors({
      {"provider: etcd", {"f:3:11: provider: \"etcd\" is not known; allowed: memory, redis"}},
      {"provider: Redis", {"f:3:11: provider: \"Redis\" is not known; allowed: memory, redis"}},
      {"provider: memory\nredis: {address: \"unix:/run/redis.sock\"}", {}},
  });
}

TEST(Listen, IsRefusedWithItsReason) {
  ExpectErrors({
      {"http: {listen: localhost}",
       {"f:3:16: http.listen: \"localhost\": the port is missing; allowed: host:port, [v6]:port or "
        "unix:/path"}},
      {"admin: {listen: 127.0.0.1:8080}",
       {"f:3:17: admin.listen: this is already the address of http.listen"}},
      {"http: {listen: 127.0.0.1:0}\nadmin: {listen: 127.0.0.1:0}", {}},
      {"http: {listen: unix:/a}\nadmin: {listen: unix:/a}",
       {"f:4:17: admin.listen: this is already the address of http.listen"}},
      // the default of the other listener counts too
      {"http: {listen: 127.0.0.1:9090}",
       {"f:3:16: http.listen: this is already the address of admin.listen"}},
  });
}

}  // namespace
}  // namespace sluice::config
