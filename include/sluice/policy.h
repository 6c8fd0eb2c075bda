// Policies and plans: the rules an evaluation is decided by, validated once and immutable after.
//
//   auto login = sluice::Policy::Create({.id = "login", .algorithm = sluice::FixedWindow{5, 60s}});
//   auto plan  = sluice::Plan::Create({*login});
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sluice/clock.h"

namespace sluice {

/// The largest amount Sluice counts with, 2^53 - 1: every product inside the bounds below is exact
/// both as a 64-bit integer and as the double that Lua computes with.
inline constexpr std::int64_t kMaximumAmount = (std::int64_t{1} << 53) - 1;

/// At most `limit` units in each window; windows are aligned to the Unix epoch. By design up to
/// twice the limit can pass in a span that crosses a window's edge.
/// Bounds: 0 <= limit <= 2^53 - 1 (0 denies always), 1 ms <= window <= 366 d.
struct FixedWindow {
  std::int64_t limit = 0;
  Milliseconds window{};
  friend bool operator==(const FixedWindow&, const FixedWindow&) = default;
};

/// The previous window counts in proportion to how much of it the sliding window still covers.
/// Bounds: those of FixedWindow, and limit * window(ms) <= 2^53 - 1.
struct SlidingCounter {
  std::int64_t limit = 0;
  Milliseconds window{};
  friend bool operator==(const SlidingCounter&, const SlidingCounter&) = default;
};

/// Holds `capacity` tokens, starts full, gains `refill` tokens after each whole `period`.
/// In a span t at most capacity + refill * (floor(t / period) + 1) units pass.
/// Bounds: 0 <= capacity <= 2^53 - 1 (0 denies always), 1 <= refill <= 2^53 - 1,
/// 1 ms <= period <= 366 d, ceil(capacity / refill) * period <= 3660 d.
struct TokenBucket {
  std::int64_t capacity = 0;
  std::int64_t refill = 0;
  Milliseconds period{};
  friend bool operator==(const TokenBucket&, const TokenBucket&) = default;
};

using Algorithm = std::variant<FixedWindow, SlidingCounter, TokenBucket>;

/// What is remembered so that a repeated evaluation is answered again instead of charged again.
/// The dedup of a plan is that of its first policy.
struct Dedup {
  bool enabled = true;
  Milliseconds ttl{5'000};             ///< 1 ms .. 1 h
  std::int64_t max_entries = 256;      ///< 1 .. 4096, a subject's newest records are kept
  std::int64_t max_bytes = 64 * 1024;  ///< 1 KiB .. 1 MiB, over all records of a subject
  friend bool operator==(const Dedup&, const Dedup&) = default;
};

/// Whose budget a policy counts: one for each client and operation, or one for each client.
enum class Scope : std::uint8_t { kOperation, kClient };

/// A policy as somebody wrote it down; `Policy::Create` checks it.
struct PolicySettings {
  std::string id{};  ///< [A-Za-z][A-Za-z0-9._-]{0,63}
  /// 1 .. 2^31 - 1; part of the counter's identity: a new revision starts new counters.
  std::int64_t revision = 1;
  Algorithm algorithm{};
  /// 1 .. max(limit or capacity, 1), which is the default.
  std::optional<std::int64_t> maximum_cost{};
  Milliseconds maximum_clock_regression{500};  ///< 0 .. 1 h
  Milliseconds cleanup_grace{1'000};           ///< 0 .. 1 h
  Dedup dedup{};
  Scope scope = Scope::kOperation;
};

/// One reason why settings are no policy. `field` names the setting ("window", "dedup.ttl"),
/// `message` says what is wrong and the allowed range.
struct PolicyError {
  std::string field{};
  std::string message{};
};

/// A checked policy. A cheap handle on immutable data: copies share it.
///
/// Thread safety: all of it may be read from any thread.
class Policy {
 public:
  /// Returns the policy, or everything that is wrong with the settings at once.
  [[nodiscard]] static std::expected<Policy, std::vector<PolicyError>> Create(
      PolicySettings settings);

  [[nodiscard]] const std::string& id() const { return data_->settings.id; }
  [[nodiscard]] std::int64_t revision() const { return data_->settings.revision; }
  [[nodiscard]] const Algorithm& algorithm() const { return data_->settings.algorithm; }
  /// The limit, or a token bucket's capacity: the `limit` of every answer.
  [[nodiscard]] std::int64_t limit() const { return data_->limit; }
  [[nodiscard]] std::int64_t maximum_cost() const { return data_->maximum_cost; }
  [[nodiscard]] Milliseconds maximum_clock_regression() const {
    return data_->settings.maximum_clock_regression;
  }
  [[nodiscard]] Milliseconds cleanup_grace() const { return data_->settings.cleanup_grace; }
  [[nodiscard]] const Dedup& dedup() const { return data_->settings.dedup; }
  [[nodiscard]] Scope scope() const { return data_->settings.scope; }
  /// "<id>@<revision>": what names this policy's counters in every store.
  [[nodiscard]] const std::string& counter_name() const { return data_->counter_name; }
  /// The counter name as 64 well-mixed bits, for engines that hash it on every evaluation.
  [[nodiscard]] std::uint64_t counter_hash() const { return data_->counter_hash; }

 private:
  struct Data {
    PolicySettings settings;
    std::int64_t limit;
    std::int64_t maximum_cost;
    std::string counter_name;
    std::uint64_t counter_hash;
  };
  explicit Policy(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

/// The policies that one operation applies together, in order. Never empty, at most
/// `kMaximumPolicies`, no policy twice.
///
/// Thread safety: may be read from any thread.
class Plan {
 public:
  static constexpr std::size_t kMaximumPolicies = 16;

  /// Returns the plan, or one sentence on why these policies make none.
  [[nodiscard]] static std::expected<Plan, std::string> Create(std::vector<Policy> policies);

  [[nodiscard]] std::span<const Policy> policies() const { return policies_; }
  /// The dedup of the first policy decides for the plan.
  [[nodiscard]] const Dedup& dedup() const { return policies_.front().dedup(); }
  /// Whether some policy counts per client and operation.
  [[nodiscard]] bool needs_operation() const { return needs_operation_; }
  /// The ordered list of counter names as 64 well-mixed bits: which plan a dedup record belongs to.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  explicit Plan(std::vector<Policy> policies);

  std::vector<Policy> policies_;
  bool needs_operation_ = false;
  std::uint64_t hash_ = 0;
};

/// The words of the contract: "fixed-window", "sliding-counter", "token-bucket".
[[nodiscard]] std::string_view AlgorithmName(const Algorithm& algorithm);

}  // namespace sluice
