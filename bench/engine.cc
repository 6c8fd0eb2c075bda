// The embedded engine with a million residents against a bare hash table that finds the same keys.
//
// Prints `name value` lines for bench/run: the ratio of one evaluation to one find (rounds of both
// in turn, the median of the rounds' ratios) and the bytes that a resident state takes by RSS.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/core.h>

#include "sluice/memory_limiter.h"

#include "testing/harness.h"
#include "testing/subjects.h"

namespace {

using namespace sluice;

constexpr std::size_t kResidents = 1'000'000;
constexpr int kRounds = 9;

std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

double NanosecondsEach(std::size_t count, auto&& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  return took.count() / static_cast<double>(count);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct DigestHash {
  using is_avalanching = void;
  std::size_t operator()(const Digest& digest) const {
    std::size_t hash = 0;
    __builtin_memcpy(&hash, digest.bytes.data(), sizeof hash);
    return hash;
  }
};

}  // namespace

int main() {
  // The digests are random, so walking this vector visits both tables in random order.
  std::vector<Subject> subjects(kResidents);
  for (std::size_t i = 0; i < kResidents; ++i) subjects[i] = testing::SubjectNumber(i);

  const Plan plan =
      testing::PlanOf({{.id = "api", .algorithm = TokenBucket{100, 10, std::chrono::seconds{1}}}});
  const testing::ManualClock clock;
  const Instant now = clock.Now();

  const std::int64_t before = ResidentBytes();
  const auto limiter = MakeMemoryLimiter({.max_subjects = 2 * kResidents});
  std::size_t allowed = 0;
  const auto evaluate_all = [&] {
    for (std::size_t i = 0; i < kResidents; ++i) {
      limiter->Evaluate({.plan = &plan,
                         .subject = subjects[i],
                         .now = now,
                         .deadline = now.steady + Milliseconds{750}},
                        [&](const Outcome& outcome) { allowed += IsAllowed(outcome); });
    }
  };
  evaluate_all();
  const std::int64_t bytes = ResidentBytes() - before;

  // Every value is 0: added to the next index, it makes the next find wait for this one.
  boost::unordered_flat_map<Digest, std::size_t, DigestHash> table;
  for (const Subject& subject : subjects) table.emplace(subject.client, 0);
  std::size_t found = 0;
  const auto find_one_after_another = [&] {
    std::size_t value = 0;
    for (std::size_t i = 0; i < kResidents; ++i) {
      const auto at = table.find(subjects[i + value].client);
      value = at->second;
      ++found;
    }
  };
  const auto find_overlapping = [&] {
    for (const Subject& subject : subjects) found += table.contains(subject.client);
  };

  std::vector<double> evaluations;
  std::vector<double> finds;
  std::vector<double> ratios;
  std::vector<double> overlapping_ratios;
  for (int round = 0; round < kRounds; ++round) {
    evaluations.push_back(NanosecondsEach(kResidents, evaluate_all));
    finds.push_back(NanosecondsEach(kResidents, find_one_after_another));
    ratios.push_back(evaluations.back() / finds.back());
    overlapping_ratios.push_back(evaluations.back() /
                                 NanosecondsEach(kResidents, find_overlapping));
  }
  if (found != 2 * kRounds * kResidents || allowed != (kRounds + 1) * kResidents) {
    fmt::print(stderr, "the benchmark did not do what it measures\n");
    return 1;
  }
  fmt::print("evaluation_ns {:.0f}\n", Median(evaluations));
  fmt::print("find_ns {:.0f}\n", Median(finds));
  fmt::print("evaluation_to_find {:.2f}\n", Median(ratios));
  fmt::print("evaluation_to_overlapping_find {:.2f}\n", Median(overlapping_ratios));
  fmt::print("bytes_per_resident {}\n", bytes / static_cast<std::int64_t>(kResidents));
}
