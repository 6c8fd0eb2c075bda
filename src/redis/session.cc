#include "src/redis/session.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "src/redis/reply_error.h"

namespace sluice::redis {
namespace {

// The scripts need HSET with many fields (4.0) and replication by effects (5.0); AUTH with a user
// and HELLO came with 6.0. 6.2 is the oldest that anybody still maintains.
constexpr std::pair<std::int64_t, std::int64_t> kOldestServer{6, 2};

// Calls share a write up to this size.
constexpr std::size_t kWriteBytes = 64 * 1024;

Outcome BeforeSend(std::string detail) {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, std::move(detail)};
}

Outcome WrongServer(std::string detail) {
  return Incompatible{Incompatible::Reason::kServerIncompatible, std::move(detail)};
}

// A handshake's error as calls are answered that were never sent: what a retry cannot heal stays.
Outcome FromHandshake(Outcome outcome) {
  if (std::holds_alternative<Incompatible>(outcome)) return outcome;
  if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    return BeforeSend(std::move(unavailable->detail));
  }
  return BeforeSend(std::move(std::get<Indeterminate>(outcome).detail));
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "6.2.14" -> 6, 2. What is no version is taken for new enough: the scripts' own SHA will tell.
std::pair<std::int64_t, std::int64_t> VersionOf(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view rest = text.substr(std::min(dot + 1, text.size()));
  return {Number(text.substr(0, dot)).value_or(kOldestServer.first),
          Number(rest.substr(0, rest.find('.'))).value_or(kOldestServer.second)};
}

}  // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      reader_(options_.maximum_reply_bytes),
      loads_(options_.scripts.size()) {}

std::string_view Session::Name(Command command) {
  switch (command) {
    case Command::kAuth:
      return "AUTH";
    case Command::kHello:
      return "HELLO";
    case Command::kSelect:
      return "SELECT";
    case Command::kSetName:
      return "CLIENT SETNAME";
    case Command::kLoad:
      return "SCRIPT LOAD";
    case Command::kTime:
      return "TIME";
    case Command::kCall:
      break;
  }
  return "EVALSHA";
}

void Session::OnConnected(Instant now) {
  phase_ = Phase::kHandshake;
  connected_ = now.steady;
  using Words = std::initializer_list<std::string_view>;
  const auto queue = [&](Command command, Words words) {
    QueueCommand(command, std::span(words.begin(), words.size()), now);
  };
  if (!options_.password.empty()) {
    options_.username.empty()
        ? queue(Command::kAuth, {"AUTH", options_.password})
        : queue(Command::kAuth, {"AUTH", options_.username, options_.password});
    options_.password = {};
  }
  queue(Command::kHello, {"HELLO"});
  if (options_.database != 0) {
    queue(Command::kSelect, {"SELECT", fmt::format("{}", options_.database)});
  }
  queue(Command::kSetName, {"CLIENT", "SETNAME", options_.client_name});
  for (std::size_t script = 0; script < options_.scripts.size(); ++script) QueueLoad(script, now);
  if (options_.read_clock) QueueTime(now);
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
    --calls_under_way_;
    OnCallReply(std::move(slot), std::move(reply), now);
  } else if (phase_ == Phase::kHandshake) {
    OnHandshakeReply(slot, reply, now);
  } else if (slot.command == Command::kTime) {
    OnServerTime(slot, reply, now);
  }
  // A SCRIPT LOAD that failed later on shows in the repeated call's own reply.
  if (phase_ == Phase::kDraining && calls_under_way_ == 0) Close();
}

void Session::OnHandshakeReply(const Slot& slot, const Reply& reply, Instant now) {
  const bool failed = reply.kind == Reply::Kind::kError;
  // HELLO is a courtesy of newer servers and the name one to operators.
  const bool optional = slot.command == Command::kHello || slot.command == Command::kSetName;
  if (failed && !optional) {
    Fail(FromHandshake(JudgeError(reply.text, Name(slot.command)).outcome));
    return;
  }
  if (slot.command == Command::kHello && !failed) OnServerHello(reply);
  if (slot.command == Command::kLoad && reply.text != options_.scripts[slot.script].sha) {
    Fail(WrongServer("SCRIPT LOAD: the server names the script otherwise than by its SHA-1"));
  }
  if (slot.command == Command::kTime) OnServerTime(slot, reply, now);
  if (phase_ == Phase::kHandshake && --handshake_left_ == 0) {
    phase_ = Phase::kOpen;
    if (options_.read_clock) clock_due_ = now.steady + options_.clock_interval;
    actions_.emplace_back(Opened{});
  }
}

