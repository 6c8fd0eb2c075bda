// A cluster of real servers: every client's evaluations go to the node that has its slot, also
// while slots and nodes come and go.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/harness.h"
#include "tests/redis/deployments.h"
#include "tests/redis/traffic.h"

namespace sluice::redis {
namespace {

// Two limits, so that a call has two keys.
Plan TwoLimits() {
  return testing::PlanOf(
      {{.id = "count", .algorithm = FixedWindow{1'000'000, std::chrono::days{366}}},
       {.id = "rest", .algorithm = FixedWindow{1'000'000, std::chrono::days{366}}}});
}

class ClusterOfThree : public ::testing::Test {
 protected:
  void SetUp() override { Await(*limiter); }
  static void Await(const RedisLimiter& one) {
    ASSERT_TRUE(Eventually([&] { return one.Health().ready; })) << one.Health().reason;
  }
  /// How often calls were answered with this error.
  [[nodiscard]] std::int64_t Errors(const std::string& token) const {
    const auto errors = limiter->Statistics().error_replies;
    return errors.contains(token) ? errors.at(token) : 0;
  }
  /// A client whose slot is free of the clients below it, and its slot's owner.
  [[nodiscard]] std::size_t OwnerOf(std::uint64_t client) const {
    return cluster.FirstOwnerOf(SlotOfClient(client));
  }

  TestCluster cluster{3};
  Plan plan = CountingPlan(1'000'000);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(cluster.Options());
};

// Old wrong behaviour: slots were taken from the script, or keys of one call were in several slots.
TEST_F(ClusterOfThree, ServesTenThousandClientsWithoutAWordOnSlots) {
  RedisOptions options = cluster.Options();
  options.command_timeout = Milliseconds{60'000};  // all at once takes its time
  limiter = MakeLimiter(options);
  const Plan two = TwoLimits();
  std::vector<std::future<Outcome>> answers;
  for (std::uint64_t client = 1; client <= 10'000; ++client) {
    answers.push_back(Ask(*limiter, client % 2 == 0 ? plan : two, {.client = client}));
  }
  for (auto& answer : answers) ASSERT_EQ(Word(answer.get()), "allowed");
  const RedisStatistics statistics = limiter->Statistics();
  EXPECT_TRUE(statistics.error_replies.empty());
  EXPECT_EQ(statistics.redirects, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(cluster.node(i).server->Integer({"DBSIZE"}), 3'000) << i;
  }
  EXPECT_EQ(cluster.ChargedTo(1), 1);
}

// Old wrong behaviour: scripts were loaded on one node, and calls failed on the others.
TEST_F(ClusterOfThree, LoadsScriptsAgainOnTheNodeThatForgotThem) {
  for (std::size_t i = 0; i < 3; ++i) cluster.node(i).Command({"SCRIPT", "FLUSH"});
  std::vector<std::future<Outcome>> answers;
  for (std::uint64_t client = 1; client <= 1'000; ++client) {
    answers.push_back(Ask(*limiter, plan, {.client = client}));
  }
  for (auto& answer : answers) ASSERT_EQ(Word(answer.get()), "allowed");
  EXPECT_EQ(limiter->Statistics().reloads, 3);
  for (std::uint64_t client = 1; client <= 1'000; client += 100) {
    EXPECT_EQ(cluster.ChargedTo(client), 1);
  }
}

TEST_F(ClusterOfThree, LetsExactlyTheLimitThrough) {
  const Plan fifty = CountingPlan(50);
  std::vector<std::future<Outcome>> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(Ask(*limiter, fifty, {.client = 1}));
  int allowed = 0;
  int denied = 0;
  for (auto& answer : answers) {
    const std::string word = Word(answer.get());
    allowed += word == "allowed";
    denied += word == "denied";
  }
  EXPECT_EQ(allowed, 50);
  EXPECT_EQ(denied, 150);
}

TEST_F(ClusterOfThree, TellsOfEachNode) {
  const RedisHealth health = limiter->Health();
  ASSERT_EQ(health.nodes.size(), 3U);
  for (const RedisNode& node : health.nodes) {
    EXPECT_TRUE(node.ready);
    EXPECT_EQ(node.connections, 1);
    EXPECT_TRUE(node.clock_skew.has_value());
  }
  EXPECT_EQ(limiter->Statistics().connections, 3);
}

// Besides what one server takes: the map, and ASKING.
TEST_F(ClusterOfThree, TakesTwoMorePermissionsAndNamesWhatIsMissing) {
  const std::vector<std::string> rules{
      "ACL",     "SETUSER",  "rl",           "on",    ">secret", "resetkeys",      "~sluice:*",
      "-@all",   "+evalsha", "+script|load", "+time", "+hmget",  "+hget",          "+hgetall",
      "+exists", "+hset",    "+pexpire",     "+hdel", "+asking", "+cluster|shards"};
  const auto allow = [&](const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(cluster.node(i).Command(words).text, "OK");
  };
  RedisOptions options = cluster.Options();
  options.username = "rl";
  options.password = "secret";
  allow(rules);
  const auto works = MakeLimiter(options);
  for (std::uint64_t client = 1; client <= 16; ++client) {
    EXPECT_EQ(Word(AskNow(*works, plan, {.client = client})), "allowed");
  }
  allow({"ACL", "SETUSER", "rl", "-asking"});
  const auto cannot_ask = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*cannot_ask, plan)), "permission-denied");
  EXPECT_TRUE(cannot_ask->Health().reason.contains("ASKING: the user may not run this command"))
      << cannot_ask->Health().reason;
  allow({"ACL", "SETUSER", "rl", "-cluster|shards"});
  const auto has_no_map = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*has_no_map, plan)), "permission-denied");
  EXPECT_TRUE(has_no_map->Health().reason.contains("CLUSTER SHARDS: the user may not run"))
      << has_no_map->Health().reason;
}

