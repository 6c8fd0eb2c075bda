#include "src/redis/node_lane.h"

#include <algorithm>
#include <utility>

namespace sluice::redis {
namespace {

// A write and what it wakes cost a server about as much as a call; shared by so many, little.
constexpr std::size_t kCallsWorthAWrite = 8;

Outcome Going() {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, "the engine is going"};
}

Outcome NoReply() {
  return Indeterminate{Indeterminate::Category::kReplyMalformed,
                       "the server's reply is none of the script's"};
}

LaneOptions At(const Address& address, LaneOptions options) {
  options.address = address;
  return options;
}

}  // namespace

NodeLane::NodeLane(boost::asio::io_context& loop, const Address& address,
                   const NodeOptions& options, const Clock& clock, Status& status,
                   NodeListener listener)
    : address_(address),
      script_(options.script),
      wait_replicas_(options.wait_replicas),
      status_(status),
      listener_(std::move(listener)) {
  lane_ = std::make_unique<Lane>(
      loop, At(address, options.lane), clock, status,
      LaneListener{.on_reply = [this](Replied replied) { return OnReply(std::move(replied)); },
                   .on_redirected = [this](const Redirected& one) { return OnRedirected(one); },
                   .on_drop = [this](const Dropped& dropped) { OnDrop(dropped); },
                   .on_health = [this] { listener_.on_health(); },
                   .on_change = [this] { listener_.on_change(); }});
}

std::optional<Outcome> NodeLane::Refusal() const {
  return lane_->Refusal();
}

void NodeLane::Hurry() {
  lane_->Hurry();
}

bool NodeLane::IsLost() const {
  return lane_->IsLost();
}

RedisNode NodeLane::Health() const {
  RedisNode health = lane_->Health();
  health.address = ToString(address_);
  return health;
}

bool NodeLane::IsWorthAWrite(SteadyTime now) const {
  return gathering_.ready() >= kCallsWorthAWrite && lane_->CanSend(now);
}

void NodeLane::Pump(Instant now) {
  status_.expired += static_cast<std::int64_t>(gathering_.Expire(now.steady));
  if (const auto refusal = lane_->Refusal()) gathering_.FailWaiting(*refusal);
  while (gathering_.ready() > 0 && lane_->CanSend(now.steady)) {
    Send(*gathering_.Next(kMaximumBatch), now);
  }
  lane_->Flush();
}

void NodeLane::Send(const Gathering::Batch& batch, Instant now) {
  Call call = EncodeCall(script_, batch.items);
  call.id = batch.id;
  call.asks = batch.asks;
  const bool writes = std::ranges::any_of(batch.items, [](const Gathering::Item& item) {
    return item.evaluation->mode == Mode::kEvaluate;
  });
  if (wait_replicas_ > 0 && writes) {
    call.replicas = wait_replicas_;
    call.confirm_by = batch.deadline;
  }
  lane_->Send(std::move(call), now);
  ++status_.calls;
  status_.evaluations += static_cast<std::int64_t>(batch.items.size());
}

bool NodeLane::OnReply(Replied replied) {
  if (!replied.reply) {
    if (replied.error == "CLUSTERDOWN") listener_.on_cluster_down(address_);
    gathering_.SettleAll(replied.id, replied.reply.error());
    return true;
  }
  const auto items = gathering_.Items(replied.id);
  if (items.empty()) {  // nobody waits for it any more
    gathering_.SettleAll(replied.id, NoReply());
    return true;
  }
  auto outcomes = DecodeReply(items, *replied.reply);
  if (!outcomes || outcomes->size() != items.size()) {
    gathering_.SettleAll(replied.id, NoReply());
    return false;
  }
  if (replied.is_unreplicated) {
    for (Outcome& outcome : *outcomes) {
      auto* evaluated = std::get_if<Evaluated>(&outcome);
      if (evaluated == nullptr || !evaluated->allowed) continue;  // a denial writes nothing
      evaluated->certainty = Certainty::kUnreplicated;
      ++status_.unreplicated;
    }
  }
  gathering_.Settle(replied.id, *std::move(outcomes));
  return true;
}

bool NodeLane::OnRedirected(const Redirected& redirected) {
  return listener_.on_redirect(*this, redirected.redirect, gathering_.TakeBatch(redirected.id));
}

void NodeLane::OnDrop(const Dropped& dropped) {
  if (dropped.malformed) {
    gathering_.SettleAll(dropped.id, NoReply());
  } else if (dropped.departure == Departure::kFully) {
    status_.repeats += static_cast<std::int64_t>(gathering_.Lose(dropped.id));
  } else {
    gathering_.Unsend(dropped.id);
  }
}

void NodeLane::End() {
  lane_.reset();
  gathering_.FailAll(Going(), Indeterminate{Indeterminate::Category::kResponseLost,
                                            "the engine went before the server answered"});
}

}  // namespace sluice::redis
