// The engine over Redis of a daemon: each HTTP worker has one of its own on its event loop, so that
// a request never changes threads between its socket and the server.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "sluice/redis_limiter.h"

#include "src/redis/options.h"
#include "src/redis/worker_limiter.h"

namespace sluice::app {

/// A Limiter that passes on to the calling worker's own.
///
/// Thread safety: `Evaluate` on a worker's thread while its part lives; on any other it answers
/// unavailable-before-send. Everything else from any thread. A process has one of these at most
/// whose parts live on a given thread.
class WorkerLimiters final : public RedisLimiter {
 public:
  /// `clock` must outlive the limiters.
  WorkerLimiters(redis::EngineOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  /// Makes the calling worker's limiter on its `loop`: an http::WorkerPartFactory. The part must be
  /// destroyed on the same thread, before the loop and before this.
  [[nodiscard]] std::shared_ptr<void> MakePart(boost::asio::io_context& loop);

  void Evaluate(const Evaluation& evaluation, Completion completion) override;

  /// Lane by lane, in the order in which the workers started.
  [[nodiscard]] std::vector<RedisHealth> Lanes() const;
  /// Ready if every lane is; else what the first says that is not. The clock is the worst lane's.
  /// A server is ready if it is for every worker; its connections are those of all.
  [[nodiscard]] RedisHealth Health() const override;
  /// Of all lanes together.
  [[nodiscard]] RedisStatistics Statistics() const override;

  /// Lets every lane that waits for its next attempt to connect try soon.
  void Hurry();

 private:
  class Part;
  struct Lane {
    std::shared_ptr<redis::Status> status;
    std::weak_ptr<redis::WorkerLimiter> limiter;  // used on the thread of `loop`
    boost::asio::io_context* loop = nullptr;      // null once the part is gone
  };

  const redis::EngineOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Lane> lanes_;
};

}  // namespace sluice::app
