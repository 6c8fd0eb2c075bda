#include <fmt/core.h>

#include "sluice/memory_limiter.h"

#include "src/app/commands.h"
#include "src/app/composition.h"

namespace sluice::app {

int CheckConfig(const std::string& config_file) {
  auto settings = LoadSettings(config_file);
  if (!settings) return settings.error();
  // Everything but the files of keys and certificates, which a machine that only checks need not
  // hold, and no server is asked.
  const std::string effective = config::Effective(*settings);
  settings->pseudonym = {};
  const auto limiter = MakeMemoryLimiter(settings->memory);
  if (auto composition = Compose(*settings, *limiter); !composition) {
    return Complain(composition.error());
  }
  fmt::print("{}", effective);
  return kSuccess;
}

}  // namespace sluice::app
