// Many calls at once: every answer is its asker's own, and what was allowed is what was charged.
#include <chrono>
#include <future>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "testing/tcp_gate.h"
#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

constexpr std::int64_t kPlenty = 200'000;

// All algorithms, dedup on and off, and two limits at once.
std::vector<Plan> MixedPlans() {
  const Dedup off{.enabled = false};
  const FixedWindow window{kPlenty, std::chrono::days{366}};
  const TokenBucket bucket{kPlenty, kPlenty, std::chrono::days{366}};
  std::vector<Plan> plans;
  plans.push_back(CountingPlan(kPlenty));
  plans.push_back(testing::PlanOf({{.id = "w", .algorithm = window, .dedup = off}}));
  plans.push_back(
      testing::PlanOf({{.id = "s", .algorithm = SlidingCounter{kPlenty, std::chrono::days{366}}}}));
  plans.push_back(testing::PlanOf({{.id = "b", .algorithm = bucket}}));
  plans.push_back(testing::PlanOf(
      {{.id = "w2", .algorithm = window}, {.id = "b2", .algorithm = bucket, .dedup = off}}));
  return plans;
}

// Each pair's charges have a size of their own, so an answer that was given to another client or
// plan shows in its numbers; within one pair the remaining amounts tell the order.
TEST(Order, TenThousandMixedCallsWithDelayedRepliesGetTheirOwnAnswers) {
  constexpr std::uint64_t kClients = 20;
  constexpr int kCalls = 10'000;
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::cout << "seed " << seed << '\n';
  RedisServer server;
  testing::TcpGate gate(server.address());
  RedisOptions options = TestOptions(gate.address());
  options.command_timeout = Milliseconds{60'000};
  options.connections = 3;
  const auto limiter = MakeLimiter(options);
  const std::vector<Plan> plans = MixedPlans();
  ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));

  struct Asked {
    std::size_t plan;
    std::uint64_t client;
    std::future<Outcome> answer{};
  };
  const auto cost_of = [](const Asked& asked) {
    return static_cast<std::int64_t>(1 + kClients * asked.plan + asked.client);
  };
  std::mt19937_64 random(seed);
  std::vector<Asked> all;
  for (int call = 0; call < kCalls; ++call) {
    if (call % 500 == 0) gate.Follow({.delay_replies = Milliseconds{random() % 30}});
    Asked asked{.plan = random() % plans.size(), .client = 1 + random() % kClients};
    AskedFor what{.client = asked.client, .budget = Milliseconds{60'000}, .cost = cost_of(asked)};
    if (random() % 4 == 0) what.id = "call-" + std::to_string(call);
    asked.answer = Ask(*limiter, plans[asked.plan], what);
    all.push_back(std::move(asked));
  }
  std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> charged;
  int swapped = 0;
  for (Asked& asked : all) {
    const Outcome outcome = asked.answer.get();
    ASSERT_EQ(Word(outcome), "allowed");
    std::int64_t& sum = charged[{asked.plan, asked.client}];
    sum += cost_of(asked);
    for (const auto& limit : std::get<Evaluated>(outcome).limits) {
      swapped += limit.remaining != kPlenty - sum;
    }
  }
  EXPECT_EQ(swapped, 0);
  for (std::uint64_t client = 1; client <= kClients; ++client) {
    EXPECT_EQ(Charged(server, client), (charged[{0, client}]));
    EXPECT_GT(server.Integer({"PTTL", CountingKey(client)}), 0);
  }
  EXPECT_LT(limiter->Statistics().calls, kCalls);  // what waited for one client went out together
  EXPECT_EQ(limiter->Statistics().evaluations, kCalls);
}

TEST(Order, TheLimitIsExactHoweverManyAskAtOnce) {
  RedisServer server;
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  const Plan plan = CountingPlan(50);
  std::vector<std::future<Outcome>> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(Ask(*limiter, plan, {}));
  int allowed = 0;
  for (auto& answer : answers) {
    const Outcome outcome = answer.get();
    ASSERT_TRUE(std::holds_alternative<Evaluated>(outcome)) << Word(outcome);
    allowed += IsAllowed(outcome);
  }
  EXPECT_EQ(allowed, 50);
  EXPECT_EQ(Charged(server, 1), 50);
}

TEST(Order, ACallersIdIsChargedOnceHoweverOftenItComes) {
  RedisServer server;
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  const Plan plan = CountingPlan(50);
  std::vector<std::future<Outcome>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(Ask(*limiter, plan, {.id = "same"}));
  for (auto& answer : answers) EXPECT_EQ(Word(answer.get()), "allowed");
  EXPECT_EQ(Charged(server, 1), 1);
}

// Nothing but one EVALSHA a call: no EXPIRE, no TIME of its own.
TEST(Order, OneEvaluationIsOneCommand) {
  RedisServer server;
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  const Plan plan = CountingPlan(1'000);
  ASSERT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  server.Command({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 20; ++i) ASSERT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  const std::string stats = server.Command({"INFO", "commandstats"}).text;
  EXPECT_NE(stats.find("cmdstat_evalsha:calls=20,"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_time"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_script"), std::string::npos) << stats;
}

}  // namespace
}  // namespace sluice::redis
