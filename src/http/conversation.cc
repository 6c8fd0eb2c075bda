#include "src/http/conversation.h"

#include <utility>

#include "src/edge/answer.h"
#include "src/http/response.h"

namespace sluice::http {
namespace {

constexpr std::size_t kKeptOutput = 16 * 1024;  // a burst of pipelined answers is not kept for ever

constexpr ParseFailure kTimeout{408, Rejection::kTimeout, "The request did not arrive in time."};
constexpr ParseFailure kCutOff{400, Rejection::kMalformed,
                               "The connection ended within the request."};

}  // namespace

Conversation::Conversation(const ConversationLimits& limits, const Service& service,
                           const std::string& date, Peer peer, SteadyTime now)
    : limits_(limits),
      service_(service),
      date_(date),
      peer_(peer),
      parser_(limits.parser),
      now_(now),
      since_(now) {}

void Conversation::Receive(std::string_view bytes, SteadyTime now) {
  now_ = now;
  if (state_ != State::kReading) {
    if (state_ == State::kAnswering) pending_.append(bytes);
    return;
  }
  if (pending_.empty()) return Process(bytes);
  pending_.append(bytes);
  Process(std::exchange(pending_, {}));
}

// Handles what is complete in `input` and keeps the rest.
void Conversation::Process(std::string_view input) {
  while (state_ == State::kReading && !input.empty()) {
    if (!parser_.has_started()) since_ = now_;
    const std::size_t used = parser_.Consume(input);
    input.remove_prefix(used);
    if (parser_.failure()) {
      Fail(*parser_.failure());
    } else if (parser_.done()) {
      Handle();
    } else {
      break;
    }
  }
  if (state_ == State::kOver) return;
  pending_.assign(input);
  if (state_ != State::kReading) return;
  if (parser_.head_done() && !is_body_awaited_) {
    is_body_awaited_ = true;
    since_ = now_;
    const bool has_body = !parser_.body().empty() || !input.empty();
    if (parser_.expects_continue() && !has_body) output_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (is_input_ended_) {
    if (parser_.has_started()) return Fail(kCutOff);
    state_ = State::kOver;
  }
}

void Conversation::Handle() {
  is_keep_alive_ = parser_.keep_alive();
  state_ = State::kAnswering;
  is_handling_ = true;
  service_.handle(Request{.method = parser_.method(),
                          .target = parser_.target(),
                          .headers = parser_.headers(),
                          .body = parser_.body(),
                          .peer = peer_},
                  Reply(shared_from_this()));
  is_handling_ = false;
  if (state_ == State::kReading) NextRequest();
}

void Conversation::Complete(const Answer& answer, std::optional<Rejection> rejection) {
  if (state_ != State::kAnswering) return;  // the connection is gone
  if (rejection) Count(*rejection);
  Append(answer);
  state_ = is_keep_alive_ && !is_draining_ ? State::kReading : State::kOver;
  if (is_handling_) return;  // the handler still reads the request
  if (state_ == State::kReading) {
    NextRequest();
    Process(std::exchange(pending_, {}));
  }
  if (on_answer) std::exchange(on_answer, nullptr)();
}

void Conversation::NextRequest() {
  parser_.Reset();
  is_body_awaited_ = false;
  since_ = now_;
}

void Conversation::Append(const Answer& answer) {
  AppendResponse(output_, answer,
                 {.is_head = parser_.method() == "HEAD",
                  .is_http_1_0 = parser_.is_http_1_0(),
                  .keep_alive = is_keep_alive_ && !is_draining_,
                  .date = date_});
}

// What follows a request that could not be read cannot be trusted to be a request.
void Conversation::Fail(const ParseFailure& failure) {
  Count(failure.rejection);
  is_keep_alive_ = false;
  Append(edge::ProblemAnswer(failure.status, ReasonPhrase(failure.status), failure.detail));
  state_ = State::kOver;
}

void Conversation::ReceiveEnd() {
  is_input_ended_ = true;
  if (state_ == State::kReading) Process(std::exchange(pending_, {}));
}

void Conversation::Tick(SteadyTime now) {
  now_ = now;
  if (state_ != State::kReading) return;
  if (parser_.has_started()) {
    if (now - since_ >= limits_.request_timeout) Fail(kTimeout);
  } else if (now - since_ >= limits_.idle_timeout) {
    state_ = State::kOver;
  }
}

void Conversation::Refuse() {
  Count(Rejection::kConnectionLimit);
  is_keep_alive_ = false;
  Append(edge::AnswerFor(Unavailable{.category = Unavailable::Category::kAdmissionRejected}, {},
                         std::chrono::seconds{1}));
  state_ = State::kOver;
}

void Conversation::Drain() {
  is_draining_ = true;
  if (state_ == State::kReading && !parser_.has_started()) state_ = State::kOver;
}

void Conversation::Abandon() {
  state_ = State::kOver;
  on_answer = nullptr;
}

void Conversation::Sent(std::size_t count) {
  sent_ += count;
  if (sent_ < output_.size()) return;
  sent_ = 0;
  output_.clear();
  if (output_.capacity() > kKeptOutput) output_.shrink_to_fit();
}

void Conversation::Count(Rejection rejection) const {
  if (service_.on_reject) service_.on_reject(rejection);
}

}  // namespace sluice::http
