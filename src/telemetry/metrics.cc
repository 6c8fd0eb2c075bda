// Counting is striped: each thread adds to cache lines of its own, so the workers do not wait for
// each other; sums are built when somebody asks. prometheus-cpp gives the model and the text. Its
// own counters and histograms cost a mutex and contended compare-and-swap loops for each request.
#include "src/telemetry/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "sluice/version.h"

#include "src/telemetry/names.h"

namespace sluice::telemetry {
namespace {

using namespace std::chrono_literals;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Cell = std::atomic<std::uint64_t>;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::size_t kStripes = 8;
constexpr std::size_t kCacheLine = 64;

constexpr std::array kOutcomes = {AnswerOutcome::kAllowed,      AnswerOutcome::kDenied,
                                  AnswerOutcome::kUnavailable,  AnswerOutcome::kIndeterminate,
                                  AnswerOutcome::kIncompatible, AnswerOutcome::kExempt};

// From a decision in this process to one that waits for a store at its deadline.
constexpr std::array<std::chrono::nanoseconds, 21> kBounds = {
    1us, 2us,  5us,  10us, 20us,  50us,  100us, 200us, 500us, 1ms, 2ms,
    5ms, 10ms, 20ms, 50ms, 100ms, 200ms, 500ms, 1s,    2s,    5s};

// The categories of outcomes without a decision; one more cell is for what this list lacks.
const std::array<std::string_view, 14>& Categories() {
  static const std::array<std::string_view, 14> categories = {
      Name(Unavailable::Category::kAdmissionRejected),
      Name(Unavailable::Category::kUnavailableBeforeSend),
      Name(Unavailable::Category::kNoMutationConfirmed),
      Name(Unavailable::Category::kClockUnsafe),
      Name(Indeterminate::Category::kDeadlinePassed),
      Name(Indeterminate::Category::kResponseLost),
      Name(Indeterminate::Category::kReplyMalformed),
      Name(Indeterminate::Category::kScriptAborted),
      Name(Incompatible::Reason::kUnknownPolicy),
      Name(Incompatible::Reason::kCostExceedsMaximum),
      Name(Incompatible::Reason::kEvaluationIdConflict),
      Name(Incompatible::Reason::kPermissionDenied),
      Name(Incompatible::Reason::kServerIncompatible),
      Name(Incompatible::Reason::kStateUnreadable),
  };
  return categories;
}
constexpr std::string_view kOtherCategory = "other";

// Which stripe the calling thread adds to.
std::size_t Stripe() {
  static std::atomic<std::size_t> next = 0;
  thread_local const std::size_t stripe = next++ % kStripes;
  return stripe;
}

void Add(Cell& cell, std::uint64_t amount = 1) {
  cell.fetch_add(amount, std::memory_order_relaxed);
}

struct alignas(kCacheLine) SeriesStripe {
  std::array<Cell, kOutcomes.size()> outcomes{};
  Cell replays{};
};
using Series = std::array<SeriesStripe, kStripes>;

struct alignas(kCacheLine) DurationStripe {
  std::array<Cell, kBounds.size() + 1> buckets{};
  Cell nanoseconds{};
};

// The sum over all stripes of the cell that `cell_of` picks.
template <class Stripes, class CellOf>
std::uint64_t Sum(const Stripes& stripes, CellOf cell_of) {
  std::uint64_t sum = 0;
  for (const auto& stripe : stripes) sum += cell_of(stripe).load(std::memory_order_relaxed);
  return sum;
}

ClientMetric::Label LabelOf(const char* name, std::string_view value) {
  return {name, std::string(value)};
}

ClientMetric Counter(Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

ClientMetric Gauge(Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

// What is rendered, family by family.
class Report {
 public:
  void AddFamily(const char* name, const char* help, MetricType type,
                 std::vector<ClientMetric> metrics) {
    families_.push_back({name, help, type, std::move(metrics)});
  }
  void AddCounter(const char* name, const char* help, std::int64_t value) {
    AddFamily(name, help, MetricType::Counter, {Counter({}, static_cast<double>(value))});
  }
  void AddGauge(const char* name, const char* help, std::int64_t value) {
    AddFamily(name, help, MetricType::Gauge, {Gauge({}, static_cast<double>(value))});
  }
  [[nodiscard]] std::string Text() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  std::vector<MetricFamily> families_;
};

}  // namespace

class Metrics::Registry {
 public:
  explicit Registry(std::span<const Policy> policies) {
    for (const Policy& policy : policies) series_[policy.id()];
    series_[""];  // what no policy decided: exempt, unknown policy, no identity
  }

  void Observe(const Observation& observation) {
    const std::size_t stripe = Stripe();
    const auto found = series_.find(observation.policy);
    Series& series = found == series_.end() ? series_.find("")->second : found->second;
    Add(series[stripe].outcomes.at(static_cast<std::size_t>(observation.outcome)));
    if (observation.replayed) Add(series[stripe].replays);
    if (observation.anonymous) Add(anonymous_);
    if (!observation.category.empty()) {
      const auto place = std::ranges::find(Categories(), observation.category);
      Add(failures_.at(static_cast<std::size_t>(place - Categories().begin())));
    }
    const auto bound =
        std::ranges::find_if(kBounds, [&](auto upper) { return observation.elapsed <= upper; });
    Add(durations_[stripe].buckets.at(static_cast<std::size_t>(bound - kBounds.begin())));
    Add(durations_[stripe].nanoseconds,
        static_cast<std::uint64_t>(std::max(observation.elapsed, 0ns).count()));
  }

  void CountRejection(std::string_view reason) {
    const std::lock_guard lock(rejections_mutex_);
    auto found = rejections_.find(reason);
    if (found == rejections_.end()) found = rejections_.emplace(reason, 0).first;
    ++found->second;
  }

  std::string Text() const {
    Report report;
    ReportSeries(report);
    ReportFailures(report);
    ReportDurations(report);
    ReportRejections(report);
    ReportSources(report);
    report.AddFamily(names::kBuild, "The version that runs; always 1.", MetricType::Gauge,
                     {Gauge({LabelOf(names::kVersion, kVersion)}, 1)});
    return report.Text();
  }

  MetricSources sources;

 private:
  void ReportSeries(Report& report) const {
    std::vector<ClientMetric> evaluations;
    std::vector<ClientMetric> replays;
    for (const auto& [policy, series] : series_) {
      for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
        const std::uint64_t sum =
            Sum(series, [i](const auto& s) -> auto& { return s.outcomes[i]; });
        evaluations.push_back(
            Counter({LabelOf(names::kOutcome, Name(kOutcomes[i])), LabelOf(names::kPolicy, policy)},
                    static_cast<double>(sum)));
      }
      const std::uint64_t sum = Sum(series, [](const auto& s) -> auto& { return s.replays; });
      replays.push_back(Counter({LabelOf(names::kPolicy, policy)}, static_cast<double>(sum)));
    }
    report.AddFamily(names::kEvaluations,
                     "Evaluations by the policy that gave the numbers and by outcome.",
                     MetricType::Counter, std::move(evaluations));
    report.AddFamily(names::kReplays, "Evaluations answered from a record and not charged again.",
                     MetricType::Counter, std::move(replays));
    report.AddCounter(names::kAnonymous, "Requests whose client nothing named.",
                      static_cast<std::int64_t>(anonymous_.load()));
  }

  void ReportFailures(Report& report) const {
    std::vector<ClientMetric> metrics;
    for (std::size_t i = 0; i < failures_.size(); ++i) {
      const std::string_view category = i < Categories().size() ? Categories()[i] : kOtherCategory;
      metrics.push_back(
          Counter({LabelOf(names::kCategory, category)}, static_cast<double>(failures_[i].load())));
    }
    report.AddFamily(names::kFailures, "Evaluations without a decision, by category or reason.",
                     MetricType::Counter, std::move(metrics));
  }

  void ReportDurations(Report& report) const {
    ClientMetric metric;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= kBounds.size(); ++i) {
      count += Sum(durations_, [i](const auto& s) -> auto& { return s.buckets[i]; });
      metric.histogram.bucket.push_back(
          {.cumulative_count = count,
           .upper_bound = i < kBounds.size() ? std::chrono::duration<double>(kBounds[i]).count()
                                             : std::numeric_limits<double>::infinity()});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum =
        static_cast<double>(Sum(durations_, [](const auto& s) -> auto& { return s.nanoseconds; })) /
        1e9;
    report.AddFamily(names::kDuration, "Time from a request's arrival at the edge to its answer.",
                     MetricType::Histogram, {std::move(metric)});
  }

  void ReportRejections(Report& report) const {
    std::vector<ClientMetric> metrics;
    {
      const std::lock_guard lock(rejections_mutex_);
      for (const auto& [reason, count] : rejections_) {
        metrics.push_back(Counter({LabelOf(names::kReason, reason)}, static_cast<double>(count)));
      }
    }
    report.AddFamily(names::kRejections,
                     "Requests that were refused without an evaluation, by reason.",
                     MetricType::Counter, std::move(metrics));
  }

  void ReportSources(Report& report) const {
    if (sources.connections) {
      report.AddGauge(names::kConnections, "Connections that are open.", sources.connections());
    }
    if (sources.memory) ReportMemory(report, sources.memory());
    if (sources.redis) ReportRedis(report, sources.redis());
    if (sources.redis_health) {
      const RedisHealth health = sources.redis_health();
      ReportRedisClock(report, health);
      ReportRedisNodes(report, health.nodes);
    }
  }

  static void ReportMemory(Report& report, const MemoryStatistics& memory) {
    report.AddGauge(names::kMemoryStates, "States that the memory engine holds.", memory.resident);
    report.AddGauge(names::kMemoryRecords, "Dedup records that the memory engine holds.",
                    memory.records);
    report.AddCounter(names::kMemoryExpired, "States that ran out and were removed.",
                      memory.expired);
    report.AddCounter(names::kMemoryEvicted, "Live states given up because the table was full.",
                      memory.evicted);
    report.AddCounter(names::kMemoryRejected, "Evaluations rejected because no state could go.",
                      memory.rejected);
  }

  static void ReportRedis(Report& report, const RedisStatistics& redis) {
    report.AddGauge(names::kRedisInFlight, "Evaluations that wait for the server.",
                    redis.in_flight);
    report.AddGauge(names::kRedisConnections, "Connections to the server that are usable.",
                    redis.connections);
    report.AddCounter(names::kRedisConnects,
                      "Connections that became usable; each loads the scripts.", redis.connects);
    report.AddCounter(names::kRedisConnectFailures, "Attempts to connect that came to nothing.",
                      redis.connect_failures);
    report.AddCounter(names::kRedisDisconnects, "Usable connections that ended.",
                      redis.disconnects);
    report.AddCounter(names::kRedisCalls, "Script calls that were sent.", redis.calls);
    report.AddCounter(names::kRedisEvaluations, "Evaluations that these calls carried.",
                      redis.evaluations);
    report.AddCounter(names::kRedisRepeats, "Evaluations sent again because their reply was lost.",
                      redis.repeats);
    report.AddCounter(names::kRedisReloads, "Scripts that the server had forgotten.",
                      redis.reloads);
    report.AddCounter(names::kRedisRedirects, "Evaluations that a server sent elsewhere.",
                      redis.redirects);
    report.AddCounter(names::kRedisMapChanges,
                      "Times that slots, or the primary, were found elsewhere.", redis.map_changes);
    report.AddCounter(names::kRedisUnreplicated,
                      "Evaluations answered before enough replicas had them.", redis.unreplicated);
    std::vector<ClientMetric> errors;
    errors.reserve(redis.error_replies.size());
    for (const auto& [token, count] : redis.error_replies) {
      errors.push_back(Counter({LabelOf(names::kError, token)}, static_cast<double>(count)));
    }
    report.AddFamily(names::kRedisErrors, "Error replies to script calls, by their first word.",
                     MetricType::Counter, std::move(errors));
    report.AddCounter(names::kRedisRejected, "Evaluations rejected because the lane was full.",
                      redis.rejected);
    report.AddCounter(names::kRedisExpired, "Evaluations whose deadline passed unanswered.",
                      redis.expired);
  }

  static void ReportRedisClock(Report& report, const RedisHealth& health) {
    const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
    if (health.clock_skew) {
      report.AddFamily(names::kRedisClockSkew, "The server's clock less this machine's.",
                       MetricType::Gauge, {Gauge({}, seconds(*health.clock_skew))});
    }
    if (health.round_trip) {
      report.AddFamily(names::kRedisRoundTrip, "How long the server's last TIME took.",
                       MetricType::Gauge, {Gauge({}, seconds(*health.round_trip))});
    }
  }

  static void ReportRedisNodes(Report& report, const std::vector<RedisNode>& nodes) {
    using Seconds = std::chrono::duration<double>;
    std::vector<ClientMetric> ready, connections, skews, round_trips;
    for (const RedisNode& node : nodes) {
      const Labels labels{LabelOf(names::kNode, node.address)};
      ready.push_back(Gauge(labels, node.ready ? 1 : 0));
      connections.push_back(Gauge(labels, static_cast<double>(node.connections)));
      if (node.clock_skew) {
        skews.push_back(Gauge(labels, Seconds(*node.clock_skew).count()));
      }
      if (node.round_trip) {
        round_trips.push_back(Gauge(labels, Seconds(*node.round_trip).count()));
      }
    }
    report.AddFamily(names::kRedisNodeReady, "Whether the server takes evaluations.",
                     MetricType::Gauge, std::move(ready));
    report.AddFamily(names::kRedisNodeConnections, "Usable connections to the server.",
                     MetricType::Gauge, std::move(connections));
    report.AddFamily(names::kRedisNodeClockSkew, "The server's clock less this machine's.",
                     MetricType::Gauge, std::move(skews));
    report.AddFamily(names::kRedisNodeRoundTrip, "How long the server's last TIME took.",
                     MetricType::Gauge, std::move(round_trips));
  }

  std::map<std::string, Series, std::less<>> series_;  // by policy; complete from the start
  std::array<DurationStripe, kStripes> durations_;
  Cell anonymous_ = 0;
  std::array<Cell, 14 + 1> failures_{};  // by category, the last one for all others
  mutable std::mutex rejections_mutex_;
  std::map<std::string, std::uint64_t, std::less<>> rejections_;
};

Metrics::Metrics(std::span<const Policy> policies)
    : registry_(std::make_unique<Registry>(policies)) {}
Metrics::~Metrics() = default;

void Metrics::SetSources(MetricSources sources) {
  registry_->sources = std::move(sources);
}
void Metrics::Observe(const Observation& observation) {
  registry_->Observe(observation);
}
void Metrics::CountRejection(std::string_view reason) {
  registry_->CountRejection(reason);
}
std::string Metrics::Text() const {
  return registry_->Text();
}

}  // namespace sluice::telemetry
