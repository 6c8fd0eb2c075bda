// What every subcommand that evaluates needs, built from a configuration.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "sluice/edge.h"
#include "sluice/memory_limiter.h"
#include "sluice/pseudonymizer.h"

#include "src/config/settings.h"

namespace sluice::app {

/// An edge with all it stands on. Members are destroyed from the last to the first.
struct Composition {
  std::unique_ptr<MemoryLimiter> limiter;
  std::unique_ptr<Pseudonymizer> pseudonymizer;
  std::unique_ptr<Edge> edge;
  bool has_random_key = false;  ///< no key is configured: pseudonyms are good for this run only
};

/// Reads the key file and builds the edge, or says everything that is wrong, one line each.
[[nodiscard]] std::expected<Composition, std::vector<std::string>> Compose(
    const config::Settings& settings, const Clock& clock = SystemClock(), Observer observer = {});

/// Reads a configuration with this process's environment; errors are printed on stderr, one line
/// each.
[[nodiscard]] std::expected<config::Settings, int> LoadSettings(const std::string& file);

/// Prints each line on stderr after "sluice: " and returns the exit status for usage errors.
int Complain(const std::vector<std::string>& lines);

}  // namespace sluice::app
