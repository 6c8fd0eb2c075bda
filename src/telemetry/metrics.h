// Metrics in the Prometheus text format.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sluice/edge.h"
#include "sluice/memory_limiter.h"
#include "sluice/redis_limiter.h"

namespace sluice::telemetry {

/// Where values come from that are read only when somebody asks; each may be empty.
struct MetricSources {
  std::function<MemoryStatistics()> memory{};
  std::function<RedisStatistics()> redis{};
  std::function<RedisHealth()> redis_health{};
  std::function<std::int64_t()> connections{};
};

/// All metrics of a process. A series exists from the start for each policy and outcome, so that a
/// rate over it is right from the first event on.
///
/// Thread safety: all of it may be called from any thread.
class Metrics {
 public:
  explicit Metrics(std::span<const Policy> policies);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  /// Set once, before the first `Text`.
  void SetSources(MetricSources sources);

  void Observe(const Observation& observation);
  /// A request that was refused without an evaluation; `reason` is from a closed set.
  void CountRejection(std::string_view reason);

  /// Everything, in the text format 0.0.4.
  [[nodiscard]] std::string Text() const;

 private:
  class Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace sluice::telemetry
