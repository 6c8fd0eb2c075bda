#include "src/redis/topology/topology.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/topology/replies_fixture.h"
#include "testing/manual_clock.h"

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Address At(const std::string& host) {
  return {.host = host, .port = "7000"};
}

// A cluster of two primaries: "a" has the slots up to `last_of_a`, "b" the rest.
Reply TwoPrimaries(int last_of_a = 8'191) {
  return ShardsReply(
      {{.slots = {{0, last_of_a}}, .nodes = {{TextReply("a"), 7000}, {TextReply("c"), 7000}}},
       {.slots = {{last_of_a + 1, 16'383}}, .nodes = {{TextReply("b"), 7000}}}});
}

class TopologyTest : public ::testing::Test {
 protected:
  explicit TopologyTest(TopologyOptions options) : topology(std::move(options), 1) {}

  /// Who is asked now; empty if nobody.
  std::string Asked() {
    auto question = topology.Ask(clock.Now().steady);
    if (!question) return "";
    commands = std::move(question->commands);
    return question->to.host;
  }
  void Answer(Reply reply) { topology.OnAnswer(std::vector<Reply>{std::move(reply)}); }
  void NoAnswer() {
    topology.OnAnswer(std::unexpected(Outcome(
        Unavailable{Unavailable::Category::kUnavailableBeforeSend, "connecting: refused"})));
  }
  std::string OwnerOf(Slot slot) const {
    const Address* primary = topology.map().PrimaryOf(slot);
    return primary == nullptr ? "" : primary->host;
  }

  testing::ManualClock clock;
  Topology topology;
  std::vector<std::vector<std::string>> commands;
};

TEST(StandaloneTopology, IsKnownAndAsksNobody) {
  Topology topology(Standalone{At("a")}, 1);
  EXPECT_EQ(*topology.map().PrimaryOf(0), At("a"));
  EXPECT_EQ(*topology.map().PrimaryOf(16'383), At("a"));
  topology.OnDown(At("a"));
  EXPECT_FALSE(topology.NextTimer());
  EXPECT_FALSE(topology.Ask(SteadyTime::max()));
}

class ClusterTopology : public TopologyTest {
 protected:
  ClusterTopology() : TopologyTest(Cluster{.seeds = {At("s"), At("t")}}) {}
  void Learn() {
    ASSERT_EQ(Asked(), "s");
    Answer(TwoPrimaries());
  }
};

TEST_F(ClusterTopology, AsksTheSeedsUntilOneAnswers) {
  EXPECT_EQ(OwnerOf(0), "");
  EXPECT_EQ(Asked(), "s");
  EXPECT_EQ(commands, (std::vector<std::vector<std::string>>{{"CLUSTER", "SHARDS"}}));
  EXPECT_EQ(Asked(), "");  // an answer is owed
  EXPECT_FALSE(topology.NextTimer());
  NoAnswer();
  EXPECT_FALSE(topology.WhyUnknown());  // one seed is left
  EXPECT_EQ(Asked(), "t");
  const auto before = topology.version();
  Answer(TwoPrimaries());
  EXPECT_NE(topology.version(), before);
  EXPECT_EQ(OwnerOf(8'191), "a");
  EXPECT_EQ(OwnerOf(8'192), "b");
  EXPECT_EQ(Asked(), "");
}

TEST_F(ClusterTopology, SaysWhyItIsUnknownAndAsksAgainASecondLater) {
  for (const char* seed : {"s", "t"}) {
    EXPECT_EQ(Asked(), seed);
    NoAnswer();
  }
  ASSERT_TRUE(topology.WhyUnknown());
  EXPECT_EQ(std::get<Unavailable>(*topology.WhyUnknown()).detail, "t:7000: connecting: refused");
  EXPECT_EQ(topology.NextTimer(), clock.Now().steady + seconds{1});
  clock.Advance(milliseconds{999});
  EXPECT_EQ(Asked(), "");
  clock.Advance(milliseconds{1});
  EXPECT_EQ(Asked(), "s");
  Answer(TwoPrimaries());
  EXPECT_FALSE(topology.WhyUnknown());
}

TEST_F(ClusterTopology, IsAskedForRegularly) {
  Learn();
  const SteadyTime next = topology.NextTimer().value();
  EXPECT_GE(next, clock.Now().steady + seconds{8});
  EXPECT_LE(next, clock.Now().steady + seconds{12});
  clock.Advance(seconds{12});
  EXPECT_NE(Asked(), "");
  const auto before = topology.version();
  Answer(TwoPrimaries());
  EXPECT_EQ(topology.version(), before);  // nothing is new
}

TEST_F(ClusterTopology, FollowsAMoveAtOnceAndAsksForTheRest) {
  Learn();
  clock.Advance(seconds{1});
  const auto before = topology.version();
  topology.OnMoved(5, At("d"));
  EXPECT_NE(topology.version(), before);
  EXPECT_EQ(OwnerOf(5), "d");
  EXPECT_EQ(OwnerOf(6), "a");
  EXPECT_NE(Asked(), "");
  Answer(TwoPrimaries(4));
  EXPECT_EQ(OwnerOf(5), "b");
}

// Old wrong behaviour: each MOVED of a resharding fetched the map.
TEST_F(ClusterTopology, AsksOnceASecondHoweverManyMoves) {
  Learn();
  int rounds = 0;
  for (int i = 0; i < 5'000; ++i) {
    topology.OnMoved(static_cast<Slot>(i), At("d"));
    if (!Asked().empty()) {
      ++rounds;
      Answer(TwoPrimaries());
    }
    clock.Advance(milliseconds{1});
  }
  EXPECT_EQ(rounds, 4);  // the map is from the first millisecond
}

TEST_F(ClusterTopology, IsAskedForEachSecondWhileAPrimaryIsDownAndOfItLast) {
  Learn();
  topology.OnDown(At("a"));
  for (int i = 0; i < 5; ++i) {
    clock.Advance(seconds{1});
    const std::string asked = Asked();
    EXPECT_TRUE(asked == "b" || asked == "c") << asked;
    Answer(TwoPrimaries());
    EXPECT_EQ(Asked(), "");
  }
  topology.OnUp(At("a"));
  clock.Advance(seconds{1});
  EXPECT_EQ(Asked(), "");
}

TEST_F(ClusterTopology, AsksEveryNodeThenTheSeeds) {
  Learn();
  topology.OnDown(At("a"));
  clock.Advance(seconds{1});
  std::vector<std::string> asked;
  for (std::string one = Asked(); !one.empty(); one = Asked()) {
    asked.push_back(one);
    NoAnswer();
  }
  ASSERT_EQ(asked.size(), 5U);
  EXPECT_EQ(asked[2], "a");
  EXPECT_EQ(asked[3], "s");
  EXPECT_EQ(asked[4], "t");
  EXPECT_FALSE(topology.WhyUnknown());  // the old map is still good
  EXPECT_EQ(OwnerOf(0), "a");
}

// It may be on the wrong side of a split.
TEST_F(ClusterTopology, AsksWhoDoesNotServeAfterAllOthers) {
  Learn();
  topology.OnClusterDown(At("a"));
  clock.Advance(milliseconds{999});
  EXPECT_EQ(Asked(), "");
  clock.Advance(milliseconds{1});
  std::vector<std::string> asked;
  for (int i = 0; i < 4; ++i) {
    asked.push_back(Asked());
    NoAnswer();
  }
  EXPECT_EQ(asked[2], "s");
  EXPECT_EQ(asked[3], "t");
  EXPECT_EQ(Asked(), "a");
  Answer(TwoPrimaries());  // nobody knows better
  clock.Advance(seconds{1});
  EXPECT_EQ(Asked(), "");
}

// Old wrong behaviour: an empty map during a failover was taken, and nothing was served any more.
TEST_F(ClusterTopology, IgnoresAnEmptyMap) {
  Learn();
  clock.Advance(seconds{12});
  ASSERT_NE(Asked(), "");
  Answer(ListReply({}));
  EXPECT_EQ(OwnerOf(0), "a");
  EXPECT_NE(Asked(), "");  // another node
}

// Old wrong behaviour: a node that was asked while a replica took over named nobody for its slots,
// and for a second they were refused although the new primary served them.
TEST_F(ClusterTopology, KeepsTheOwnerOfSlotsThatANodeKnowsNoneOf) {
  Learn();
  clock.Advance(seconds{12});
  ASSERT_NE(Asked(), "");
  Answer(ShardsReply({{.slots = {{0, 8'191}}, .nodes = {{TextReply("a"), 7000}}}}));
  EXPECT_EQ(OwnerOf(8'191), "a");
  EXPECT_EQ(OwnerOf(8'192), "b");
  EXPECT_EQ(topology.map().Unserved(), 0U);
  EXPECT_EQ(Asked(), "");
  clock.Advance(seconds{1});
  EXPECT_NE(Asked(), "");  // soon again
}

TEST_F(ClusterTopology, FallsBackToClusterSlots) {
  EXPECT_EQ(Asked(), "s");
  Answer(ErrorReply("ERR Unknown subcommand or wrong number of arguments for 'SHARDS'"));
  EXPECT_EQ(Asked(), "s");
  EXPECT_EQ(commands, (std::vector<std::vector<std::string>>{{"CLUSTER", "SLOTS"}}));
  Answer(SlotsReply({{.slots = {{0, 16'383}}, .nodes = {{TextReply("a"), 7000}}}}));
  EXPECT_EQ(OwnerOf(16'383), "a");
  clock.Advance(seconds{12});
  ASSERT_NE(Asked(), "");
  EXPECT_EQ(commands.front().back(), "SLOTS");  // it is not tried again
}

TEST_F(ClusterTopology, OfAStandaloneServerIsIncompatible) {
  for (const char* seed : {"s", "t"}) {
    EXPECT_EQ(Asked(), seed);
    Answer(ErrorReply("ERR This instance has cluster support disabled"));
  }
  EXPECT_EQ(std::get<Incompatible>(*topology.WhyUnknown()).detail,
            "t:7000: standalone server, cluster configured");
}

class SentinelTopology : public TopologyTest {
 protected:
  SentinelTopology()
      : TopologyTest(Sentinels{.master = "edge", .addresses = {At("s"), At("t"), At("u")}}) {}
  static Reply Names(const std::string& host) {
    return ListReply({TextReply(host), TextReply("7000")});
  }
  void Learn() {
    ASSERT_EQ(Asked(), "s");
    Answer(Names("a"));
    ASSERT_EQ(OwnerOf(0), "a");
  }
};

TEST_F(SentinelTopology, TakesTheFirstAnswerAndAsksThatSentinelFirstFromThenOn) {
  EXPECT_EQ(Asked(), "s");
  EXPECT_EQ(
      commands,
      (std::vector<std::vector<std::string>>{{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "edge"}}));
  NoAnswer();
  EXPECT_EQ(Asked(), "t");
  Answer(Names("a"));
  EXPECT_EQ(OwnerOf(0), "a");
  EXPECT_EQ(OwnerOf(16'383), "a");
  clock.Advance(seconds{12});
  EXPECT_EQ(Asked(), "t");
}

TEST_F(SentinelTopology, FollowsTheSentinelThatKnowsANewPrimary) {
  Learn();
  topology.OnDown(At("a"));
  clock.Advance(seconds{1});
  EXPECT_EQ(Asked(), "s");
  Answer(Names("a"));  // it has not noticed yet
  EXPECT_EQ(Asked(), "t");
  Answer(Names("b"));
  EXPECT_EQ(OwnerOf(0), "b");
  EXPECT_EQ(Asked(), "");
  clock.Advance(seconds{12});
  EXPECT_EQ(Asked(), "t");
}

// Old wrong behaviour: a sentinel that still named the demoted server was asked in a tight loop.
TEST_F(SentinelTopology, AsksTwiceASecondWhileAllNameThePrimaryThatIsDown) {
  Learn();
  topology.OnDown(At("a"));
  const auto before = topology.version();
  for (int round = 0; round < 3; ++round) {
    clock.Advance(milliseconds{499});
    EXPECT_EQ(Asked(), "");
    clock.Advance(milliseconds{1});
    for (const char* sentinel : {"s", "t", "u"}) {
      EXPECT_EQ(Asked(), sentinel);
      Answer(Names("a"));
    }
  }
  EXPECT_EQ(topology.version(), before);
  topology.OnUp(At("a"));
  clock.Advance(seconds{1});
  EXPECT_EQ(Asked(), "");
}

TEST_F(SentinelTopology, SaysThatNobodyKnowsTheMaster) {
  for (const char* sentinel : {"s", "t", "u"}) {
    EXPECT_EQ(Asked(), sentinel);
    Answer(Reply{});
  }
  EXPECT_EQ(std::get<Incompatible>(*topology.WhyUnknown()).detail,
            "u:7000: the sentinel knows no master named \"edge\"");
}

}  // namespace
}  // namespace sluice::redis
