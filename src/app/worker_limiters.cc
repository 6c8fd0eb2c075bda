#include "src/app/worker_limiters.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::app {
namespace {

thread_local redis::WorkerLimiter* mine = nullptr;

void Add(RedisStatistics& sum, const RedisStatistics& lane) {
  sum.in_flight += lane.in_flight;
  sum.connections += lane.connections;
  sum.connects += lane.connects;
  sum.connect_failures += lane.connect_failures;
  sum.disconnects += lane.disconnects;
  sum.calls += lane.calls;
  sum.evaluations += lane.evaluations;
  sum.repeats += lane.repeats;
  sum.reloads += lane.reloads;
  for (const auto& [token, count] : lane.error_replies) sum.error_replies[token] += count;
  sum.rejected += lane.rejected;
  sum.expired += lane.expired;
}

}  // namespace

class WorkerLimiters::Part {
 public:
  Part(WorkerLimiters& all, boost::asio::io_context& loop)
      : all_(all),
        limiter_(std::make_shared<redis::WorkerLimiter>(loop, all.options_, all.clock_)) {
    mine = limiter_.get();
    const std::lock_guard lock(all_.mutex_);
    place_ = all_.lanes_.size();
    all_.lanes_.push_back({.status = limiter_->status(), .limiter = limiter_, .loop = &loop});
  }
  ~Part() {
    {
      const std::lock_guard lock(all_.mutex_);
      all_.lanes_[place_].loop = nullptr;
    }
    limiter_.reset();  // answers what is under way; what that brings may still ask it
    mine = nullptr;
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  WorkerLimiters& all_;
  std::shared_ptr<redis::WorkerLimiter> limiter_;
  std::size_t place_ = 0;
};

std::shared_ptr<void> WorkerLimiters::MakePart(boost::asio::io_context& loop) {
  return std::make_shared<Part>(*this, loop);
}

void WorkerLimiters::Evaluate(const Evaluation& evaluation, Completion completion) {
  if (mine != nullptr) {
    mine->Evaluate(evaluation, std::move(completion));
    return;
  }
  completion(Unavailable{Unavailable::Category::kUnavailableBeforeSend,
                         "this thread has no lane to the server"});
}

std::vector<RedisHealth> WorkerLimiters::Lanes() const {
  std::vector<RedisHealth> lanes;
  const std::lock_guard lock(mutex_);
  for (const Lane& lane : lanes_) lanes.push_back(lane.status->Health());
  return lanes;
}

RedisHealth WorkerLimiters::Health() const {
  const std::vector<RedisHealth> lanes = Lanes();
  const auto down = std::ranges::find_if(lanes, [](const auto& lane) { return !lane.ready; });
  RedisHealth health = down != lanes.end() ? *down : RedisHealth{.ready = !lanes.empty()};
  const auto skew = [](const RedisHealth& lane) {
    return lane.clock_skew ? std::chrono::abs(*lane.clock_skew) : Milliseconds{-1};
  };
  for (const RedisHealth& lane : lanes) {
    if (skew(lane) > skew(health)) health.clock_skew = lane.clock_skew;
    health.round_trip = std::max(health.round_trip, lane.round_trip);
  }
  return health;
}

RedisStatistics WorkerLimiters::Statistics() const {
  RedisStatistics sum;
  const std::lock_guard lock(mutex_);
  for (const Lane& lane : lanes_) Add(sum, lane.status->Statistics());
  return sum;
}

void WorkerLimiters::Hurry() {
  const std::lock_guard lock(mutex_);
  for (const Lane& lane : lanes_) {
    if (lane.loop == nullptr) continue;
    boost::asio::post(*lane.loop, [limiter = lane.limiter] {
      if (const auto alive = limiter.lock()) alive->Hurry();
    });
  }
}

}  // namespace sluice::app
