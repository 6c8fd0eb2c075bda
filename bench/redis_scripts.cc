// What a script call costs a server, as a ratio to a bare script of HGET, HSET and PEXPIRE that
// limits by fixed window and knows neither clocks nor repeats; and what a subject takes in memory.
//
// The server runs on one core and this program on another. Commands are encoded beforehand and sent
// without waiting for replies, so the server is never idle and nearly all it does is the scripts.
// Every round runs each kind between two runs of the bare script; a ratio is the median of the
// rounds' ratios, once by calls a second and once by the server's processor time, which other load
// on the machine disturbs least. Prints `name value` lines.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/redis/keys.h"
#include "testing/harness.h"
#include "testing/subjects.h"
#include "tests/redis/support/blocking_client.h"

#include "bench/pinned_server.h"

namespace {

using namespace sluice;
using namespace sluice::bench;
using namespace sluice::redis;
using namespace std::chrono_literals;

constexpr std::uint64_t kSubjects = 64;
constexpr std::uint64_t kPasses = 30;
constexpr double kCalls = static_cast<double>(kPasses * kSubjects);
constexpr int kRounds = 21;

// Computes its window as every limiter must; a field for each.
constexpr std::string_view kBareScript = R"(
local now, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local limit, length = tonumber(ARGV[3]), tonumber(ARGV[4])
local window = now - now % length
local count = tonumber(redis.call('HGET', KEYS[1], window) or 0) + cost
if count > limit then return {0, 0} end
redis.call('HSET', KEYS[1], window, count)
redis.call('PEXPIRE', KEYS[1], length)
return {1, limit - count}
)";
// The least that can be called a limit: told its window, and with nothing to compute but the count.
constexpr std::string_view kBarestScript = R"(
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) + ARGV[2]
if count > tonumber(ARGV[3]) then return {0, count} end
redis.call('HSET', KEYS[1], ARGV[1], count)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, count}
)";

// What a number of calls took: the server's processor time, and how long it was until the last
// reply; seconds.
struct Taken {
  double processor = 0;
  double wall = 0;
};

class Bench {
 public:
  Bench() {
    client_.LoadScripts();
    bare_sha_ = client_.Command({"SCRIPT", "LOAD", std::string(kBareScript)}).text;
    barest_sha_ = client_.Command({"SCRIPT", "LOAD", std::string(kBarestScript)}).text;
  }

  /// The commands of one run: kPasses times a call for every subject.
  std::string Bare(bool barest = false) {
    std::string bytes;
    for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
      Tick();
      const std::string first = barest ? "1767225600000" : std::to_string(Now());
      for (std::uint64_t i = 0; i < kSubjects; ++i) {
        const std::string key = (barest ? "barest:1:{" : "bare:1:{") +
                                ClientPseudonym(testing::SubjectNumber(i)) + "}:login@1";
        const std::string_view words[] = {
            "EVALSHA", barest ? barest_sha_ : bare_sha_, "1", key, first, "1", "1000000000",
            "60000"};
        bytes += EncodeCommand(words);
      }
    }
    return bytes;
  }
  /// The same of ours, each call of `batch` evaluations.
  std::string Ours(const Plan& plan, bool caller_ids, std::size_t batch) {
    std::string bytes;
    for (std::uint64_t pass = 0; pass < kPasses; ++pass) {
      Tick();
      for (std::uint64_t i = 0; i < kSubjects; ++i) {
        bytes += CallOf(plan, testing::SubjectNumber(i), caller_ids, batch);
      }
    }
    return bytes;
  }

  Taken Run(const std::string& bytes) {
    const double processor_before = ProcessorSecondsOf(client_);
    const auto began = std::chrono::steady_clock::now();
    client_.ExchangeAll(bytes, static_cast<std::size_t>(kCalls));
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    return {.processor = ProcessorSecondsOf(client_) - processor_before, .wall = wall.count()};
  }

  /// The most that the key of one subject takes in so many calls, each of `batch` evaluations.
  std::int64_t MemoryOf(const Plan& plan, int calls, bool caller_ids, std::size_t batch = 1) {
    options_.prefix = "m" + std::to_string(++prefixes_);
    const Subject subject = testing::SubjectNumber(1);
    const std::string key = KeyOf(options_.prefix, subject, plan.policies()[0]);
    std::int64_t most = 0;
    for (int call = 0; call < calls; ++call) {
      Tick();
      client_.Exchange(CallOf(plan, subject, caller_ids, batch));
      const Reply bytes = client_.Command({"MEMORY", "USAGE", key, "SAMPLES", "0"});
      most = std::max(most, bytes.integer);
    }
    options_.prefix = "sluice";
    return most;
  }

 private:
  [[nodiscard]] std::int64_t Now() const { return now_.time_since_epoch().count(); }

  // Calls of one key are a millisecond apart: no two find the same `now`.
  void Tick() { now_ += 1ms; }

  std::string CallOf(const Plan& plan, const Subject& subject, bool caller_ids, std::size_t batch) {
    std::vector<Evaluation> evaluations;
    for (std::size_t i = 0; i < batch; ++i) {
      evaluations.push_back(EvaluationOf(plan, subject, caller_ids));
    }
    std::vector<Gathering::Item> items;
    for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
    return EncodeCall(options_, items).bytes;
  }

  Evaluation EvaluationOf(const Plan& plan, const Subject& subject, bool caller_id) {
    const Digest bits = testing::SubjectNumber(++ids_).client;
    return {.plan = &plan,
            .subject = subject,
            .id = caller_id ? EvaluationId::FromCaller(ToBase64Url(bits))
                            : EvaluationId::FromBytes(bits.bytes),
            .now = {.wall = now_, .steady = {}},
            .deadline = SteadyTime{1s}};
  }

  PinnedServer server_;
  BlockingClient client_{server_.address()};
  ScriptOptions options_;
  std::string bare_sha_;
  std::string barest_sha_;
  WallTime now_{Milliseconds{1'767'225'600'000}};
  std::uint64_t ids_ = 0;
  int prefixes_ = 0;
};

