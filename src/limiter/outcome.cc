#include "sluice/outcome.h"

#include <cstdlib>

namespace sluice {

bool IsAllowed(const Outcome& outcome) {
  const auto* evaluated = std::get_if<Evaluated>(&outcome);
  return evaluated != nullptr && evaluated->allowed;
}

std::string_view Name(Certainty certainty) {
  switch (certainty) {
    case Certainty::kCertain:
      return "certain";
    case Certainty::kApproximateAlgorithm:
      return "approximate-algorithm";
    case Certainty::kUnreplicated:
      return "unreplicated";
  }
  std::abort();
}

std::string_view Name(Unavailable::Category category) {
  switch (category) {
    case Unavailable::Category::kAdmissionRejected:
      return "admission-rejected";
    case Unavailable::Category::kUnavailableBeforeSend:
      return "unavailable-before-send";
    case Unavailable::Category::kNoMutationConfirmed:
      return "no-mutation-confirmed";
    case Unavailable::Category::kClockUnsafe:
      return "clock-unsafe";
  }
  std::abort();
}

std::string_view Name(Indeterminate::Category category) {
  switch (category) {
    case Indeterminate::Category::kDeadlinePassed:
      return "deadline-passed";
    case Indeterminate::Category::kResponseLost:
      return "response-lost";
    case Indeterminate::Category::kReplyMalformed:
      return "reply-malformed";
    case Indeterminate::Category::kScriptAborted:
      return "script-aborted";
  }
  std::abort();
}

std::string_view Name(Incompatible::Reason reason) {
  switch (reason) {
    case Incompatible::Reason::kUnknownPolicy:
      return "unknown-policy";
    case Incompatible::Reason::kCostExceedsMaximum:
      return "cost-exceeds-maximum";
    case Incompatible::Reason::kEvaluationIdConflict:
      return "evaluation-id-conflict";
    case Incompatible::Reason::kPermissionDenied:
      return "permission-denied";
    case Incompatible::Reason::kServerIncompatible:
      return "server-incompatible";
    case Incompatible::Reason::kStateUnreadable:
      return "state-unreadable";
  }
  std::abort();
}

}  // namespace sluice
