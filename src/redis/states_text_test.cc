// From the scripts' texts to decisions, and what is refused as no such text.
#include "src/redis/states_text.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "testing/harness.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::PlanOf;

Plan Three(std::int64_t limit) {
  return PlanOf({{.id = "w", .algorithm = FixedWindow{limit, 60s}},
                 {.id = "s", .algorithm = SlidingCounter{limit, 10s}},
                 {.id = "b", .algorithm = TokenBucket{limit, 2, 1s}}});
}

TEST(StatesText, TellsWhatPoliciesDecideBy) {
  EXPECT_EQ(PoliciesText(Three(5)), "5:60000,5:10000,5:1000:2:1000");
}

TEST(StatesText, PoliciesComeBackFromTheirText) {
  const auto then = PlanOfText(Three(9), PoliciesText(Three(5)));
  ASSERT_TRUE(then);
  EXPECT_EQ(PoliciesText(*then), PoliciesText(Three(5)));
  EXPECT_EQ(then->policies()[1].id(), "s");
}

TEST(StatesText, DecidesWithTheStatesThatWereFound) {
  const auto evaluated =
      DecisionOf(Three(5), 1, "1767225601000", "1767225600000:3,1767225600000:2:1,1767225600000:3");
  ASSERT_TRUE(evaluated);
  EXPECT_TRUE(evaluated->allowed);
  EXPECT_EQ(evaluated->limits[0].remaining, 1);
  EXPECT_EQ(evaluated->limits[0].reset_after, 59s);
  EXPECT_EQ(evaluated->limits[1].remaining, 2);
  EXPECT_EQ(evaluated->limits[2].remaining, 4);  // a period has gone by
  EXPECT_EQ(evaluated->certainty, Certainty::kApproximateAlgorithm);
}

TEST(StatesText, AbsentStatesAreFresh) {
  const auto evaluated = DecisionOf(Three(5), 1, "1767225601000", "-:-,-:-:-,-:-");
  ASSERT_TRUE(evaluated);
  for (const LimitAnswer& limit : evaluated->limits) EXPECT_EQ(limit.remaining, 4);
}

TEST(StatesText, ABucketThatIsFullAndPastItsGraceIsFresh) {
  // Full again at …605000; its phase is forgotten a second later.
  const Plan plan = PlanOf({{.id = "b", .algorithm = TokenBucket{5, 1, 1s}}});
  const auto before = DecisionOf(plan, 1, "1767225605900", "1767225600000:0");
  const auto at = DecisionOf(plan, 1, "1767225606000", "1767225600000:0");
  ASSERT_TRUE(before && at);
  EXPECT_EQ(before->limits[0].reset_after, 100ms);
  EXPECT_EQ(at->limits[0].reset_after, 1s);
}

TEST(StatesText, RefusesWhatNoScriptWrites) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{5, 60s}}});
  const auto decides = [&](std::string_view now, std::string_view states) {
    return DecisionOf(plan, 1, now, states).has_value();
  };
  EXPECT_TRUE(decides("1767225600000", "1767225600000:3"));
  EXPECT_FALSE(decides("", "1767225600000:3"));                   // no time
  EXPECT_FALSE(decides("1.7672256e+12", "1767225600000:3"));      // scientific notation
  EXPECT_FALSE(decides("-1", "-"));                               // before the epoch
  EXPECT_FALSE(decides("1767225600000", ""));                     // no state
  EXPECT_FALSE(decides("1767225600000", "1767225600000"));        // a field too few
  EXPECT_FALSE(decides("1767225600000", "1767225600000:3:1"));    // a field too many
  EXPECT_FALSE(decides("1767225600000", "1767225600000:x"));      // no number
  EXPECT_FALSE(decides("1767225600000", "1767225600000:-3"));     // a negative amount
  EXPECT_FALSE(decides("1767225600000", "1767225600000:3,-:-"));  // a state too many
  EXPECT_FALSE(decides("1767225600000", "1767225660000:3"));      // a window yet to come
  EXPECT_FALSE(PlanOfText(plan, "5"));                            // policies: a number too few
  EXPECT_FALSE(PlanOfText(plan, "5:60000:1"));                    // a number too many
  EXPECT_FALSE(PlanOfText(plan, "5:0"));                          // out of bounds
  EXPECT_FALSE(PlanOfText(plan, "5:60000,5:60000"));              // a policy too many
}

}  // namespace
}  // namespace sluice::redis
