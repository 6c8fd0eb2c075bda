#include "src/redis/enquiry.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "src/redis/reply_error.h"

namespace sluice::redis {
namespace {

constexpr std::size_t kMaximumReplyBytes = std::size_t{4} << 20;  // the map of a large cluster

Outcome NotAnswered(std::string detail) {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, std::move(detail)};
}

std::string Encode(const Words& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return EncodeCommand(views);
}

}  // namespace

// Kept alive by the handlers of what is under way.
class Enquiry::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(boost::asio::io_context& loop, EnquiryOptions options, Handler handler)
      : loop_(loop),
        options_(std::move(options)),
        handler_(std::move(handler)),
        stream_(std::make_shared<Stream>(loop, options_.access.tls, options_.access.server_name)),
        timer_(std::in_place, loop) {}

  void Start(const std::vector<Words>& commands) {
    auto password = CurrentPassword(options_.access);
    if (!password) {
      boost::asio::post(loop_, [self = shared_from_this(), why = password.error()] {
        self->Finish(std::unexpected(Incompatible{Incompatible::Reason::kPermissionDenied, why}));
      });
      return;
    }
    Compose(commands, *password);
    timer_->expires_after(options_.timeout);
    timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Fail("the server did not answer in time");
    });
    stream_->Connect(options_.address, [self = shared_from_this()](std::string error) {
      if (!error.empty()) return self->Fail(std::move(error));
      self->Write();
      self->Read();
    });
  }

  void CallOff() {
    handler_ = nullptr;
    End();
  }

 private:
  void Compose(const std::vector<Words>& commands, const std::string& password) {
    owed_ = commands.size();
    if (!password.empty()) {
      ++owed_;
      logs_in_ = true;
      const std::string& user = options_.access.username;
      output_ += Encode(user.empty() ? Words{"AUTH", password} : Words{"AUTH", user, password});
    }
    for (const Words& words : commands) output_ += Encode(words);
  }

  void Write() {
    const std::string_view left = std::string_view(output_).substr(written_);
    if (left.empty() || handler_ == nullptr) return;
    stream_->WriteSome(left,
                       [self = shared_from_this()](const std::string& error, std::size_t size) {
                         // What the server said before it closed is still read.
                         if (!error.empty()) return;
                         self->written_ += size;
                         self->Write();
                       });
  }

  void Read() {
    if (handler_ == nullptr) return;
    stream_->ReadSome(buffer_, [self = shared_from_this()](std::string error, std::size_t size) {
      if (!error.empty()) return self->Fail(std::move(error));
      self->reader_.Feed(std::string_view(self->buffer_.data(), size));
      self->OnBytes();
    });
  }

  void OnBytes() {
    while (handler_ != nullptr) {
      auto reply = reader_.Next();
      if (!reply) return Fail("the server's reply is no RESP: " + reply.error());
      if (!*reply) return Read();
      OnReply(std::move(**reply));
    }
  }

  void OnReply(Reply reply) {
    --owed_;
    if (std::exchange(logs_in_, false)) {
      if (reply.kind == Reply::Kind::kError) {
        return Finish(std::unexpected(JudgeError(reply.text, "AUTH").outcome));
      }
    } else {
      replies_.push_back(std::move(reply));
    }
    if (owed_ == 0) Finish(std::move(replies_));
  }

  void Fail(std::string why) { Finish(std::unexpected(NotAnswered(std::move(why)))); }

  void Finish(Answer answer) {
    Handler handler = std::exchange(handler_, nullptr);
    End();
    if (handler) handler(std::move(answer));
  }

  void End() {
    timer_.reset();
    stream_->Close();
  }

  boost::asio::io_context& loop_;
  EnquiryOptions options_;
  Handler handler_;  // empty once it was called or called off
  std::shared_ptr<Stream> stream_;
  std::optional<boost::asio::steady_timer> timer_;  // none once it is over
  ReplyReader reader_{kMaximumReplyBytes};
  std::array<char, 16 * 1024> buffer_{};
  std::string output_;
  std::size_t written_ = 0;
  std::size_t owed_ = 0;  // replies
  bool logs_in_ = false;  // the next reply is the login's
  std::vector<Reply> replies_;
};

Enquiry::Enquiry(boost::asio::io_context& loop, EnquiryOptions options,
                 const std::vector<Words>& commands, Handler handler)
    : exchange_(std::make_shared<Exchange>(loop, std::move(options), std::move(handler))) {
  exchange_->Start(commands);
}

Enquiry::~Enquiry() {
  exchange_->CallOff();
}

}  // namespace sluice::redis
