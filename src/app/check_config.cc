#include <fmt/core.h>

#include "src/app/commands.h"
#include "src/app/composition.h"

namespace sluice::app {

int CheckConfig(const std::string& config_file) {
  const auto settings = LoadSettings(config_file);
  if (!settings) return settings.error();
  if (const auto errors = CheckSettings(*settings); !errors.empty()) return Complain(errors);
  fmt::print("{}", config::Effective(*settings));
  return kSuccess;
}

}  // namespace sluice::app