Plan PlanOf(std::string id, Algorithm algorithm, bool dedup) {
  return testing::PlanOf(
      {{.id = std::move(id), .algorithm = algorithm, .dedup = {.enabled = dedup}}});
}

void PrintRatios(Bench& bench) {
  struct Kind {
    const char* name;
    Plan plan;
    bool caller_ids = false;
    std::size_t batch = 1;
    std::vector<double> ratios{};
    std::vector<double> processor_ratios{};
    std::vector<double> rates{};
    std::vector<double> processor{};
    std::vector<double> bare_rates{};
    std::vector<double> bare_processor{};
  };
  const FixedWindow window{1'000'000'000, 60s};
  const SlidingCounter sliding{1'000'000'000, 60s};
  const TokenBucket bucket{1'000'000'000, 1'000'000, 1s};
  std::vector<Kind> kinds;
  kinds.push_back({"fixed_window_off", PlanOf("w0", window, false)});
  kinds.push_back({"fixed_window_on", PlanOf("w1", window, true)});
  kinds.push_back({"sliding_counter_off", PlanOf("s0", sliding, false)});
  kinds.push_back({"sliding_counter_on", PlanOf("s1", sliding, true)});
  kinds.push_back({"token_bucket_off", PlanOf("b0", bucket, false)});
  kinds.push_back({"token_bucket_on", PlanOf("b1", bucket, true)});
  kinds.push_back({"callers_ids", PlanOf("w2", window, true), true});
  kinds.push_back({"two_limits", testing::PlanOf({{.id = "w3", .algorithm = window},
                                                  {.id = "b3", .algorithm = bucket}})});
  kinds.push_back({"batches_of_64_off", PlanOf("w4", window, false), false, 64});
  kinds.push_back({"batches_of_64_on", PlanOf("w5", window, true), false, 64});

  std::vector<double> barest_ratios;
  for (int round = 0; round < kRounds; ++round) {
    const Taken barest = bench.Run(bench.Bare(true));
    barest_ratios.push_back(bench.Run(bench.Bare()).processor / barest.processor);
    for (Kind& kind : kinds) {
      const std::string bare = bench.Bare();
      const std::string ours = bench.Ours(kind.plan, kind.caller_ids, kind.batch);
      const Taken before = bench.Run(bare);
      const Taken taken = bench.Run(ours);
      const Taken after = bench.Run(bare);
      const auto evaluations = kCalls * static_cast<double>(kind.batch);
      const double bare_wall = (before.wall + after.wall) / 2;
      const double bare_seconds = (before.processor + after.processor) / 2;
      kind.bare_rates.push_back(kCalls / bare_wall);
      kind.bare_processor.push_back(bare_seconds / kCalls * 1e6);
      kind.rates.push_back(evaluations / taken.wall);
      kind.processor.push_back(taken.processor / evaluations * 1e6);
      kind.ratios.push_back(kind.rates.back() / kind.bare_rates.back());
      kind.processor_ratios.push_back(kind.bare_processor.back() / kind.processor.back());
    }
  }
  fmt::print("bare_to_barest {:.2f}\n", Median(barest_ratios));
  for (const Kind& kind : kinds) {
    fmt::print("{}_ratio {:.2f}\n", kind.name, Median(kind.ratios));
    fmt::print("{}_processor_ratio {:.2f}\n", kind.name, Median(kind.processor_ratios));
    fmt::print("{}_rate {:.0f}\n", kind.name, Median(kind.rates));
    fmt::print("{}_us {:.2f}\n", kind.name, Median(kind.processor));
    fmt::print("{}_bare_rate {:.0f}\n", kind.name, Median(kind.bare_rates));
    fmt::print("{}_bare_us {:.2f}\n", kind.name, Median(kind.bare_processor));
  }
}

void PrintMemory(Bench& bench) {
  const std::pair<const char*, Algorithm> algorithms[] = {
      {"fixed-window", FixedWindow{1'000'000, 24h}},
      {"sliding-counter", SlidingCounter{1'000'000, 24h}},
      {"token-bucket", TokenBucket{1'000'000, 10, 1s}}};
  for (const auto& [name, algorithm] : algorithms) {
    const auto print = [&](const char* what, bool dedup, int calls, bool caller_ids,
                           std::size_t batch = 1) {
      fmt::print("{}_{}_bytes {}\n", name, what,
                 bench.MemoryOf(PlanOf(name, algorithm, dedup), calls, caller_ids, batch));
    };
    print("off", false, 1000, false);
    print("own_1", true, 1, false);
    print("own_8", true, 8, false);
    print("own_full", true, 1000, false);
    print("batches_full", true, 1000, false, 64);
    print("callers_1", true, 1, true);
    print("callers_32", true, 32, true);
    print("callers_256", true, 256, true);
    print("callers_full", true, 1000, true);
  }
}

}  // namespace

int main() {
  Bench bench;
  PrintRatios(bench);
  PrintMemory(bench);
}
