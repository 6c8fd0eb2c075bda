#include "src/edge/evaluation_id.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing/manual_clock.h"

namespace sluice::edge {
namespace {

constexpr WallTime kNow = testing::ManualClock::kStart;

TEST(EvaluationId, IsAUlidOfTheGivenTime) {
  // 1767225600000 ms in Crockford's base32: the time is an argument.
  const std::string id = NewEvaluationId(kNow).ToString();
  EXPECT_EQ(id.size(), 26U);
  EXPECT_EQ(id.substr(0, 10), "01KDVDNA00");
  EXPECT_LT(id, NewEvaluationId(kNow + Milliseconds{1}).ToString());
  EXPECT_FALSE(NewEvaluationId(kNow).is_from_caller());
}

TEST(EvaluationId, TakesTimesBeforeTheEpochAndFarAwayOnes) {
  EXPECT_EQ(NewEvaluationId(WallTime{Milliseconds{0}}).ToString().substr(0, 10), "0000000000");
  EXPECT_EQ(NewEvaluationId(WallTime{Milliseconds{-1}}).ToString().substr(0, 10), "7ZZZZZZZZZ");
}

// Old wrong behaviour elsewhere: ids of one millisecond, or of a poor random source, collide, and
// the second request is answered from the record of the first.
TEST(EvaluationId, IsUniqueUnderThreads) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kEach = 125'000;
  std::vector<std::string> ids(kThreads * kEach);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&ids, t] {
        for (std::size_t i = t * kEach; i < (t + 1) * kEach; ++i) {
          ids[i] = NewEvaluationId(kNow).ToString();
        }
      });
    }
  }
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

// A child process inherits what its parent's thread fetched ahead.
TEST(EvaluationId, IsUniqueAcrossAFork) {
  (void)NewEvaluationId(kNow);  // the store is filled
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string id = NewEvaluationId(kNow).ToString();
    const ssize_t written = write(ends[1], id.data(), id.size());
    _exit(written == 26 ? 0 : 1);
  }
  const std::string parents = NewEvaluationId(kNow).ToString();
  std::string childs(26, '\0');
  EXPECT_EQ(read(ends[0], childs.data(), childs.size()), 26);
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_NE(childs, parents);
  EXPECT_EQ(childs.substr(0, 10), parents.substr(0, 10));
  close(ends[0]);
  close(ends[1]);
}

TEST(EvaluationId, FromACallerIsShortPrintableAscii) {
  const auto id = EvaluationIdFromCaller("order 17/retry");
  ASSERT_TRUE(id.has_value());
  EXPECT_TRUE(id->is_from_caller());
  EXPECT_EQ(id->ToString(), "order 17/retry");
  EXPECT_TRUE(EvaluationIdFromCaller(std::string(128, '~')).has_value());

  EXPECT_FALSE(EvaluationIdFromCaller("").has_value());
  EXPECT_FALSE(EvaluationIdFromCaller(std::string(129, 'a')).has_value());
  EXPECT_FALSE(EvaluationIdFromCaller("a\nb").has_value());
  EXPECT_FALSE(EvaluationIdFromCaller("a\x7F").has_value());
  EXPECT_FALSE(EvaluationIdFromCaller("caf\xC3\xA9").has_value());
}

// The only test that reads a clock: the clock is what it tests.
TEST(SystemClock, ReadsBothClocks) {
  const Instant before = SystemClock().Now();
  const Instant after = SystemClock().Now();
  EXPECT_GE(after.steady, before.steady);
  EXPECT_GT(before.wall, WallTime{Milliseconds{0}});
}

}  // namespace
}  // namespace sluice::edge
