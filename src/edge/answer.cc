#include "src/edge/answer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/edge/json_text.h"
#include "src/edge/outcome_json.h"
#include "src/edge/rate_limit_fields.h"

namespace sluice::edge {
namespace {

constexpr std::string_view kAboutBlank = "about:blank";
constexpr std::string_view kQuotaExceeded =
    "https://iana.org/assignments/http-problem-types#quota-exceeded";
constexpr std::string_view kQuotaExceededTitle =
    "Request cannot be satisfied as assigned quota has been exceeded";
constexpr int kDenied = 429;

// What a request is told that was not decided.
struct Refusal {
  int status;
  std::string_view title;
  std::string_view detail;
};
constexpr Refusal kUnavailable{503, "Service Unavailable",
                               "The rate limiter could not be asked. Nothing was charged."};
constexpr Refusal kIndeterminate{
    503, "Service Unavailable",
    "The rate limiter gave no certain answer. The request may have been charged."};
constexpr Refusal kIncompatible{500, "Internal Server Error",
                                "The rate limiter cannot decide about this request."};

Answer Base(int status, AnswerOutcome outcome) {
  Answer answer{.status = status, .outcome = outcome, .headers = {}, .body = {}};
  answer.headers.reserve(6);
  answer.headers.emplace_back("X-Sluice-Outcome", std::string{Name(outcome)});
  answer.headers.emplace_back("Cache-Control", "no-store");
  return answer;
}

// The members that all problems have; the caller closes the object.
std::string OpenProblem(std::string_view type, std::string_view title, int status,
                        std::string_view detail) {
  std::string body = R"({"type":)";
  AppendJsonString(type, body);
  body += R"(,"title":)";
  AppendJsonString(title, body);
  body += R"(,"status":)";
  body += fmt::format_int(status).c_str();
  body += R"(,"detail":)";
  AppendJsonString(detail, body);
  return body;
}

void SetBody(std::string_view media_type, std::string body, Answer& answer) {
  answer.headers.emplace_back("Content-Type", std::string{media_type});
  answer.body = std::move(body);
}
void SetProblem(std::string body, Answer& answer) {
  SetBody("application/problem+json", std::move(body), answer);
}

void AddRetryAfter(std::int64_t seconds, Answer& answer) {
  answer.headers.emplace_back("Retry-After", fmt::format_int(seconds).str());
}

std::string QuotaProblem(const Evaluated& denied) {
  const auto wait = RetryAfterSeconds(denied);
  std::string body = OpenProblem(
      kQuotaExceeded, kQuotaExceededTitle, kDenied,
      wait ? fmt::format("Try again in {} s.", *wait) : "No wait will let this request pass.");
  body += R"(,"violated-policies":[)";
  std::string_view separator;
  for (const LimitAnswer& limit : denied.limits) {
    if (limit.allowed) continue;
    body += std::exchange(separator, ",");
    AppendJsonString(limit.policy, body);
  }
  body += "]}";
  return body;
}

// Status and fields of an outcome, whatever the body.
Answer HeadFor(const Outcome& outcome, int status, std::span<const std::string> policy_items,
               Milliseconds failure_retry_after) {
  Answer answer = Base(status, KindOf(outcome));
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    answer.headers.emplace_back("RateLimit-Policy", PolicyField(policy_items, evaluated->leading));
    answer.headers.emplace_back("RateLimit", StateField(*evaluated));
    if (!evaluated->allowed) {
      if (const auto wait = RetryAfterSeconds(*evaluated)) AddRetryAfter(*wait, answer);
    }
  } else if (!std::holds_alternative<Incompatible>(outcome)) {
    AddRetryAfter(std::max<std::int64_t>(1, CeilSeconds(failure_retry_after)), answer);
  }
  return answer;
}

Answer RefusalFor(const Outcome& outcome, const Refusal& refusal, std::string_view category,
                  Milliseconds failure_retry_after) {
  Answer answer = HeadFor(outcome, refusal.status, {}, failure_retry_after);
  std::string body = OpenProblem(kAboutBlank, refusal.title, refusal.status, refusal.detail);
  body += R"(,"category":)";
  AppendJsonString(category, body);
  body += '}';
  SetProblem(std::move(body), answer);
  return answer;
}

int DirectStatus(const Outcome& outcome) {
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    return evaluated->allowed ? 200 : kDenied;
  }
  const auto* incompatible = std::get_if<Incompatible>(&outcome);
  if (incompatible == nullptr) return 503;
  switch (incompatible->reason) {
    case Incompatible::Reason::kUnknownPolicy:
    case Incompatible::Reason::kCostExceedsMaximum:
      return 422;
    case Incompatible::Reason::kEvaluationIdConflict:
      return 409;
    case Incompatible::Reason::kPermissionDenied:
    case Incompatible::Reason::kServerIncompatible:
    case Incompatible::Reason::kStateUnreadable:
      break;
  }
  return 500;
}

}  // namespace

