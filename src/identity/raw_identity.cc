#include "sluice/raw_identity.h"

#include <cstdlib>

namespace sluice {

std::string_view Name(IdentityKind kind) {
  switch (kind) {
    case IdentityKind::kPrincipal:
      return "principal";
    case IdentityKind::kApiKey:
      return "api-key";
    case IdentityKind::kClientIp:
      return "client-ip";
    case IdentityKind::kOpaque:
      return "opaque";
    case IdentityKind::kAnonymous:
      return "anonymous";
  }
  std::abort();
}

}  // namespace sluice
