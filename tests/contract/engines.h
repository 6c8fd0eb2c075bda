// The engines that the contract suite runs against: one row each.
#pragma once

#include <memory>
#include <ostream>

#include "sluice/memory_limiter.h"

namespace sluice::contract {

/// How the suite gets a fresh store. `physical_ttl` is kept at least, since the suite moves `now`
/// by hand.
struct Engine {
  const char* name;
  std::unique_ptr<Limiter> (*make)(Milliseconds physical_ttl);
};

inline void PrintTo(const Engine& engine, std::ostream* out) {
  *out << engine.name;
}

inline const Engine kEngines[] = {
    {"memory",
     [](Milliseconds physical_ttl) -> std::unique_ptr<Limiter> {
       return MakeMemoryLimiter({.minimum_ttl = physical_ttl});
     }},
};

}  // namespace sluice::contract
