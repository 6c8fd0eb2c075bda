// The engine over Redis on one event loop: what an HTTP worker owns, so that a request never
// changes threads between its socket and the server.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/redis_limiter.h"

#include "src/redis/gathering.h"
#include "src/redis/lane.h"
#include "src/redis/options.h"
#include "src/redis/status.h"

namespace sluice::redis {

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
  /// The same for an evaluation that came from another thread: `deadline` is its own on `clock`.
  void EvaluateUntil(SteadyTime deadline, const Evaluation& evaluation, Completion completion);

  /// Somebody asks for the server: an attempt to connect that is far away is drawn nearer.
  void Hurry();

  [[nodiscard]] RedisHealth Health() const override { return status_->Health(); }
  [[nodiscard]] RedisStatistics Statistics() const override { return status_->Statistics(); }

  /// What Health and Statistics read; lives on without the limiter.
  [[nodiscard]] std::shared_ptr<Status> status() const { return status_; }

 private:
  bool OnReply(std::uint64_t batch, std::expected<Reply, Outcome> reply);
  void OnDrop(const Dropped& dropped);
  void Pump();
  void SchedulePump();
  void SendWaiting(Instant now);
  void Deliver();
  void ArmTimer();

  boost::asio::io_context& loop_;
  const ScriptOptions script_;
  const std::size_t max_in_flight_;
  const Clock& clock_;
  const std::shared_ptr<Status> status_ = std::make_shared<Status>();
  Gathering gathering_;
  std::unique_ptr<Lane> lane_;  // null while the limiter goes
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
  bool pump_scheduled_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

/// Why an evaluation is not even tried, or none: a cost out of bounds, a deadline that is over.
[[nodiscard]] std::optional<Outcome> RefusedAtOnce(const Evaluation& evaluation);

}  // namespace sluice::redis
