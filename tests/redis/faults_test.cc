// Faults of the network, before a real server: a gate between it and the lane loses, delays and
// cuts. What was charged is read back from the server each time.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/tcp_gate.h"
#include "tests/redis/counting.h"
#include "tests/redis/live_server.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

constexpr Milliseconds kShort{150};

class GateFaults : public ::testing::Test {
 protected:
  void SetUp() override { Await(); }

  void Await() {
    ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; })) << limiter->Health().reason;
  }
  // The first client was charged and the gate has its reply: what it lets through now is too late.
  void AwaitSwallowedReply() {
    ASSERT_TRUE(Eventually([&] { return Charged(server, 1) == 1 && gate.swallowed() > 0; }));
  }
  void ExpectUsable() { sluice::redis::ExpectUsable(*limiter, plan, server); }

  RedisServer server;
  testing::TcpGate gate{server.address()};
  Plan plan = CountingPlan(1'000'000);
  Plan without_dedup = CountingPlan(1'000'000, false);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(TestOptions(gate.address()));
};

TEST_F(GateFaults, ASwallowedReplyIsIndeterminateAtTheDeadline) {
  gate.Follow({.swallow_replies = true});
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = kShort})), "deadline-passed");
  EXPECT_EQ(Charged(server, 1), 1);
  gate.Follow({});
  ExpectUsable();
}

// With a record on the server the lost reply is asked for again over a new connection.
TEST_F(GateFaults, ASwallowedReplyIsRepeatedAndChargedOnce) {
  gate.Follow({.swallow_replies = true});
  auto answer = Ask(*limiter, plan, {});
  AwaitSwallowedReply();
  gate.Follow({});
  const Outcome outcome = answer.get();
  EXPECT_EQ(Word(outcome), "allowed");
  EXPECT_FALSE(std::get<Evaluated>(outcome).replayed);
  EXPECT_EQ(Charged(server, 1), 1);
  EXPECT_EQ(limiter->Statistics().repeats, 1);
}

TEST_F(GateFaults, ALostReplyWithoutDedupIsNeverRepeated) {
  gate.Follow({.swallow_replies = true});
  auto answer = Ask(*limiter, without_dedup, {});
  AwaitSwallowedReply();
  gate.Follow({});
  EXPECT_EQ(Word(answer.get()), "response-lost");
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 1);
}

// Old wrong behaviour: the late reply was given to whoever asked next.
TEST_F(GateFaults, AReplyDelayedPastTheDeadlineIsNobodys) {
  gate.Follow({.delay_replies = kShort * 2});
  auto late = Ask(*limiter, plan, {.budget = kShort});
  EXPECT_EQ(Word(late.get()), "deadline-passed");
  gate.Follow({});
  for (std::uint64_t client = 2; client < 20; ++client) {
    ASSERT_EQ(Word(AskNow(*limiter, plan, {.client = client})), "allowed");
    EXPECT_EQ(Charged(server, client), 1);
  }
  EXPECT_EQ(Charged(server, 1), 1);
}

TEST_F(GateFaults, AReplyCutInTheMiddleIsRepeatedAndChargedOnce) {
  for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{30}}) {
    Await();
    const std::int64_t cuts = gate.cuts();
    const std::uint64_t client = 100 + bytes;
    gate.Follow({.cut_after = bytes});
    EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = client})), "allowed") << bytes;
    EXPECT_EQ(Charged(server, client), 1) << bytes;
    EXPECT_EQ(gate.cuts(), cuts + 1);
  }
}

TEST_F(GateFaults, AReplyCutInTheMiddleWithoutDedupIsIndeterminate) {
  gate.Follow({.cut_after = 5});
  EXPECT_EQ(Word(AskNow(*limiter, without_dedup)), "response-lost");
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 1);
}

TEST_F(GateFaults, ABlackHoleIsFoundAndLeft) {
  gate.Follow({.swallow_requests = true, .swallow_replies = true});
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = kShort})), "deadline-passed");
  ASSERT_TRUE(Eventually([&] { return !limiter->Health().ready; }));
  // Once it is known, nobody waits for it and nothing is sent to it.
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  const std::int64_t calls = limiter->Statistics().calls;
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
  EXPECT_EQ(limiter->Statistics().calls, calls);
  gate.Follow({});
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 0);
}

TEST_F(GateFaults, ARefusedConnectionIsUnavailableAtOnce) {
  gate.Follow({.refuse = true});
  gate.Cut();
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
  gate.Follow({});
  ExpectUsable();
}

// An evaluation that was not sent waits for the connection that is being made.
TEST_F(GateFaults, ACutConnectionIsNotNoticedByWhoAsksAfterIt) {
  for (std::uint64_t client = 1; client <= 20; ++client) {
    ASSERT_EQ(Word(AskNow(*limiter, plan, {.client = client})), "allowed");
    gate.Cut();
    ASSERT_EQ(Word(AskNow(*limiter, plan, {.client = client})), "allowed");
    EXPECT_EQ(Charged(server, client), 2);
  }
}

TEST_F(GateFaults, AFullLaneRejectsAndKeepsThePlacesOfWhatIsOwed) {
  RedisOptions options = TestOptions(gate.address());
  options.max_in_flight = 4;
  options.command_timeout = Milliseconds{60'000};
  limiter = MakeLimiter(options);
  Await();
  gate.Follow({.delay_replies = Milliseconds{60'000}});
  std::vector<std::future<Outcome>> sent;
  for (std::uint64_t client = 1; client <= 4; ++client) {
    sent.push_back(Ask(*limiter, plan, {.client = client, .budget = kShort}));
  }
  for (auto& answer : sent) EXPECT_EQ(Word(answer.get()), "deadline-passed");
  // The server still owes four replies.
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "admission-rejected");
  EXPECT_EQ(limiter->Statistics().in_flight, 4);
  gate.Cut();
  gate.Follow({});
  ExpectUsable();
}

TEST_F(GateFaults, TheEndOfTheLimiterAnswersWhatIsUnderWay) {
  gate.Follow({.swallow_replies = true});
  auto sent = Ask(*limiter, plan, {});
  AwaitSwallowedReply();
  auto waiting = Ask(*limiter, plan, {});  // for the reply of the first
  limiter.reset();
  EXPECT_EQ(Word(sent.get()), "response-lost");
  EXPECT_EQ(Word(waiting.get()), "unavailable-before-send");
}

// A completion may ask again, also while the limiter goes.
TEST_F(GateFaults, TheEndOfTheLimiterAnswersWhatACompletionAsksForThen) {
  gate.Follow({.swallow_replies = true});
  std::promise<std::string> last;
  RedisLimiter& engine = *limiter;
  const auto ask = [&](Completion completion) {
    const Instant now = SystemClock().Now();
    engine.Evaluate({.plan = &plan,
                     .subject = testing::SubjectNumber(1),
                     .id = NextId(),
                     .now = now,
                     .deadline = now.steady + Milliseconds{30'000}},
                    std::move(completion));
  };
  ask([&](const Outcome&) { ask([&](const Outcome& outcome) { last.set_value(Word(outcome)); }); });
  ASSERT_TRUE(Eventually([&] { return Charged(server, 1) == 1; }));
  limiter.reset();
  EXPECT_EQ(last.get_future().get(), "unavailable-before-send");
}

}  // namespace
}  // namespace sluice::redis
