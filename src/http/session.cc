#include "src/http/session.h"

#include <utility>

#include <sys/epoll.h>

#include "src/http/session_pool.h"

namespace sluice::http {
namespace {

/// How long a connection that said all it had to say waits for the client to close.
constexpr std::chrono::seconds kLinger{2};

}  // namespace

Session::Session(SessionPool& pool, Socket socket, bool is_refused)
    : pool_(pool),
      socket_(std::move(socket)),
      conversation_(std::make_shared<Conversation>(pool.limits(), pool.service(), pool.date(),
                                                   pool.service().peer_from(socket_.PeerAddress()),
                                                   pool.now())),
      is_refused_(is_refused) {
  if (is_refused) conversation_->Refuse();
}

void Session::OnEvents(std::uint32_t events) {
  if (is_closed_) return;  // by an earlier event of the same batch
  constexpr std::uint32_t kEnding = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((events & kEnding) != 0) is_ending_ = true;
  if ((events & (EPOLLIN | kEnding)) != 0) has_input_ = true;
  if ((events & EPOLLOUT) != 0) is_blocked_ = false;
  Continue();
}

void Session::Continue() {
  while (!is_closed_ && !is_blocked_) {
    if (is_lingering_) return Discard();
    const bool has_answered = !conversation_->output().empty();
    if (!Flush()) return;
    if (conversation_->is_waiting()) {
      conversation_->on_answer = [this] { Continue(); };  // Close forgets it
      return;
    }
    if (conversation_->is_over()) {
      if (!has_answered) return Close();
      Linger();
    } else if (has_input_) {
      Receive();
    } else {
      return;
    }
  }
}

bool Session::Flush() {
  while (!conversation_->output().empty()) {
    const IoResult sent = socket_.Send(conversation_->output());
    if (sent.status == IoStatus::kBroken) {
      Close();
      return false;
    }
    if (sent.status == IoStatus::kWouldBlock) {
      is_blocked_ = true;
      blocked_since_ = pool_.now();
      pool_.WatchOutput(*this);
      return false;
    }
    conversation_->Sent(sent.size);
  }
  return true;
}

void Session::Receive() {
  const IoResult received = socket_.Receive(pool_.buffer());
  if (received.status == IoStatus::kBroken) return Close();
  if (received.status == IoStatus::kDone) {
    if (received.size < pool_.buffer().size()) has_input_ = is_ending_;
    return conversation_->Receive({pool_.buffer().data(), received.size}, pool_.now());
  }
  has_input_ = is_ending_ = false;
  if (received.status == IoStatus::kEnd) {
    is_ended_ = true;
    conversation_->ReceiveEnd();
  }
}

// Closing a socket that holds unread bytes resets the connection, and the client may lose an answer
// that it has not read yet. So only our direction is closed, until the client closes too.
void Session::Linger() {
  if (is_ended_) return Close();
  is_lingering_ = true;
  blocked_since_ = pool_.now();
  socket_.EndSending();
}

void Session::Discard() {
  while (has_input_) {
    const IoResult received = socket_.Receive(pool_.buffer());
    if (received.status == IoStatus::kEnd || received.status == IoStatus::kBroken) return Close();
    if (received.status == IoStatus::kWouldBlock) has_input_ = false;
  }
}

void Session::Tick(SteadyTime now) {
  if (is_closed_) return;
  if (is_lingering_) {
    if (now - blocked_since_ >= kLinger) Close();
  } else if (is_blocked_) {
    if (now - blocked_since_ >= pool_.write_timeout()) Close();
  } else {
    conversation_->Tick(now);
    if (conversation_->is_over()) Continue();
  }
}

void Session::Drain() {
  if (is_closed_) return;
  conversation_->Drain();
  if (conversation_->is_over()) Continue();
}

void Session::Close() {
  if (is_closed_) return;
  is_closed_ = true;
  conversation_->Abandon();
  pool_.Remove(*this);
}

}  // namespace sluice::http
