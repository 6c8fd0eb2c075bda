#include "src/redis/connection.h"

#include <algorithm>
#include <utility>

namespace sluice::redis {

Connection::Connection(boost::asio::io_context& loop, std::shared_ptr<Stream> stream,
                       const Clock& clock, const SessionOptions& options, Listener listener)
    : stream_(std::move(stream)),
      clock_(clock),
      session_(options),
      listener_(std::move(listener)),
      timer_(loop),
      connect_timeout_(options.reply_timeout) {}

void Connection::Open(const Address& address) {
  connect_until_ = clock_.Now().steady + connect_timeout_;
  ArmTimer();
  ++under_way_;
  stream_->Connect(address, [self = shared_from_this()](std::string error) {
    --self->under_way_;
    self->connect_until_.reset();
    if (self->ending_ || !error.empty()) {
      self->End(std::move(error));
      self->FinishIfQuiet();
      return;
    }
    self->session_.OnConnected(self->clock_.Now());
    self->Read();
    self->Perform();
  });
}

void Connection::Read() {
  ++under_way_;
  stream_->ReadSome(buffer_, [self = shared_from_this()](std::string error, std::size_t size) {
    --self->under_way_;
    if (!self->ending_ && error.empty()) {
      self->session_.OnBytes(std::string_view(self->buffer_.data(), size), self->clock_.Now());
      self->Read();
      self->Perform();
      return;
    }
    self->End(std::move(error));
    self->FinishIfQuiet();
  });
}

void Connection::Flush() {
  if (ending_) return;
  const std::string_view bytes = session_.BeginWrite();
  if (!bytes.empty()) {
    ++under_way_;
    stream_->WriteSome(bytes, [self = shared_from_this()](std::string error, std::size_t size) {
      --self->under_way_;
      if (!error.empty()) {
        self->write_unsure_ = self->stream_->failed_write_is_unsure();
        self->End(std::move(error));
        self->FinishIfQuiet();
        return;
      }
      self->session_.OnWritten(size);
      if (self->ending_) {
        self->FinishIfQuiet();
        return;
      }
      self->Flush();  // what the socket did not take, before new calls are let in behind it
      self->Perform();
    });
  }
  ArmTimer();
}

void Connection::Perform() {
  std::vector<Action> actions = session_.TakeActions();
  const auto close = std::ranges::remove_if(
      actions, [](const Action& action) { return std::holds_alternative<CloseSocket>(action); });
  if (!close.empty()) End("the session was given up");
  actions.erase(close.begin(), close.end());
  if (listener_) listener_(std::move(actions));
  Flush();
  if (ending_) FinishIfQuiet();
}

void Connection::ArmTimer() {
  const auto next = connect_until_ ? connect_until_ : session_.NextTimer();
  // A timer that fires early looks again; so it is moved forward only.
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->OnTimer();
  });
}

void Connection::OnTimer() {
  armed_.reset();
  if (ending_) return;
  const Instant now = clock_.Now();
  if (connect_until_) {
    if (*connect_until_ <= now.steady) {
      End("connecting took too long");
      return;
    }
    ArmTimer();
    return;
  }
  session_.OnTimer(now);
  Perform();
}

void Connection::Abandon(std::string why) {
  End(std::move(why));
  // Its end is told from the loop, not from inside the caller; a read is always under way.
}

void Connection::Shutdown() {
  listener_ = nullptr;
  End("the engine is going");
}

void Connection::End(std::string why) {
  if (ending_) return;
  ending_ = true;
  why_ = std::move(why);
  connect_until_.reset();
  timer_.cancel();
  stream_->Close();
}

// What left is known only when the last write's handler has been called.
void Connection::FinishIfQuiet() {
  if (under_way_ > 0) return;
  session_.OnEnd(why_, write_unsure_);
  if (!listener_) return;
  const Listener listener = std::exchange(listener_, nullptr);
  listener(session_.TakeActions());
}

}  // namespace sluice::redis
