#include "src/redis/switch_hint.h"

#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "src/redis/resp.h"
#include "src/redis/stream.h"

namespace sluice::redis {
namespace {

constexpr std::string_view kChannel = "+switch-master";
constexpr std::chrono::seconds kBetweenAttempts{1};
// For connecting and the first reply; then another sentinel is tried.
constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMaximumReplyBytes = 64 * 1024;

std::string Encode(std::initializer_list<std::string_view> words) {
  return EncodeCommand(std::span(words.begin(), words.size()));
}

}  // namespace

// Kept alive by the handlers of what is under way.
class SwitchHint::Subscription : public std::enable_shared_from_this<Subscription> {
 public:
  Subscription(boost::asio::io_context& loop, std::string master, std::vector<Address> sentinels,
               Access access, std::function<void()> on_switch)
      : loop_(loop),
        master_(std::move(master)),
        sentinels_(std::move(sentinels)),
        access_(std::move(access)),
        on_switch_(std::move(on_switch)),
        timer_(std::in_place, loop) {}

  void Begin() {
    const auto password = CurrentPassword(access_);
    if (!password) return Retry();
    output_.clear();
    if (!password->empty()) {
      output_ = access_.username.empty() ? Encode({"AUTH", *password})
                                         : Encode({"AUTH", access_.username, *password});
    }
    output_ += Encode({"SUBSCRIBE", kChannel});
    reader_ = ReplyReader(kMaximumReplyBytes);
    timer_->expires_after(kPatience);
    timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Retry();
    });
    stream_ = std::make_shared<Stream>(loop_, access_.tls, access_.server_name);
    stream_->Connect(sentinels_[next_++ % sentinels_.size()],
                     [self = shared_from_this()](const std::string& error) {
                       if (!error.empty()) return self->Retry();
                       self->Write(0);
                       self->Read();
                     });
  }

  void End() {
    on_switch_ = nullptr;
    timer_.reset();
    if (stream_) stream_->Close();
  }

 private:
  void Write(std::size_t written) {
    const std::string_view left = std::string_view(output_).substr(written);
    if (left.empty() || !on_switch_) return;
    stream_->WriteSome(
        left, [self = shared_from_this(), written](const std::string& error, std::size_t size) {
          if (error.empty()) self->Write(written + size);  // else reading fails as well
        });
  }

  void Read() {
    if (!on_switch_) return;
    stream_->ReadSome(buffer_,
                      [self = shared_from_this()](const std::string& error, std::size_t size) {
                        if (!error.empty()) return self->Retry();
                        self->reader_.Feed(std::string_view(self->buffer_.data(), size));
                        self->OnBytes();
                      });
  }

  void OnBytes() {
    while (on_switch_) {
      const auto reply = reader_.Next();
      if (!reply || (*reply && (*reply)->kind == Reply::Kind::kError)) return Retry();
      if (!*reply) return Read();
      timer_->cancel();
      OnMessage(**reply);
    }
  }

  // message, the channel, "<master> <old host> <old port> <new host> <new port>".
  void OnMessage(const Reply& message) {
    const std::vector<Reply>& words = message.elements;
    if (words.size() != 3 || words[0].text != "message" || words[1].text != kChannel) return;
    if (words[2].text.starts_with(master_ + " ")) on_switch_();
  }

  void Retry() {
    if (!on_switch_) return;
    if (stream_) stream_->Close();
    timer_->expires_after(kBetweenAttempts);
    timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && self->on_switch_) self->Begin();
    });
  }

  boost::asio::io_context& loop_;
  const std::string master_;
  const std::vector<Address> sentinels_;
  const Access access_;
  std::function<void()> on_switch_;                 // empty once it is over
  std::optional<boost::asio::steady_timer> timer_;  // none once it is over
  std::shared_ptr<Stream> stream_;
  std::size_t next_ = 0;  // into sentinels_
  std::string output_;
  ReplyReader reader_{kMaximumReplyBytes};
  std::array<char, 4 * 1024> buffer_{};
};

SwitchHint::SwitchHint(boost::asio::io_context& loop, std::string master,
                       std::vector<Address> sentinels, Access access,
                       std::function<void()> on_switch)
    : subscription_(std::make_shared<Subscription>(loop, std::move(master), std::move(sentinels),
                                                   std::move(access), std::move(on_switch))) {
  subscription_->Begin();
}

SwitchHint::~SwitchHint() {
  subscription_->End();
}

}  // namespace sluice::redis