// A slot on its way: what has moved is asked for there, each time, and the rest where it was.
TEST_F(ClusterOfThree, AsksForAMovingSlotsKeysOnTheOtherNode) {
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = 1})), "allowed");
  const Slot slot = SlotOfClient(1);
  const std::size_t from = OwnerOf(1);
  const std::size_t to = (from + 1) % 3;
  cluster.BeginMove(slot, from, to);
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = 1})), "allowed");  // its key is there yet
  EXPECT_EQ(Errors("ASK"), 0);

  cluster.node(from).Command(
      {"MIGRATE", "127.0.0.1", cluster.node(to).port, CountingKey(1), "0", "5000"});
  for (int i = 1; i <= 3; ++i) {
    // NOSCRIPT on the importing node uses up the ASKING, so it takes another one.
    cluster.node(to).Command({"SCRIPT", "FLUSH"});
    EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = 1})), "allowed");
    EXPECT_EQ(Errors("ASK"), i);
  }
  EXPECT_EQ(Errors("MOVED"), 0);
  EXPECT_EQ(limiter->Statistics().map_changes, 0);

  cluster.EndMove(slot, from, to);
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(Word(AskNow(*limiter, plan, {.client = 1})), "allowed");
  }
  EXPECT_LE(Errors("MOVED"), 1);  // none if the map was fetched in between
  EXPECT_EQ(Errors("ASK"), 3);
  EXPECT_EQ(cluster.ChargedTo(1), 1'005);
}

TEST_F(ClusterOfThree, WaitsALittleForASlotWhoseKeysAreHereAndThere) {
  const Plan two = TwoLimits();
  EXPECT_EQ(Word(AskNow(*limiter, two, {.client = 1})), "allowed");
  const Slot slot = SlotOfClient(1);
  const std::size_t from = OwnerOf(1);
  const std::size_t to = (from + 1) % 3;
  cluster.BeginMove(slot, from, to);
  cluster.node(from).Command(
      {"MIGRATE", "127.0.0.1", cluster.node(to).port, CountingKey(1), "0", "5000"});
  EXPECT_EQ(Word(AskNow(*limiter, two, {.client = 1})), "no-mutation-confirmed");
  EXPECT_EQ(Errors("TRYAGAIN"), 6);  // the first try and five more
  EXPECT_EQ(limiter->Statistics().in_flight, 0);

  auto answer = Ask(*limiter, two, {.client = 1});
  ASSERT_TRUE(Eventually([&] { return Errors("TRYAGAIN") >= 7; }));
  cluster.EndMove(slot, from, to);
  EXPECT_EQ(Word(answer.get()), "allowed");
  EXPECT_EQ(cluster.ChargedTo(1), 2);
}

