#include "src/telemetry/metrics.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::telemetry {
namespace {

using namespace std::chrono_literals;

std::vector<Policy> OnePolicy() {
  return {Policy::Create({.id = "login", .algorithm = FixedWindow{5, 1min}}).value()};
}

Observation Of(std::string_view policy, AnswerOutcome outcome,
               std::chrono::nanoseconds elapsed = {}) {
  Observation observation;
  observation.policy = policy;
  observation.outcome = outcome;
  observation.elapsed = elapsed;
  return observation;
}

Observation Failure(std::string_view category) {
  Observation observation = Of("", AnswerOutcome::kUnavailable);
  observation.category = category;
  return observation;
}

// Whether `line` stands in `text` as a whole line.
bool HasLine(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, HasEverySeriesFromTheStart) {
  Metrics metrics(OnePolicy());
  const std::string text = metrics.Text();
  for (const char* outcome :
       {"allowed", "denied", "unavailable", "indeterminate", "incompatible", "exempt"}) {
    EXPECT_TRUE(HasLine(text, std::string("sluice_evaluations_total{outcome=\"") + outcome +
                                  "\",policy=\"login\"} 0"))
        << text;
  }
  EXPECT_TRUE(HasLine(text, "# TYPE sluice_evaluation_duration_seconds histogram"));
}

TEST(Metrics, CountsByPolicyAndOutcome) {
  Metrics metrics(OnePolicy());
  metrics.Observe(Of("login", AnswerOutcome::kDenied, 3us));
  Observation repeated = Of("login", AnswerOutcome::kAllowed, 30us);
  repeated.replayed = true;
  repeated.anonymous = true;
  metrics.Observe(repeated);
  metrics.Observe(Failure("clock-unsafe"));
  metrics.CountRejection("malformed");
  const std::string text = metrics.Text();
  EXPECT_TRUE(HasLine(text, "sluice_evaluations_total{outcome=\"denied\",policy=\"login\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_evaluations_total{outcome=\"unavailable\",policy=\"\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_replays_total{policy=\"login\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_anonymous_total 1"));
  EXPECT_TRUE(HasLine(text, "sluice_failures_total{category=\"clock-unsafe\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_http_rejections_total{reason=\"malformed\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_evaluation_duration_seconds_bucket{le=\"5e-06\"} 2")) << text;
  EXPECT_TRUE(HasLine(text, "sluice_evaluation_duration_seconds_count 3"));
}

TEST(Metrics, DurationsFallIntoCumulativeBuckets) {
  Metrics metrics(OnePolicy());
  for (const auto elapsed : {0ns, 1'000ns, 1'001ns, 6'000'000'000ns}) {
    metrics.Observe(Of("login", AnswerOutcome::kAllowed, elapsed));
  }
  const std::string text = metrics.Text();
  const std::string name = "sluice_evaluation_duration_seconds";
  EXPECT_TRUE(HasLine(text, name + "_bucket{le=\"1e-06\"} 2")) << text;
  EXPECT_TRUE(HasLine(text, name + "_bucket{le=\"2e-06\"} 3"));
  EXPECT_TRUE(HasLine(text, name + "_bucket{le=\"5\"} 3"));
  EXPECT_TRUE(HasLine(text, name + "_bucket{le=\"+Inf\"} 4"));
  EXPECT_TRUE(HasLine(text, name + "_count 4"));
  EXPECT_TRUE(HasLine(text, name + "_sum 6.000002001"));
}

TEST(Metrics, EveryCategoryHasASeriesFromTheStart) {
  Metrics metrics(OnePolicy());
  for (const std::string category :
       {"admission-rejected", "unavailable-before-send", "no-mutation-confirmed", "clock-unsafe",
        "deadline-passed", "response-lost", "reply-malformed", "script-aborted", "unknown-policy",
        "cost-exceeds-maximum", "evaluation-id-conflict", "permission-denied",
        "server-incompatible", "state-unreadable"}) {
    const std::string sample = "sluice_failures_total{category=\"" + category + "\"} ";
    EXPECT_TRUE(HasLine(metrics.Text(), sample + "0")) << category;
    metrics.Observe(Failure(category));
    EXPECT_TRUE(HasLine(metrics.Text(), sample + "1")) << category;
  }
  metrics.Observe(Failure("brand-new"));
  EXPECT_TRUE(HasLine(metrics.Text(), "sluice_failures_total{category=\"other\"} 1"));
}

TEST(Metrics, AnUnknownPolicyMakesNoNewSeries) {
  // A label that a client could choose would grow without end.
  Metrics metrics(OnePolicy());
  metrics.Observe(Of("made-up", AnswerOutcome::kIncompatible));
  const std::string text = metrics.Text();
  EXPECT_EQ(text.find("made-up"), std::string::npos);
  EXPECT_TRUE(HasLine(text, "sluice_evaluations_total{outcome=\"incompatible\",policy=\"\"} 1"));
}

TEST(Metrics, ReadsItsSourcesWhenAsked) {
  Metrics metrics(OnePolicy());
  std::int64_t evicted = 3;
  metrics.SetSources({.memory = [&] { return MemoryStatistics{.resident = 7, .evicted = evicted}; },
                      .connections = [] { return std::int64_t{2}; }});
  EXPECT_TRUE(HasLine(metrics.Text(), "sluice_memory_states 7"));
  evicted = 5;
  const std::string text = metrics.Text();
  EXPECT_TRUE(HasLine(text, "sluice_memory_evicted_total 5"));
  EXPECT_TRUE(HasLine(text, "sluice_http_connections 2"));
}

TEST(Metrics, ShowsTheEngineThatThereIs) {
  Metrics metrics(OnePolicy());
  metrics.SetSources({.redis =
                          [] {
                            return RedisStatistics{
                                .in_flight = 4, .repeats = 2, .error_replies = {{"BUSY", 3}}};
                          },
                      .redis_health =
                          [] {
                            return RedisHealth{.clock_skew = -250ms,
                                               .round_trip = 500us,
                                               .nodes = {{.address = "10.0.0.1:7000",
                                                          .ready = true,
                                                          .connections = 2,
                                                          .clock_skew = -250ms},
                                                         {.address = "[2001:db8::2]:7000"}}};
                          }});
  const std::string text = metrics.Text();
  EXPECT_TRUE(HasLine(text, "sluice_redis_in_flight 4")) << text;
  EXPECT_TRUE(HasLine(text, "sluice_redis_repeats_total 2"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_error_replies_total{error=\"BUSY\"} 3"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_clock_skew_seconds -0.25"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_round_trip_seconds 0.0005"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_node_ready{node=\"10.0.0.1:7000\"} 1"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_node_ready{node=\"[2001:db8::2]:7000\"} 0"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_node_connections{node=\"10.0.0.1:7000\"} 2"));
  EXPECT_TRUE(HasLine(text, "sluice_redis_node_clock_skew_seconds{node=\"10.0.0.1:7000\"} -0.25"));
  // What is not known is not shown.
  EXPECT_EQ(text.find("sluice_redis_node_round_trip_seconds{"), std::string::npos);
  EXPECT_EQ(text.find("sluice_memory_"), std::string::npos);
}

TEST(Metrics, LosesNothingUnderThreads) {
  Metrics metrics(OnePolicy());
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5'000; ++i) {
          metrics.Observe(Of("login", AnswerOutcome::kAllowed, 1us));
        }
      });
    }
  }
  const std::string text = metrics.Text();
  EXPECT_TRUE(
      HasLine(text, "sluice_evaluations_total{outcome=\"allowed\",policy=\"login\"} 20000"));
  EXPECT_TRUE(HasLine(text, "sluice_evaluation_duration_seconds_count 20000"));
}

}  // namespace
}  // namespace sluice::telemetry
