// A real server with a limiter before it that is connected when a test begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {

/// Sooner or later a client is allowed, and what was allowed is charged once.
inline void ExpectUsable(RedisLimiter& limiter, const Plan& plan, const RedisServer& server) {
  const std::int64_t before = Charged(server, 99);
  ASSERT_TRUE(Eventually([&] { return Word(AskNow(limiter, plan, {.client = 99})) == "allowed"; }))
      << limiter.Health().reason;
  EXPECT_EQ(Charged(server, 99), before + 1);
}

class LiveServer : public ::testing::Test {
 protected:
  /// `arguments`: of redis-server.
  explicit LiveServer(std::vector<std::string> arguments = {}) : server(std::move(arguments)) {}
  void SetUp() override { Await(*limiter); }

  static void Await(const RedisLimiter& one) {
    ASSERT_TRUE(Eventually([&] { return one.Health().ready; })) << one.Health().reason;
  }
  void ExpectUsable() { sluice::redis::ExpectUsable(*limiter, plan, server); }

  RedisServer server;
  Plan plan = CountingPlan(1'000'000);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(TestOptions(server.address()));
};

}  // namespace sluice::redis
