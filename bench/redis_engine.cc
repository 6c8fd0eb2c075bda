// The whole engine before one server: 64 callers that wait for one hot key, to 64 callers that each
// have a key of their own and so a script call for every evaluation. Each caller asks again as soon
// as it is answered.
//
// The server runs on one core, the engine and its callers on another. Rounds of both in turn, the
// median of the rounds' ratios. Prints `name value` lines.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include <fmt/core.h>
#include <sys/resource.h>

#include "sluice/redis_limiter.h"

#include "testing/harness.h"
#include "testing/subjects.h"

#include "bench/pinned_server.h"

namespace {

using namespace sluice;
using namespace sluice::bench;
using namespace std::chrono_literals;

constexpr std::uint64_t kCallers = 64;
constexpr int kRounds = 9;

double OwnProcessorSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// All callers of one run. Completions come on the limiter's thread alone, so nothing here is
// shared.
class Callers {
 public:
  Callers(RedisLimiter& limiter, const Plan& plan, bool hot, std::size_t evaluations)
      : limiter_(limiter), plan_(plan), hot_(hot), left_(evaluations) {}

  /// Returns how many evaluations were allowed, when all were answered.
  std::size_t Run() {
    under_way_ = kCallers;
    left_ -= kCallers;
    for (std::uint64_t caller = 0; caller < kCallers; ++caller) Ask(caller);
    done_.get_future().wait();
    return allowed_;
  }

 private:
  void Ask(std::uint64_t caller) {
    const Instant now = SystemClock().Now();
    limiter_.Evaluate({.plan = &plan_,
                       .subject = testing::SubjectNumber(hot_ ? 0 : caller),
                       .id = EvaluationId::FromBytes(testing::SubjectNumber(++ids_).client.bytes),
                       .now = now,
                       .deadline = now.steady + 10s},
                      [this, caller](const Outcome& outcome) { OnAnswer(caller, outcome); });
  }
  void OnAnswer(std::uint64_t caller, const Outcome& outcome) {
    allowed_ += IsAllowed(outcome);
    if (left_ > 0) {
      --left_;
      Ask(caller);
    } else if (--under_way_ == 0) {
      done_.set_value();
    }
  }

  static inline std::atomic<std::uint64_t> ids_{0};

  RedisLimiter& limiter_;
  const Plan& plan_;
  const bool hot_;
  std::atomic<std::size_t> left_;
  std::atomic<std::uint64_t> under_way_{0};
  std::size_t allowed_ = 0;
  std::promise<void> done_;
};

class Bench {
 public:
  struct Taken {
    double rate = 0;       // evaluations a second
    double server_us = 0;  // processor time for one
    double own_us = 0;
  };

  Taken Run(const Plan& plan, bool hot) {
    const std::size_t evaluations = hot ? 200'000 : 40'000;
    const double server_before = ProcessorSecondsOf(client_);
    const double own_before = OwnProcessorSeconds();
    const auto began = std::chrono::steady_clock::now();
    if (Callers(*limiter_, plan, hot, evaluations).Run() != evaluations) {
      throw std::runtime_error("the benchmark did not do what it measures");
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    const auto count = static_cast<double>(evaluations);
    return {.rate = count / wall.count(),
            .server_us = (ProcessorSecondsOf(client_) - server_before) / count * 1e6,
            .own_us = (OwnProcessorSeconds() - own_before) / count * 1e6};
  }

 private:
  PinnedServer server_;
  redis::BlockingClient client_{server_.address()};
  std::unique_ptr<RedisLimiter> limiter_ =
      MakeRedisLimiter({.address = server_.address(), .command_timeout = 10s}).value();
};

void Print(Bench& bench, const char* name, const Plan& plan) {
  std::vector<double> ratios;
  std::vector<double> server_ratios;
  std::vector<Bench::Taken> hot;
  std::vector<Bench::Taken> single;
  for (int round = 0; round < kRounds; ++round) {
    single.push_back(bench.Run(plan, false));
    hot.push_back(bench.Run(plan, true));
    ratios.push_back(hot.back().rate / single.back().rate);
    server_ratios.push_back(single.back().server_us / hot.back().server_us);
  }
  const auto median = [](const std::vector<Bench::Taken>& all, double Bench::Taken::* value) {
    std::vector<double> values;
    for (const Bench::Taken& one : all) values.push_back(one.*value);
    return Median(values);
  };
  fmt::print("hot_{}_ratio {:.1f}\n", name, Median(ratios));
  fmt::print("hot_{}_processor_ratio {:.1f}\n", name, Median(server_ratios));
  for (const auto& [kind, all] : {std::pair{"hot", &hot}, std::pair{"single", &single}}) {
    fmt::print("{}_{}_rate {:.0f}\n", kind, name, median(*all, &Bench::Taken::rate));
    fmt::print("{}_{}_server_us {:.2f}\n", kind, name, median(*all, &Bench::Taken::server_us));
    fmt::print("{}_{}_own_us {:.2f}\n", kind, name, median(*all, &Bench::Taken::own_us));
  }
}

}  // namespace

int main() {
  Bench bench;
  for (const bool dedup : {true, false}) {
    const Plan plan = testing::PlanOf({{.id = dedup ? "on" : "off",
                                        .algorithm = FixedWindow{1'000'000'000, 24h},
                                        .dedup = {.enabled = dedup}}});
    Print(bench, dedup ? "on" : "off", plan);
  }
}
