// Deployments of several real servers on loopback, for tests: a cluster, and a pair under
// sentinels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/redis_limiter.h"

#include "src/redis/topology/slot.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {

/// A server with a TCP port of its own besides its socket.
struct PortServer {
  std::string port{};
  std::string bus_port{};  ///< of a cluster's node
  std::unique_ptr<RedisServer> server{};

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + port; }
  Reply Command(const std::vector<std::string>& words) const { return server->Command(words); }
  /// Whether it says of itself that it is a primary; false if it does not answer.
  [[nodiscard]] bool IsPrimary() const;
};

/// A port that nobody listened on a moment ago; none is given twice. No connection is given it by
/// the system, so that a server finds its own again after a restart.
[[nodiscard]] std::string FreePort();

/// `arguments` come after those that every test server has. The port is free when it is chosen.
[[nodiscard]] PortServer StartOnPort(std::vector<std::string> arguments,
                                     const std::string& configuration = {});

/// A cluster that declares a node failed after a second.
class TestCluster {
 public:
  /// Nodes 0 .. primaries - 1 share the slots evenly; node primaries + i replicates node i.
  explicit TestCluster(std::size_t primaries, std::size_t replicas = 0);

  [[nodiscard]] const PortServer& node(std::size_t i) const { return nodes_[i]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::string IdOf(std::size_t i) const;
  /// The engine's options with the first node as its only seed.
  [[nodiscard]] RedisOptions Options() const;

  /// The node of the first `primaries` that had the slot at the start.
  [[nodiscard]] std::size_t FirstOwnerOf(Slot slot) const;
  /// A node that says it has the slot now, among those that answer.
  [[nodiscard]] std::optional<std::size_t> OwnerOf(Slot slot) const;
  /// What is charged to a client wherever it is; -1 if nobody that answers serves it.
  [[nodiscard]] std::int64_t ChargedTo(std::uint64_t client) const;

  /// Adds a primary without slots, which all nodes know.
  std::size_t Add();
  /// Makes all others forget the node, and ends it.
  void Remove(std::size_t i);
  /// Opens a slot for its way from one node to another, and ends its way, all its keys moved.
  void BeginMove(Slot slot, std::size_t from, std::size_t to) const;
  void EndMove(Slot slot, std::size_t from, std::size_t to) const;

 private:
  void StartNode();
  void Meet(std::size_t i) const;
  void AwaitAgreement() const;

  std::size_t primaries_;
  std::vector<PortServer> nodes_;
};

/// A primary, a replica and three sentinels, which find a server down after a second.
class TestSentinels {
 public:
  explicit TestSentinels(std::vector<std::string> server_arguments = {});

  [[nodiscard]] const PortServer& server(std::size_t i) const { return servers_[i]; }
  [[nodiscard]] const PortServer& sentinel(std::size_t i) const { return sentinels_[i]; }
  [[nodiscard]] RedisOptions Options() const;

 private:
  std::vector<PortServer> servers_;
  std::vector<PortServer> sentinels_;
};

/// The hash slot of a test's client.
[[nodiscard]] Slot SlotOfClient(std::uint64_t client);

}  // namespace sluice::redis
