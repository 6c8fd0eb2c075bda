// The way to one server: what waits for it, and the lane it goes out over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "sluice/redis_limiter.h"

#include "src/redis/gathering.h"
#include "src/redis/lane.h"
#include "src/redis/script.h"
#include "src/redis/status.h"
#include "src/redis/topology/redirect.h"

namespace sluice::redis {

struct NodeOptions {
  LaneOptions lane{};  ///< its address is filled in for each server
  ScriptOptions script{};
  int wait_replicas = 0;
};

class NodeLane;

/// Whom a node's lane tells. Called from the event loop, where evaluations may be added to any
/// lane, but none may be destroyed.
struct NodeListener {
  /// The server sent these elsewhere without running them. False: its connection is given up.
  std::function<bool(NodeLane& from, const Redirect& redirect,
                     std::vector<Gathering::Pending> evaluations)>
      on_redirect;
  /// The server said that the cluster does not serve; others may know better.
  std::function<void(const Address& server)> on_cluster_down;
  /// What Health tells has changed.
  std::function<void()> on_health;
  /// After every change: there may be answers, and room for more.
  std::function<void()> on_change;
};

/// Thread safety: none; used on the thread of its event loop.
class NodeLane {
 public:
  NodeLane(boost::asio::io_context& loop, const Address& address, const NodeOptions& options,
           const Clock& clock, Status& status, NodeListener listener);
  NodeLane(const NodeLane&) = delete;
  NodeLane& operator=(const NodeLane&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }
  /// Evaluations that take a place, as Gathering counts them.
  [[nodiscard]] std::size_t size() const { return gathering_.size(); }

  /// As the lane's.
  [[nodiscard]] std::optional<Outcome> Refusal() const;
  void Hurry();
  [[nodiscard]] bool IsLost() const;
  [[nodiscard]] RedisNode Health() const;

  /// Whether Pump would send as many calls as are worth a write of their own.
  [[nodiscard]] bool IsWorthAWrite(SteadyTime now) const;
  /// The evaluation waits here until it is sent; Pump sends it.
  void Add(Gathering::Pending pending) { gathering_.Add(std::move(pending)); }
  /// Answers what is over or refused, and sends what there is room for.
  void Pump(Instant now);
  /// Takes what waits, for another server.
  [[nodiscard]] std::vector<Gathering::Pending> TakeWaiting() { return gathering_.TakeWaiting(); }
  /// When Pump has something to answer.
  [[nodiscard]] std::optional<SteadyTime> NextDeadline() const { return gathering_.NextDeadline(); }
  [[nodiscard]] std::vector<Gathering::Answer> TakeAnswers() { return gathering_.TakeAnswers(); }

  /// Closes the connections; nobody is told any more. Answers everything.
  void End();

 private:
  bool OnReply(Replied replied);
  bool OnRedirected(const Redirected& redirected);
  void OnDrop(const Dropped& dropped);
  void Send(const Gathering::Batch& batch, Instant now);

  const Address address_;
  const ScriptOptions script_;
  const int wait_replicas_;
  Status& status_;
  NodeListener listener_;
  Gathering gathering_;
  std::unique_ptr<Lane> lane_;  // null once ended
};

}  // namespace sluice::redis
