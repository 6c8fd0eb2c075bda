#include "src/redis/worker_limiter.h"

#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include "src/limiter/decision.h"

namespace sluice::redis {
namespace {

Outcome Going() {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, "the engine is going"};
}

Outcome NoReply() {
  return Indeterminate{Indeterminate::Category::kReplyMalformed,
                       "the server's reply is none of the script's"};
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
      script_(std::move(options.script)),
      max_in_flight_(options.max_in_flight),
      clock_(clock),
      timer_(loop) {
  lane_ = std::make_unique<Lane>(
      loop, std::move(options.lane), clock, *status_,
      LaneListener{.on_reply = [this](std::uint64_t batch,
                                      auto reply) { return OnReply(batch, std::move(reply)); },
                   .on_drop = [this](const Dropped& dropped) { OnDrop(dropped); },
                   .on_change = [this] { Pump(); }});
}

WorkerLimiter::~WorkerLimiter() {
  lane_.reset();
  gathering_.FailAll(Going(), Indeterminate{Indeterminate::Category::kResponseLost,
                                            "the engine went before the server answered"});
  Deliver();
}

void WorkerLimiter::Evaluate(const Evaluation& evaluation, Completion completion) {
  // The evaluation's clocks may be a caller's own; what is left of its time counts from here.
  const SteadyTime deadline = clock_.Now().steady + (evaluation.deadline - evaluation.now.steady);
  EvaluateUntil(deadline, evaluation, std::move(completion));
}

void WorkerLimiter::EvaluateUntil(SteadyTime deadline, const Evaluation& evaluation,
                                  Completion completion) {
  auto refusal = RefusedAtOnce(evaluation);
  if (!refusal && !lane_) refusal = Going();
  if (!refusal) {
    refusal = lane_->Refusal();
    if (refusal) lane_->Hurry();
  }
  if (!refusal && gathering_.size() >= max_in_flight_) {
    refusal = Unavailable{
        Unavailable::Category::kAdmissionRejected,
        fmt::format("the lane is full: {} evaluations are under way", gathering_.size())};
  }
  if (refusal) {
    const auto* unavailable = std::get_if<Unavailable>(&*refusal);
    if (unavailable && unavailable->category == Unavailable::Category::kAdmissionRejected) {
      ++status_->rejected;
    }
    completion(*std::move(refusal));
    return;
  }
  gathering_.Add(evaluation, std::move(completion), deadline);
  status_->in_flight = static_cast<std::int64_t>(gathering_.size());
  SchedulePump();
}

void WorkerLimiter::Hurry() {
  if (lane_) lane_->Hurry();
}

// Once for all that arrives in this turn of the loop, so that it shares calls and a write.
void WorkerLimiter::SchedulePump() {
  if (std::exchange(pump_scheduled_, true)) return;
  boost::asio::post(loop_, [this, alive = std::weak_ptr<void>(alive_)] {
    if (alive.expired()) return;
    pump_scheduled_ = false;
    Pump();
  });
}

void WorkerLimiter::Pump() {
  const Instant now = clock_.Now();
  status_->expired += static_cast<std::int64_t>(gathering_.Expire(now.steady));
  if (const auto refusal = lane_->Refusal()) gathering_.FailWaiting(*refusal);
  SendWaiting(now);
  Deliver();
  ArmTimer();
}

void WorkerLimiter::SendWaiting(Instant now) {
  while (gathering_.HasNext() && lane_->CanSend(now.steady)) {
    const auto batch = gathering_.Next(kMaximumBatch);
    Call call = EncodeCall(script_, batch->items);
    call.id = batch->id;
    lane_->Send(std::move(call), now);
    ++status_->calls;
    status_->evaluations += static_cast<std::int64_t>(batch->items.size());
  }
  lane_->Flush();
}

bool WorkerLimiter::OnReply(std::uint64_t batch, std::expected<Reply, Outcome> reply) {
  if (!reply) {
    gathering_.SettleAll(batch, reply.error());
    return true;
  }
  const auto items = gathering_.Items(batch);
  if (items.empty()) {  // nobody waits for it any more
    gathering_.SettleAll(batch, NoReply());
    return true;
  }
  auto outcomes = DecodeReply(items, *reply);
  if (!outcomes || outcomes->size() != items.size()) {
    gathering_.SettleAll(batch, NoReply());
    return false;
  }
  gathering_.Settle(batch, *std::move(outcomes));
  return true;
}

void WorkerLimiter::OnDrop(const Dropped& dropped) {
  if (dropped.malformed) {
    gathering_.SettleAll(dropped.id, NoReply());
  } else if (dropped.departure == Departure::kFully) {
    status_->repeats += static_cast<std::int64_t>(gathering_.Lose(dropped.id));
  } else {
    gathering_.Unsend(dropped.id);
  }
}

void WorkerLimiter::Deliver() {
  status_->in_flight = static_cast<std::int64_t>(gathering_.size());
  for (Gathering::Answer& answer : gathering_.TakeAnswers()) answer.Deliver();
}

void WorkerLimiter::ArmTimer() {
  const auto next = gathering_.NextDeadline();
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

}  // namespace sluice::redis
