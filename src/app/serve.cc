// `sluice serve`: the daemon. The main thread owns signals, timers and the way down; requests are
// the workers'.
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/memory_limiter.h"
#include "sluice/version.h"

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/app/lane_watch.h"
#include "src/app/worker_limiters.h"
#include "src/http/router.h"
#include "src/http/server.h"
#include "src/redis/options.h"
#include "src/telemetry/log.h"
#include "src/telemetry/metrics.h"
#include "src/telemetry/names.h"

namespace sluice::app {
namespace {

using namespace std::chrono_literals;
using telemetry::Level;
namespace names = telemetry::names;

constexpr Milliseconds kTendInterval = 100ms;
constexpr Milliseconds kDrain = 4s;  // with what ends the process, within 5 s of SIGTERM

telemetry::LogOptions LogOptionsOf(const config::LogSettings& settings) {
  return {.level = static_cast<Level>(settings.level),
          .json = settings.format == config::LogFormat::kJson};
}

std::string AddressOf(const config::ListenAddress& configured, const http::Server& server) {
  config::ListenAddress address = configured;
  if (auto* tcp = std::get_if<config::TcpAddress>(&address)) tcp->port = server.port();
  return config::ToString(address);
}

class Daemon {
 public:
  explicit Daemon(config::Settings settings)
      : settings_(std::move(settings)),
        log_(LogOptionsOf(settings_.log)),
        metrics_(settings_.edge.policies) {}

  // Everything that can fail. Returns what failed, one line each.
  std::vector<std::string> Start() {
    if (auto error = MakeLimiter(); !error.empty()) return {std::move(error)};
    auto composition = Compose(settings_, limiter(), SystemClock(),
                               [this](const Observation& observation) { Observe(observation); });
    if (!composition) return composition.error();
    composition_ = *std::move(composition);

    http::ServerOptions options{.listen = config::ToString(settings_.http.listen),
                                .workers = settings_.http.workers};
    if (redis_) {
      options.make_worker_part = [this](auto& loop) { return redis_->MakePart(loop); };
    }
    auto data = http::Server::Start(
        options, http::DataService(*composition_.edge, [this](http::Rejection rejection) {
          metrics_.CountRejection(Name(rejection));
        }));
    if (!data) return {data.error()};
    data_ = *std::move(data);

    SetSources();
    // Last, since it shows everything above to whoever asks.
    auto admin = http::Server::Start(
        {.listen = config::ToString(settings_.admin.listen), .workers = 1},
        http::AdminService({.reasons_not_ready = [this] { return ReasonsNotReady(); },
                            .metrics = [this] { return metrics_.Text(); }},
                           {}));
    if (!admin) return {admin.error()};
    admin_ = *std::move(admin);

    Announce();
    return {};
  }

  // Until a signal and the drain that follows it have come to their end.
  void Run() {
    WaitForSignal();
    TendLater();
    loop_.run();
    if (drained_.joinable()) drained_.join();
    log_.Write(Level::kInfo, "stopped");
  }

 private:
  // What is wrong with the engine's options, or nothing.
  std::string MakeLimiter() {
    if (settings_.provider == config::Provider::kMemory) {
      memory_ = MakeMemoryLimiter(settings_.memory);
      return "";
    }
    auto options = redis::CheckOptions(settings_.redis);
    if (!options) return RedisError(settings_, options.error());
    redis_ = std::make_unique<WorkerLimiters>(*std::move(options), SystemClock());
    return "";
  }

  Limiter& limiter() { return memory_ ? static_cast<Limiter&>(*memory_) : *redis_; }

  void SetSources() {
    telemetry::MetricSources sources{.connections = [this] { return data_->connections(); }};
    if (memory_) sources.memory = [this] { return memory_->Statistics(); };
    if (redis_) {
      sources.redis = [this] { return redis_->Statistics(); };
      sources.redis_health = [this] { return redis_->Health(); };
    }
    metrics_.SetSources(std::move(sources));
  }

  void Announce() {
    if (composition_.has_random_key) {
      log_.Write(Level::kWarn,
                 "no pseudonym key is configured: a random one serves this run, and pseudonyms of "
                 "another run will differ");
    }
    log_.Write(Level::kInfo, "admin listener ready",
               {{names::kAddress, AddressOf(settings_.admin.listen, *admin_)}});
    log_.Write(Level::kInfo, "serving",
               {{names::kAddress, AddressOf(settings_.http.listen, *data_)},
                {names::kProvider, memory_ ? "memory" : "redis"},
                {names::kVersion, kVersion}});
  }

