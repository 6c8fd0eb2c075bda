// What keys look like and how long they get.
#include "src/redis/keys.h"

#include <string>

#include <gtest/gtest.h>

#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice::redis {
namespace {

using testing::PlanOf;
using testing::SubjectNumber;

Policy PolicyOf(PolicySettings settings) {
  settings.algorithm = FixedWindow{5, std::chrono::minutes{1}};
  return Policy::Create(std::move(settings)).value();
}

TEST(RedisKey, NamesVersionClientPolicyAndOperation) {
  Subject subject{.key_version = 3};
  subject.client.bytes.fill(0);
  subject.operation.bytes.fill(255);
  const Policy by_operation = PolicyOf({.id = "login", .revision = 2});
  const Policy by_client = PolicyOf({.id = "daily", .scope = Scope::kClient});
  EXPECT_EQ(KeyOf("sluice", subject, by_operation),
            "sluice:1:{v3:AAAAAAAAAAAAAAAAAAAAAA}:login@2:_____________________w");
  // A budget over all operations does not name one.
  EXPECT_EQ(KeyOf("sluice", subject, by_client), "sluice:1:{v3:AAAAAAAAAAAAAAAAAAAAAA}:daily@1");
  // Nor does an evaluation that has none.
  subject.operation = subject.client;
  EXPECT_EQ(KeyOf("p", subject, by_operation), "p:1:{v3:AAAAAAAAAAAAAAAAAAAAAA}:login@2");
}

TEST(RedisKey, PutsEverythingOfAClientInOneSlot) {
  // Keys of one plan in several slots were refused by a cluster (CROSSSLOT).
  const auto tag = [](const std::string& key) {
    return key.substr(key.find('{'), key.find('}') - key.find('{'));
  };
  const std::string first = KeyOf("s", SubjectNumber(1, 1), PolicyOf({.id = "a"}));
  const std::string second =
      KeyOf("s", SubjectNumber(1, 2), PolicyOf({.id = "b", .scope = Scope::kClient}));
  EXPECT_EQ(tag(first), tag(second));
  EXPECT_NE(tag(first), tag(KeyOf("s", SubjectNumber(2, 1), PolicyOf({.id = "a"}))));
}

TEST(RedisKey, StaysWithinItsBound) {
  Subject subject = SubjectNumber(1, 1);
  subject.key_version = 2147483647;
  const Policy policy = PolicyOf({.id = std::string(64, 'x'), .revision = 2147483647});
  EXPECT_EQ(KeyOf(std::string(kMaximumPrefixBytes, 'p'), subject, policy).size(), kMaximumKeyBytes);
}

}  // namespace
}  // namespace sluice::redis
