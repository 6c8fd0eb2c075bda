// Replies of servers about their topology, written down shortly, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/redis/resp.h"

namespace sluice::redis {

inline Reply TextReply(std::string text) {
  return {.kind = Reply::Kind::kText, .text = std::move(text)};
}
inline Reply ErrorReply(std::string text) {
  return {.kind = Reply::Kind::kError, .text = std::move(text)};
}
inline Reply IntegerReply(std::int64_t value) {
  return {.kind = Reply::Kind::kInteger, .integer = value};
}
inline Reply ListReply(std::vector<Reply> elements) {
  return {.kind = Reply::Kind::kArray, .elements = std::move(elements)};
}

struct TestNode {
  Reply host;
  std::int64_t port = 0;
  bool is_healthy = true;
};
/// The first node is the primary.
struct TestShard {
  std::vector<std::pair<int, int>> slots{};
  std::vector<TestNode> nodes{};
};

inline Reply ShardsReply(const std::vector<TestShard>& shards) {
  std::vector<Reply> list;
  for (const TestShard& shard : shards) {
    std::vector<Reply> slots;
    std::vector<Reply> nodes;
    for (const auto& [first, last] : shard.slots) {
      slots.push_back(IntegerReply(first));
      slots.push_back(IntegerReply(last));
    }
    for (const TestNode& node : shard.nodes) {
      nodes.push_back(ListReply(
          {TextReply("id"), TextReply("07c37dfe"), TextReply("port"), IntegerReply(node.port),
           TextReply("tls-port"), IntegerReply(node.port + 10'000), TextReply("ip"),
           TextReply("198.51.100.1"), TextReply("endpoint"), node.host, TextReply("role"),
           TextReply(nodes.empty() ? "master" : "replica"), TextReply("replication-offset"),
           IntegerReply(1), TextReply("health"), TextReply(node.is_healthy ? "online" : "fail")}));
    }
    list.push_back(ListReply({TextReply("slots"), ListReply(std::move(slots)), TextReply("nodes"),
                              ListReply(std::move(nodes))}));
  }
  return ListReply(std::move(list));
}

inline Reply SlotsReply(const std::vector<TestShard>& shards) {
  std::vector<Reply> list;
  for (const TestShard& shard : shards) {
    for (const auto& [first, last] : shard.slots) {
      std::vector<Reply> entry{IntegerReply(first), IntegerReply(last)};
      for (const TestNode& node : shard.nodes) {
        entry.push_back(ListReply({node.host, IntegerReply(node.port), TextReply("07c37dfe")}));
      }
      list.push_back(ListReply(std::move(entry)));
    }
  }
  return ListReply(std::move(list));
}

}  // namespace sluice::redis
