#include "src/redis/worker_limiter.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include "src/limiter/decision.h"
#include "src/redis/health.h"

namespace sluice::redis {
namespace {

constexpr unsigned kMaximumRedirects = 5;
// Before a slot whose keys are here and there is tried again; twice as long each time.
constexpr Milliseconds kFirstTryAgain{10};

Outcome Going() {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, "the engine is going"};
}

Outcome NobodyServes() {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend,
                     "no server has the client's hash slot"};
}

Outcome TooManyRedirects() {
  return Unavailable{Unavailable::Category::kNoMutationConfirmed,
                     fmt::format("{} servers in a row sent it elsewhere", kMaximumRedirects + 1)};
}

}  // namespace

std::optional<Outcome> RefusedAtOnce(const Evaluation& evaluation) {
  if (auto refusal = limiter::Refusal(*evaluation.plan, evaluation.cost)) return *refusal;
  if (evaluation.deadline > evaluation.now.steady) return std::nullopt;
  return Unavailable{Unavailable::Category::kAdmissionRejected,
                     "the deadline was over before the evaluation began"};
}

WorkerLimiter::WorkerLimiter(boost::asio::io_context& loop, EngineOptions options,
                             const Clock& clock)
    : loop_(loop),
      node_options_(std::move(options.node)),
      is_cluster_(std::holds_alternative<Cluster>(options.watch.topology)),
      max_in_flight_(options.max_in_flight),
      clock_(clock),
      timer_(loop) {
  watch_.emplace(loop, std::move(options.watch), clock, [this] { OnTopologyAnswer(); });
  FollowMap();
}

WorkerLimiter::~WorkerLimiter() {
  watch_.reset();
  const auto end = [this](NodeLane& node) {
    node.End();
    for (auto& answer : node.TakeAnswers()) answers_.push_back(std::move(answer));
  };
  for (const auto& [address, node] : nodes_) end(*node);
  for (const auto& node : leaving_) end(*node);
  unrouted_.FailAll(Going(), Going());
  Deliver();
}

void WorkerLimiter::Evaluate(const Evaluation& evaluation, Completion completion) {
  const Instant now = clock_.Now();
  // The evaluation's clocks may be a caller's own; what is left of its time counts from here.
  const SteadyTime deadline = now.steady + (evaluation.deadline - evaluation.now.steady);
  NodeLane* node = Admit(deadline, evaluation, std::move(completion));
  // Between evaluations this thread reads and parses requests: let the server work meanwhile.
  if (node != nullptr && node->IsWorthAWrite(now.steady)) node->Pump(now);
}

void WorkerLimiter::EvaluateUntil(SteadyTime deadline, const Evaluation& evaluation,
                                  Completion completion) {
  Admit(deadline, evaluation, std::move(completion));
}

// Where it waits, if one is known; whatever becomes of it is told by a later turn of the loop.
NodeLane* WorkerLimiter::Admit(SteadyTime deadline, const Evaluation& evaluation,
                               Completion completion) {
  Way way;
  way.refusal = RefusedAtOnce(evaluation);
  if (!way.refusal) way = WayOf(evaluation.subject);
  if (way.refusal && way.node != nullptr) way.node->Hurry();
  if (!way.refusal && InFlight() >= max_in_flight_) {
    way.refusal =
        Unavailable{Unavailable::Category::kAdmissionRejected,
                    fmt::format("the lane is full: {} evaluations are under way", InFlight())};
  }
  if (way.refusal) {
    const auto* unavailable = std::get_if<Unavailable>(&*way.refusal);
    if (unavailable && unavailable->category == Unavailable::Category::kAdmissionRejected) {
      ++status_->rejected;
    }
    completion(*std::move(way.refusal));
    return nullptr;
  }
  Gathering::Pending pending{
      .evaluation = evaluation, .completion = std::move(completion), .deadline = deadline};
  way.node != nullptr ? way.node->Add(std::move(pending)) : unrouted_.Add(std::move(pending));
  status_->in_flight = static_cast<std::int64_t>(InFlight());
  SchedulePump();
  return way.node;
}