void Session::OnServerHello(const Reply& hello) {
  for (std::size_t i = 0; i + 1 < hello.elements.size(); i += 2) {
    const std::string_view field = hello.elements[i].text;
    const std::string_view value = hello.elements[i + 1].text;
    if (field == "version" && VersionOf(value) < kOldestServer) {
      Fail(WrongServer(fmt::format("the server's version is {}, required is {}.{} or newer", value,
                                   kOldestServer.first, kOldestServer.second)));
    }
    if (field == "mode" && value == "cluster") {
      Fail(WrongServer("cluster-mode server, standalone configured"));
    }
  }
}

void Session::OnServerTime(const Slot& slot, const Reply& reply, Instant now) {
  if (reply.elements.size() != 2) return;  // an error such as BUSY: the next TIME will tell
  const auto seconds = Number(reply.elements[0].text);
  const auto micros = Number(reply.elements[1].text);
  if (!seconds || !micros) return;
  // The round trip is measured on the clock that never steps.
  const auto round_trip = now.steady - slot.sent.steady;
  const auto half = round_trip / 2;
  const auto server = std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
  const auto ours = slot.sent.wall.time_since_epoch() + half;
  actions_.emplace_back(
      ClockReading{.skew = std::chrono::duration_cast<Milliseconds>(server - ours),
                   .uncertainty = std::chrono::ceil<Milliseconds>(half),
                   .round_trip = std::chrono::ceil<std::chrono::microseconds>(round_trip)});
}

void Session::OnCallReply(Slot slot, Reply reply, Instant now) {
  const std::uint64_t id = slot.call.id;
  if (reply.kind != Reply::Kind::kError) {
    actions_.emplace_back(Replied{.id = id, .reply = std::move(reply)});
    return;
  }
  ErrorVerdict verdict = JudgeError(reply.text, Name(slot.command));
  if (verdict.reload && !slot.repeated && phase_ == Phase::kOpen) {
    // Calls that were under way together are told NOSCRIPT together; the first one loads for all.
    if (slot.loads == loads_[slot.call.script]) {
      QueueLoad(slot.call.script, now);
      actions_.emplace_back(Reloaded{});
    }
    slot.repeated = true;
    slot.sent = now;
    slot.loads = loads_[slot.call.script];
    Queue(std::move(slot), slot.call.bytes);
    return;
  }
  actions_.emplace_back(Replied{
      .id = id, .reply = std::unexpected(verdict.outcome), .error = ErrorLabel(reply.text)});
  if (verdict.close && phase_ == Phase::kOpen) {
    why_ = FromHandshake(std::move(verdict.outcome));
    phase_ = Phase::kDraining;
  }
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
  if (clock_due_ <= now.steady && phase_ == Phase::kOpen) QueueTime(now);
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
  Queue(std::move(slot), slot.call.bytes);
}

void Session::Queue(Slot&& slot, std::string_view bytes) {
  if (slot.command == Command::kCall) ++calls_under_way_;
  slot.begin = queued_;
  queued_ += bytes.size();
  slot.end = queued_;
  (offered_ == written_ ? output_ : added_) += bytes;
  slots_.push_back(std::move(slot));
}

void Session::QueueCommand(Command command, std::span<const std::string_view> words, Instant now,
                           std::size_t script) {
  Queue({.command = command, .sent = now, .script = script}, EncodeCommand(words));
}

void Session::QueueLoad(std::size_t script, Instant now) {
  ++loads_[script];
  const std::string_view words[] = {"SCRIPT", "LOAD", options_.scripts[script].source};
  QueueCommand(Command::kLoad, words, now, script);
}

void Session::QueueTime(Instant now) {
  clock_due_ = now.steady + options_.clock_interval;
  const std::string_view words[] = {"TIME"};
  QueueCommand(Command::kTime, words, now);
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
