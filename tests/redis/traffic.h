// Requests that go on while something happens to the servers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/redis/counting.h"

namespace sluice::redis {

/// One request after another, each a millisecond or so after the answer to the one before, for the
/// clients 1 .. `clients` in turn, until it is ended. The answer's deadline is checked.
class Traffic {
 public:
  Traffic(Limiter& limiter, const Plan& plan, std::uint64_t clients,
          Milliseconds budget = Milliseconds{250})
      : thread_([this, &limiter, &plan, clients, budget] {
          for (std::uint64_t i = 0; !ended_; ++i) {
            const std::uint64_t client = 1 + i % clients;
            const auto asked = std::chrono::steady_clock::now();
            const std::string word =
                Word(AskNow(limiter, plan, {.client = client, .budget = budget}));
            const auto answered = std::chrono::steady_clock::now();
            latest_ = std::max(latest_, answered - asked - budget);
            ++words_[word];
            if (word == "allowed") {
              longest_gap_ = std::max(longest_gap_, answered - last_allowed_);
              last_allowed_ = answered;
              ++allowed_[client];
              ++all_allowed_;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
          }
        }) {}
  ~Traffic() { End(); }
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  /// Returns once so many more were allowed; false if they never were.
  [[nodiscard]] bool AwaitAllowed(std::int64_t more) {
    const std::int64_t enough = all_allowed_ + more;
    return Eventually([&] { return all_allowed_ >= enough; });
  }
  void End() {
    ended_ = true;
    if (!thread_.joinable()) return;
    thread_.join();
    std::cout << Report() << "\n";
  }

  /// How often each word was the answer, and how often each client was allowed. After End.
  [[nodiscard]] const std::map<std::string, std::int64_t>& words() const { return words_; }
  [[nodiscard]] std::int64_t allowed(std::uint64_t client) const { return allowed_.at(client); }
  /// For reading, not for judging: a machine may be slow. The longest time without an allowed
  /// answer, how far the latest answer was past its deadline, and the words.
  [[nodiscard]] std::string Report() const {
    const auto count = [](auto time) {
      return std::to_string(std::chrono::duration_cast<Milliseconds>(time).count()) + " ms";
    };
    std::string report = "longest gap " + count(longest_gap_) + ", latest " + count(latest_);
    for (const auto& [word, times] : words_) report += ", " + std::to_string(times) + " " + word;
    return report;
  }

 private:
  using Watch = std::chrono::steady_clock;
  Watch::time_point last_allowed_ = Watch::now();
  Watch::duration longest_gap_{};
  Watch::duration latest_ = Watch::duration::min();
  std::map<std::string, std::int64_t> words_;
  std::map<std::uint64_t, std::int64_t> allowed_;
  std::atomic<std::int64_t> all_allowed_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last: it uses all above
};

}  // namespace sluice::redis
