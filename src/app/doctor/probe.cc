#include "src/app/doctor/probe.h"

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <variant>

#include "src/redis/gathering.h"
#include "src/redis/keys.h"
#include "src/redis/script.h"

namespace sluice::app::doctor {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kPlenty = 1'000'000;

// What keeps a key beyond its state's end is as short as it may be.
Policy MakePolicy(std::string id, Algorithm algorithm) {
  return Policy::Create({.id = std::move(id),
                         .algorithm = algorithm,
                         .maximum_clock_regression = Milliseconds{0},
                         .cleanup_grace = Milliseconds{0},
                         .dedup = {.ttl = Milliseconds{1}}})
      .value();
}

std::array<std::uint8_t, 16> RandomBytes() {
  std::random_device random;
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

std::vector<redis::Gathering::Item> ItemsOf(const std::vector<Evaluation>& evaluations) {
  std::vector<redis::Gathering::Item> items;
  items.reserve(evaluations.size());
  for (const Evaluation& evaluation : evaluations) items.push_back({.evaluation = &evaluation});
  return items;
}

}  // namespace

Probe::Probe(std::string prefix, const std::function<bool(const std::string& key)>& is_fit)
    : prefix_(std::move(prefix)) {
  const std::vector<Policy> policies = {
      MakePolicy("doctor-window", FixedWindow{kPlenty, seconds{1}}),
      MakePolicy("doctor-counter", SlidingCounter{kPlenty, seconds{1}}),
      MakePolicy("doctor-bucket", TokenBucket{kPlenty, kPlenty, seconds{1}})};
  do {
    subject_.client = subject_.operation = Digest{RandomBytes()};
  } while (!is_fit(redis::KeyOf(prefix_, subject_, policies.front())));
  // The three ways in which calls are encoded: alone, several of one limit, several limits.
  for (const Policy& policy : policies) {
    Try({policy}, 1);
    Try({policy}, 2);
  }
  Try(policies, 1);
}

void Probe::Try(std::vector<Policy> policies, std::size_t evaluations) {
  auto plan = std::make_unique<const Plan>(Plan::Create(std::move(policies)).value());
  Evaluation evaluation;
  evaluation.plan = plan.get();
  evaluation.subject = subject_;
  trials_.push_back({std::move(plan), std::vector(evaluations, evaluation)});
}

std::vector<std::string> Probe::Calls(Instant now) {
  std::vector<std::string> calls;
  for (Trial& trial : trials_) {
    for (Evaluation& evaluation : trial.evaluations) {
      evaluation.now = now;
      evaluation.id = EvaluationId::FromBytes(RandomBytes());
    }
    calls.push_back(redis::EncodeCall({.prefix = prefix_}, ItemsOf(trial.evaluations)).bytes);
  }
  return calls;
}

std::optional<std::string> Probe::Objection(std::size_t call, const redis::Reply& reply) {
  const auto outcomes = redis::DecodeReply(ItemsOf(trials_[call].evaluations), reply);
  if (!outcomes) return "a script's reply makes no sense";
  for (const Outcome& outcome : *outcomes) {
    if (!IsAllowed(outcome)) return "a script does not allow what it must allow";
  }
  return std::nullopt;
}

Evaluation Probe::Peek(Instant now, SteadyTime deadline) const {
  Evaluation evaluation = trials_.front().evaluations.front();
  evaluation.id = EvaluationId::FromBytes(RandomBytes());
  evaluation.mode = Mode::kPeek;
  evaluation.now = now;
  evaluation.deadline = deadline;
  return evaluation;
}

}  // namespace sluice::app::doctor
