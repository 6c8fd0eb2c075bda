#include <fmt/core.h>

#include "src/app/commands.h"
#include "src/app/composition.h"

namespace sluice::app {

int CheckConfig(const std::string& config_file) {
  auto settings = LoadSettings(config_file);
  if (!settings) return settings.error();
  // Everything but the key files, which a machine that only checks need not hold.
  const std::string effective = config::Effective(*settings);
  settings->pseudonym = {};
  if (auto composition = Compose(*settings); !composition) return Complain(composition.error());
  fmt::print("{}", effective);
  return kSuccess;
}

}  // namespace sluice::app
