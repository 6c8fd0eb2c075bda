#include "src/redis/states_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "src/limiter/decision.h"

namespace sluice::redis {
namespace {

// Up to four numbers with colons between, or none.
std::optional<std::vector<std::int64_t>> NumbersOf(std::string_view text) {
  std::vector<std::int64_t> numbers;
  do {
    const auto number = NumberOf(NextPiece(text, ':'));
    if (!number || numbers.size() == 4) return std::nullopt;
    numbers.push_back(*number);
  } while (!text.empty());
  return numbers;
}

// A dash stands for each field of a state that is not there.
bool IsAbsent(std::string_view state) {
  return state.starts_with('-');
}

std::optional<limiter::State> StateOf(const Policy& policy, std::string_view text) {
  const auto numbers = NumbersOf(text);
  const bool is_sliding = std::holds_alternative<SlidingCounter>(policy.algorithm());
  if (!numbers || numbers->size() != (is_sliding ? 3 : 2)) return std::nullopt;
  limiter::State state{.mark = (*numbers)[0], .amount = (*numbers)[1]};
  if (is_sliding) state.previous = (*numbers)[2];
  state.expires = limiter::ExpiryOf(policy, state);
  return state;
}

}  // namespace

std::string_view NextPiece(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string PoliciesText(const Plan& plan) {
  std::string text;
  const auto add = [&](char separator, std::int64_t number) {
    text += separator;
    text += std::to_string(number);
  };
  for (const Policy& policy : plan.policies()) {
    add(',', policy.limit());
    if (const auto* bucket = std::get_if<TokenBucket>(&policy.algorithm())) {
      add(':', bucket->period.count());
      add(':', bucket->refill);
      add(':', policy.cleanup_grace().count());
    } else if (const auto* sliding = std::get_if<SlidingCounter>(&policy.algorithm())) {
      add(':', sliding->window.count());
    } else {
      add(':', std::get<FixedWindow>(policy.algorithm()).window.count());
    }
  }
  return text.substr(1);
}

std::optional<Plan> PlanOfText(const Plan& plan, std::string_view policies) {
  std::vector<Policy> then;
  for (const Policy& policy : plan.policies()) {
    const auto numbers = NumbersOf(NextPiece(policies, ','));
    const bool is_bucket = std::holds_alternative<TokenBucket>(policy.algorithm());
    if (!numbers || numbers->size() != (is_bucket ? 4 : 2)) return std::nullopt;
    const std::int64_t limit = (*numbers)[0];
    const Milliseconds span{(*numbers)[1]};
    PolicySettings settings{.id = policy.id(), .revision = policy.revision()};
    if (is_bucket) {
      settings.algorithm = TokenBucket{limit, (*numbers)[2], span};
      settings.cleanup_grace = Milliseconds{(*numbers)[3]};
    } else if (std::holds_alternative<SlidingCounter>(policy.algorithm())) {
      settings.algorithm = SlidingCounter{limit, span};
    } else {
      settings.algorithm = FixedWindow{limit, span};
    }
    auto made = Policy::Create(std::move(settings));
    if (!made) return std::nullopt;
    then.push_back(*std::move(made));
  }
  auto made = Plan::Create(std::move(then));
  if (!made || !policies.empty()) return std::nullopt;
  return *std::move(made);
}

std::optional<Evaluated> DecisionOf(const Plan& plan, std::int64_t cost, std::string_view now,
                                    std::string_view states) {
  const std::size_t count = plan.policies().size();
  const auto plan_now = NumberOf(now);
  if (!plan_now) return std::nullopt;
  std::array<limiter::State, Plan::kMaximumPolicies> found;
  std::array<const limiter::State*, Plan::kMaximumPolicies> stored{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = NextPiece(states, ',');
    if (IsAbsent(text)) continue;
    const auto state = StateOf(plan.policies()[i], text);
    if (!state || state->mark > *plan_now) return std::nullopt;
    found[i] = *state;
    stored[i] = &found[i];
  }
  if (!states.empty()) return std::nullopt;
  std::array<limiter::State, Plan::kMaximumPolicies> next;
  return limiter::Decide(plan, std::span(stored.data(), count), cost, *plan_now,
                         std::span(next.data(), count));
}

std::optional<std::vector<Outcome>> DecisionsOf(const Plan& plan, std::string_view written,
                                                std::string_view state,
                                                std::span<const Turn> turns) {
  const auto written_then = NumberOf(written);
  if (!written_then) return std::nullopt;
  std::optional<limiter::State> current;
  if (!IsAbsent(state)) {
    current = StateOf(plan.policies().front(), state);
    if (!current || current->mark > *written_then) return std::nullopt;
    current->written = *written_then;
  }
  std::vector<Outcome> outcomes;
  for (const Turn& turn : turns) {
    const limiter::State* const stored = current ? &*current : nullptr;
    const auto now = limiter::PlanTime(plan, std::span(&stored, 1), turn.now);
    if (!now) {
      outcomes.emplace_back(ClockUnsafe());
      continue;
    }
    limiter::State next;
    Evaluated evaluated =
        limiter::Decide(plan, std::span(&stored, 1), turn.cost, *now, std::span(&next, 1));
    if (evaluated.allowed) current = next;
    outcomes.emplace_back(std::move(evaluated));
  }
  return outcomes;
}

Unavailable ClockUnsafe() {
  return {Unavailable::Category::kClockUnsafe,
          "the caller's clock is behind the stored state by more than the policy's "
          "maximum_clock_regression"};
}

}  // namespace sluice::redis
