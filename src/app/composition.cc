#include "src/app/composition.h"

#include <cstdio>
#include <future>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "sluice/memory_limiter.h"
#include "sluice/redis_limiter.h"

#include "src/app/commands.h"
#include "src/identity/key_file.h"

namespace sluice::app {
namespace {

// The active key, or a random one for this run if none is configured.
std::expected<std::unique_ptr<Pseudonymizer>, std::string> MakePseudonymizer(
    const config::PseudonymSettings& settings) {
  if (!settings.active_version) return std::make_unique<Pseudonymizer>(1, PseudonymKey::Random());
  const std::uint32_t version = *settings.active_version;
  auto key = identity::ReadKeyFile(settings.keys.at(version));
  if (!key) return std::unexpected(std::move(key).error());
  return std::make_unique<Pseudonymizer>(version, *key);
}

}  // namespace

std::expected<Composition, std::vector<std::string>> Compose(const config::Settings& settings,
                                                             Limiter& limiter, const Clock& clock,
                                                             Observer observer) {
  Composition composition;
  std::vector<std::string> errors;
  auto pseudonymizer = MakePseudonymizer(settings.pseudonym);
  if (!pseudonymizer) {
    errors.push_back(settings.places.Find("pseudonym.keys") + ": " + pseudonymizer.error());
    return std::unexpected(std::move(errors));
  }
  composition.pseudonymizer = *std::move(pseudonymizer);
  composition.has_random_key = !settings.pseudonym.active_version;
  auto edge =
      Edge::Create(settings.edge, limiter, *composition.pseudonymizer, clock, std::move(observer));
  if (!edge) {
    for (const EdgeError& error : edge.error()) {
      errors.push_back(
          fmt::format("{}: {}: {}", settings.places.Find(error.place), error.place, error.message));
    }
    return std::unexpected(std::move(errors));
  }
  composition.edge = *std::move(edge);
  return composition;
}

std::vector<std::string> CheckSettings(config::Settings settings) {
  settings.pseudonym = {};
  const auto limiter = MakeMemoryLimiter(settings.memory);
  auto composition = Compose(settings, *limiter);
  return composition ? std::vector<std::string>() : std::move(composition).error();
}

std::expected<std::unique_ptr<Limiter>, std::vector<std::string>> MakeEngine(
    const config::Settings& settings) {
  if (settings.provider == config::Provider::kMemory) return MakeMemoryLimiter(settings.memory);
  auto limiter = MakeRedisLimiter(settings.redis);
  if (limiter) return *std::move(limiter);
  return std::unexpected(std::vector{RedisError(settings, limiter.error())});
}

std::string RedisError(const config::Settings& settings, std::string_view error) {
  const std::string key = fmt::format("redis.{}", error.substr(0, error.find(':')));
  return fmt::format("{}: redis.{}", settings.places.Find(key), error);
}

EvaluateReport EvaluateAndWait(Edge& edge, EvaluateRequest request) {
  // The promise goes with the handler, which may still be inside set_value when this returns.
  std::promise<EvaluateReport> promise;
  std::future<EvaluateReport> report = promise.get_future();
  edge.Evaluate(std::move(request), [promise = std::move(promise)](EvaluateReport given) mutable {
    promise.set_value(std::move(given));
  });
  return report.get();
}

std::expected<config::Settings, int> LoadSettings(const std::string& file) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  auto settings = config::LoadFile(file, environment);
  if (settings) return *std::move(settings);
  std::vector<std::string> lines;
  for (const config::Error& error : settings.error()) lines.push_back(error.ToString());
  return std::unexpected(Complain(lines));
}

int Complain(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print(stderr, "sluice: {}\n", line);
  return kUsage;
}

}  // namespace sluice::app
