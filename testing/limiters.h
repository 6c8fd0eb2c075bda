// Doubles that decorate or stand in for a Limiter.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sluice/limiter.h"

namespace sluice::testing {

/// Answers every evaluation with the same outcome, as a store that is gone or half-way broken
/// would.
class FailingLimiter : public Limiter {
 public:
  explicit FailingLimiter(Outcome outcome) : outcome_(std::move(outcome)) {}
  void Evaluate(const Evaluation& /*evaluation*/, Completion completion) override {
    completion(outcome_);
  }

 private:
  Outcome outcome_;
};

/// Holds every evaluation until the test releases it, as a slow store would. The wrapped limiter is
/// asked only then.
class DelayingLimiter : public Limiter {
 public:
  explicit DelayingLimiter(Limiter& next) : next_(next) {}
  void Evaluate(const Evaluation& evaluation, Completion completion) override {
    waiting_.emplace_back(evaluation, std::move(completion));
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  /// Lets everything that waits through, oldest first.
  void Release() {
    for (auto& [evaluation, completion] : std::exchange(waiting_, {})) {
      next_.Evaluate(evaluation, std::move(completion));
    }
  }

 private:
  Limiter& next_;
  std::vector<std::pair<Evaluation, Completion>> waiting_;
};

/// Remembers what it was asked and passes it on.
class RecordingLimiter : public Limiter {
 public:
  explicit RecordingLimiter(Limiter& next) : next_(next) {}
  void Evaluate(const Evaluation& evaluation, Completion completion) override {
    evaluations.push_back(evaluation);
    next_.Evaluate(evaluation, std::move(completion));
  }
  std::vector<Evaluation> evaluations;

 private:
  Limiter& next_;
};

}  // namespace sluice::testing
