// Many threads at once take exactly what exists.
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/memory_limiter.h"

#include "testing/harness.h"
#include "testing/subjects.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::EvaluateNow;
using testing::ManualClock;
using testing::PlanOf;
using testing::SubjectNumber;

// Runs `work(thread)` on so many threads that start together.
template <class Work>
void InParallel(int threads, Work work) {
  std::latch start(threads);
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

TEST(Threads, ARepeatedIdIsChargedOnceHoweverManyAskAtOnce) {
  const ManualClock clock;
  const auto limiter = MakeMemoryLimiter({});
  const Plan plan = PlanOf({{.id = "p", .algorithm = FixedWindow{1'000, 1min}}});
  std::atomic<int> fresh = 0;
  InParallel(8, [&](int) {
    for (int i = 0; i < 100; ++i) {
      const auto outcome = EvaluateNow(
          *limiter, plan, {.subject = SubjectNumber(1), .id = std::to_string(i)}, clock);
      fresh += !std::get<Evaluated>(outcome).replayed;
    }
  });
  EXPECT_EQ(fresh, 100);
  EXPECT_EQ(std::get<Evaluated>(EvaluateNow(*limiter, plan, {SubjectNumber(1)}, clock))
                .limits[0]
                .remaining,
            899);
}

TEST(Threads, AFullTableHoldsItsBoundAndItsDenialsUnderContention) {
  const ManualClock clock;
  constexpr std::int64_t kMax = 20'000;  // several shards
  const auto limiter = MakeMemoryLimiter({.max_subjects = kMax});
  const Plan one = PlanOf({{.id = "one", .algorithm = FixedWindow{1, 1min}}});
  const Plan many = PlanOf({{.id = "x", .algorithm = FixedWindow{1'000, 1min}},
                            {.id = "y", .algorithm = SlidingCounter{1'000, 1min}}});
  constexpr std::uint64_t kDenied = 100;
  for (std::uint64_t client = 0; client < kDenied; ++client) {
    ASSERT_TRUE(IsAllowed(EvaluateNow(*limiter, one, {SubjectNumber(client)}, clock)));
  }
  std::atomic<int> wrong = 0;
  InParallel(4, [&](int thread) {
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const auto newcomer = 1'000'000 * static_cast<std::uint64_t>(thread + 1) + i;
      EvaluateNow(*limiter, many, {SubjectNumber(newcomer)}, clock);
      wrong += IsAllowed(EvaluateNow(*limiter, one, {SubjectNumber(i % kDenied)}, clock));
      if (i % 1'000 == 0) {
        wrong += limiter->Statistics().resident > kMax;
        limiter->Sweep(clock.Now().steady);
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(limiter->Statistics().resident, kMax);
  EXPECT_GT(limiter->Statistics().evicted, 0);
}

}  // namespace
}  // namespace sluice
