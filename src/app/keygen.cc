#include <fmt/core.h>

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/identity/key_file.h"

namespace sluice::app {

int Keygen(const std::string& file) {
  if (auto written = identity::WriteKeyFile(file); !written) return Complain({written.error()});
  return kSuccess;
}

}  // namespace sluice::app
