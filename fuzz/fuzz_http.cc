// Any bytes as a connection's input: never a crash, and how they arrive in pieces changes no
// answer. The first byte is the size of the pieces.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "src/http/check_endpoint.h"
#include "src/http/conversation.h"

namespace {

using sluice::http::Conversation;
using sluice::http::Reply;
using sluice::http::Request;

void Require(bool holds) {
  if (!holds) std::abort();
}

/// Tells in the body what was read, so that two readings of the same bytes can be compared.
void Echo(const Request& request, Reply reply) {
  Require(!request.method.empty() && !request.target.empty());
  sluice::Answer answer{
      .status = 200, .outcome = sluice::AnswerOutcome::kAllowed, .headers = {}, .body = {}};
  answer.body.append(request.method).append(" ").append(request.target).append("\n");
  for (const auto& [name, value] : request.headers) {
    Require(!name.empty() && value.find_first_of("\r\n") == std::string_view::npos);
    answer.body.append(name).append(": ").append(value).append("\n");
  }
  answer.body.append(request.body);
  if (const auto judged = sluice::http::ReadForwardedRequest(request.headers)) {
    Require(!judged->method.empty() && !judged->target.empty());
  } else {
    Require(!judged.error().empty());
  }
  reply(answer);
}

std::string Answers(std::string_view bytes, std::size_t piece) {
  static const sluice::http::ConversationLimits limits{
      .parser = {.maximum_header = 512, .maximum_body = 64}};
  static const sluice::http::Service service{.handle = Echo, .peer_from = {}, .on_reject = {}};
  static const std::string date;
  const auto conversation =
      std::make_shared<Conversation>(limits, service, date, sluice::Peer(), sluice::SteadyTime());
  std::string answers;
  while (!bytes.empty() && !conversation->is_over()) {
    conversation->Receive(bytes.substr(0, piece), sluice::SteadyTime());
    bytes.remove_prefix(std::min(piece, bytes.size()));
    answers.append(conversation->output());
    conversation->Sent(conversation->output().size());
  }
  if (!conversation->is_over()) conversation->ReceiveEnd();
  Require(conversation->is_over());
  return answers.append(conversation->output());
}

/// The status lines of `answers` but those of "100 Continue", which depends on when bytes come.
std::string Served(std::string answers) {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  for (std::size_t at = 0; (at = answers.find(kContinue, at)) != std::string::npos;) {
    answers.erase(at, kContinue.size());
  }
  // Why a request is refused may depend on how much of it was there; that it is refused may not.
  const std::size_t refusal = answers.find("HTTP/1.1 4");
  return answers.substr(0, std::min(refusal, answers.find("HTTP/1.1 5")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Served(Answers(bytes, bytes.size()));
  Require(Served(Answers(bytes, 1 + data[0] % 64)) == whole);
  return 0;
}
