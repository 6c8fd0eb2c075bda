// The port: one method, struct in, outcome out. Every engine is a Limiter; tests decorate it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/clock.h"
#include "sluice/outcome.h"
#include "sluice/policy.h"
#include "sluice/subject.h"

namespace sluice {

/// Names one evaluation, so that repeating it charges once. Either made here (128 bits, printed as
/// a ULID) or brought by a trusted caller (1 to 128 bytes of text).
class EvaluationId {
 public:
  /// An id that a trusted caller brought; the engine keeps a record for it if the plan's dedup is
  /// on.
  [[nodiscard]] static EvaluationId FromCaller(std::string text);
  /// An id made by this process. Nobody else can repeat it, so the memory engine keeps no record.
  [[nodiscard]] static EvaluationId FromBytes(const std::array<std::uint8_t, 16>& bytes);

  [[nodiscard]] bool is_from_caller() const { return !text_.empty(); }
  /// The caller's text, or the 26 characters of the ULID.
  [[nodiscard]] std::string ToString() const;

  friend bool operator==(const EvaluationId&, const EvaluationId&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  std::string text_;
};

enum class Mode : std::uint8_t {
  kEvaluate,  ///< decides and, if allowed, charges
  kPeek,      ///< decides as kEvaluate would and writes nothing
};

/// One decision about one request.
struct Evaluation {
  const Plan* plan = nullptr;  ///< never null; must live until the completion was called
  Subject subject{};
  std::int64_t cost = 1;  ///< units; at least 1, else Incompatible(cost-exceeds-maximum)
  EvaluationId id{};
  Mode mode = Mode::kEvaluate;
  Instant now{};  ///< read once, at the edge
  SteadyTime
      deadline;  ///< an answer after it is of no use; at or before `now.steady`: not attempted
};

using Completion = std::move_only_function<void(Outcome)>;

/// Where counters live.
class Limiter {
 public:
  virtual ~Limiter() = default;

  /// Decides `evaluation` and calls `completion` exactly once, before or after this returns: on the
  /// calling thread, or on one of the engine's if its header says so. Never throws.
  virtual void Evaluate(const Evaluation& evaluation, Completion completion) = 0;
};

}  // namespace sluice
