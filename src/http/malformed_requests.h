// Requests that are no HTTP, in any number: a valid one, broken in a way that leaves nothing to
// serve.
#pragma once

#include <random>
#include <string>

namespace sluice::http::testing {

/// A random request that every server takes, with a body of either framing or none.
[[nodiscard]] std::string ValidRequest(std::mt19937_64& random);

/// A random request that no server may take, whatever follows it.
[[nodiscard]] std::string BrokenRequest(std::mt19937_64& random);

/// The beginning of a valid request.
[[nodiscard]] std::string CutOffRequest(std::mt19937_64& random);

}  // namespace sluice::http::testing
