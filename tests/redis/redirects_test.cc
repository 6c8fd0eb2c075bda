// Redirects of every form, before scripted servers: one has all slots, as its own map says, and may
// send calls to the other.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/topology/slot.h"
#include "tests/redis/counting.h"
#include "tests/redis/scripted_server.h"

namespace sluice::redis {
namespace {

class Redirects : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; })) << limiter->Health().reason;
  }
  RedisOptions Options() const {
    RedisOptions options = TestOptions("127.0.0.1:1");
    options.topology = RedisTopology::kCluster;
    options.addresses = {owner.address()};
    return options;
  }
  static std::string Error(const std::string& text) { return "-" + text + "\r\n"; }
  // Of the client's own slot.
  static std::string Moved(const std::string& to) {
    const Slot slot = SlotOf(ClientPseudonym(testing::SubjectNumber(1)));
    return Error("MOVED " + std::to_string(slot) + " " + to);
  }

  ScriptedServer owner;
  ScriptedServer other;
  Plan plan = CountingPlan(10);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(Options());
};

TEST_F(Redirects, AMovedOneIsMadeThere) {
  owner.AnswerNext({Moved(other.address())});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(owner.seen().calls, 1);
  EXPECT_EQ(other.seen().calls, 1);
  EXPECT_EQ(other.seen().askings, 1);  // a look at its permissions, no more
  EXPECT_EQ(limiter->Statistics().redirects, 1);
  EXPECT_EQ(limiter->Statistics().error_replies,
            (std::map<std::string, std::int64_t, std::less<>>{{"MOVED", 1}}));
}

// Old wrong behaviour: no host became no address, or 127.0.0.1:6379.
TEST_F(Redirects, WithoutAHostLeadToTheSameHost) {
  owner.AnswerNext({Moved(":" + other.port())});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(other.seen().calls, 1);
}

TEST_F(Redirects, AnAskedOneIsMadeThereOnce) {
  owner.AnswerNext({Error("ASK 1 " + other.address())});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(other.seen().calls, 1);
  EXPECT_EQ(other.seen().askings, 2);
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(owner.seen().calls, 2);
  EXPECT_EQ(other.seen().calls, 1);
}

// Several servers behind one address: another connection may lead to the right one.
TEST_F(Redirects, ToTheSameAddressTakeAnotherConnection) {
  owner.AnswerNext({Moved(owner.address())});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(owner.seen().calls, 2);
  EXPECT_EQ(owner.seen().connections, 2);
}

TEST_F(Redirects, WithoutAUsableAddressAreTriedAgainALittleLater) {
  owner.AnswerNext({Error("MOVED 1 ?:7000"), Error("ASK 1 127.0.0.1:0"), Error("TRYAGAIN no")});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(owner.seen().calls, 4);
}

// Old wrong behaviour: two nodes that each named the other kept a call going for ever.
TEST_F(Redirects, AreFollowedFiveTimes) {
  const std::vector<std::string> there(10, Error("ASK 1 " + other.address()));
  const std::vector<std::string> back(10, Error("ASK 1 " + owner.address()));
  owner.AnswerNext(there);
  other.AnswerNext(back);
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "no-mutation-confirmed");
  EXPECT_EQ(owner.seen().calls + other.seen().calls, 6);
  EXPECT_EQ(limiter->Statistics().in_flight, 0);
}

TEST_F(Redirects, ToASlotThatANodeCannotReadAreNone) {
  owner.AnswerNext({Error("MOVED 99999 " + other.address())});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(other.seen().calls, 0);
}

// The deadline is the evaluation's, wherever it is sent.
TEST_F(Redirects, KeepTheDeadline) {
  owner.AnswerNext({Moved(other.address())});
  other.AnswerNext({""});  // no reply
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = Milliseconds{300}})), "deadline-passed");
  EXPECT_EQ(limiter->Statistics().expired, 1);
}

TEST_F(Redirects, ToAServerThatIsGoneAreUnavailable) {
  std::string gone;
  {
    ScriptedServer third;
    gone = third.address();
  }
  owner.AnswerNext({Error("ASK 1 " + gone)});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
}

// Old wrong behaviour: a primary that was cut off from the others, and from its successor, was
// asked again and again, and so was its map.
TEST_F(Redirects, AreLookedForElsewhereWhenANodeDoesNotServe) {
  RedisOptions options = Options();
  options.addresses = {owner.address(), other.address()};
  const auto seeded = MakeLimiter(options);
  owner.AnswerNext(std::vector<std::string>(10'000, Error("CLUSTERDOWN The cluster is down")));
  EXPECT_EQ(Word(AskNow(*seeded, plan)), "no-mutation-confirmed");
  EXPECT_TRUE(Eventually([&] { return Word(AskNow(*seeded, plan)) == "allowed"; }));
  EXPECT_GT(other.seen().calls, 0);
}

}  // namespace
}  // namespace sluice::redis
