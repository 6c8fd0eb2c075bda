#include "src/edge/outcome_json.h"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "src/edge/json_text.h"

namespace sluice::edge {
namespace {

// Policy ids and the contract's own words need no escapes; what people wrote does.
std::string String(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

std::string Retry(std::optional<Milliseconds> retry) {
  return retry ? fmt::to_string(retry->count()) : "null";
}

// The numbers that one limit and, from the leading limit, the whole evaluation have in common.
std::string Numbers(const LimitAnswer& limit) {
  return fmt::format(R"("limit":{},"remaining":{},"reset_after_ms":{},"retry_after_ms":{})",
                     limit.limit, limit.remaining, limit.reset_after.count(),
                     Retry(limit.retry_after));
}

struct Writer {
  const EvaluateReport& report;

  std::string operator()(const Evaluated& evaluated) const {
    const LimitAnswer& leading = evaluated.LeadingLimit();
    std::string out = fmt::format(
        R"({{"outcome":"evaluated","allowed":{},"policy":"{}",{},"certainty":"{}","replayed":{},)"
        R"("evaluation_id":{},"limits":[)",
        evaluated.allowed, leading.policy, Numbers(leading), Name(evaluated.certainty),
        evaluated.replayed, String(report.id.ToString()));
    std::string_view separator;
    for (const LimitAnswer& limit : evaluated.limits) {
      out += std::exchange(separator, ",");
      out += fmt::format(R"({{"policy":"{}","allowed":{},{}}})", limit.policy, limit.allowed,
                         Numbers(limit));
    }
    out += "]}";
    return out;
  }

  std::string operator()(const Unavailable& unavailable) const {
    return Failure("unavailable", Name(unavailable.category));
  }

  std::string operator()(const Indeterminate& indeterminate) const {
    return Failure("indeterminate", Name(indeterminate.category));
  }

  std::string operator()(const Incompatible& incompatible) const {
    return fmt::format(R"({{"outcome":"incompatible","category":"{}","reason":"{}","detail":{},)"
                       R"("evaluation_id":{}}})",
                       kStateIncompatible, Name(incompatible.reason), String(incompatible.detail),
                       String(report.id.ToString()));
  }

  [[nodiscard]] std::string Failure(std::string_view outcome, std::string_view category) const {
    return fmt::format(
        R"({{"outcome":"{}","category":"{}","retry_after_ms":{},"evaluation_id":{}}})", outcome,
        category, report.failure_retry_after.count(), String(report.id.ToString()));
  }
};

}  // namespace

std::string ToJson(const EvaluateReport& report) {
  return std::visit(Writer{report}, report.outcome);
}

}  // namespace sluice::edge
