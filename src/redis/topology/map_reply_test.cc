#include "src/redis/topology/map_reply.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/redis/topology/replies_fixture.h"

namespace sluice::redis {
namespace {

const Address kAsked{.host = "10.0.0.9", .port = "7000"};

std::string OwnerOf(const SlotMap& map, int slot) {
  const Address* primary = map.PrimaryOf(static_cast<Slot>(slot));
  return primary == nullptr ? "nobody" : ToString(*primary);
}

std::string DetailOf(const std::expected<SlotMap, Outcome>& map) {
  if (map) return "a map";
  if (const auto* unavailable = std::get_if<Unavailable>(&map.error())) return unavailable->detail;
  return std::get<Incompatible>(map.error()).detail;
}

const std::vector<TestShard> kTwoShards{
    {.slots = {{0, 8'191}},
     .nodes = {{TextReply("10.0.0.1"), 7001}, {TextReply("10.0.0.2"), 7002}}},
    {.slots = {{8'192, 16'382}, {16'383, 16'383}}, .nodes = {{TextReply("2001:db8::3"), 7003}}}};

TEST(MapReply, GivesTheSameMapInBothForms) {
  for (const auto& map : {ReadShards(ShardsReply(kTwoShards), kAsked, false),
                          ReadSlots(SlotsReply(kTwoShards), kAsked)}) {
    ASSERT_TRUE(map);
    EXPECT_EQ(OwnerOf(*map, 0), "10.0.0.1:7001");
    EXPECT_EQ(OwnerOf(*map, 8'191), "10.0.0.1:7001");
    EXPECT_EQ(OwnerOf(*map, 8'192), "[2001:db8::3]:7003");
    EXPECT_EQ(OwnerOf(*map, 16'383), "[2001:db8::3]:7003");
    EXPECT_EQ(map->Unserved(), 0U);
    EXPECT_EQ(map->replicas(), (std::vector<Address>{{.host = "10.0.0.2", .port = "7002"}}));
  }
}

// Old wrong behaviour: a host that is missing became 127.0.0.1, or ended the client.
TEST(MapReply, ReadsOddHosts) {
  struct Row {
    Reply host;
    std::string owner;
  };
  const Row rows[] = {
      {TextReply(""), "10.0.0.9:7001"},  // the host that was asked
      {Reply{}, "10.0.0.9:7001"},        // nil: the same
      {TextReply("?"), "nobody"},        // unknown: of no use
      {TextReply("node.example.com"), "node.example.com:7001"},
  };
  for (const Row& row : rows) {
    const std::vector<TestShard> shards{{.slots = {{0, 0}}, .nodes = {{row.host, 7001}}},
                                        {.slots = {{1, 1}}, .nodes = {{TextReply("h"), 7002}}}};
    for (const auto& map :
         {ReadShards(ShardsReply(shards), kAsked, false), ReadSlots(SlotsReply(shards), kAsked)}) {
      ASSERT_TRUE(map);
      EXPECT_EQ(OwnerOf(*map, 0), row.owner);
      EXPECT_EQ(OwnerOf(*map, 1), "h:7002");
    }
  }
}

TEST(MapReply, OfANodeWithoutAUsablePortLacksIt) {
  for (const std::int64_t port : {0, -1, 65'536}) {
    const std::vector<TestShard> shards{{.slots = {{0, 9}}, .nodes = {{TextReply("a"), port}}},
                                        {.slots = {{10, 10}}, .nodes = {{TextReply("b"), 1}}}};
    EXPECT_EQ(OwnerOf(ReadShards(ShardsReply(shards), kAsked, false).value(), 0), "nobody");
    EXPECT_EQ(OwnerOf(ReadSlots(SlotsReply(shards), kAsked).value(), 0), "nobody");
  }
}

TEST(MapReply, TakesTheTlsPort) {
  const auto map = ReadShards(ShardsReply(kTwoShards), kAsked, true).value();
  EXPECT_EQ(OwnerOf(map, 0), "10.0.0.1:17001");
}

// A node that joined is connected to before it gets slots; one that failed is not.
TEST(MapReply, KnowsHealthyPrimariesWithoutSlots) {
  std::vector<TestShard> shards = kTwoShards;
  shards.push_back({.nodes = {{TextReply("10.0.0.4"), 7004}}});
  shards.push_back({.nodes = {{TextReply("10.0.0.5"), 7005, false}}});
  const auto map = ReadShards(ShardsReply(shards), kAsked, false).value();
  EXPECT_EQ(map.primaries(), (std::vector<Address>{{.host = "10.0.0.1", .port = "7001"},
                                                   {.host = "2001:db8::3", .port = "7003"},
                                                   {.host = "10.0.0.4", .port = "7004"}}));
}

// A failed primary keeps its slots until another takes them: its failure is what callers are told.
TEST(MapReply, KeepsAFailedPrimaryThatHasSlots) {
  const std::vector<TestShard> shards{
      {.slots = {{0, 1}}, .nodes = {{TextReply("10.0.0.1"), 7001, false}}}};
  EXPECT_EQ(OwnerOf(ReadShards(ShardsReply(shards), kAsked, false).value(), 0), "10.0.0.1:7001");
}

TEST(MapReply, PrefersTheHealthyOneOfTwoPrimariesOfAShard) {
  Reply reply = ShardsReply(
      {{.slots = {{0, 1}},
        .nodes = {{TextReply("10.0.0.1"), 7001, false}, {TextReply("10.0.0.2"), 7002}}}});
  Reply& second = reply.elements[0].elements[3].elements[1];
  *(std::ranges::find(second.elements, TextReply("replica"))) = TextReply("master");
  EXPECT_EQ(OwnerOf(ReadShards(reply, kAsked, false).value(), 0), "10.0.0.2:7002");
}

TEST(MapReply, RefusesWhatIsNoMap) {
  struct Row {
    Reply reply;
    std::string detail;  // without the command
  };
  const Row rows[] = {
      {ListReply({}), "nobody serves a slot"},
      {Reply{}, "the server's reply is no list"},
      {ErrorReply("NOPERM this user has no permissions"),
       "the user may not run this command (NOPERM)"},
      {SlotsReply({{.slots = {{2, 1}}, .nodes = {{TextReply("a"), 1}}}}),
       "a range of slots is none"},
      {SlotsReply({{.slots = {{0, 16'384}}, .nodes = {{TextReply("a"), 1}}}}),
       "a range of slots is none"},
      {SlotsReply({{.slots = {{0, 1}}, .nodes = {}}}), "a range of slots is none"},
      {SlotsReply({{.slots = {{0, 1}}, .nodes = {{TextReply("?"), 1}}}}), "nobody serves a slot"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(DetailOf(ReadSlots(row.reply, kAsked)), "CLUSTER SLOTS: " + row.detail);
  }
  EXPECT_EQ(DetailOf(ReadShards(ErrorReply("ERR This instance has cluster support disabled"),
                                kAsked, false)),
            "standalone server, cluster configured");
}

RC_GTEST_PROP(MapReply, OfAnyClusterIsTheSameInBothForms, ()) {
  const auto count = *rc::gen::inRange(1, 20);
  std::vector<TestShard> shards;
  int next = 0;
  for (int i = 0; i < count; ++i) {
    TestShard shard;
    const auto ranges = *rc::gen::inRange(1, 4);
    for (int range = 0; range < ranges && next < kSlots; ++range) {
      const int first = *rc::gen::inRange(next, std::min<int>(next + 900, kSlots));
      const int last = *rc::gen::inRange(first, std::min<int>(first + 900, kSlots));
      shard.slots.emplace_back(first, last);
      next = last + 1;
    }
    if (shard.slots.empty()) break;
    const auto hosts = *rc::gen::inRange(1, 4);
    for (int host = 0; host < hosts; ++host) {
      const auto name = *rc::gen::element<std::string>("", "?", "10.0.0.1", "::1", "node-a");
      shard.nodes.push_back({name.empty() ? Reply{} : TextReply(name), 7'000 + 10 * i + host});
    }
    shards.push_back(std::move(shard));
  }
  const auto by_shards = ReadShards(ShardsReply(shards), kAsked, false);
  const auto by_slots = ReadSlots(SlotsReply(shards), kAsked);
  RC_ASSERT(by_shards.has_value() == by_slots.has_value());
  if (!by_shards) return;
  for (Slot slot = 0; slot < kSlots; ++slot) {
    RC_ASSERT(OwnerOf(*by_shards, slot) == OwnerOf(*by_slots, slot));
  }
  RC_ASSERT(by_shards->RoutesAs(*by_slots));
  RC_ASSERT(std::ranges::is_permutation(by_shards->replicas(), by_slots->replicas()));
}

TEST(ReadPrimary, TakesTheAddressThatASentinelNames) {
  const auto map =
      ReadPrimary(ListReply({TextReply("10.0.0.1"), TextReply("6379")}), "edge").value();
  EXPECT_EQ(OwnerOf(map, 0), "10.0.0.1:6379");
  EXPECT_EQ(OwnerOf(map, 16'383), "10.0.0.1:6379");
  EXPECT_EQ(DetailOf(ReadPrimary(Reply{}, "edge")), "the sentinel knows no master named \"edge\"");
  for (const Reply& reply : {ListReply({}), ListReply({TextReply("a"), TextReply("0")}),
                             ListReply({TextReply(""), TextReply("1")})}) {
    EXPECT_EQ(DetailOf(ReadPrimary(reply, "edge")), "the sentinel's reply is no address");
  }
}

}  // namespace
}  // namespace sluice::redis