WorkerLimiter::Way WorkerLimiter::WayOf(const Subject& subject) {
  if (!watch_) return {.refusal = Going()};
  const Topology& topology = watch_->topology();
  const Slot slot = is_cluster_ ? SlotOf(ClientPseudonym(subject)) : Slot{0};
  if (const Address* primary = topology.map().PrimaryOf(slot)) {
    NodeLane& node = NodeAt(*primary);
    return {.node = &node, .refusal = node.Refusal()};
  }
  if (!topology.map().IsEmpty()) return {.refusal = NobodyServes()};
  return {.refusal = topology.WhyUnknown()};
}

NodeLane& WorkerLimiter::NodeAt(const Address& address) {
  std::unique_ptr<NodeLane>& node = nodes_[address];
  if (!node) {
    node = std::make_unique<NodeLane>(
        loop_, address, node_options_, clock_, *status_,
        NodeListener{.on_redirect =
                         [this](NodeLane& from, const Redirect& redirect, auto evaluations) {
                           return OnRedirect(from, redirect, std::move(evaluations));
                         },
                     .on_cluster_down =
                         [this](const Address& server) {
                           watch_->topology().OnClusterDown(server);
                           watch_->Look();
                         },
                     .on_health = [this] { health_changed_ = true; },
                     .on_change = [this] { Pump(); }});
    health_changed_ = true;
  }
  return *node;
}

// An evaluation that was admitted before; its place is wherever it is now.
void WorkerLimiter::Route(Gathering::Pending pending) {
  Way way = WayOf(pending.evaluation.subject);
  // Only a server can say what became of a repeat, so it waits for one until its deadline.
  if (way.refusal && !pending.is_repeat) {
    answers_.push_back(Gathering::AnswerOf(std::move(pending), *std::move(way.refusal)));
  } else if (way.node != nullptr) {
    way.node->Add(std::move(pending));
  } else {
    unrouted_.Add(std::move(pending));
  }
}

void WorkerLimiter::RouteUnrouted() {
  route_again_.reset();
  for (auto& pending : unrouted_.TakeWaiting()) Route(std::move(pending));
}

void WorkerLimiter::FollowMap() {
  const Topology& topology = watch_->topology();
  if (map_version_ == topology.version() && !nodes_.empty()) return;
  if (map_version_ != 0 && map_version_ != topology.version()) ++status_->map_changes;
  map_version_ = topology.version();
  health_changed_ = true;

  std::vector<Gathering::Pending> moved;
  const auto& primaries = topology.map().primaries();
  for (auto next = nodes_.begin(); next != nodes_.end();) {
    const auto node = next++;
    if (std::ranges::find(primaries, node->first) != primaries.end()) continue;
    for (auto& pending : node->second->TakeWaiting()) moved.push_back(std::move(pending));
    leaving_.push_back(std::move(node->second));
    nodes_.erase(node);
  }
  for (const Address& primary : primaries) (void)NodeAt(primary);
  for (auto& pending : moved) Route(std::move(pending));
  RouteUnrouted();
}

void WorkerLimiter::OnTopologyAnswer() {
  FollowMap();
  if (watch_->topology().map().IsEmpty()) RouteUnrouted();  // it may be known why
  health_changed_ = true;
  Pump();
}

bool WorkerLimiter::OnRedirect(NodeLane& from, const Redirect& redirect,
                               std::vector<Gathering::Pending> evaluations) {
  status_->redirects += static_cast<std::int64_t>(evaluations.size());
  Address to = redirect.to;
  if (to.host.empty()) to.host = from.address().host;
  const bool has_moved = redirect.kind == Redirect::Kind::kMoved;
  if (has_moved) {
    watch_->topology().OnMoved(redirect.slot, to);
    FollowMap();
    watch_->Look();
  }
  for (Gathering::Pending& pending : evaluations) {
    pending.asks = redirect.kind == Redirect::Kind::kAsk;
    if (++pending.redirects > kMaximumRedirects) {
      answers_.push_back(Gathering::AnswerOf(std::move(pending), TooManyRedirects()));
    } else if (redirect.kind == Redirect::Kind::kTryAgain) {
      const SteadyTime again = clock_.Now().steady + kFirstTryAgain * (1U << pending.redirects) / 2;
      route_again_ = std::min(again, route_again_.value_or(again));
      unrouted_.Add(std::move(pending));
    } else {
      NodeAt(to).Add(std::move(pending));
    }
  }
  // Moved to where it was asked: several servers behind one address; another connection may lead to
  // the right one.
  return !(has_moved && to == from.address());
}

