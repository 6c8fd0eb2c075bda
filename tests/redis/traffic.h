// Requests that go on while something happens to the servers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
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
            const std::string word =
                Word(AskNow(limiter, plan, {.client = client, .budget = budget}));
            ++words_[word];
            if (word == "allowed") {
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
    if (thread_.joinable()) thread_.join();
  }

  /// How often each word was the answer, and how often each client was allowed. After End.
  [[nodiscard]] const std::map<std::string, std::int64_t>& words() const { return words_; }
  [[nodiscard]] std::int64_t allowed(std::uint64_t client) const { return allowed_.at(client); }

 private:
  std::map<std::string, std::int64_t> words_;
  std::map<std::uint64_t, std::int64_t> allowed_;
  std::atomic<std::int64_t> all_allowed_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;  // last: it uses all above
};

}  // namespace sluice::redis
