#include "src/redis/health.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const Address kA{.host = "a", .port = "1"};
const Address kB{.host = "b", .port = "2"};

SlotMap Halves() {
  SlotMap map;
  map.Assign(0, 8'191, kA);
  map.Assign(8'192, kSlots - 1, kB);
  return map;
}

RedisNode Node(const std::string& address, bool ready = true) {
  return {.address = address,
          .ready = ready,
          .reason = ready ? "" : "connecting: refused",
          .category = ready ? "" : "unavailable-before-send"};
}

TEST(Summary, IsReadyIfEverySlotIsServedByAReadyServer) {
  EXPECT_TRUE(Summary(Halves(), std::nullopt, {Node("a:1"), Node("b:2")}).ready);
  const RedisHealth health = Summary(Halves(), std::nullopt, {Node("a:1"), Node("b:2", false)});
  EXPECT_FALSE(health.ready);
  EXPECT_EQ(health.reason, "b:2: connecting: refused");
  EXPECT_EQ(health.category, "unavailable-before-send");
}

TEST(Summary, NamesAKnownCauseBeforeAFirstAttempt) {
  RedisNode connecting = Node("a:1", false);
  connecting.reason = "connecting";
  connecting.category = "";
  EXPECT_EQ(Summary(Halves(), std::nullopt, {connecting, Node("b:2", false)}).reason,
            "b:2: connecting: refused");
  EXPECT_EQ(Summary(Halves(), std::nullopt, {connecting, Node("b:2")}).reason, "a:1: connecting");
}

// One server needs no name in its own reason.
TEST(Summary, OfOneServerIsThatServers) {
  const RedisHealth health = Summary(SlotMap(kA), std::nullopt, {Node("a:1", false)});
  EXPECT_EQ(health.reason, "connecting: refused");
}

TEST(Summary, DoesNotAskForServersWithoutSlots) {
  SlotMap map = Halves();
  map.AddPrimary({.host = "c", .port = "3"});
  EXPECT_TRUE(Summary(map, std::nullopt, {Node("a:1"), Node("b:2"), Node("c:3", false)}).ready);
  // Nor for one that was asked for a slot on its way there and is not in the map.
  EXPECT_TRUE(
      Summary(Halves(), std::nullopt, {Node("a:1"), Node("b:2"), Node("d:4", false)}).ready);
}

TEST(Summary, SaysWhenSlotsAreNobodys) {
  SlotMap map;
  map.Assign(0, 16'000, kA);
  const RedisHealth health = Summary(map, std::nullopt, {Node("a:1")});
  EXPECT_FALSE(health.ready);
  EXPECT_EQ(health.reason, "no server has 383 of the 16384 hash slots");
}

TEST(Summary, OfNoMapIsWhyThereIsNone) {
  EXPECT_EQ(Summary(SlotMap(), std::nullopt, {}).category, "");  // callers wait
  const RedisHealth health = Summary(
      SlotMap(), Outcome(Incompatible{Incompatible::Reason::kServerIncompatible, "why"}), {});
  EXPECT_FALSE(health.ready);
  EXPECT_EQ(health.reason, "why");
  EXPECT_EQ(health.category, "server-incompatible");
}

TEST(Summary, HasTheWorstClockAndTheLongestRoundTrip) {
  RedisNode one = Node("a:1");
  one.clock_skew = milliseconds{20};
  one.round_trip = microseconds{900};
  one.eviction_policy = "allkeys-lru";
  RedisNode other = Node("b:2");
  other.clock_skew = milliseconds{-30};
  other.round_trip = microseconds{100};
  other.eviction_policy = "noeviction";
  const RedisHealth health = Summary(Halves(), std::nullopt, {one, other});
  EXPECT_EQ(health.clock_skew, milliseconds{-30});
  EXPECT_EQ(health.round_trip, microseconds{900});
  EXPECT_EQ(health.eviction_policy, "allkeys-lru");
  EXPECT_EQ(health.nodes.size(), 2U);
}

}  // namespace
}  // namespace sluice::redis
