#include "src/limiter/decision.h"

#include <algorithm>
#include <string>

#include "src/limiter/algorithm/fixed_window.h"
#include "src/limiter/algorithm/sliding_counter.h"
#include "src/limiter/algorithm/token_bucket.h"

namespace sluice::limiter {
namespace {

// remaining / limit of `a` compared with `b`'s, without dividing: both products stay below 2^106.
// A limit of 0 counts as nothing remaining.
std::strong_ordering CompareShare(const LimitAnswer& a, const LimitAnswer& b) {
  const auto wide = [](std::int64_t x, std::int64_t y) { return static_cast<__int128>(x) * y; };
  const __int128 left = a.limit == 0 ? 0 : wide(a.remaining, std::max<std::int64_t>(b.limit, 1));
  const __int128 right = b.limit == 0 ? 0 : wide(b.remaining, std::max<std::int64_t>(a.limit, 1));
  return left <=> right;
}

bool LeadsAllowed(const LimitAnswer& a, const LimitAnswer& b) {
  const auto order = CompareShare(a, b);
  return order != 0 ? order < 0 : a.reset_after > b.reset_after;
}

bool LeadsDenied(const LimitAnswer& a, const LimitAnswer& b) {
  if (a.allowed != b.allowed) return !a.allowed;
  if (!a.retry_after || !b.retry_after) return !a.retry_after && b.retry_after;
  return *a.retry_after > *b.retry_after;
}

}  // namespace

std::optional<Incompatible> Refusal(const Plan& plan, std::int64_t cost) {
  const auto refuse = [](std::string detail) {
    return Incompatible{Incompatible::Reason::kCostExceedsMaximum, std::move(detail)};
  };
  if (cost < 1) return refuse("cost " + std::to_string(cost) + " is below 1");
  for (const Policy& policy : plan.policies()) {
    if (cost > policy.maximum_cost()) {
      return refuse("cost " + std::to_string(cost) + " is above the maximum_cost " +
                    std::to_string(policy.maximum_cost()) + " of policy \"" + policy.id() + "\"");
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> PlanTime(const Plan& plan, std::span<const State* const> stored,
                                     std::int64_t now) {
  std::int64_t plan_now = now;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] == nullptr) continue;
    const std::int64_t behind = stored[i]->written - now;
    if (behind > plan.policies()[i].maximum_clock_regression().count()) return std::nullopt;
    plan_now = std::max(plan_now, stored[i]->written);
  }
  return plan_now;
}

Evaluated Decide(const Plan& plan, std::span<const State* const> stored, std::int64_t cost,
                 std::int64_t now, std::span<State> next) {
  const auto policies = plan.policies();
  Evaluated evaluated;
  evaluated.allowed = true;
  evaluated.limits.resize(policies.size());

  for (std::size_t i = 0; i < policies.size(); ++i) {
    std::visit(
        [&]<class A>(const A& algorithm) {
          const bool live = stored[i] != nullptr && stored[i]->expires > now;
          next[i] = At(algorithm, live ? stored[i] : nullptr, now);
          evaluated.limits[i].allowed = Admits(algorithm, next[i], cost, now);
          if constexpr (std::is_same_v<A, SlidingCounter>) {
            evaluated.certainty = Certainty::kApproximateAlgorithm;
          }
        },
        policies[i].algorithm());
    evaluated.allowed &= evaluated.limits[i].allowed;
  }

  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Policy& policy = policies[i];
    LimitAnswer& answer = evaluated.limits[i];
    answer.policy = policy.id();
    answer.limit = policy.limit();
    answer.retry_after = Milliseconds{0};
    std::visit(
        [&](const auto& algorithm) {
          if (evaluated.allowed) {
            Charge(algorithm, next[i], cost);
            next[i].written = now;
          } else if (!answer.allowed) {
            const std::int64_t wait = WaitFor(algorithm, next[i], cost, now);
            answer.retry_after = wait == kNever ? std::nullopt : std::optional(Milliseconds{wait});
          }
          const Level level = LevelOf(algorithm, next[i], now);
          answer.remaining = level.remaining;
          answer.reset_after = Milliseconds{level.reset};
        },
        policy.algorithm());
    if (evaluated.allowed) next[i].expires = ExpiryOf(policy, next[i]);
  }
  evaluated.leading = LeadingLimit(evaluated.allowed, evaluated.limits);
  return evaluated;
}

std::size_t LeadingLimit(bool allowed, std::span<const LimitAnswer> limits) {
  const auto leads = allowed ? LeadsAllowed : LeadsDenied;
  std::size_t leading = 0;
  for (std::size_t i = 1; i < limits.size(); ++i) {
    if (leads(limits[i], limits[leading])) leading = i;
  }
  return leading;
}

std::int64_t ExpiryOf(const Policy& policy, const State& state) {
  const auto expiry = [&](const auto& algorithm) { return ExpiryOf(algorithm, state); };
  return std::visit(expiry, policy.algorithm()) + policy.cleanup_grace().count();
}

std::int64_t DenyingFor(const Policy& policy, const State& state, std::int64_t now) {
  return std::visit(
      [&](const auto& algorithm) {
        return Admits(algorithm, state, 1, now) ? 0 : WaitFor(algorithm, state, 1, now);
      },
      policy.algorithm());
}

}  // namespace sluice::limiter
