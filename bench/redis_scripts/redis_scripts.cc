// What a script call costs a server, as a ratio to a bare script of HGET, HSET and PEXPIRE that
// limits by fixed window and knows neither clocks nor repeats; and what a subject takes in memory.
//
// The server runs on one core and this program on another. Commands are encoded beforehand and sent
// 64 at a time. Every round runs each kind in turn; a ratio is the median of the rounds' ratios, so
// other load on the machine meets both sides alike. Prints `name value` lines.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sched.h>

#include "src/redis/keys.h"
#include "testing/harness.h"
#include "testing/subjects.h"
#include "tests/redis/redis_server.h"
#include "tests/redis/support/blocking_client.h"

namespace {

using namespace sluice;
using namespace sluice::redis;
using namespace std::chrono_literals;

constexpr std::uint64_t kSubjects = 64;
constexpr int kPipelines = 60;
constexpr int kRounds = 25;

constexpr char kBareScript[] = R"(
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) + ARGV[2]
if count > tonumber(ARGV[3]) then return {0, count} end
redis.call('HSET', KEYS[1], ARGV[1], count)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {1, count}
)";

void PinTo(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

double SecondsOf(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

class Bench {
 public:
  Bench() : client_(server_.address()) {
    PinTo(0);
    client_.LoadScripts();
    bare_sha_ = client_.Command({"SCRIPT", "LOAD", kBareScript}).text;
  }

  // What one round sends of a kind: the commands of kPipelines times kSubjects evaluations.
  using Pipelines = std::vector<std::string>;

  Pipelines Bare() {
    Pipelines pipelines(kPipelines);
    for (std::string& bytes : pipelines) {
      Tick();
      for (std::uint64_t i = 0; i < kSubjects; ++i) {
        const std::string key = "b:1:{" + ClientPseudonym(testing::SubjectNumber(i)) + "}:login@1";
        const std::string_view words[] = {
            "EVALSHA", bare_sha_, "1", key, "1767225600000", "1", "1000000000", "60000"};
        bytes += EncodeCommand(words);
      }
    }
    return pipelines;
  }

  // `batch` evaluations of each of 64 / batch subjects in a pipeline, `batch` in a call.
  Pipelines Ours(const Plan& plan, bool caller_ids, std::size_t batch = 1) {
    Pipelines pipelines(kPipelines);
    for (std::string& bytes : pipelines) {
      Tick();
      for (std::uint64_t i = 0; i < kSubjects / batch; ++i) {
        std::vector<Evaluation> evaluations;
        for (std::size_t k = 0; k < batch; ++k) {
          evaluations.push_back(EvaluationOf(plan, testing::SubjectNumber(i), caller_ids));
        }
        std::vector<Gathering::Item> items;
        for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
        bytes += EncodeCall(options_, items).bytes;
      }
    }
    return pipelines;
  }

  double Seconds(const Pipelines& pipelines, std::size_t calls) {
    return SecondsOf([&] {
      for (const std::string& bytes : pipelines) client_.ExchangeAll(bytes, calls);
    });
  }

  std::int64_t MemoryOf(const Plan& plan, int evaluations, bool caller_ids) {
    options_.prefix = "m" + std::to_string(++prefixes_);
    for (int i = 0; i < evaluations; ++i) {
      now_ += 1ms;
      client_.EvaluateOne(options_, EvaluationOf(plan, testing::SubjectNumber(1), caller_ids));
    }
    std::int64_t bytes = 0;
    for (const Policy& policy : plan.policies()) {
      bytes += client_
                   .Command({"MEMORY", "USAGE",
                             KeyOf(options_.prefix, testing::SubjectNumber(1), policy), "SAMPLES",
                             "0"})
                   .integer;
    }
    options_.prefix = "sluice";
    return bytes;
  }

 private:
  struct Pinned {
    Pinned() { PinTo(1); }
  };

  // Calls of one key are a millisecond apart: no two find the same `now`.
  void Tick() { now_ += 1ms; }

  Evaluation EvaluationOf(const Plan& plan, const Subject& subject, bool caller_id) {
    const Digest bits = testing::SubjectNumber(++ids_).client;
    return {.plan = &plan,
            .subject = subject,
            .id = caller_id ? EvaluationId::FromCaller(ToBase64Url(bits))
                            : EvaluationId::FromBytes(bits.bytes),
            .now = {.wall = now_, .steady = {}},
            .deadline = SteadyTime{1s}};
  }

  Pinned pinned_;  // before the server, which inherits it
  RedisServer server_;
  BlockingClient client_;
  ScriptOptions options_;
  std::string bare_sha_;
  WallTime now_{Milliseconds{1'767'225'600'000}};
  std::uint64_t ids_ = 0;
  int prefixes_ = 0;
};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

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
  };
  const FixedWindow window{1'000'000'000, 60s};
  const SlidingCounter sliding{1'000'000'000, 60s};
  const TokenBucket bucket{1'000'000'000, 1'000'000, 1s};
  std::vector<Kind> kinds;
  kinds.push_back({"fixed_window_dedup_off", PlanOf("w0", window, false)});
  kinds.push_back({"fixed_window_dedup_on", PlanOf("w1", window, true)});
  kinds.push_back({"fixed_window_callers_ids", PlanOf("w2", window, true), true});
  kinds.push_back({"sliding_counter_dedup_off", PlanOf("s0", sliding, false)});
  kinds.push_back({"sliding_counter_dedup_on", PlanOf("s1", sliding, true)});
  kinds.push_back({"token_bucket_dedup_off", PlanOf("b0", bucket, false)});
  kinds.push_back({"token_bucket_dedup_on", PlanOf("b1", bucket, true)});
  kinds.push_back({"two_limits_dedup_on",
                   testing::PlanOf({{.id = "w3", .algorithm = window},
                                    {.id = "b3", .algorithm = bucket}})});
  kinds.push_back({"batches_of_16_dedup_on", PlanOf("w4", window, true), false, 16});
  kinds.push_back({"batches_of_64_dedup_on", PlanOf("w5", window, true), false, 64});

  std::vector<double> bare_seconds;
  for (int round = 0; round < kRounds; ++round) {
    for (Kind& kind : kinds) {
      const auto bare = bench.Bare();
      const auto ours = bench.Ours(kind.plan, kind.caller_ids, kind.batch);
      const double before = bench.Seconds(bare, kSubjects);
      const double taken = bench.Seconds(ours, kSubjects / kind.batch);
      const double after = bench.Seconds(bare, kSubjects);
      bare_seconds.push_back(before);
      kind.ratios.push_back((before + after) / 2 / taken);
    }
  }
  fmt::print("redis_bare_calls_per_second {:.0f}\n",
             kPipelines * static_cast<double>(kSubjects) / Median(bare_seconds));
  for (const Kind& kind : kinds) {
    fmt::print("redis_ratio_{} {:.2f}\n", kind.name, Median(kind.ratios));
  }
}

void PrintMemory(Bench& bench) {
  const std::pair<const char*, Algorithm> algorithms[] = {
      {"fixed_window", FixedWindow{1'000'000, 24h}},
      {"sliding_counter", SlidingCounter{1'000'000, 24h}},
      {"token_bucket", TokenBucket{1'000'000, 10, 1s}}};
  for (const auto& [name, algorithm] : algorithms) {
    const auto print = [&](const char* what, bool dedup, int evaluations, bool caller_ids) {
      fmt::print("redis_bytes_{}_{} {}\n", name, what,
                 bench.MemoryOf(PlanOf(name, algorithm, dedup), evaluations, caller_ids));
    };
    print("dedup_off", false, 1000, false);
    print("dedup_on_1", true, 1, false);
    print("dedup_on_8", true, 8, false);
    print("dedup_on_full", true, 1000, false);
    print("callers_ids_1", true, 1, true);
    print("callers_ids_32", true, 32, true);
    print("callers_ids_full", true, 1000, true);
  }
}

}  // namespace

int main() {
  Bench bench;
  PrintRatios(bench);
  PrintMemory(bench);
}
