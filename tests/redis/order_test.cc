// Many calls at once: every answer is its asker's own, and what was allowed is what was charged.
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/tcp_gate.h"
#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

// Each client's charges have a size of their own, so an answer that was given to another client
// shows in its numbers; within one client the remaining amounts tell the order.
TEST(Order, TenThousandMixedCallsWithDelayedRepliesGetTheirOwnAnswers) {
  constexpr std::uint64_t kClients = 40;
  constexpr int kCalls = 10'000;
  constexpr std::int64_t kLimit = 1'000'000'000;
  RedisServer server;
  testing::TcpGate gate(server.address());
  RedisOptions options = TestOptions(gate.address());
  options.command_timeout = Milliseconds{60'000};
  options.connections = 3;
  const auto limiter = MakeLimiter(options);
  const Plan plan = CountingPlan(kLimit);
  ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));

  std::mt19937_64 random(std::random_device{}());
  std::vector<std::pair<std::uint64_t, std::future<Outcome>>> answers;
  for (int call = 0; call < kCalls; ++call) {
    if (call % 500 == 0) gate.Follow({.delay_replies = Milliseconds{random() % 30}});
    const std::uint64_t client = 1 + random() % kClients;
    answers.emplace_back(client, Ask(*limiter, plan,
                                     {.client = client,
                                      .budget = Milliseconds{60'000},
                                      .cost = static_cast<std::int64_t>(1000 + client)}));
  }
  std::map<std::uint64_t, std::int64_t> charged;
  int swapped = 0;
  for (auto& [client, answer] : answers) {
    const Outcome outcome = answer.get();
    ASSERT_EQ(Word(outcome), "allowed");
    charged[client] += static_cast<std::int64_t>(1000 + client);
    swapped += std::get<Evaluated>(outcome).limits[0].remaining != kLimit - charged[client];
  }
  EXPECT_EQ(swapped, 0);
  for (const auto& [client, sum] : charged) {
    EXPECT_EQ(Charged(server, client), sum);
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
