// One question after another to servers, each waited for.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "sluice/clock.h"
#include "sluice/outcome.h"

#include "src/redis/access.h"
#include "src/redis/enquiry.h"
#include "src/redis/stream.h"

namespace sluice::app::doctor {

/// Thread safety: none.
class Asker {
 public:
  /// `timeout`: for connecting, and for all of an Ask.
  explicit Asker(Milliseconds timeout) : timeout_(timeout) {}

  /// The addresses that a name stands for, as the system's resolver has them, within its own time;
  /// or one sentence.
  [[nodiscard]] std::expected<std::vector<std::string>, std::string> Resolve(
      const std::string& host);

  /// Connects, with TLS if the access has it, and hangs up. The error, or nothing.
  [[nodiscard]] std::string Connect(const redis::Address& address, const redis::Access& access);

  struct Answer {
    redis::Enquiry::Answer replies;
    Instant asked{};
    Instant answered{};
  };
  /// Logs in as the access says and asks all of it over one connection.
  [[nodiscard]] Answer Ask(const redis::Address& address, const redis::Access& access,
                           const std::vector<redis::Words>& commands);

  [[nodiscard]] Milliseconds timeout() const { return timeout_; }

 private:
  Milliseconds timeout_;
  boost::asio::io_context loop_{1};
};

/// Why there was no decision or answer, in one line for people; nothing for an evaluated outcome.
[[nodiscard]] std::string DetailOf(const Outcome& outcome);

/// Whether a login or a permission was refused.
[[nodiscard]] bool IsPermissionDenied(const Outcome& outcome);

/// The words of a command that is already encoded.
[[nodiscard]] redis::Words WordsOf(const std::string& encoded);

}  // namespace sluice::app::doctor