AnswerOutcome KindOf(const Outcome& outcome) {
  struct Visitor {
    AnswerOutcome operator()(const Evaluated& evaluated) const {
      return evaluated.allowed ? AnswerOutcome::kAllowed : AnswerOutcome::kDenied;
    }
    AnswerOutcome operator()(const Unavailable&) const { return AnswerOutcome::kUnavailable; }
    AnswerOutcome operator()(const Indeterminate&) const { return AnswerOutcome::kIndeterminate; }
    AnswerOutcome operator()(const Incompatible&) const { return AnswerOutcome::kIncompatible; }
  };
  return std::visit(Visitor{}, outcome);
}

std::string_view CategoryOf(const Outcome& outcome) {
  struct Visitor {
    std::string_view operator()(const Evaluated&) const { return {}; }
    std::string_view operator()(const Unavailable& o) const { return Name(o.category); }
    std::string_view operator()(const Indeterminate& o) const { return Name(o.category); }
    std::string_view operator()(const Incompatible& o) const { return Name(o.reason); }
  };
  return std::visit(Visitor{}, outcome);
}

std::string_view DetailOf(const Outcome& outcome) {
  struct Visitor {
    std::string_view operator()(const Evaluated&) const { return {}; }
    std::string_view operator()(const Unavailable& o) const { return o.detail; }
    std::string_view operator()(const Indeterminate& o) const { return o.detail; }
    std::string_view operator()(const Incompatible& o) const { return o.detail; }
  };
  return std::visit(Visitor{}, outcome);
}

Answer AnswerFor(const Outcome& outcome, std::span<const std::string> policy_items,
                 Milliseconds failure_retry_after) {
  switch (KindOf(outcome)) {
    case AnswerOutcome::kAllowed:
      return HeadFor(outcome, 200, policy_items, failure_retry_after);
    case AnswerOutcome::kDenied: {
      Answer answer = HeadFor(outcome, kDenied, policy_items, failure_retry_after);
      SetProblem(QuotaProblem(std::get<Evaluated>(outcome)), answer);
      return answer;
    }
    case AnswerOutcome::kUnavailable:
      return RefusalFor(outcome, kUnavailable, CategoryOf(outcome), failure_retry_after);
    case AnswerOutcome::kIndeterminate:
      return RefusalFor(outcome, kIndeterminate, CategoryOf(outcome), failure_retry_after);
    case AnswerOutcome::kIncompatible:
    case AnswerOutcome::kExempt:  // no outcome is
      break;
  }
  return RefusalFor(outcome, kIncompatible, kStateIncompatible, failure_retry_after);
}

Answer AnswerFor(const EvaluateReport& report) {
  const PolicyItems items = report.plan ? PolicyItemsOf(*report.plan) : PolicyItems{};
  Answer answer =
      HeadFor(report.outcome, DirectStatus(report.outcome), items, report.failure_retry_after);
  SetBody("application/json", ToJson(report), answer);
  return answer;
}

Answer ExemptAnswer() {
  return Base(200, AnswerOutcome::kExempt);
}

Answer UnidentifiedAnswer() {
  Answer answer = Base(401, AnswerOutcome::kDenied);
  // RFC 9110, 15.5.2 asks for a challenge; this one opens no dialogue in a browser.
  answer.headers.emplace_back("WWW-Authenticate", R"(Bearer realm="sluice")");
  SetProblem(
      OpenProblem(kAboutBlank, "Unauthorized", 401, "The request does not say who sent it.") + '}',
      answer);
  return answer;
}

Answer ProblemAnswer(int status, std::string_view title, std::string_view detail) {
  Answer answer = Base(status, AnswerOutcome::kIncompatible);
  SetProblem(OpenProblem(kAboutBlank, title, status, detail) + '}', answer);
  return answer;
}

Answer AnswerWithDenyStatus(Answer answer, int status) {
  if (answer.status != kDenied) return answer;
  answer.status = status;
  std::erase_if(answer.headers,
                [](const AnswerField& field) { return field.name == "Content-Type"; });
  answer.headers.emplace_back("X-Sluice-Status", fmt::format_int(kDenied).str());
  answer.body.clear();
  return answer;
}

}  // namespace sluice::edge

namespace sluice {

std::string_view Name(AnswerOutcome outcome) {
  switch (outcome) {
    case AnswerOutcome::kAllowed:
      return "allowed";
    case AnswerOutcome::kDenied:
      return "denied";
    case AnswerOutcome::kUnavailable:
      return "unavailable";
    case AnswerOutcome::kIndeterminate:
      return "indeterminate";
    case AnswerOutcome::kIncompatible:
      return "incompatible";
    case AnswerOutcome::kExempt:
      return "exempt";
  }
  return "incompatible";
}

}  // namespace sluice
