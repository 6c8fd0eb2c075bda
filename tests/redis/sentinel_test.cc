// A pair of real servers under three real sentinels.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "src/redis/switch_hint.h"
#include "tests/redis/deployments.h"
#include "tests/redis/traffic.h"

namespace sluice::redis {
namespace {

class SentinelFaults : public ::testing::Test {
 protected:
  void SetUp() override { Await(*limiter); }
  static void Await(const RedisLimiter& one) {
    ASSERT_TRUE(Eventually([&] { return one.Health().ready; })) << one.Health().reason;
  }
  [[nodiscard]] bool AwaitAllowed() const {
    return Eventually(
        [&] { return Word(AskNow(*limiter, plan, {.budget = Milliseconds{250}})) == "allowed"; });
  }
  static void ExpectNobodyDenied(const Traffic& traffic) {
    EXPECT_FALSE(traffic.words().contains("denied"));
  }

  TestSentinels pair;
  Plan plan = CountingPlan(1'000'000);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(pair.Options());
};

TEST_F(SentinelFaults, AKilledPrimaryIsReplacedByItsReplica) {
  Traffic traffic(*limiter, plan, 4);
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  const RedisStatistics before = limiter->Statistics();
  pair.server(0).server->Kill();
  ASSERT_TRUE(Eventually([&] { return pair.server(1).IsPrimary(); }));
  const auto promoted = std::chrono::steady_clock::now();
  ASSERT_TRUE(traffic.AwaitAllowed(1));
  const auto after = std::chrono::steady_clock::now() - promoted;
  RecordProperty("milliseconds_after_promotion",
                 std::to_string(std::chrono::duration_cast<Milliseconds>(after).count()));
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  traffic.End();
  ExpectNobodyDenied(traffic);
  EXPECT_EQ(limiter->Health().nodes.at(0).address, pair.server(1).address());
  EXPECT_LE(limiter->Statistics().connect_failures - before.connect_failures, 20);
  for (std::uint64_t client = 1; client <= 4; ++client) {
    // What the old primary had not passed on is lost with it; nothing is charged twice.
    EXPECT_LE(pair.server(1).server->Integer({"HGET", CountingKey(client), "count"}),
              traffic.allowed(client));
  }
}

// Old wrong behaviour: a demoted server kept its connections, and clients failed until a restart.
TEST_F(SentinelFaults, APlannedFailoverIsFollowed) {
  Traffic traffic(*limiter, plan, 4);
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  EXPECT_EQ(pair.sentinel(0).Command({"SENTINEL", "FAILOVER", "edge"}).text, "OK");
  ASSERT_TRUE(Eventually([&] { return pair.server(1).IsPrimary(); }));
  ASSERT_TRUE(Eventually([&] { return !pair.server(0).IsPrimary(); }));
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  traffic.End();
  ExpectNobodyDenied(traffic);
  EXPECT_EQ(limiter->Health().nodes.at(0).address, pair.server(1).address());
}

TEST_F(SentinelFaults, AStoppedPrimaryIsReplacedAndNotComeBackTo) {
  Traffic traffic(*limiter, plan, 4);
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  pair.server(0).server->Signal(SIGSTOP);
  ASSERT_TRUE(Eventually([&] { return pair.server(1).IsPrimary(); }));
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  pair.server(0).server->Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return !pair.server(0).IsPrimary(); }));
  ASSERT_TRUE(traffic.AwaitAllowed(20));
  traffic.End();
  ExpectNobodyDenied(traffic);
  EXPECT_EQ(limiter->Health().nodes.at(0).address, pair.server(1).address());
}

// Sentinels that still name a demoted server lead to one that says it is no primary. That is found
// out in the handshake. Old wrong behaviour: as many connections as the machine could make.
TEST_F(SentinelFaults, ADemotedServerIsNotUsedWhoeverNamesIt) {
  const RedisStatistics before = limiter->Statistics();
  const auto begin = std::chrono::steady_clock::now();
  pair.server(0).Command({"REPLICAOF", "127.0.0.1", "1"});
  pair.server(0).Command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures >= 4; }));
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = Milliseconds{250}})), "unavailable-before-send");
  EXPECT_EQ(limiter->Health().reason, "the server that the sentinels name is no primary");
  // Four failed attempts wait half of 50, 100, 200 and 400 ms at least.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, Milliseconds{375});
  EXPECT_EQ(limiter->Statistics().connects, before.connects);
  pair.server(0).Command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(AwaitAllowed());
}

TEST(SwitchHint, HearsOfItsOwnMasterOnlyAndSubscribesAgain) {
  RedisServer sentinel;  // any server that publishes
  boost::asio::io_context loop;
  int heard = 0;
  const SwitchHint hint(loop, "edge", {ParseAddress(sentinel.address()).value()}, {},
                        [&] { ++heard; });
  // Publishes until somebody is there to hear it.
  const auto publish = [&](const std::string& message) {
    return Eventually([&] {
      loop.poll();
      return sentinel.Integer({"PUBLISH", "+switch-master", message}) == 1;
    });
  };
  const auto hears = [&](int times) {
    return Eventually([&] {
      loop.poll();
      return heard == times;
    });
  };
  ASSERT_TRUE(publish("other 10.0.0.1 1 10.0.0.2 2"));
  ASSERT_TRUE(publish("edge 10.0.0.1 1 10.0.0.2 2"));
  EXPECT_TRUE(hears(1));
  sentinel.Kill();
  sentinel.Start();
  ASSERT_TRUE(publish("edge 10.0.0.2 2 10.0.0.1 1"));
  EXPECT_TRUE(hears(2));
}

TEST_F(SentinelFaults, ASentinelThatHangsIsPassedOver) {
  pair.sentinel(0).server->Signal(SIGSTOP);
  const auto another = MakeLimiter(pair.Options());
  EXPECT_EQ(Word(AskNow(*another, plan)), "allowed");
  pair.sentinel(0).server->Signal(SIGCONT);
}

TEST_F(SentinelFaults, AnUnknownMasterIsIncompatibleAndNamed) {
  RedisOptions options = pair.Options();
  options.sentinel.master = "other";
  const auto another = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*another, plan)), "server-incompatible");
  EXPECT_TRUE(another->Health().reason.ends_with(": the sentinel knows no master named \"other\""))
      << another->Health().reason;
}

TEST_F(SentinelFaults, SentinelsHaveALoginOfTheirOwn) {
  for (std::size_t i = 0; i < 3; ++i) {
    pair.sentinel(i).Command(
        {"ACL", "SETUSER", "asker", "on", ">secret", "-@all", "+sentinel|get-master-addr-by-name"});
    pair.sentinel(i).Command({"ACL", "SETUSER", "default", "-sentinel"});
  }
  RedisOptions options = pair.Options();
  const auto refused = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*refused, plan)), "permission-denied");
  options.sentinel.username = "asker";
  options.sentinel.password = "secret";
  const auto accepted = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*accepted, plan)), "allowed");
}

}  // namespace
}  // namespace sluice::redis
