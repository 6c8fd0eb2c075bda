#include "src/app/worker_limiters.h"

#include <algorithm>
#include <map>
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
  sum.redirects += lane.redirects;
  sum.map_changes += lane.map_changes;
  sum.unreplicated += lane.unreplicated;
  for (const auto& [token, count] : lane.error_replies) sum.error_replies[token] += count;
  sum.rejected += lane.rejected;
  sum.expired += lane.expired;
}

// The further one of two clocks.
std::optional<Milliseconds> Worse(std::optional<Milliseconds> a, std::optional<Milliseconds> b) {
  if (!a || !b) return a ? a : b;
  return std::chrono::abs(*b) > std::chrono::abs(*a) ? b : a;
}

// What all workers know of a server: ready if it is for each of them.
void Merge(std::map<std::string, RedisNode>& nodes, const RedisNode& node) {
  const auto [found, is_new] = nodes.emplace(node.address, node);
  if (is_new) return;
  RedisNode& known = found->second;
  if (known.ready && !node.ready) {
    known.reason = node.reason;
    known.category = node.category;
  }
  known.ready = known.ready && node.ready;
  known.connections += node.connections;
  known.clock_skew = Worse(known.clock_skew, node.clock_skew);
  known.round_trip = std::max(known.round_trip, node.round_trip);
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
  lanes.reserve(lanes_.size());
  for (const Lane& lane : lanes_) lanes.push_back(lane.status->Health());
  return lanes;
}

RedisHealth WorkerLimiters::Health() const {
  const std::vector<RedisHealth> lanes = Lanes();
  const auto down = std::ranges::find_if(lanes, [](const auto& lane) { return !lane.ready; });
  RedisHealth health = down != lanes.end() ? *down : RedisHealth{.ready = !lanes.empty()};
  std::map<std::string, RedisNode> nodes;
  for (const RedisHealth& lane : lanes) {
    health.clock_skew = Worse(health.clock_skew, lane.clock_skew);
    health.round_trip = std::max(health.round_trip, lane.round_trip);
    for (const RedisNode& node : lane.nodes) Merge(nodes, node);
  }
  health.nodes.clear();
  health.nodes.reserve(nodes.size());
  for (auto& [address, node] : nodes) health.nodes.push_back(std::move(node));
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
