#include "sluice/policy.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

PolicySettings Valid() {
  return {.id = "login", .algorithm = FixedWindow{5, 1min}};
}

// Field of the first error, or "" if the settings are valid.
std::string FirstBadField(PolicySettings settings) {
  const auto policy = Policy::Create(std::move(settings));
  return policy ? "" : policy.error().front().field;
}

TEST(Policy, IsMadeOfValidSettingsWithDefaults) {
  const Policy policy = Policy::Create(Valid()).value();
  EXPECT_EQ(policy.id(), "login");
  EXPECT_EQ(policy.limit(), 5);
  EXPECT_EQ(policy.maximum_cost(), 5);
  EXPECT_EQ(policy.maximum_clock_regression(), 500ms);
  EXPECT_EQ(policy.cleanup_grace(), 1s);
  EXPECT_TRUE(policy.dedup().enabled);
  EXPECT_EQ(policy.dedup().ttl, 5s);
  EXPECT_EQ(policy.counter_name(), "login@1");
}

TEST(Policy, RefusesEachFieldOutOfItsBounds) {
  struct Row {
    const char* field;
    void (*change)(PolicySettings&);
  };
  const Row rows[] = {
      {"id", [](PolicySettings& s) { s.id = ""; }},
      {"id", [](PolicySettings& s) { s.id = "1st"; }},  // must begin with a letter
      {"id", [](PolicySettings& s) { s.id = "a b"; }},  // would break the header's list
      {"id", [](PolicySettings& s) { s.id = std::string(65, 'a'); }},
      {"revision", [](PolicySettings& s) { s.revision = 0; }},
      {"limit", [](PolicySettings& s) { s.algorithm = FixedWindow{-1, 1min}; }},
      // 2^53: a Lua script saw 201605131024011008 for ...011
      {"limit", [](PolicySettings& s) { s.algorithm = FixedWindow{kMaximumAmount + 1, 1ms}; }},
      {"window", [](PolicySettings& s) { s.algorithm = FixedWindow{1, 0ms}; }},  // divided by zero
      {"window", [](PolicySettings& s) { s.algorithm = SlidingCounter{1, 0ms}; }},
      {"window", [](PolicySettings& s) { s.algorithm = FixedWindow{1, std::chrono::days{367}}; }},
      // limit * window past 2^53
      {"limit",
       [](PolicySettings& s) { s.algorithm = SlidingCounter{kMaximumAmount / 1000 + 1, 1s}; }},
      {"refill",
       [](PolicySettings& s) { s.algorithm = TokenBucket{1, 0, 1s}; }},  // divided by zero
      {"period", [](PolicySettings& s) { s.algorithm = TokenBucket{1, 1, 0s}; }},
      {"capacity", [](PolicySettings& s) { s.algorithm = TokenBucket{-1, 1, 1s}; }},
      // 11 * 366 d to refill
      {"refill",
       [](PolicySettings& s) { s.algorithm = TokenBucket{11, 1, std::chrono::days{366}}; }},
      {"maximum_cost", [](PolicySettings& s) { s.maximum_cost = 0; }},
      {"maximum_cost", [](PolicySettings& s) { s.maximum_cost = 6; }},
      {"maximum_clock_regression",
       [](PolicySettings& s) { s.maximum_clock_regression = 1h + 1ms; }},
      {"maximum_clock_regression", [](PolicySettings& s) { s.maximum_clock_regression = -1ms; }},
      {"cleanup_grace", [](PolicySettings& s) { s.cleanup_grace = 1h + 1ms; }},
      {"dedup.ttl", [](PolicySettings& s) { s.dedup.ttl = 0ms; }},
      {"dedup.ttl", [](PolicySettings& s) { s.dedup.ttl = 1h + 1ms; }},
      {"dedup.max_entries", [](PolicySettings& s) { s.dedup.max_entries = 0; }},
      {"dedup.max_entries", [](PolicySettings& s) { s.dedup.max_entries = 4097; }},
      {"dedup.max_bytes", [](PolicySettings& s) { s.dedup.max_bytes = 1023; }},
      {"dedup.max_bytes", [](PolicySettings& s) { s.dedup.max_bytes = 1024 * 1024 + 1; }},
  };
  for (const Row& row : rows) {
    PolicySettings settings = Valid();
    row.change(settings);
    EXPECT_EQ(FirstBadField(std::move(settings)), row.field);
  }
}

TEST(Policy, AcceptsTheBoundsThemselves) {
  const Algorithm algorithms[] = {
      FixedWindow{0, 1ms},
      FixedWindow{kMaximumAmount, std::chrono::days{366}},
      SlidingCounter{kMaximumAmount / 1000, 1s},
      TokenBucket{0, 1, 1ms},
      TokenBucket{kMaximumAmount, kMaximumAmount, std::chrono::days{366}},
      TokenBucket{10, 1, std::chrono::days{366}},
  };
  for (const Algorithm& algorithm : algorithms) {
    EXPECT_EQ(FirstBadField({.id = "a", .algorithm = algorithm}), "");
  }
}

TEST(Policy, ReportsEverythingThatIsWrongAtOnce) {
  const auto policy = Policy::Create(
      {.id = "", .revision = 0, .algorithm = TokenBucket{-1, 0, 0s}, .maximum_cost = 0});
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().size(), 6u);
}

TEST(Policy, ALimitOfZeroStillHasAMaximumCostOfOne) {
  EXPECT_EQ(Policy::Create({.id = "a", .algorithm = FixedWindow{0, 1s}}).value().maximum_cost(), 1);
}

TEST(Policy, ARevisionOrAnotherAlgorithmNamesOtherCounters) {
  PolicySettings revised = Valid();
  revised.revision = 2;
  PolicySettings other = Valid();
  other.algorithm = SlidingCounter{5, 1min};
  PolicySettings larger = Valid();
  larger.algorithm = FixedWindow{50, 1min};
  const auto hash = [](PolicySettings settings) {
    return Policy::Create(std::move(settings)).value().counter_hash();
  };
  EXPECT_NE(hash(Valid()), hash(revised));
  EXPECT_NE(hash(Valid()), hash(other));
  EXPECT_EQ(hash(Valid()), hash(larger));  // a changed limit keeps what was consumed
}

TEST(Plan, NeedsPoliciesAndNoneTwice) {
  const Policy login = Policy::Create(Valid()).value();
  EXPECT_FALSE(Plan::Create({}));
  EXPECT_FALSE(Plan::Create({login, login}));
  EXPECT_TRUE(Plan::Create({login}));
  std::vector<Policy> many;
  for (std::size_t i = 0; i <= Plan::kMaximumPolicies; ++i) {
    PolicySettings settings = Valid();
    settings.id += std::to_string(i);
    many.push_back(Policy::Create(settings).value());
  }
  EXPECT_FALSE(Plan::Create(many));
}

TEST(Plan, HashTellsTheOrderApart) {
  PolicySettings other = Valid();
  other.id = "daily";
  const Policy a = Policy::Create(Valid()).value();
  const Policy b = Policy::Create(other).value();
  EXPECT_NE(Plan::Create({a, b}).value().hash(), Plan::Create({b, a}).value().hash());
  EXPECT_NE(Plan::Create({a}).value().hash(), Plan::Create({a, b}).value().hash());
}

}  // namespace
}  // namespace sluice
