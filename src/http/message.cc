#include "src/http/message.h"

#include <optional>
#include <utility>

#include "src/edge/answer.h"
#include "src/http/conversation.h"

namespace sluice::http {

std::string_view Name(Rejection rejection) {
  switch (rejection) {
    case Rejection::kMalformed:
      return "malformed";
    case Rejection::kVersion:
      return "version";
    case Rejection::kHeaderTooLarge:
      return "header-too-large";
    case Rejection::kBodyTooLarge:
      return "body-too-large";
    case Rejection::kTimeout:
      return "timeout";
    case Rejection::kConnectionLimit:
      return "connection-limit";
    case Rejection::kUntrustedPeer:
      return "untrusted-peer";
    case Rejection::kForwardedRequest:
      return "forwarded-request";
    case Rejection::kNoSuchPath:
      return "no-such-path";
    case Rejection::kMethodNotAllowed:
      return "method-not-allowed";
    case Rejection::kInvalidParameters:
      return "invalid-parameters";
  }
  return "unknown";
}

Reply::Reply(std::shared_ptr<Conversation> conversation) : conversation_(std::move(conversation)) {}

Reply::~Reply() {
  if (conversation_) {
    (*this)(edge::ProblemAnswer(500, "Internal Server Error", "The request was given up."));
  }
}

void Reply::operator()(const Answer& answer) {
  std::exchange(conversation_, nullptr)->Complete(answer, std::nullopt);
}

void Reply::Reject(Rejection rejection, const Answer& answer) {
  std::exchange(conversation_, nullptr)->Complete(answer, rejection);
}

}  // namespace sluice::http
