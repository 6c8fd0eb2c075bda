// The engine over Redis on one event loop: what an HTTP worker owns, so that a request never
// changes threads between its socket and the server. It sends each evaluation to the server that
// has its client's slot.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/redis_limiter.h"

#include "src/redis/gathering.h"
#include "src/redis/node_lane.h"
#include "src/redis/options.h"
#include "src/redis/status.h"
#include "src/redis/topology_watch.h"

namespace sluice::redis {

/// Each server has a lane of its own. An evaluation that a server sends elsewhere moves from lane
/// to lane with its deadline, five times at most. One whose server is not known yet waits for the
/// first map.
///
/// Thread safety: `Evaluate`, construction and destruction on the thread of `loop`; `Health` and
/// `Statistics` on any. Completions come on that thread, never from a destroyed limiter, and must
/// not destroy it.
class WorkerLimiter final : public RedisLimiter {
 public:
  /// `loop` and `clock` must outlive the limiter; the clock is the machine's, whatever clock the
  /// evaluations carry.
  WorkerLimiter(boost::asio::io_context& loop, EngineOptions options, const Clock& clock);
  /// Answers everything that is under way.
  ~WorkerLimiter() override;

  void Evaluate(const Evaluation& evaluation, Completion completion) override;
  /// The same for one of several evaluations that came from other threads, with nothing to do in
  /// between: all are sent together. `deadline` is its own on `clock`.
  void EvaluateUntil(SteadyTime deadline, const Evaluation& evaluation, Completion completion);

  /// Somebody asks for the servers: an attempt to connect that is far away is drawn nearer.
  void Hurry();

  [[nodiscard]] RedisHealth Health() const override { return status_->Health(); }
  [[nodiscard]] RedisStatistics Statistics() const override { return status_->Statistics(); }

  /// What Health and Statistics read; lives on without the limiter.
  [[nodiscard]] std::shared_ptr<Status> status() const { return status_; }

 private:
  // Where an evaluation goes: to a lane, nowhere because of a refusal, or, with neither, to wait.
  struct Way {
    NodeLane* node = nullptr;
    std::optional<Outcome> refusal{};
  };

  NodeLane* Admit(SteadyTime deadline, const Evaluation& evaluation, Completion completion);
  [[nodiscard]] Way WayOf(const Subject& subject);
  NodeLane& NodeAt(const Address& address);
  void Route(Gathering::Pending pending);
  void RouteUnrouted();
  void FollowMap();
  void OnTopologyAnswer();
  bool OnRedirect(NodeLane& from, const Redirect& redirect,
                  std::vector<Gathering::Pending> evaluations);
  void TellLosses();
  void Pump();
  void SchedulePump();
  void PumpLeaving(Instant now);
  void Deliver();
  void ArmTimer();
  void PublishHealth();
  [[nodiscard]] std::size_t InFlight() const;

  boost::asio::io_context& loop_;
  const NodeOptions node_options_;
  const bool is_cluster_;
  const std::size_t max_in_flight_;
  const Clock& clock_;
  const std::shared_ptr<Status> status_ = std::make_shared<Status>();

  // One for each primary of the map, and one for each server that was asked for a slot on its way
  // there; these leave with the next map if it does not name them.
  std::map<Address, std::unique_ptr<NodeLane>> nodes_;
  // Servers that the map no longer names and that owe replies.
  std::vector<std::unique_ptr<NodeLane>> leaving_;
  // Evaluations that no lane can take now: there is no map yet, or a slot's keys are on their way.
  Gathering unrouted_;
  std::optional<SteadyTime> route_again_;  // when unrouted_ is looked through
  std::vector<Gathering::Answer> answers_;
  std::optional<TopologyWatch> watch_;  // none while the limiter goes
  std::uint64_t map_version_ = 0;       // the one that nodes_ follows

  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
  bool pump_scheduled_ = false;
  bool health_changed_ = true;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// Why an evaluation is not even tried, or none: a cost out of bounds, a deadline that is over.
[[nodiscard]] std::optional<Outcome> RefusedAtOnce(const Evaluation& evaluation);

}  // namespace sluice::redis
