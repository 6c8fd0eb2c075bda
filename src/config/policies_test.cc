// The chapter `policies`: which keys an algorithm takes, and what is wrong with a policy.
#include <gtest/gtest.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

// `policy` on the second line, from column 6 on.
std::string With(std::string_view policy) {
  return "policies:\n  p: " + std::string(policy) + "\ndefault_policy: p\n";
}

struct Row {
  std::string_view policy;
  Lines errors;
};

void ExpectErrors(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(ErrorsOf(With(row.policy)), row.errors) << row.policy;
}

Policy Accepted(std::string_view policy) {
  const auto settings = Load(With(policy), "f", {});
  if (!settings) throw std::runtime_error(settings.error().front().ToString());
  return settings->edge.policies.at(0);
}

TEST(Policy, TakesEveryKey) {
  const Policy policy = Accepted(
      "{algorithm: sliding-counter, limit: 7, window: 1h30m, revision: 3, scope: client, "
      "maximum_cost: 2, maximum_clock_regression: 0s, cleanup_grace: 1h, failure_policy: "
      "fail-closed, dedup: {enabled: False, ttl: 1m, max_entries: 16, max_bytes: 2KiB}}");
  EXPECT_EQ(policy.algorithm(), Algorithm(SlidingCounter{7, std::chrono::minutes{90}}));
  EXPECT_EQ(policy.revision(), 3);
  EXPECT_EQ(policy.scope(), Scope::kClient);
  EXPECT_EQ(policy.maximum_cost(), 2);
  EXPECT_EQ(policy.maximum_clock_regression(), Milliseconds{0});
  EXPECT_EQ(policy.cleanup_grace(), std::chrono::hours{1});
  EXPECT_EQ(policy.dedup(), (Dedup{false, std::chrono::minutes{1}, 16, 2048}));
}

TEST(Policy, TakesValuesAtItsBounds) {
  for (const std::string_view policy : {
           // 0 denies always; it does not mean "unlimited"
           "{algorithm: fixed-window, limit: 0, window: 1ms}",
           "{algorithm: fixed-window, limit: 9007199254740991, window: 366d}",
           // old wrong behaviour elsewhere: a product that leaves 2^53
           "{algorithm: sliding-counter, limit: 104249991, window: 1d}",
           "{algorithm: token-bucket, capacity: 0, refill: 1, period: 366d}",
           "{algorithm: token-bucket, capacity: 9007199254740991, refill: 9007199254740991, "
           "period: "
           "1s}",
           "{algorithm: token-bucket, capacity: 3660, refill: 1, period: 1d}",
           "{algorithm: fixed-window, limit: 5, window: 1m, revision: 2147483647, maximum_cost: 5}",
           "{algorithm: fixed-window, limit: 0, window: 1m, maximum_cost: 1}",
           "{algorithm: fixed-window, limit: 5, window: 1m, dedup: {ttl: 1h, max_entries: 4096, "
           "max_bytes: 1MiB}}",
           "{algorithm: fixed-window, limit: 5, window: 1m, dedup: {ttl: 1ms, max_entries: 1, "
           "max_bytes: 1KiB}}",
       }) {
    EXPECT_EQ(ErrorsOf(With(policy)), Lines{}) << policy;
  }
}