TEST_F(ClusterOfThree, KeepsTheDeadlineOverRedirects) {
  const Plan two = TwoLimits();
  EXPECT_EQ(Word(AskNow(*limiter, two, {.client = 1})), "allowed");
  const std::size_t from = OwnerOf(1);
  const std::size_t to = (from + 1) % 3;
  cluster.BeginMove(SlotOfClient(1), from, to);
  cluster.node(from).Command(
      {"MIGRATE", "127.0.0.1", cluster.node(to).port, CountingKey(1), "0", "5000"});
  EXPECT_EQ(Word(AskNow(*limiter, two, {.client = 1, .budget = Milliseconds{20}})),
            "no-mutation-confirmed");
  EXPECT_LT(Errors("TRYAGAIN"), 6);
}

// A node joins, takes half of another's slots under load, gives them back and leaves.
TEST_F(ClusterOfThree, FollowsANodeThatJoinsAndLeaves) {
  constexpr std::uint64_t kClients = 64;
  Traffic traffic(*limiter, plan, kClients, Milliseconds{30'000});
  const std::size_t fourth = cluster.Add();
  ASSERT_TRUE(traffic.AwaitAllowed(10));
  std::vector<Slot> slots;
  for (std::uint64_t client = 1; client <= kClients; ++client) {
    if (OwnerOf(client) == 0) slots.push_back(SlotOfClient(client));
  }
  ASSERT_FALSE(slots.empty());
  for (const Slot slot : slots) {
    cluster.BeginMove(slot, 0, fourth);
    cluster.EndMove(slot, 0, fourth);
  }
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  EXPECT_TRUE(Eventually([&] { return limiter->Health().nodes.size() == 4; }));
  for (const Slot slot : slots) {
    cluster.BeginMove(slot, fourth, 0);
    cluster.EndMove(slot, fourth, 0);
  }
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  cluster.Remove(fourth);
  ASSERT_TRUE(traffic.AwaitAllowed(2 * kClients));
  traffic.End();
  EXPECT_EQ(traffic.words().size(), 1U) << traffic.Report();
  for (const auto& [error, times] : limiter->Statistics().error_replies) {
    EXPECT_TRUE(error == "MOVED" || error == "ASK") << times << " " << error;
  }
  for (std::uint64_t client = 1; client <= kClients; ++client) {
    EXPECT_EQ(cluster.ChargedTo(client), traffic.allowed(client)) << client;
  }
  EXPECT_TRUE(Eventually([&] { return limiter->Health().nodes.size() == 3; }));
}

TEST(ClusterOfOne, IsToldApartFromAStandaloneServer) {
  TestCluster cluster(1);
  const auto standalone = MakeLimiter(TestOptions(cluster.node(0).address()));
  const Plan plan = CountingPlan(10);
  ASSERT_TRUE(Eventually([&] { return !standalone->Health().category.empty(); }));
  EXPECT_EQ(standalone->Health().reason, "cluster-mode server, standalone configured");
  EXPECT_EQ(Word(AskNow(*standalone, plan)), "server-incompatible");

  const PortServer server = StartOnPort({});
  RedisOptions options = cluster.Options();
  options.addresses = {server.address()};
  const auto clustered = MakeLimiter(options);
  ASSERT_TRUE(Eventually([&] { return !clustered->Health().category.empty(); }));
  EXPECT_EQ(clustered->Health().reason,
            server.address() + ": standalone server, cluster configured");
  EXPECT_EQ(Word(AskNow(*clustered, plan)), "server-incompatible");
}

// Whoever asks before the map is there waits for it, as for a first connection.
TEST(ClusterOfOne, IsWaitedForByTheFirstCaller) {
  TestCluster cluster(1);
  const auto limiter = MakeLimiter(cluster.Options());
  const Plan plan = CountingPlan(10);
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(cluster.ChargedTo(1), 1);
}

TEST(ClusterOfNone, IsUnavailableUntilASeedAnswers) {
  RedisOptions options = TestOptions("127.0.0.1:1");
  PortServer server = StartOnPort({});
  server.server->Kill();
  options.topology = RedisTopology::kCluster;
  options.addresses = {server.address()};
  const auto limiter = MakeLimiter(options);
  const Plan plan = CountingPlan(10);
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
  EXPECT_FALSE(limiter->Health().ready);
  EXPECT_NE(limiter->Health().reason, "");
}

}  // namespace
}  // namespace sluice::redis
