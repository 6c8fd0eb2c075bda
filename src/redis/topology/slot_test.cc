#include "src/redis/topology/slot.h"

#include <string>

#include <gtest/gtest.h>

#include "src/redis/keys.h"
#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice::redis {
namespace {

TEST(SlotOf, AgreesWithServers) {
  struct Row {
    std::string_view key;
    int slot;
  };
  // As CLUSTER KEYSLOT of Redis 7.0.15 says.
  const Row rows[] = {
      {"", 0},
      {"123456789", 0x31C3},  // the check value of the cluster specification
      {"foo", 12182},
      {"{user1000}.following", 3443},
      {"{user1000}.followers", 3443},
      {"foo{}{bar}", 8363},     // an empty tag is none
      {"foo{{bar}}zap", 4015},  // the tag is "{bar"
      {"foo{bar}{zap}", 5061},  // the first tag counts
      {"foo{bar", 15278},       // no tag without its end
      {"foo}bar{", 11073},
      {"\xff\xfe", 3374},  // bytes, not characters
  };
  for (const Row& row : rows) EXPECT_EQ(SlotOf(row.key), row.slot) << row.key;
}

// Everything of one client is in one slot, whatever the policy and the operation.
TEST(SlotOf, OfAKeyIsThatOfItsClient) {
  const Plan plan =
      testing::PlanOf({{.id = "a", .algorithm = FixedWindow{1, Milliseconds{1'000}}},
                       {.id = "b", .algorithm = FixedWindow{1, Milliseconds{1'000}}}});
  const Subject subject = testing::SubjectNumber(7);
  const Slot slot = SlotOf(ClientPseudonym(subject));
  EXPECT_EQ(SlotOf(KeyOf("sluice", subject, plan.policies()[0])), slot);
  EXPECT_EQ(SlotOf(KeyOf("other", subject, plan.policies()[1])), slot);
}

}  // namespace
}  // namespace sluice::redis
