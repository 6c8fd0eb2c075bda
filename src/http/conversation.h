// One HTTP connection without its socket: bytes and times in, bytes out.
//
// Requests are handled one after another. While one waits for its answer the bytes behind it are
// kept unread, so answers can neither overtake nor swap each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"

#include "src/http/message.h"
#include "src/http/request_parser.h"

namespace sluice::http {

struct ConversationLimits {
  ParserLimits parser;
  /// For the head of a request, from its first byte, and again for its body.
  Milliseconds request_timeout{10'000};
  /// Without a request.
  Milliseconds idle_timeout{75'000};
};

/// Thread safety: none; everything happens on the thread of its connection.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  /// `limits`, `service` and `date` must outlive the conversation. `date` is the value of the Date
  /// field, kept current by its owner.
  Conversation(const ConversationLimits& limits, const Service& service, const std::string& date,
               Peer peer, SteadyTime now);

  /// Takes what the client sent and handles every request that is complete.
  void Receive(std::string_view bytes, SteadyTime now);
  /// The client sends no more; what it asked is still answered.
  void ReceiveEnd();
  /// Applies the time-outs. Exact to the interval between calls.
  void Tick(SteadyTime now);
  /// Answers 503 without waiting for a request: too many connections are open.
  void Refuse();
  /// Ends the conversation as soon as nothing is under way; later answers say `Connection: close`.
  void Drain();

  /// The connection is gone: an answer still to come is dropped and touches nothing of the owner's.
  void Abandon();

  /// Bytes for the client; `Sent` takes the first `count` of them away.
  [[nodiscard]] std::string_view output() const { return std::string_view(output_).substr(sent_); }
  void Sent(std::size_t count);

  /// A request waits for its answer: read no more until `on_answer` is called.
  [[nodiscard]] bool is_waiting() const { return state_ == State::kAnswering; }
  /// Nothing follows the present output, and no more input is wanted.
  [[nodiscard]] bool is_over() const { return state_ == State::kOver; }

  /// Called, and forgotten, once the answer that `is_waiting` waits for is in the output; the next
  /// request may be waiting by then. Its captures live until then.
  std::move_only_function<void()> on_answer;

 private:
  friend class Reply;
  enum class State : std::uint8_t { kReading, kAnswering, kOver };

  void Process(std::string_view input);
  void Handle();
  void Fail(const ParseFailure& failure);
  void Append(const Answer& answer);
  void Complete(const Answer& answer, std::optional<Rejection> rejection);
  void Count(Rejection rejection) const;
  void NextRequest();

  const ConversationLimits& limits_;
  const Service& service_;
  const std::string& date_;
  const Peer peer_;
  RequestParser parser_;
  std::string pending_;  // received, not yet used up
  std::string output_;
  std::size_t sent_ = 0;
  SteadyTime now_;    // of the last Receive or Tick
  SteadyTime since_;  // when the present wait for the client began
  State state_ = State::kReading;
  bool is_handling_ = false;  // inside service_.handle
  bool is_body_awaited_ = false;
  bool is_draining_ = false;
  bool is_input_ended_ = false;
  bool is_keep_alive_ = false;
};

}  // namespace sluice::http
