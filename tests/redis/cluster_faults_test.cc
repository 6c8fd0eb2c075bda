// Failures of a cluster's nodes. Nobody is told "denied" for an outage, what is allowed is charged,
// and the way to the new primary is found within seconds.
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/redis/deployments.h"
#include "tests/redis/traffic.h"

namespace sluice::redis {
namespace {

constexpr std::uint64_t kClients = 16;

class ClusterFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; })) << limiter->Health().reason;
    while (cluster.FirstOwnerOf(SlotOfClient(victim)) != 0) ++victim;
  }
  // Until somebody else serves the slots of node 0.
  [[nodiscard]] bool AwaitPromotion() const {
    return Eventually([&] {
      const auto owner = cluster.OwnerOf(SlotOfClient(victim));
      return owner && *owner != 0;
    });
  }
  static void ExpectNobodyDenied(const Traffic& traffic) {
    EXPECT_FALSE(traffic.words().contains("denied"));
    EXPECT_FALSE(traffic.words().contains("server-incompatible"));
  }

  TestCluster cluster{3, 3};
  Plan plan = CountingPlan(1'000'000);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(cluster.Options());
  std::uint64_t victim = 1;  // a client of node 0
};

TEST_F(ClusterFaults, AKilledPrimaryIsReplacedByItsReplica) {
  Traffic traffic(*limiter, plan, kClients);
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  const RedisStatistics before = limiter->Statistics();
  cluster.node(0).server->Kill();
  ASSERT_TRUE(AwaitPromotion());
  const auto promoted = std::chrono::steady_clock::now();
  ASSERT_TRUE(Eventually([&] {
    return Word(AskNow(*limiter, plan, {.client = victim, .budget = Milliseconds{250}})) ==
           "allowed";
  }));
  const auto after = std::chrono::steady_clock::now() - promoted;
  RecordProperty("milliseconds_after_promotion",
                 std::to_string(std::chrono::duration_cast<Milliseconds>(after).count()));
  ASSERT_TRUE(traffic.AwaitAllowed(4 * kClients));
  traffic.End();
  ExpectNobodyDenied(traffic);
  EXPECT_TRUE(Eventually([&] { return limiter->Health().ready; })) << limiter->Health().reason;
  // Old wrong behaviour: a storm of attempts to connect to the server that was gone.
  const RedisStatistics now = limiter->Statistics();
  EXPECT_LE(now.connect_failures - before.connect_failures, 20);
  EXPECT_GE(now.map_changes - before.map_changes, 1);
}

// Clients are held back by the server while it hands over, and lose nothing. The other primaries
// may hear that it is a replica before they hear who has its slots; for these milliseconds they
// refuse everything (CLUSTERDOWN), which is said and charges nothing.
TEST_F(ClusterFaults, APlannedFailoverLosesNothing) {
  Traffic traffic(*limiter, plan, kClients, Milliseconds{30'000});
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  EXPECT_EQ(cluster.node(3).Command({"CLUSTER", "FAILOVER"}).text, "OK");
  ASSERT_TRUE(AwaitPromotion());
  ASSERT_TRUE(traffic.AwaitAllowed(4 * kClients));
  traffic.End();
  for (const auto& [word, times] : traffic.words()) {
    EXPECT_TRUE(word == "allowed" || word == "no-mutation-confirmed") << word;
  }
  for (const auto& [error, times] : limiter->Statistics().error_replies) {
    EXPECT_TRUE(error == "MOVED" || error == "CLUSTERDOWN") << error;
  }
  for (std::uint64_t client = 1; client <= kClients; ++client) {
    EXPECT_EQ(cluster.ChargedTo(client), traffic.allowed(client)) << client;
  }
}

TEST_F(ClusterFaults, AStoppedPrimaryIsReplacedAndRunsNothingOldWhenItIsBack) {
  Traffic traffic(*limiter, plan, kClients);
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  cluster.node(0).server->Signal(SIGSTOP);
  // Asked of the other nodes: this one does not answer.
  ASSERT_TRUE(Eventually([&] { return cluster.node(3).IsPrimary(); }));
  ASSERT_TRUE(Eventually([&] {
    return Word(AskNow(*limiter, plan, {.client = victim, .budget = Milliseconds{250}})) ==
           "allowed";
  }));
  cluster.node(0).server->Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return !cluster.node(0).IsPrimary(); }));
  ASSERT_TRUE(traffic.AwaitAllowed(4 * kClients));
  traffic.End();
  ExpectNobodyDenied(traffic);
}

TEST_F(ClusterFaults, AnAnswerSaysWhenReplicasLackIt) {
  RedisOptions options = cluster.Options();
  options.wait_replicas = 1;
  options.command_timeout = Milliseconds{2'000};
  const auto careful = MakeLimiter(options);
  const auto certainty = [&] {
    const Outcome outcome = AskNow(*careful, plan, {.client = victim});
    const auto* evaluated = std::get_if<Evaluated>(&outcome);
    return evaluated == nullptr ? Word(outcome) : std::string(Name(evaluated->certainty));
  };
  EXPECT_EQ(certainty(), "certain");
  EXPECT_EQ(careful->Statistics().unreplicated, 0);
  const std::int64_t before = cluster.ChargedTo(victim);
  cluster.node(3).server->Signal(SIGSTOP);
  EXPECT_EQ(certainty(), "unreplicated");
  cluster.node(3).server->Signal(SIGCONT);
  EXPECT_EQ(careful->Statistics().unreplicated, 1);
  EXPECT_EQ(cluster.ChargedTo(victim), before + 1);  // the answer stays
  EXPECT_TRUE(Eventually([&] { return certainty() == "certain"; }));
}

}  // namespace
}  // namespace sluice::redis
