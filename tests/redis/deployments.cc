#include "tests/redis/deployments.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/subject.h"

#include "testing/subjects.h"
#include "tests/redis/counting.h"

namespace sluice::redis {
namespace {

void Await(const std::string& what, const std::function<bool()>& condition) {
  if (!Eventually(condition)) throw std::runtime_error("it never came: " + what);
}

std::string InfoOf(const PortServer& node, const std::string& section) {
  return node.Command({"INFO", section}).text;
}

void Do(const PortServer& node, const std::vector<std::string>& words) {
  const Reply reply = node.Command(words);
  if (reply.kind == Reply::Kind::kError) {
    throw std::runtime_error(words.front() + " " + words.at(1) + ": " + reply.text);
  }
}

}  // namespace

std::string FreePort() {
  // Below the ports that systems give to connections.
  static std::uniform_int_distribution<std::uint16_t> ports(12'000, 31'999);
  static std::random_device random;
  static std::set<std::uint16_t> given;
  while (true) {
    const std::uint16_t port = ports(random);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (bound && given.insert(port).second) return std::to_string(port);
  }
}

Slot SlotOfClient(std::uint64_t client) {
  return SlotOf(ClientPseudonym(testing::SubjectNumber(client)));
}

bool PortServer::IsPrimary() const {
  try {
    return Command({"ROLE"}).elements.at(0).text == "master";
  } catch (const std::runtime_error&) {
    return false;
  }
}

PortServer StartOnPort(std::vector<std::string> arguments, const std::string& configuration) {
  PortServer made{.port = FreePort()};
  for (const std::string& word :
       {std::string("--bind"), std::string("127.0.0.1"), std::string("--port"), made.port}) {
    arguments.push_back(word);
  }
  made.server = std::make_unique<RedisServer>(std::move(arguments), configuration);
  return made;
}

TestCluster::TestCluster(std::size_t primaries, std::size_t replicas) : primaries_(primaries) {
  for (std::size_t i = 0; i < primaries + replicas; ++i) StartNode();
  for (std::size_t i = 0; i < primaries; ++i) {
    const std::size_t first = kSlots * i / primaries;
    const std::size_t last = kSlots * (i + 1) / primaries - 1;
    Do(nodes_[i], {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  for (std::size_t i = 1; i < nodes_.size(); ++i) Meet(i);
  for (std::size_t i = 0; i < replicas; ++i) {
    const PortServer& replica = nodes_[primaries + i];
    const std::string id = IdOf(i);
    Await("the replica knows its primary",
          [&] { return replica.Command({"CLUSTER", "NODES"}).text.contains(id); });
    Do(replica, {"CLUSTER", "REPLICATE", id});
    Await("the replica is in step",
          [&] { return InfoOf(replica, "replication").contains("master_link_status:up"); });
  }
  AwaitAgreement();
}

// A primary without slots stays one, so that its last slot can be moved as all others.
void TestCluster::StartNode() {
  const std::string bus_port = FreePort();
  nodes_.push_back(StartOnPort(
      {"--cluster-enabled", "yes", "--cluster-port", bus_port, "--cluster-node-timeout", "1000",
       "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0"}));
  nodes_.back().bus_port = bus_port;
  Do(nodes_.back(), {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(nodes_.size())});
}

void TestCluster::Meet(std::size_t i) const {
  Do(nodes_[0], {"CLUSTER", "MEET", "127.0.0.1", nodes_[i].port, nodes_[i].bus_port});
}

// Until every node that runs sees all slots served and all nodes.
void TestCluster::AwaitAgreement() const {
  const auto known = fmt::format(
      "cluster_known_nodes:{}",
      std::ranges::count_if(nodes_, [](const auto& node) { return node.server != nullptr; }));
  for (const PortServer& node : nodes_) {
    if (!node.server) continue;
    Await("the cluster agrees", [&] {
      const std::string info = node.Command({"CLUSTER", "INFO"}).text;
      return info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384") &&
             info.contains(known);
    });
  }
}

std::string TestCluster::IdOf(std::size_t i) const {
  return nodes_[i].Command({"CLUSTER", "MYID"}).text;
}

RedisOptions TestCluster::Options() const {
  RedisOptions options = TestOptions("127.0.0.1:1");
  options.topology = RedisTopology::kCluster;
  options.addresses = {nodes_[0].address()};
  return options;
}

std::size_t TestCluster::FirstOwnerOf(Slot slot) const {
  for (std::size_t i = 0; i + 1 < primaries_; ++i) {
    if (slot < kSlots * (i + 1) / primaries_) return i;
  }
  return primaries_ - 1;
}

std::optional<std::size_t> TestCluster::OwnerOf(Slot slot) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].server) continue;
    try {
      // Only its owner counts the keys of a slot without a word on where it is.
      const Reply reply = nodes_[i].Command({"CLUSTER", "NODES"});
      for (std::size_t at = reply.text.find("myself,master"); at != std::string::npos;) {
        const std::string line = reply.text.substr(at, reply.text.find('\n', at) - at);
        std::size_t word = line.find("connected");
        while (word != std::string::npos && (word = line.find(' ', word)) != std::string::npos) {
          int first = -1;
          int last = -1;
          const int read = std::sscanf(line.c_str() + word, " %d-%d", &first, &last);
          if (read >= 1 && first <= slot && slot <= (read == 2 ? last : first)) return i;
          ++word;
        }
        break;
      }
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::int64_t TestCluster::ChargedTo(std::uint64_t client) const {
  const auto owner = OwnerOf(SlotOfClient(client));
  return owner ? nodes_[*owner].server->Integer({"HGET", CountingKey(client), "count"}) : -1;
}

std::size_t TestCluster::Add() {
  StartNode();
  Meet(nodes_.size() - 1);
  AwaitAgreement();
  return nodes_.size() - 1;
}

void TestCluster::Remove(std::size_t i) {
  const std::string id = IdOf(i);
  for (std::size_t other = 0; other < nodes_.size(); ++other) {
    if (other != i && nodes_[other].server) Do(nodes_[other], {"CLUSTER", "FORGET", id});
  }
  nodes_[i].server.reset();
  AwaitAgreement();
}

void TestCluster::BeginMove(Slot slot, std::size_t from, std::size_t to) const {
  const std::string number = std::to_string(slot);
  Do(nodes_[to], {"CLUSTER", "SETSLOT", number, "IMPORTING", IdOf(from)});
  Do(nodes_[from], {"CLUSTER", "SETSLOT", number, "MIGRATING", IdOf(to)});
}

void TestCluster::EndMove(Slot slot, std::size_t from, std::size_t to) const {
  const std::string number = std::to_string(slot);
  while (true) {
    const Reply keys = nodes_[from].Command({"CLUSTER", "GETKEYSINSLOT", number, "100"});
    if (keys.elements.empty()) break;
    for (const Reply& key : keys.elements) {
      Do(nodes_[from], {"MIGRATE", "127.0.0.1", nodes_[to].port, key.text, "0", "5000"});
    }
  }
  const std::string id = IdOf(to);
  Do(nodes_[to], {"CLUSTER", "SETSLOT", number, "NODE", id});
  Do(nodes_[from], {"CLUSTER", "SETSLOT", number, "NODE", id});
}

TestSentinels::TestSentinels(std::vector<std::string> server_arguments) {
  for (const char* word : {"--repl-diskless-sync-delay", "0"}) server_arguments.emplace_back(word);
  servers_.push_back(StartOnPort(server_arguments));
  servers_.push_back(StartOnPort(server_arguments));
  Do(servers_[1], {"REPLICAOF", "127.0.0.1", servers_[0].port});
  Await("the replica is in step",
        [&] { return InfoOf(servers_[1], "replication").contains("master_link_status:up"); });
  const std::string configuration = fmt::format(
      "sentinel monitor edge 127.0.0.1 {} 2\n"
      "sentinel down-after-milliseconds edge 1000\n"
      "sentinel failover-timeout edge 5000\n",
      servers_[0].port);
  for (int i = 0; i < 3; ++i) sentinels_.push_back(StartOnPort({"--sentinel"}, configuration));
  for (const PortServer& sentinel : sentinels_) {
    Await("the sentinels know each other and the replica", [&] {
      return sentinel.Command({"SENTINEL", "SENTINELS", "edge"}).elements.size() == 2 &&
             sentinel.Command({"SENTINEL", "REPLICAS", "edge"}).elements.size() == 1;
    });
  }
}

RedisOptions TestSentinels::Options() const {
  RedisOptions options = TestOptions("127.0.0.1:1");
  options.topology = RedisTopology::kSentinel;
  options.sentinel.master = "edge";
  for (const PortServer& sentinel : sentinels_) {
    options.sentinel.addresses.push_back(sentinel.address());
  }
  return options;
}

}  // namespace sluice::redis