TEST(Policy, RefusesValuesBeyondItsBounds) {
  ExpectErrors({
      // a number that a double cannot hold
      {"{algorithm: fixed-window, limit: 9007199254740992, window: 1m}",
       {"f:2:39: policies.p.limit: 9007199254740992 is out of bounds; allowed: 0 to "
        "9007199254740991"}},
      {"{algorithm: fixed-window, limit: 99999999999999999999, window: 1m}",
       {"f:2:39: policies.p.limit: 9223372036854775807 is out of bounds; allowed: 0 to "
        "9007199254740991"}},
      {"{algorithm: fixed-window, limit: -1, window: 1m}",
       {"f:2:39: policies.p.limit: -1 is out of bounds; allowed: 0 to 9007199254740991"}},
      // a window or period of nothing would divide by zero
      {"{algorithm: fixed-window, limit: 5, window: 0s}",
       {"f:2:50: policies.p.window: 0 ms is out of bounds; allowed: 1ms to 366d"}},
      {"{algorithm: token-bucket, capacity: 5, refill: 0, period: 0s}",
       {"f:2:53: policies.p.refill: 0 is out of bounds; allowed: 1 to 9007199254740991",
        "f:2:64: policies.p.period: 0 ms is out of bounds; allowed: 1ms to 366d"}},
      {"{algorithm: fixed-window, limit: 5, window: 367d}",
       {"f:2:50: policies.p.window: 31708800000 ms is out of bounds; allowed: 1ms to 366d"}},
      {"{algorithm: fixed-window, limit: 5, window: 99999999999999d}",
       {"f:2:50: policies.p.window: 9223372036854775807 ms is out of bounds; allowed: 1ms to "
        "366d"}},
      // products
      {"{algorithm: sliding-counter, limit: 104249992, window: 1d}",
       {"f:2:42: policies.p.limit: 104249992 is too large for this window of a sliding-counter "
        "(limit times window in ms must stay below 2^53); allowed: 0 to 104249991"}},
      {"{algorithm: token-bucket, capacity: 3661, refill: 1, period: 1d}",
       {"f:2:56: policies.p.refill: the bucket would take more than 3660d to refill (capacity / "
        "refill * period); raise refill, or lower capacity or period"}},
      // everything that is wrong with one policy
      {"{algorithm: fixed-window, limit: 5, window: 1m, revision: 0, maximum_cost: 6, "
       "maximum_clock_regression: 2h, cleanup_grace: 2h, dedup: {ttl: 2h, max_entries: 0, "
       "max_bytes: "
       "1B}}",
       {"f:2:64: policies.p.revision: 0 is out of bounds; allowed: 1 to 2147483647",
        "f:2:81: policies.p.maximum_cost: 6 is out of bounds; allowed: 1 to 5",
        "f:2:110: policies.p.maximum_clock_regression: 7200000 ms is out of bounds; allowed: 0s to "
        "1h",
        "f:2:129: policies.p.cleanup_grace: 7200000 ms is out of bounds; allowed: 0s to 1h",
        "f:2:146: policies.p.dedup.ttl: 7200000 ms is out of bounds; allowed: 1ms to 1h",
        "f:2:163: policies.p.dedup.max_entries: 0 is out of bounds; allowed: 1 to 4096",
        "f:2:177: policies.p.dedup.max_bytes: 1 is out of bounds; allowed: 1024 to 1048576"}},
  });
}

TEST(Policy, RefusesToLackAKeyOfItsAlgorithm) {
  ExpectErrors({
      // old wrong behaviour elsewhere: no limiter, and no message
      {"{algorithm: fixed-window, limit: 5}", {"f:2:3: policies.p.window: the key is missing"}},
      {"{algorithm: sliding-counter, window: 1m}", {"f:2:3: policies.p.limit: the key is missing"}},
      {"{algorithm: token-bucket}",
       {"f:2:3: policies.p.capacity: the key is missing",
        "f:2:3: policies.p.refill: the key is missing",
        "f:2:3: policies.p.period: the key is missing"}},
      {"{limit: 5, window: 1m}", {"f:2:3: policies.p.algorithm: the key is missing"}},
      {"{}", {"f:2:3: policies.p.algorithm: the key is missing"}},
      {"~", {"f:2:3: policies.p: the value is missing; write one, or leave the key out"}},
  });
}

TEST(Policy, RefusesKeysOfOtherAlgorithms) {
  constexpr std::string_view kBucket =
      "the key belongs to a token-bucket; a fixed-window takes limit and window";
  constexpr std::string_view kWindow =
      "the key belongs to a fixed-window or a sliding-counter; a token-bucket takes capacity, "
      "refill "
      "and period";
  ExpectErrors({
      {"{algorithm: fixed-window, limit: 5, window: 1m, period: 1s, refill: 1}",
       {"f:2:54: policies.p.period: " + std::string(kBucket),
        "f:2:66: policies.p.refill: " + std::string(kBucket)}},
      {"{algorithm: token-bucket, capacity: 5, refill: 1, period: 1s, limit: 5}",
       {"f:2:68: policies.p.limit: " + std::string(kWindow)}},
      {"{algorithm: leaky-bucket, limit: 5, capacity: 3}",
       {"f:2:18: policies.p.algorithm: \"leaky-bucket\" is not known; allowed: fixed-window, "
        "sliding-counter, token-bucket"}},
  });
}

TEST(Policy, JudgesTheRestWhenAValueCannotBeRead) {
  ExpectErrors({
      {"{algorithm: fixed-window, limit: many, window: 0s, maximum_cost: 7}",
       {"f:2:39: policies.p.limit: \"many\" is no whole number; allowed: decimal digits",
        "f:2:53: policies.p.window: 0 ms is out of bounds; allowed: 1ms to 366d"}},
      {"{algorithm: fixed-window, limit: many, window: 1m, maximum_cost: 0}",
       {"f:2:39: policies.p.limit: \"many\" is no whole number; allowed: decimal digits",
        "f:2:71: policies.p.maximum_cost: 0 is out of bounds; allowed: 1 to 1"}},
      // nothing is made up about what depends on the missing number
      {"{algorithm: sliding-counter, limit: 9007199254740991}",
       {"f:2:3: policies.p.window: the key is missing"}},
      {"{algorithm: token-bucket, capacity: 9007199254740, period: 366d}",
       {"f:2:3: policies.p.refill: the key is missing"}},
  });
}

