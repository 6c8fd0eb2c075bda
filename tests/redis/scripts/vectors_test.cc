// The vectors that every engine must pass, at the level of the scripts.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "src/limiter/decision.h"
#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using nlohmann::json;

PolicySettings SettingsOf(const std::string& id, const json& from) {
  PolicySettings settings{.id = id};
  const auto milliseconds = [](const json& object, const char* name, Milliseconds absent) {
    return Milliseconds{object.value(name, absent.count())};
  };
  const std::string algorithm = from.at("algorithm");
  if (algorithm == "fixed-window") {
    settings.algorithm = FixedWindow{from.at("limit"), Milliseconds{from.at("window_ms")}};
  } else if (algorithm == "sliding-counter") {
    settings.algorithm = SlidingCounter{from.at("limit"), Milliseconds{from.at("window_ms")}};
  } else {
    settings.algorithm =
        TokenBucket{from.at("capacity"), from.at("refill"), Milliseconds{from.at("period_ms")}};
  }
  if (from.contains("maximum_cost")) settings.maximum_cost = from["maximum_cost"];
  settings.maximum_clock_regression =
      milliseconds(from, "maximum_clock_regression_ms", settings.maximum_clock_regression);
  settings.cleanup_grace = milliseconds(from, "cleanup_grace_ms", settings.cleanup_grace);
  const json dedup = from.value("dedup", json::object());
  settings.dedup.enabled = dedup.value("enabled", settings.dedup.enabled);
  settings.dedup.ttl = milliseconds(dedup, "ttl_ms", settings.dedup.ttl);
  settings.dedup.max_entries = dedup.value("max_entries", settings.dedup.max_entries);
  settings.dedup.max_bytes = dedup.value("max_bytes", settings.dedup.max_bytes);
  return settings;
}

json RetryOf(const LimitAnswer& limit) {
  return limit.retry_after ? json(limit.retry_after->count()) : json(nullptr);
}

json JsonOf(const Evaluated& evaluated) {
  const LimitAnswer& leading = evaluated.LeadingLimit();
  json limits = json::array();
  for (const LimitAnswer& limit : evaluated.limits) {
    limits.push_back({{"policy", limit.policy},
                      {"allowed", limit.allowed},
                      {"limit", limit.limit},
                      {"remaining", limit.remaining},
                      {"reset_after_ms", limit.reset_after.count()},
                      {"retry_after_ms", RetryOf(limit)}});
  }
  return {{"outcome", "evaluated"},
          {"allowed", evaluated.allowed},
          {"policy", leading.policy},
          {"limit", leading.limit},
          {"remaining", leading.remaining},
          {"reset_after_ms", leading.reset_after.count()},
          {"retry_after_ms", RetryOf(leading)},
          {"certainty", Name(evaluated.certainty)},
          {"replayed", evaluated.replayed},
          {"limits", limits}};
}
json JsonOf(const Unavailable& outcome) {
  return {{"outcome", "unavailable"}, {"category", Name(outcome.category)}};
}
json JsonOf(const Indeterminate& outcome) {
  return {{"outcome", "indeterminate"}, {"category", Name(outcome.category)}};
}
json JsonOf(const Incompatible& outcome) {
  return {{"outcome", "incompatible"},
          {"category", "state-incompatible"},
          {"reason", Name(outcome.reason)}};
}

class Vectors : public ScriptsTest, public ::testing::WithParamInterface<std::string> {
 protected:
  Vectors() { options_.minimum_ttl = std::chrono::minutes{10}; }

  json Answer(const std::map<std::string, Policy>& policies, const json& request) {
    std::vector<Policy> named;
    for (const json& name : request.at("policies")) {
      const std::string id = name;
      const auto found = policies.find(id);
      if (found == policies.end()) {
        return JsonOf(Incompatible{.reason = Incompatible::Reason::kUnknownPolicy});
      }
      named.push_back(found->second);
    }
    const Plan plan = Plan::Create(std::move(named)).value();
    const std::int64_t cost = request.value("cost", std::int64_t{1});
    if (const auto refusal = limiter::Refusal(plan, cost)) return JsonOf(*refusal);
    clock_.SetWall(WallTime{Milliseconds{request.at("now_ms")}});
    const Outcome outcome =
        Ask(plan, {.subject = SubjectOf(request.at("subject")),
                   .cost = cost,
                   .id = request.value("evaluation_id", ""),
                   .mode = request.value("mode", "") == "peek" ? Mode::kPeek : Mode::kEvaluate});
    return std::visit([](const auto& kind) { return JsonOf(kind); }, outcome);
  }

  Subject SubjectOf(const std::string& name) {
    return testing::SubjectNumber(subjects_.try_emplace(name, subjects_.size() + 1).first->second);
  }

 private:
  std::map<std::string, std::uint64_t> subjects_;
};

TEST_P(Vectors, Hold) {
  std::ifstream file(GetParam());
  const json tests = json::parse(file);
  ASSERT_FALSE(tests.empty());
  const std::string prefix = options_.prefix;
  int number = 0;
  for (const json& test : tests) {
    SCOPED_TRACE(test.at("name").get<std::string>());
    options_.prefix = prefix + "-" + std::to_string(++number);
    std::map<std::string, Policy> policies;
    for (const auto& [id, policy] : test.at("policies").items()) {
      policies.emplace(id, Policy::Create(SettingsOf(id, policy)).value());
    }
    for (const json& step : test.at("steps")) {
      const json answer = Answer(policies, step.at("request"));
      json relevant = json::object();
      for (const auto& [name, value] : step.at("expect").items()) {
        if (answer.contains(name)) relevant[name] = answer[name];
      }
      ASSERT_EQ(relevant, step.at("expect")) << step.at("request");
    }
  }
}

std::vector<std::string> VectorFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_VECTORS)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}
INSTANTIATE_TEST_SUITE_P(Redis, Vectors, ::testing::ValuesIn(VectorFiles()), [](const auto& file) {
  std::string name = std::filesystem::path(file.param).stem();
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace sluice::redis
