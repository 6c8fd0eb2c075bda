// How many keys there are, and for how long: as many as subjects that were let through lately,
// however many windows have come and gone.
#include <chrono>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::SubjectNumber;

constexpr Milliseconds kWindow = 1h;
constexpr std::uint64_t kWindows = 100;
constexpr std::uint64_t kSubjects = 1'000;
constexpr std::uint64_t kEvery = 10;  // of so many one key is looked at
// Of cleanup_grace and dedup.ttl the longer, and maximum_clock_regression.
constexpr Milliseconds kKeep = 5s + 500ms;

struct Case {
  const char* name;
  Algorithm algorithm;
  Milliseconds longest;   // that a key lives after it was written
  std::uint64_t windows;  // whose subjects may have keys at one moment
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};
const Case kCases[] = {
    {"FixedWindow", FixedWindow{10, kWindow}, kWindow + kKeep, 2},
    {"SlidingCounter", SlidingCounter{10, kWindow}, 2 * kWindow + kKeep, 3},
    {"TokenBucket", TokenBucket{10, 1, kWindow / 10}, kWindow + kKeep, 2},
};

class Keys : public ScriptsTest, public ::testing::WithParamInterface<Case> {
 protected:
  // A server of its own: its keys are counted.
  Keys() { counted_.LoadScripts(); }

  // One evaluation of each of a thousand subjects, from this one on.
  void AskAll(std::uint64_t first) {
    std::string bytes;
    for (std::uint64_t i = 0; i < kSubjects; ++i) {
      const Evaluation evaluation = EvaluationOf(plan_, {SubjectNumber(first + i)});
      const Gathering::Item item{.evaluation = &evaluation};
      bytes += EncodeCall(options_, std::span(&item, 1)).bytes;
    }
    counted_.ExchangeAll(bytes, kSubjects);
  }
  std::uint64_t Count() { return static_cast<std::uint64_t>(counted_.Command({"DBSIZE"}).integer); }

  const Plan plan_ = testing::PlanOf({{.id = "p", .algorithm = GetParam().algorithm}});
  RedisServer server_;
  BlockingClient counted_{server_.address()};
};

TEST_P(Keys, OfTheSameSubjectsAreOneEach) {
  for (std::uint64_t window = 0; window < kWindows; ++window) {
    AskAll(1);
    clock_.Advance(kWindow);
  }
  EXPECT_EQ(Count(), kSubjects);
}

// The server's clock is not moved: a key's end is reckoned from the time it was written and its
// TTL.
TEST_P(Keys, OfNewSubjectsEndWithTheirWindows) {
  struct Written {
    Milliseconds at;
    std::string key;
  };
  std::vector<Written> all;
  for (std::uint64_t window = 0; window < kWindows; ++window) {
    const std::uint64_t first = 1 + window * kSubjects;
    AskAll(first);
    for (std::uint64_t i = 0; i < kSubjects; i += kEvery) {
      all.push_back({clock_.Now().wall.time_since_epoch(), KeyIn(plan_, SubjectNumber(first + i))});
    }
    if (window + 1 < kWindows) clock_.Advance(kWindow);
  }
  ASSERT_EQ(Count(), kWindows * kSubjects);
  const Milliseconds now = clock_.Now().wall.time_since_epoch();
  std::uint64_t living = 0;
  for (const Written& one : all) {
    const Milliseconds ttl{counted_.Command({"PTTL", one.key}).integer};
    ASSERT_GT(ttl, 0ms);
    ASSERT_LE(ttl, GetParam().longest);
    if (one.at + ttl > now) living += kEvery;
  }
  EXPECT_GE(living, kSubjects);
  EXPECT_LE(living, GetParam().windows * kSubjects);
}

INSTANTIATE_TEST_SUITE_P(OfEveryAlgorithm, Keys, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace sluice::redis
