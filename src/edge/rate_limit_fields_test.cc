#include "src/edge/rate_limit_fields.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/edge/edge_fixture.h"
#include "src/edge/structured_list.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

Plan PlanOf(std::vector<Policy> policies) {
  return *Plan::Create(std::move(policies));
}

LimitAnswer Allowing(std::string_view policy, std::int64_t remaining, Milliseconds reset) {
  return {.policy = policy,
          .allowed = true,
          .limit = 100,
          .remaining = remaining,
          .reset_after = reset,
          .retry_after = Milliseconds{0}};
}
LimitAnswer Refusing(std::string_view policy, Milliseconds reset,
                     std::optional<Milliseconds> retry) {
  return {.policy = policy,
          .allowed = false,
          .limit = 100,
          .remaining = 0,
          .reset_after = reset,
          .retry_after = retry};
}

TEST(RateLimitPolicy, HasQuotaAndWindow) {
  const struct {
    Algorithm algorithm;
    std::string_view parameters;
  } rows[] = {
      {FixedWindow{5, 1min}, ";q=5;w=60"},
      {SlidingCounter{10'000, 24h}, ";q=10000;w=86400"},
      {FixedWindow{0, 1s}, ";q=0;w=1"},           // always denied
      {FixedWindow{5, 250ms}, ";q=5"},            // never w=0, and no other window than there is
      {FixedWindow{5, 1500ms}, ";q=5"},           //
      {TokenBucket{100, 10, 1s}, ";q=100;w=10"},  // what refills it
      {TokenBucket{5, 2, 1s}, ";q=5;w=3"},        // by whole periods
      {TokenBucket{3, 1, 500ms}, ";q=3"},         // 1.5 s
      {TokenBucket{4, 1, 500ms}, ";q=4;w=2"},     //
      {TokenBucket{0, 1, 1s}, ";q=0"},            // nothing to refill; w is above 0
      {TokenBucket{1, kMaximumAmount, 1s}, ";q=1;w=1"},
      // RFC 9651 has no Integer of more than 15 digits.
      {FixedWindow{kMaximumAmount, 1s}, ";q=999999999999999;w=1"},
      {FixedWindow{3'000'000'000, 31 * 24h}, ";q=3000000000;w=2678400"},
  };
  for (const auto& row : rows) {
    const PolicyItems items = PolicyItemsOf(PlanOf({MakePolicy("p", row.algorithm)}));
    ASSERT_EQ(items.size(), 1U);
    EXPECT_EQ(items.front(), "\"p\"" + std::string{row.parameters});
  }
}

TEST(RateLimitPolicy, ListsTheLeadingPolicyFirstThenThePlan) {
  const PolicyItems items = PolicyItemsOf(PlanOf(TestPolicies()));
  const std::string login = R"("login";q=5;w=60)";
  const std::string api = R"("api";q=100;w=10)";
  const std::string daily = R"("daily";q=10000;w=86400)";
  EXPECT_EQ(PolicyField(items, 0), login + ", " + api + ", " + daily);
  EXPECT_EQ(PolicyField(items, 1), api + ", " + login + ", " + daily);
  EXPECT_EQ(PolicyField(items, 2), daily + ", " + login + ", " + api);
}

TEST(RateLimit, TellsResetOfLimitsThatAllow) {
  const Evaluated evaluated{
      .allowed = true,
      .leading = 1,
      .limits = {Allowing("login", 4, 41'234ms), Allowing("daily", 9'876, 4'000s)}};
  EXPECT_EQ(StateField(evaluated), R"("daily";r=9876;t=4000, "login";r=4;t=42)");
}

TEST(RateLimit, TellsTheWaitOfLimitsThatRefused) {
  const Evaluated evaluated{
      .allowed = false,
      .leading = 1,
      .limits = {Refusing("api", 9'500ms, 100ms), Refusing("login", 60s, 1'001ms),
                 Allowing("daily", 7, 86'399'001ms)}};
  EXPECT_EQ(StateField(evaluated), R"("login";r=0;t=2, "api";r=0;t=1, "daily";r=7;t=86400)");
}

// A reset there would tell the client to come back, and it would be refused again.
TEST(RateLimit, HasNoTimeForALimitThatNeverPasses) {
  const Evaluated evaluated{
      .allowed = false, .leading = 0, .limits = {Refusing("login", 41s, std::nullopt)}};
  EXPECT_EQ(StateField(evaluated), R"("login";r=0)");
  EXPECT_EQ(RetryAfterSeconds(evaluated), std::nullopt);
}

// Old wrong behaviour elsewhere: a wait of 105.7 ms gave "Retry-After: 0" or a fraction, and
// clients that obeyed were refused a second time.
TEST(RetryAfter, IsRoundedUpAndAtLeastOneSecond) {
  const std::pair<Milliseconds, std::int64_t> rows[] = {{1ms, 1},       {105ms, 1},   {999ms, 1},
                                                        {1'000ms, 1},   {1'001ms, 2}, {1'900ms, 2},
                                                        {60'000ms, 60}, {0ms, 1}};
  for (const auto& [wait, seconds] : rows) {
    const Evaluated denied{.allowed = false, .limits = {Refusing("login", 60s, wait)}};
    EXPECT_EQ(RetryAfterSeconds(denied), seconds) << wait.count() << " ms";
  }
}

rc::Gen<Milliseconds> Durations() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(0, 3'660LL * 86'400'000),
                      [](std::int64_t ms) { return Milliseconds{ms}; });
}

// Both fields, read by a strict parser: the same names in the same order, nothing a parser would
// drop, and Retry-After no earlier than the `t` of any limit that refused.
RC_GTEST_PROP(RateLimitFieldsProperty, AreStrictListsOfTheSameNames, ()) {
  const auto amounts = rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100),
                                      rc::gen::inRange<std::int64_t>(0, kMaximumAmount));
  std::vector<Policy> policies;
  const auto size = *rc::gen::inRange<std::size_t>(1, Plan::kMaximumPolicies + 1);
  for (std::size_t i = 0; i < size; ++i) {
    const auto limit = *amounts;
    const Milliseconds window{*rc::gen::inRange<std::int64_t>(1, 100'000)};
    const std::string id = "P" + std::to_string(i) + "._-";
    policies.push_back(
        *rc::gen::arbitrary<bool>()
            ? MakePolicy(id, FixedWindow{.limit = limit, .window = window})
            : MakePolicy(id, TokenBucket{.capacity = limit,
                                         .refill = std::max<std::int64_t>(1, limit / 3),
                                         .period = window}));
  }
  const Plan plan = PlanOf(policies);

  Evaluated evaluated{.allowed = *rc::gen::arbitrary<bool>(), .limits = {}};
  for (const Policy& policy : plan.policies()) {
    const bool allowed = evaluated.allowed || *rc::gen::arbitrary<bool>();
    evaluated.limits.push_back(
        {.policy = policy.id(),
         .allowed = allowed,
         .limit = policy.limit(),
         .remaining = *amounts,
         .reset_after = *Durations(),
         .retry_after = allowed ? Milliseconds{0} : *Durations() + Milliseconds{1}});
  }
  evaluated.leading = *rc::gen::inRange<std::size_t>(0, size);
  if (!evaluated.allowed) {  // the longest wait leads
    for (std::size_t i = 0; i < size; ++i) {
      if (evaluated.limits[i].retry_after > evaluated.LeadingLimit().retry_after) {
        evaluated.leading = i;
      }
    }
  }

  const auto policy_list = ListReader::Read(PolicyField(PolicyItemsOf(plan), evaluated.leading));
  const auto state_list = ListReader::Read(StateField(evaluated));
  RC_ASSERT(policy_list.has_value());
  RC_ASSERT(state_list.has_value());
  RC_ASSERT(policy_list->size() == size);
  RC_ASSERT(state_list->size() == size);
  RC_ASSERT(policy_list->front().name == evaluated.LeadingLimit().policy);
  const auto retry_after = evaluated.allowed ? std::nullopt : RetryAfterSeconds(evaluated);
  std::set<std::string> names;
  for (std::size_t i = 0; i < size; ++i) {
    const ListItem& policy = (*policy_list)[i];
    const ListItem& state = (*state_list)[i];
    RC_ASSERT(policy.name == state.name);
    RC_ASSERT(names.insert(policy.name).second);
    RC_ASSERT(policy.Get("q").value_or(-1) >= 0);
    RC_ASSERT(policy.Get("w").value_or(1) > 0);
    RC_ASSERT(state.Get("r").value_or(-1) >= 0);
    RC_ASSERT(state.Get("t").value_or(-1) >= 0);
    for (const LimitAnswer& limit : evaluated.limits) {
      if (limit.policy != state.name || limit.allowed) continue;
      RC_ASSERT(retry_after.value_or(-1) >= state.Get("t").value_or(0));
      RC_ASSERT(std::chrono::seconds{*state.Get("t")} >= *limit.retry_after);
    }
  }
}

TEST(ListReader, IsStrict) {
  EXPECT_TRUE(ListReader::Read(R"("a";q=1, "b";q=0;w=60)").has_value());
  const std::string_view broken[] = {"",
                                     R"("a",)",
                                     R"("a)",
                                     R"(a;q=1)",
                                     R"("a";Q=1)",
                                     R"("a";q)",
                                     R"("a";q=1.5)",
                                     R"("a";q=)",
                                     R"("a" "b")",
                                     R"("a";q=1;q=2)",
                                     R"("a";q=1000000000000000)"};
  for (const std::string_view text : broken) {
    EXPECT_FALSE(ListReader::Read(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sluice::edge