  void Observe(const Observation& observation) {
    metrics_.Observe(observation);
    if (observation.category.empty()) return;
    const auto suppressed = throttle_.Admit(observation.category, SystemClock().Now().steady);
    if (!suppressed) return;
    log_.Write(Level::kWarn, "an evaluation was not decided",
               {{names::kOutcome, std::string(Name(observation.outcome))},
                {names::kCategory, std::string(observation.category)},
                {names::kReason, std::string(observation.detail)},
                {names::kPolicy, std::string(observation.policy)},
                {names::kSuppressed, std::to_string(*suppressed)}});
  }

  std::vector<std::string> ReasonsNotReady() {
    if (draining_) return {"draining"};
    if (!redis_) return {};
    std::vector<std::string> reasons = app::ReasonsNotReady(redis_->Lanes());
    // Whoever waits for this daemon should not wait for an attempt that is far away.
    if (!reasons.empty()) redis_->Hurry();
    return reasons;
  }

  void WaitForSignal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      OnSignal(signal);
    });
  }

  void OnSignal(int signal) {
    const std::string name = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    if (drained_.joinable()) {
      log_.Write(Level::kWarn, "second signal: ending at once", {{names::kSignal, name}});
      data_->Stop(0ms);
      return;
    }
    log_.Write(Level::kInfo, "draining", {{names::kSignal, name}});
    draining_ = true;
    data_->Stop(kDrain);
    // The admin listener says "draining" until the last answer is out.
    drained_ = std::thread([this] {
      data_->Join();
      boost::asio::post(loop_, [this] { loop_.stop(); });
    });
    WaitForSignal();
  }

  void TendLater() {
    tend_.expires_after(kTendInterval);
    tend_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      const SteadyTime now = SystemClock().Now().steady;
      if (memory_) memory_->Sweep(now);
      if (redis_) WatchLanes(now);
      TendLater();
    });
  }

  void WatchLanes(SteadyTime now) {
    for (const LaneChange& change : lane_watch_.Look(redis_->Lanes())) {
      if (change.is_up) AdviseOnEviction(change.eviction_policy);
      const auto suppressed =
          throttle_.Admit("lane " + (change.is_up ? std::string("up") : change.category), now);
      if (!suppressed) continue;
      const std::string lane = std::to_string(change.lane + 1);
      if (change.is_up) {
        log_.Write(Level::kInfo, "a lane to redis is up",
                   {{names::kLane, lane}, {names::kSuppressed, std::to_string(*suppressed)}});
      } else {
        log_.Write(Level::kWarn, "a lane to redis is down",
                   {{names::kLane, lane},
                    {names::kCategory, change.category},
                    {names::kReason, change.reason},
                    {names::kSuppressed, std::to_string(*suppressed)}});
      }
    }
  }

  // Once for each policy that a server is found to have.
  void AdviseOnEviction(const std::string& policy) {
    if (!eviction_policies_.insert(policy).second) return;
    const std::string advice = EvictionAdvice(policy);
    if (advice.empty()) return;
    log_.Write(policy.empty() ? Level::kInfo : Level::kWarn, advice);
  }

  // From the last to the first: the servers end before what their requests need.
  const config::Settings settings_;
  telemetry::Log log_;
  telemetry::Throttle throttle_;
  telemetry::Metrics metrics_;
  std::unique_ptr<MemoryLimiter> memory_;  // one of the two, by the provider
  std::unique_ptr<WorkerLimiters> redis_;
  Composition composition_;
  LaneWatch lane_watch_;  // on the main thread, as is what operators were told of
  std::set<std::string> eviction_policies_;
  std::atomic<bool> draining_ = false;
  boost::asio::io_context loop_{1};
  boost::asio::signal_set signals_{loop_, SIGTERM, SIGINT};
  boost::asio::steady_timer tend_{loop_};
  std::unique_ptr<http::Server> data_;
  std::unique_ptr<http::Server> admin_;
  std::thread drained_;
};

}  // namespace

int Serve(const std::string& config_file) {
  auto settings = LoadSettings(config_file);
  if (!settings) return settings.error();
  // A log that nobody reads any more must not end the daemon.
  std::signal(SIGPIPE, SIG_IGN);
  Daemon daemon(*std::move(settings));
  if (const auto errors = daemon.Start(); !errors.empty()) return Complain(errors);
  daemon.Run();
  return kSuccess;
}

}  // namespace sluice::app
