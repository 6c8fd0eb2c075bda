// The engine over Redis for callers without an event loop of their own: a WorkerLimiter on one
// thread. Invariants:
//
// - `worker_` is used and destroyed on `thread_` only; it is made before that thread starts.
// - `handed_over_` counts evaluations between a caller's thread and the worker. With those that the
//   worker holds they pass max_in_flight by no more than the callers that ask at one moment, and
//   the worker refuses those.
#include "sluice/redis_limiter.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "src/redis/worker_limiter.h"

namespace sluice {
namespace {

namespace asio = boost::asio;

// The host's signals are the host's: none is delivered to a thread started while this lives.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

class ThreadedLimiter final : public RedisLimiter {
 public:
  ThreadedLimiter(redis::EngineOptions options, const Clock& clock);
  ~ThreadedLimiter() override;
  ThreadedLimiter(const ThreadedLimiter&) = delete;
  ThreadedLimiter& operator=(const ThreadedLimiter&) = delete;

  void Evaluate(const Evaluation& evaluation, Completion completion) override;

  [[nodiscard]] RedisHealth Health() const override { return status_->Health(); }
  [[nodiscard]] RedisStatistics Statistics() const override { return status_->Statistics(); }

 private:
  const std::int64_t max_in_flight_;
  const Clock& clock_;
  std::atomic<std::int64_t> handed_over_{0};
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  std::unique_ptr<redis::WorkerLimiter> worker_;
  std::shared_ptr<redis::Status> status_;
  std::thread thread_;
};

ThreadedLimiter::ThreadedLimiter(redis::EngineOptions options, const Clock& clock)
    : max_in_flight_(static_cast<std::int64_t>(options.max_in_flight)),
      clock_(clock),
      worker_(std::make_unique<redis::WorkerLimiter>(loop_, std::move(options), clock)),
      status_(worker_->status()) {
  const BlockedSignals blocked;
  thread_ = std::thread([this] {
    loop_.run();
    worker_.reset();
    // What was handed over too late is answered as well.
    work_.reset();
    loop_.restart();
    loop_.run();
  });
}

ThreadedLimiter::~ThreadedLimiter() {
  loop_.stop();
  thread_.join();
}

void ThreadedLimiter::Evaluate(const Evaluation& evaluation, Completion completion) {
  // What is left of its time counts from here, so that waiting for the thread is part of it.
  const SteadyTime deadline = clock_.Now().steady + (evaluation.deadline - evaluation.now.steady);
  auto refusal = redis::RefusedAtOnce(evaluation);
  if (!refusal && handed_over_ + status_->in_flight >= max_in_flight_) {
    refusal = Unavailable{Unavailable::Category::kAdmissionRejected,
                          "the lane is full and more evaluations are waiting for it"};
  }
  if (refusal) {
    if (std::holds_alternative<Unavailable>(*refusal)) ++status_->rejected;
    completion(*std::move(refusal));
    return;
  }
  ++handed_over_;
  asio::post(loop_, [this, deadline, evaluation, completion = std::move(completion)]() mutable {
    --handed_over_;
    if (!worker_) {
      completion(Unavailable{Unavailable::Category::kUnavailableBeforeSend, "the engine is going"});
      return;
    }
    worker_->EvaluateUntil(deadline, evaluation, std::move(completion));
  });
}

}  // namespace

std::expected<std::unique_ptr<RedisLimiter>, std::string> MakeRedisLimiter(
    const RedisOptions& options, const Clock& clock) {
  auto checked = redis::CheckOptions(options);
  if (!checked) return std::unexpected(std::move(checked).error());
  return std::make_unique<ThreadedLimiter>(*std::move(checked), clock);
}

}  // namespace sluice