TEST(Policy, RefusesWhatIsNoneOfItsWords) {
  ExpectErrors({
      {"{algorithm: fixed-window, limit: 5, window: 1m, scope: global}",
       {"f:2:61: policies.p.scope: \"global\" is not known; allowed: operation, client"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, failure_policy: fail-open}",
       {"f:2:70: policies.p.failure_policy: \"fail-open\": a request that could not be counted "
        "must "
        "not pass as if it had been; allowed: fail-closed"}},
      // no boolean in YAML 1.2
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: {enabled: yes}}",
       {"f:2:71: policies.p.dedup.enabled: \"yes\" is no boolean; allowed: true, false"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: {enabled: off}}",
       {"f:2:71: policies.p.dedup.enabled: \"off\" is no boolean; allowed: true, false"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: {enabled: \"true\"}}",
       {"f:2:71: policies.p.dedup.enabled: \"true\" is no boolean (write it without quotes); "
        "allowed: "
        "true, false"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: false}",
       {"f:2:61: policies.p.dedup: \"false\" stands where a map belongs; allowed: key: value"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: {max_bytes: 64KB}}",
       {"f:2:73: policies.p.dedup.max_bytes: \"64KB\" is no size (units count by 1024 and are "
        "written "
        "with an i); allowed: a number with B, KiB, MiB or GiB, such as 64KiB"}},
      {"{algorithm: fixed-window, limit: 5, window: 1m, dedup: {max_bytes: 65536}}",
       {"f:2:73: policies.p.dedup.max_bytes: \"65536\" is no size (the unit is missing); allowed: "
        "a "
        "number with B, KiB, MiB or GiB, such as 64KiB"}},
      // "month" and "year" have no fixed length
      {"{algorithm: fixed-window, limit: 5, window: 1month}",
       {"f:2:50: policies.p.window: \"1month\" is no duration; allowed: numbers with the units d, "
        "h, "
        "m, s, ms, such as 250ms or 1h30m"}},
      // "unlimited" is no number
      {"{algorithm: fixed-window, limit: unlimited, window: 1m}",
       {"f:2:39: policies.p.limit: \"unlimited\" is no whole number; allowed: decimal digits"}},
  });
}

TEST(Policies, RefuseIdsThatAreNone) {
  const auto text = [](std::string_view id) {
    return "policies:\n  " + std::string(id) +
           ": {algorithm: fixed-window, limit: 5, window: 1m}\n" +
           "  ok: {algorithm: fixed-window, limit: 5, window: 1m}\ndefault_policy: ok\n";
  };
  constexpr std::string_view kWhy =
      "not an id; allowed: a letter, then up to 63 of A-Z a-z 0-9 . _ -";
  for (const std::string& id : {std::string("1a"), std::string("a b"), std::string("\"*\""),
                                std::string("_a"), std::string("ä"), std::string(65, 'a')}) {
    const std::string shown = id == "\"*\"" ? "*" : id;
    EXPECT_EQ(ErrorsOf(text(id)), Lines{"f:2:3: policies." + shown + ": " + std::string(kWhy)});
  }
  for (const std::string& id : {std::string("a"), std::string("A.b_c-9"), std::string(64, 'a')}) {
    EXPECT_EQ(ErrorsOf(text(id)), Lines{}) << id;
  }
}

TEST(Policies, RefuseAnIdTwice) {
  // Old wrong behaviour elsewhere: both were applied, or the later one won silently.
  EXPECT_EQ(ErrorsOf("policies:\n"
                     "  p: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "  q: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "  p: {algorithm: fixed-window, limit: 9, window: 1m}\n"
                     "default_policy: p\n"),
            Lines{"f:4:3: policies.p: the key is already set at f:2:3"});
}

TEST(Policies, AreNamedInManyLines) {
  // Ids that YAML would read as something else, and what their case says.
  EXPECT_EQ(ErrorsOf("policies:\n"
                     "  on: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "  On: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "  \"null\": {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "default_policy: \"null\"\n"),
            Lines{});
}

}  // namespace
}  // namespace sluice::config
