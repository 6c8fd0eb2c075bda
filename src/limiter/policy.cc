#include "sluice/policy.h"

#include <algorithm>
#include <utility>

#include "src/limiter/algorithm/state.h"

namespace sluice {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr Milliseconds kMaximumWindow = days{366};
constexpr Milliseconds kMaximumRefillTime = days{3660};
constexpr Milliseconds kMaximumTolerance = hours{1};

bool IsLetter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool IsIdRest(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

// FNV-1a, then the finaliser of MurmurHash3: short names end up well mixed in all 64 bits.
constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325;
std::uint64_t HashBytes(std::uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash;
}
std::uint64_t Mix(std::uint64_t hash) {
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return hash ^ hash >> 33;
}

class Checker {
 public:
  void Number(std::string field, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    Add(std::move(field), std::to_string(value) + " is out of bounds; allowed: " +
                              std::to_string(least) + " to " + std::to_string(most));
  }
  void Duration(std::string field, Milliseconds value, Milliseconds least, Milliseconds most,
                const char* range) {
    if (value >= least && value <= most) return;
    Add(std::move(field),
        std::to_string(value.count()) + " ms is out of bounds; allowed: " + range);
  }
  void Add(std::string field, std::string message) {
    errors.push_back({std::move(field), std::move(message)});
  }

  std::vector<PolicyError> errors;
};

void CheckWindow(Checker& check, Milliseconds window) {
  check.Duration("window", window, Milliseconds{1}, kMaximumWindow, "1ms to 366d");
}

void Check(Checker& check, const FixedWindow& policy) {
  check.Number("limit", policy.limit, 0, kMaximumAmount);
  CheckWindow(check, policy.window);
}

void Check(Checker& check, const SlidingCounter& policy) {
  const std::size_t before = check.errors.size();
  check.Number("limit", policy.limit, 0, kMaximumAmount);
  CheckWindow(check, policy.window);
  if (check.errors.size() != before) return;
  const std::int64_t most = kMaximumAmount / policy.window.count();
  if (policy.limit > most) {
    check.Add("limit", std::to_string(policy.limit) +
                           " is too large for this window of a sliding-counter (limit times window "
                           "in ms must stay below 2^53); allowed: 0 to " +
                           std::to_string(most));
  }
}

void Check(Checker& check, const TokenBucket& policy) {
  const std::size_t before = check.errors.size();
  check.Number("capacity", policy.capacity, 0, kMaximumAmount);
  check.Number("refill", policy.refill, 1, kMaximumAmount);
  check.Duration("period", policy.period, Milliseconds{1}, kMaximumWindow, "1ms to 366d");
  if (check.errors.size() != before) return;
  const std::int64_t periods = limiter::CeilDiv(policy.capacity, policy.refill);
  if (periods > kMaximumRefillTime.count() / policy.period.count()) {
    check.Add("refill",
              "the bucket would take more than 3660d to refill (capacity / refill * period); raise "
              "refill, or lower capacity or period");
  }
}

std::int64_t LimitOf(const Algorithm& algorithm) {
  if (const auto* bucket = std::get_if<TokenBucket>(&algorithm)) return bucket->capacity;
  if (const auto* sliding = std::get_if<SlidingCounter>(&algorithm)) return sliding->limit;
  return std::get<FixedWindow>(algorithm).limit;
}

}  // namespace

std::expected<Policy, std::vector<PolicyError>> Policy::Create(PolicySettings settings) {
  Checker check;
  const std::string& id = settings.id;
  if (id.empty() || id.size() > 64 || !IsLetter(id.front()) || !std::ranges::all_of(id, IsIdRest)) {
    check.Add("id", "not an id; allowed: a letter, then up to 63 of A-Z a-z 0-9 . _ -");
  }
  check.Number("revision", settings.revision, 1, 2147483647);
  std::visit([&](const auto& algorithm) { Check(check, algorithm); }, settings.algorithm);

  const std::int64_t limit = LimitOf(settings.algorithm);
  const std::int64_t most_cost = std::clamp<std::int64_t>(limit, 1, kMaximumAmount);
  const std::int64_t maximum_cost = settings.maximum_cost.value_or(most_cost);
  check.Number("maximum_cost", maximum_cost, 1, most_cost);
  check.Duration("maximum_clock_regression", settings.maximum_clock_regression, Milliseconds{0},
                 kMaximumTolerance, "0s to 1h");
  check.Duration("cleanup_grace", settings.cleanup_grace, Milliseconds{0}, kMaximumTolerance,
                 "0s to 1h");
  check.Duration("dedup.ttl", settings.dedup.ttl, Milliseconds{1}, hours{1}, "1ms to 1h");
  check.Number("dedup.max_entries", settings.dedup.max_entries, 1, 4096);
  check.Number("dedup.max_bytes", settings.dedup.max_bytes, 1024, 1024 * 1024);
  if (!check.errors.empty()) return std::unexpected(std::move(check.errors));

  std::string counter_name = id + "@" + std::to_string(settings.revision);
  // The algorithm is mixed in so that states of two algorithms never meet under one name.
  const std::uint64_t counter_hash =
      Mix(HashBytes(HashBytes(kHashSeed, counter_name), AlgorithmName(settings.algorithm)));
  return Policy(std::make_shared<const Data>(
      Data{std::move(settings), limit, maximum_cost, std::move(counter_name), counter_hash}));
}

std::expected<Plan, std::string> Plan::Create(std::vector<Policy> policies) {
  if (policies.empty()) return std::unexpected("a plan needs at least one policy");
  if (policies.size() > kMaximumPolicies) {
    return std::unexpected("a plan takes at most " + std::to_string(kMaximumPolicies) +
                           " policies, not " + std::to_string(policies.size()));
  }
  for (auto policy = policies.begin(); policy != policies.end(); ++policy) {
    const bool twice = std::any_of(policies.begin(), policy,
                                   [&](const Policy& other) { return other.id() == policy->id(); });
    if (twice) return std::unexpected("policy \"" + policy->id() + "\" stands in the plan twice");
  }
  return Plan(std::move(policies));
}

Plan::Plan(std::vector<Policy> policies) : policies_(std::move(policies)), hash_(kHashSeed) {
  for (const Policy& policy : policies_) {
    needs_operation_ |= policy.scope() == Scope::kOperation;
    hash_ = Mix(hash_ ^ policy.counter_hash());
  }
}

std::string_view AlgorithmName(const Algorithm& algorithm) {
  struct Namer {
    std::string_view operator()(const FixedWindow&) const { return "fixed-window"; }
    std::string_view operator()(const SlidingCounter&) const { return "sliding-counter"; }
    std::string_view operator()(const TokenBucket&) const { return "token-bucket"; }
  };
  return std::visit(Namer{}, algorithm);
}

}  // namespace sluice
