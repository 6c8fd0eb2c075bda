// What a script call costs a server, as a ratio to a bare script of HGET, HSET and PEXPIRE that
// limits by fixed window and knows neither clocks nor repeats; and what a subject takes in memory.
//
// The server runs on one core and this program on another. Counted is the server's processor time,
// which is what bounds its calls a second and what other load on the machine disturbs least.
// Commands are encoded beforehand and sent 64 at a time. Every round runs each kind between two
// runs of the bare script; a ratio is the median of the rounds' ratios. Prints `name value` lines.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
constexpr int kPipelines = 30;
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

void PinTo(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

class Bench {
 public:
  Bench() : client_(server_.address()) {
    PinTo(0);
    client_.LoadScripts();
    bare_sha_ = client_.Command({"SCRIPT", "LOAD", std::string(kBareScript)}).text;
    barest_sha_ = client_.Command({"SCRIPT", "LOAD", std::string(kBarestScript)}).text;
  }

  // What one round sends of a kind: the commands of kPipelines times kSubjects evaluations.
  using Pipelines = std::vector<std::string>;

  Pipelines Bare(bool barest = false) {
    Pipelines pipelines(kPipelines);
    for (std::string& bytes : pipelines) {
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
    return pipelines;
  }

  // In every pipeline a call for each subject, of `batch` evaluations.
  Pipelines Ours(const Plan& plan, bool caller_ids, std::size_t batch = 1) {
    Pipelines pipelines(kPipelines);
    for (std::string& bytes : pipelines) {
      Tick();
      for (std::uint64_t i = 0; i < kSubjects; ++i) {
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

  /// Processor time that the server takes for them.
  double Seconds(const Pipelines& pipelines) {
    const double before = ProcessorTime();
    for (const std::string& bytes : pipelines) client_.ExchangeAll(bytes, kSubjects);
    return ProcessorTime() - before;
  }

  std::int64_t MemoryOf(const Plan& plan, int evaluations, bool caller_ids) {
    options_.prefix = "m" + std::to_string(++prefixes_);
    for (int i = 0; i < evaluations; ++i) {
      now_ += 1ms;
      client_.EvaluateOne(options_, EvaluationOf(plan, testing::SubjectNumber(1), caller_ids));
    }
    std::int64_t bytes = 0;
    for (const Policy& policy : plan.policies()) {
      bytes +=
          client_
              .Command({"MEMORY", "USAGE",
                        KeyOf(options_.prefix, testing::SubjectNumber(1), policy), "SAMPLES", "0"})
              .integer;
    }
    options_.prefix = "sluice";
    return bytes;
  }

 private:
  struct Pinned {
    Pinned() { PinTo(1); }
  };

  double ProcessorTime() {
    const std::string text = client_.Command({"INFO", "cpu"}).text;
    const auto value = [&](std::string_view name) {
      return std::stod(text.substr(text.find(name) + name.size()));
    };
    return value("used_cpu_user:") + value("used_cpu_sys:");
  }

  [[nodiscard]] std::int64_t Now() const { return now_.time_since_epoch().count(); }

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
  std::string barest_sha_;
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
  kinds.push_back({"two_limits_dedup_on", testing::PlanOf({{.id = "w3", .algorithm = window},
                                                           {.id = "b3", .algorithm = bucket}})});
  kinds.push_back({"batches_of_64_dedup_off", PlanOf("w6", window, false), false, 64});
  kinds.push_back({"batches_of_16_dedup_on", PlanOf("w4", window, true), false, 16});
  kinds.push_back({"batches_of_64_dedup_on", PlanOf("w5", window, true), false, 64});

  std::vector<double> bare_seconds;
  std::vector<double> barest_ratios;
  for (int round = 0; round < kRounds; ++round) {
    bare_seconds.push_back(bench.Seconds(bench.Bare()));
    barest_ratios.push_back(bare_seconds.back() / bench.Seconds(bench.Bare(true)));
    for (Kind& kind : kinds) {
      const auto bare = bench.Bare();
      const auto ours = bench.Ours(kind.plan, kind.caller_ids, kind.batch);
      const double before = bench.Seconds(bare);
      const double taken = bench.Seconds(ours) / static_cast<double>(kind.batch);
      const double after = bench.Seconds(bare);
      kind.ratios.push_back((before + after) / 2 / taken);
    }
  }
  fmt::print("redis_bare_calls_per_second {:.0f}\n",
             kPipelines * static_cast<double>(kSubjects) / Median(bare_seconds));
  fmt::print("redis_ratio_barest {:.2f}\n", Median(barest_ratios));
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
