// Workers with an event loop each, as the daemon has them.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "src/redis/worker_limiter.h"
#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

// One worker: keeps a number of evaluations under way until it has had its share, all on its
// thread.
class Worker {
 public:
  Worker(const RedisOptions& options, const Plan& plan, int share)
      : plan_(plan), left_(share), limiter_(loop_, CheckOptions(options).value(), SystemClock()) {}

  [[nodiscard]] const RedisLimiter& limiter() const { return limiter_; }
  [[nodiscard]] int allowed() const { return allowed_; }
  [[nodiscard]] int off_thread() const { return off_thread_; }

  void Run() {
    thread_ = std::this_thread::get_id();
    for (int i = 0; i < 16; ++i) Next();
    auto work = boost::asio::make_work_guard(loop_);
    while (under_way_ > 0 && loop_.run_one() > 0) {
    }
  }

 private:
  void Next() {
    if (left_-- <= 0) return;
    ++under_way_;
    const Instant now = SystemClock().Now();
    limiter_.Evaluate({.plan = &plan_,
                       .subject = testing::SubjectNumber(1 + static_cast<std::uint64_t>(left_) % 3),
                       .id = NextId(),
                       .now = now,
                       .deadline = now.steady + Milliseconds{60'000}},
                      [this](const Outcome& outcome) {
                        --under_way_;
                        allowed_ += IsAllowed(outcome);
                        off_thread_ += std::this_thread::get_id() != thread_;
                        Next();
                      });
  }

  const Plan& plan_;
  int left_;
  int under_way_ = 0;
  int allowed_ = 0;
  int off_thread_ = 0;
  std::thread::id thread_;
  boost::asio::io_context loop_{1};
  WorkerLimiter limiter_;
};

TEST(Workers, FourUnderLoadChargeExactlyWhatTheyAllow) {
  constexpr int kShare = 2'000;
  RedisServer server;
  RedisOptions options = TestOptions(server.address());
  options.command_timeout = Milliseconds{60'000};
  const Plan plan = CountingPlan(5'000);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(std::make_unique<Worker>(options, plan, kShare));
  std::atomic<bool> done{false};
  {
    std::vector<std::jthread> threads;
    for (auto& worker : workers) threads.emplace_back([&] { worker->Run(); });
    // Another thread watches, as the admin listener does.
    const std::jthread watcher([&] {
      while (!done) {
        for (const auto& worker : workers) {
          EXPECT_GE(worker->limiter().Statistics().in_flight, 0);
          (void)worker->limiter().Health();
        }
        std::this_thread::yield();
      }
    });
    for (std::jthread& thread : threads) thread.join();
    done = true;
  }
  std::int64_t allowed = 0;
  for (const auto& worker : workers) {
    allowed += worker->allowed();
    EXPECT_EQ(worker->off_thread(), 0);
  }
  std::int64_t charged = 0;
  for (std::uint64_t client = 1; client <= 3; ++client) {
    EXPECT_LE(Charged(server, client), 5'000);
    charged += Charged(server, client);
  }
  EXPECT_EQ(allowed, charged);
  EXPECT_EQ(allowed, 4 * kShare);
}

// Old wrong behaviour: two configurations shared the connections of whichever came first.
TEST(Workers, OfTwoServersNeverMix) {
  RedisServer one;
  RedisServer other;
  const auto to_one = MakeLimiter(TestOptions(one.address()));
  const auto to_other = MakeLimiter(TestOptions(other.address()));
  const Plan plan = CountingPlan(10);
  EXPECT_EQ(Word(AskNow(*to_one, plan)), "allowed");
  EXPECT_EQ(Word(AskNow(*to_other, plan)), "allowed");
  EXPECT_EQ(Charged(one, 1), 1);
  EXPECT_EQ(Charged(other, 1), 1);
}

// Old behaviour: everything that was read in one turn of the loop left at its end, so server and
// worker waited for each other.
TEST(Workers, LetTheServerBeginWhileTheyStillRead) {
  RedisServer server;
  const Plan plan = CountingPlan(10);
  boost::asio::io_context loop{1};
  WorkerLimiter limiter(loop, CheckOptions(TestOptions(server.address())).value(), SystemClock());
  int allowed = 0;
  const auto ask = [&](std::uint64_t client) {
    const Instant now = SystemClock().Now();
    limiter.Evaluate({.plan = &plan,
                      .subject = testing::SubjectNumber(client),
                      .id = NextId(),
                      .now = now,
                      .deadline = now.steady + Milliseconds{60'000}},
                     [&](const Outcome& outcome) { allowed += IsAllowed(outcome); });
  };
  ask(0);
  while (allowed == 0) loop.run_one();  // connected

  for (std::uint64_t client = 1; client <= 8; ++client) ask(client);
  EXPECT_TRUE(Eventually([&] { return Charged(server, 8) == 1; }));  // and no turn of the loop
  EXPECT_EQ(allowed, 1);
  for (std::uint64_t client = 9; client <= 12; ++client) ask(client);
  while (allowed < 13) loop.run_one();
  for (std::uint64_t client = 0; client <= 12; ++client) EXPECT_EQ(Charged(server, client), 1);
}

}  // namespace
}  // namespace sluice::redis
