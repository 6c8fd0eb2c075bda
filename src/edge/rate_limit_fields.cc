#include "src/edge/rate_limit_fields.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <variant>

#include <fmt/format.h>

namespace sluice::edge {
namespace {

// The draft's names, together because a later draft may change them.
constexpr std::string_view kQuota = "q";
constexpr std::string_view kWindow = "w";
constexpr std::string_view kRemaining = "r";
constexpr std::string_view kWait = "t";

constexpr std::int64_t kLargestInteger = 999'999'999'999'999;  // RFC 9651, 3.3.1

// Policy ids hold nothing that a String would have to escape.
void AppendName(std::string_view policy, std::string& out) {
  out += '"';
  out += policy;
  out += '"';
}

void AppendParameter(std::string_view name, std::int64_t value, std::string& out) {
  out += ';';
  out += name;
  out += '=';
  const fmt::format_int digits(std::min(value, kLargestInteger));
  out.append(digits.data(), digits.size());
}

struct WindowOf {
  Milliseconds operator()(const FixedWindow& fixed) const { return fixed.window; }
  Milliseconds operator()(const SlidingCounter& sliding) const { return sliding.window; }
  Milliseconds operator()(const TokenBucket& bucket) const {
    const auto whole = bucket.capacity / bucket.refill;
    return bucket.period * (whole + (bucket.capacity % bucket.refill == 0 ? 0 : 1));
  }
};

template <typename Append>
std::string List(std::size_t size, std::size_t leading, Append append) {
  std::string out;
  out.reserve(size * 40);
  append(leading, out);
  for (std::size_t i = 0; i < size; ++i) {
    if (i == leading) continue;
    out += ", ";
    append(i, out);
  }
  return out;
}

std::optional<Milliseconds> WaitOf(const LimitAnswer& limit) {
  return limit.allowed ? limit.reset_after : limit.retry_after;
}

}  // namespace

PolicyItems PolicyItemsOf(const Plan& plan) {
  PolicyItems items;
  items.reserve(plan.policies().size());
  for (const Policy& policy : plan.policies()) {
    std::string& item = items.emplace_back();
    AppendName(policy.id(), item);
    AppendParameter(kQuota, policy.limit(), item);
    const Milliseconds window = std::visit(WindowOf{}, policy.algorithm());
    if (window > Milliseconds{0} && window % std::chrono::seconds{1} == Milliseconds{0}) {
      AppendParameter(kWindow, CeilSeconds(window), item);
    }
  }
  return items;
}

std::string PolicyField(std::span<const std::string> items, std::size_t leading) {
  return List(items.size(), leading, [&](std::size_t i, std::string& out) { out += items[i]; });
}

std::string StateField(const Evaluated& evaluated) {
  return List(evaluated.limits.size(), evaluated.leading, [&](std::size_t i, std::string& out) {
    const LimitAnswer& limit = evaluated.limits[i];
    AppendName(limit.policy, out);
    AppendParameter(kRemaining, limit.remaining, out);
    if (const auto wait = WaitOf(limit)) AppendParameter(kWait, CeilSeconds(*wait), out);
  });
}

std::optional<std::int64_t> RetryAfterSeconds(const Evaluated& denied) {
  const auto wait = denied.LeadingLimit().retry_after;
  if (!wait) return std::nullopt;
  return std::max<std::int64_t>(1, CeilSeconds(*wait));
}

std::int64_t CeilSeconds(Milliseconds duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace sluice::edge
