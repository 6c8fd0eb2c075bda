#include "src/redis/session.h"

#include <algorithm>
#include <utility>

#include "src/redis/handshake.h"
#include "src/redis/reply_error.h"

namespace sluice::redis {
namespace {

// Calls share a write up to this size.
constexpr std::size_t kWriteBytes = 64 * 1024;

}  // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      reader_(options_.maximum_reply_bytes),
      loads_(options_.scripts.size()) {}

void Session::OnConnected(Instant now) {
  phase_ = Phase::kHandshake;
  connected_ = now.steady;
  for (const Question& question : HandshakeOf(options_)) Ask(question, now);
  options_.password = {};
  handshake_left_ = slots_.size();
}

void Session::OnBytes(std::string_view bytes, Instant now) {
  if (phase_ == Phase::kClosing || phase_ == Phase::kEnded) return;
  reader_.Feed(bytes);
  while (phase_ != Phase::kClosing) {
    auto reply = reader_.Next();
    if (!reply) {
      malformed_ = true;
      Fail(BeforeSend("the server's reply is no RESP: " + reply.error()));
      return;
    }
    if (!*reply) return;
    if (slots_.empty()) {
      Fail(BeforeSend("the server sent a reply that nothing asked for"));
      return;
    }
    OnReply(std::move(**reply), now);
  }
}

void Session::OnReply(Reply reply, Instant now) {
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  if (slot.command == Command::kCall) {
    OnCallReply(std::move(slot), std::move(reply), now);
  } else if (slot.command == Command::kWait) {
    OnConfirmations(slot, reply);
  } else {
    OnAnswer(slot, reply, now);
  }
  if (phase_ == Phase::kDraining && calls_under_way_ == 0) Close();
}

void Session::OnAnswer(const Slot& question, const Reply& reply, Instant now) {
  auto objection = Objection(options_, question.command, question.index, reply);
  if (objection && phase_ == Phase::kHandshake) {
    Fail(*std::move(objection));
    return;
  }
  // Later on only a permission that was taken away ends the connection: the next one will name it.
  // What may pass, such as BUSY, shows in the calls' own replies.
  if (objection && std::holds_alternative<Incompatible>(*objection)) Drain(*std::move(objection));
  if (question.command == Command::kTime) OnServerTime(question, reply, now);
  if (question.command == Command::kMemory) {
    if (auto policy = EvictionPolicyOf(reply)) {
      actions_.emplace_back(EvictionPolicy{*std::move(policy)});
    }
  }
  if (phase_ == Phase::kHandshake && --handshake_left_ == 0) {
    phase_ = Phase::kOpen;
    actions_.emplace_back(Opened{});
  }
}

void Session::OnServerTime(const Slot& slot, const Reply& reply, Instant now) {
  const auto server = ServerTimeOf(reply);
  if (!server) return;  // an error such as BUSY: the next TIME will tell
  // The round trip is measured on the clock that never steps.
  const auto round_trip = now.steady - slot.sent.steady;
  const auto half = round_trip / 2;
  const auto ours = slot.sent.wall.time_since_epoch() + half;
  actions_.emplace_back(
      ClockReading{.skew = std::chrono::duration_cast<Milliseconds>(*server - ours),
                   .uncertainty = std::chrono::ceil<Milliseconds>(half),
                   .round_trip = std::chrono::ceil<std::chrono::microseconds>(round_trip)});
}

void Session::OnCallReply(Slot slot, Reply reply, Instant now) {
  const std::uint64_t id = slot.call.id;
  if (reply.kind != Reply::Kind::kError) {
    Replied replied{.id = id, .reply = std::move(reply)};
    if (slot.call.replicas > 0) {
      unconfirmed_ = std::move(replied);
      return;
    }
    --calls_under_way_;
    actions_.emplace_back(std::move(replied));
    return;
  }
  --calls_under_way_;
  if (options_.role == Role::kClusterNode) {
    if (auto redirect = ReadRedirect(reply.text)) {
      actions_.emplace_back(Redirected{.id = id, .redirect = *std::move(redirect)});
      return;
    }
  }
  ErrorVerdict verdict = JudgeError(reply.text, "EVALSHA");
  if (verdict.reload && !slot.repeated && phase_ == Phase::kOpen) {
    // Calls that were under way together are told NOSCRIPT together; the first one loads for all.
    if (slot.loads == loads_[slot.call.script]) {
      Ask(LoadOf(options_, slot.call.script), now);
      actions_.emplace_back(Reloaded{});
    }
    slot.repeated = true;
    slot.sent = now;
    slot.loads = loads_[slot.call.script];
    QueueCall(std::move(slot));
    return;
  }
  actions_.emplace_back(Replied{
      .id = id, .reply = std::unexpected(verdict.outcome), .error = ErrorLabel(reply.text)});
  if (verdict.close) Drain(BeforeSend(std::move(verdict.outcome)));
}

void Session::OnConfirmations(const Slot& wait, const Reply& replicas) {
  if (!unconfirmed_) return;  // the call itself was refused
  // An error, such as a missing permission, confirms nothing.
  unconfirmed_->is_unreplicated = replicas.integer < wait.call.replicas;
  --calls_under_way_;
  actions_.emplace_back(*std::exchange(unconfirmed_, std::nullopt));
}

void Session::OnWritten(std::size_t bytes) {
  written_ += bytes;
  output_.erase(0, bytes);
  offered_ = written_;
  output_ += std::exchange(added_, {});
}

std::string_view Session::BeginWrite() {
  if (offered_ != written_ || phase_ == Phase::kClosing) return {};
  offered_ = written_ + output_.size();
  return output_;
}

void Session::OnTimer(Instant now) {
  const bool over = phase_ == Phase::kClosing || phase_ == Phase::kEnded;
  if (over || phase_ == Phase::kConnecting) return;
  // From the connection on for the handshake as a whole: a server that dribbles is given up too.
  const SteadyTime since = phase_ == Phase::kHandshake ? *connected_
                           : slots_.empty()            ? SteadyTime::max() - options_.reply_timeout
                                                       : slots_.front().sent.steady;
  if (since + options_.reply_timeout <= now.steady) {
    Fail(BeforeSend("the server left a command unanswered for too long"));
    return;
  }
  if (clock_due_ <= now.steady && phase_ == Phase::kOpen) Ask(TimeQuestion(), now);
}

std::optional<SteadyTime> Session::NextTimer() const {
  if (phase_ == Phase::kHandshake) return *connected_ + options_.reply_timeout;
  if (phase_ != Phase::kOpen && phase_ != Phase::kDraining) return std::nullopt;
  SteadyTime next = phase_ == Phase::kOpen ? clock_due_ : SteadyTime::max();
  if (!slots_.empty()) next = std::min(next, slots_.front().sent.steady + options_.reply_timeout);
  if (next == SteadyTime::max()) return std::nullopt;
  return next;
}

void Session::OnEnd(std::string_view why, bool write_unsure) {
  if (phase_ == Phase::kEnded) return;
  phase_ = Phase::kEnded;
  const std::uint64_t left = write_unsure ? offered_ : written_;
  if (unconfirmed_) {
    unconfirmed_->is_unreplicated = true;
    actions_.emplace_back(*std::exchange(unconfirmed_, std::nullopt));
  }
  bool malformed = malformed_;  // the reply that broke off belongs to the first command
  for (const Slot& slot : slots_) {
    if (slot.command == Command::kCall) {
      const Departure departure = slot.end <= left    ? Departure::kFully
                                  : slot.begin < left ? Departure::kPartly
                                                      : Departure::kNone;
      actions_.emplace_back(Dropped{slot.call.id, departure, malformed});
    }
    malformed = false;
  }
  slots_.clear();
  calls_under_way_ = 0;
  actions_.emplace_back(Closed{why_ ? *std::move(why_) : BeforeSend(std::string(why))});
}

bool Session::CanSend(SteadyTime now) const {
  if (phase_ != Phase::kOpen || offered_ != written_ || output_.size() >= kWriteBytes) return false;
  return slots_.empty() || now - slots_.front().sent.steady < options_.reply_timeout / 2;
}

void Session::Send(Call call, Instant now) {
  Slot slot{.command = Command::kCall, .sent = now, .loads = loads_[call.script]};
  slot.call = std::move(call);
  QueueCall(std::move(slot));
}

void Session::QueueCall(Slot slot) {
  const Instant now = slot.sent;
  const int replicas = slot.call.replicas;
  const Milliseconds longest_wait = slot.call.longest_wait;
  if (slot.call.asks) Ask(AskingQuestion(), now);
  ++calls_under_way_;
  Queue(std::move(slot), slot.call.bytes);
  if (replicas == 0) return;
  const Question wait = WaitFor(replicas, longest_wait);
  Queue({.command = wait.command, .sent = now, .call = {.replicas = replicas}}, wait.bytes);
}

void Session::Queue(Slot&& slot, std::string_view bytes) {
  slot.begin = queued_;
  queued_ += bytes.size();
  slot.end = queued_;
  (offered_ == written_ ? output_ : added_) += bytes;
  slots_.push_back(std::move(slot));
}

void Session::Ask(const Question& question, Instant now) {
  if (question.command == Command::kLoad) ++loads_[question.index];
  if (question.command == Command::kTime) clock_due_ = now.steady + options_.clock_interval;
  Queue({.command = question.command, .index = question.index, .sent = now}, question.bytes);
}

void Session::Drain(Outcome why) {
  if (phase_ != Phase::kOpen) return;
  why_ = std::move(why);
  phase_ = Phase::kDraining;
}

void Session::Fail(Outcome why) {
  if (!why_) why_ = std::move(why);
  Close();
}

void Session::Close() {
  if (phase_ == Phase::kClosing) return;
  phase_ = Phase::kClosing;
  actions_.emplace_back(CloseSocket{});
}

}  // namespace sluice::redis
