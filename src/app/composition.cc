#include "src/app/composition.h"

#include <cstdio>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

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
                                                             const Clock& clock,
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
  composition.limiter = MakeMemoryLimiter(settings.memory);
  auto edge = Edge::Create(settings.edge, *composition.limiter, *composition.pseudonymizer, clock,
                           std::move(observer));
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
