// A server asked once: a list of commands over a connection of its own, which ends with the answer.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "sluice/outcome.h"

#include "src/redis/access.h"
#include "src/redis/resp.h"
#include "src/redis/stream.h"

namespace sluice::redis {

/// The words of a command.
using Words = std::vector<std::string>;

struct EnquiryOptions {
  Address address{};
  Access access{};
  Milliseconds timeout{1'000};  ///< for all of it: connecting, greeting, login and replies
};

/// Connects, logs in, sends all commands at once and collects their replies. Destroying it, also
/// from inside its handler, calls it off: then the handler is not called any more.
///
/// Thread safety: none; used on the thread of its event loop.
class Enquiry {
 public:
  /// One reply for each command, in order; a reply may be an error reply. Or why there are not all
  /// of them: unavailable-before-send, or incompatible when a retry cannot heal it, such as a
  /// refused login. The detail holds no password.
  using Answer = std::expected<std::vector<Reply>, Outcome>;
  /// Called once, from the event loop.
  using Handler = std::move_only_function<void(Answer answer)>;

  Enquiry(boost::asio::io_context& loop, EnquiryOptions options, const std::vector<Words>& commands,
          Handler handler);
  ~Enquiry();
  Enquiry(const Enquiry&) = delete;
  Enquiry& operator=(const Enquiry&) = delete;

 private:
  class Exchange;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace sluice::redis