void WorkerLimiter::Hurry() {
  for (const auto& [address, node] : nodes_) node->Hurry();
}

// Once for all that arrives in this turn of the loop, so that it shares calls and a write.
void WorkerLimiter::SchedulePump() {
  if (std::exchange(pump_scheduled_, true)) return;
  boost::asio::post(loop_, [this, alive = std::weak_ptr<void>(alive_)] {
    if (alive.expired()) return;
    pump_scheduled_ = false;
    // Not from inside a lane, so those that are done can go.
    std::erase_if(leaving_, [](const auto& node) { return node->size() == 0; });
    Pump();
  });
}

void WorkerLimiter::Pump() {
  const Instant now = clock_.Now();
  TellLosses();
  status_->expired += static_cast<std::int64_t>(unrouted_.Expire(now.steady));
  if (route_again_ && *route_again_ <= now.steady) RouteUnrouted();
  PumpLeaving(now);
  for (const auto& [address, node] : nodes_) node->Pump(now);
  // Before the answers: whoever is refused may look why.
  if (std::exchange(health_changed_, false)) PublishHealth();
  Deliver();
  ArmTimer();
}

void WorkerLimiter::TellLosses() {
  Topology& topology = watch_->topology();
  bool news = false;
  for (const auto& [address, node] : nodes_) {
    if (node->IsLost() == topology.IsDown(address)) continue;
    node->IsLost() ? topology.OnDown(address) : topology.OnUp(address);
    news = true;
  }
  if (news) watch_->Look();
}

// What was sent to a server that is leaving and came back unanswered goes to another one.
void WorkerLimiter::PumpLeaving(Instant now) {
  for (const auto& node : leaving_) {
    for (auto& pending : node->TakeWaiting()) Route(std::move(pending));
    node->Pump(now);
    if (node->size() == 0) SchedulePump();
  }
}

void WorkerLimiter::Deliver() {
  const auto take_from = [this](auto& source) {
    for (auto& answer : source.TakeAnswers()) answers_.push_back(std::move(answer));
  };
  take_from(unrouted_);
  for (const auto& [address, node] : nodes_) take_from(*node);
  for (const auto& node : leaving_) take_from(*node);
  status_->in_flight = static_cast<std::int64_t>(InFlight());
  for (Gathering::Answer& answer : std::exchange(answers_, {})) answer.Deliver();
}

void WorkerLimiter::ArmTimer() {
  std::optional<SteadyTime> next = route_again_;
  const auto consider = [&](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  consider(unrouted_.NextDeadline());
  for (const auto& [address, node] : nodes_) consider(node->NextDeadline());
  for (const auto& node : leaving_) consider(node->NextDeadline());
  // A timer that fires early looks again; so it is moved forward only.
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.expires_at(*next);
  timer_.async_wait(
      [this, alive = std::weak_ptr<void>(alive_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        armed_.reset();
        Pump();
      });
}

void WorkerLimiter::PublishHealth() {
  std::vector<RedisNode> nodes;
  std::int64_t connections = 0;
  for (const auto& [address, node] : nodes_) {
    nodes.push_back(node->Health());
    connections += nodes.back().connections;
  }
  status_->connections = connections;
  const Topology& topology = watch_->topology();
  status_->SetHealth(Summary(topology.map(), topology.WhyUnknown(), std::move(nodes)));
}

std::size_t WorkerLimiter::InFlight() const {
  std::size_t sum = unrouted_.size();
  for (const auto& [address, node] : nodes_) sum += node->size();
  for (const auto& node : leaving_) sum += node->size();
  return sum;
}

}  // namespace sluice::redis
