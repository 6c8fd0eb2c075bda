// Which Sluice this is.
#pragma once

namespace sluice {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace sluice
