#include "src/app/doctor/asker.h"

#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/core.h>

namespace sluice::app::doctor {

namespace asio = boost::asio;

std::expected<std::vector<std::string>, std::string> Asker::Resolve(const std::string& host) {
  asio::ip::tcp::resolver resolver(loop_);
  boost::system::error_code error;
  const auto results = resolver.resolve(host, "", error);
  if (error) return std::unexpected(error.message());
  std::vector<std::string> addresses;
  for (const auto& result : results) addresses.push_back(result.endpoint().address().to_string());
  return addresses;
}

std::string Asker::Connect(const redis::Address& address, const redis::Access& access) {
  const auto stream = std::make_shared<redis::Stream>(loop_, access.tls, access.server_name);
  bool is_late = false;
  asio::steady_timer timer(loop_, timeout_);
  timer.async_wait([&](const boost::system::error_code& error) {
    if (error) return;
    is_late = true;
    stream->Close();
  });
  std::string why;
  stream->Connect(address, [&](std::string error) {
    why = std::move(error);
    timer.cancel();
    stream->Close();
  });
  loop_.restart();
  loop_.run();
  return is_late ? fmt::format("no answer in {} ms", timeout_.count()) : why;
}

Asker::Answer Asker::Ask(const redis::Address& address, const redis::Access& access,
                         const std::vector<redis::Words>& commands) {
  Answer answer{.replies = {}, .asked = SystemClock().Now()};
  const redis::Enquiry enquiry(
      loop_, {.address = address, .access = access, .timeout = timeout_}, commands,
      [&](redis::Enquiry::Answer replies) { answer.replies = std::move(replies); });
  loop_.restart();
  loop_.run();
  answer.answered = SystemClock().Now();
  return answer;
}

std::string DetailOf(const Outcome& outcome) {
  return std::visit(
      []<class O>(const O& kind) -> std::string {
        if constexpr (std::is_same_v<O, Evaluated>) {
          return "";
        } else {
          return kind.detail;
        }
      },
      outcome);
}

bool IsPermissionDenied(const Outcome& outcome) {
  const auto* incompatible = std::get_if<Incompatible>(&outcome);
  return incompatible != nullptr && incompatible->reason == Incompatible::Reason::kPermissionDenied;
}

redis::Words WordsOf(const std::string& encoded) {
  // A command is what a list of texts is in a reply.
  redis::ReplyReader reader(encoded.size());
  reader.Feed(encoded);
  redis::Words words;
  const auto reply = reader.Next();
  for (const redis::Reply& word : reply.value().value().elements) words.push_back(word.text);
  return words;
}

}  // namespace sluice::app::doctor
