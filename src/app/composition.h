// What every subcommand that evaluates needs, built from a configuration.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/edge.h"
#include "sluice/limiter.h"
#include "sluice/pseudonymizer.h"

#include "src/config/settings.h"

namespace sluice::app {

/// An edge with what it stands on, its engine apart. Members are destroyed from the last to the
/// first.
struct Composition {
  std::unique_ptr<Pseudonymizer> pseudonymizer;
  std::unique_ptr<Edge> edge;
  bool has_random_key = false;  ///< no key is configured: pseudonyms are good for this run only
};

/// Reads the key file and builds the edge over `limiter`, which must outlive it; or says everything
/// that is wrong, one line each.
[[nodiscard]] std::expected<Composition, std::vector<std::string>> Compose(
    const config::Settings& settings, Limiter& limiter, const Clock& clock = SystemClock(),
    Observer observer = {});

/// Everything that is wrong with the settings, one line each. Opens no file of a key or
/// certificate, which a machine that only checks need not hold, and asks no server.
[[nodiscard]] std::vector<std::string> CheckSettings(config::Settings settings);

/// The configured engine for a command that asks and waits. Completions may come on another thread.
[[nodiscard]] std::expected<std::unique_ptr<Limiter>, std::vector<std::string>> MakeEngine(
    const config::Settings& settings);

/// What MakeRedisLimiter says of its options ("tls: …") with the place in the configuration.
[[nodiscard]] std::string RedisError(const config::Settings& settings, std::string_view error);

/// Evaluates and waits for the report.
[[nodiscard]] EvaluateReport EvaluateAndWait(Edge& edge, EvaluateRequest request);

/// Reads a configuration with this process's environment; errors are printed on stderr, one line
/// each.
[[nodiscard]] std::expected<config::Settings, int> LoadSettings(const std::string& file);

/// Prints each line on stderr after "sluice: " and returns the exit status for usage errors.
int Complain(const std::vector<std::string>& lines);

}  // namespace sluice::app
