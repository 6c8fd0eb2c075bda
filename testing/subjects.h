// Subjects for tests that talk to an engine directly, without a pseudonymizer.
#pragma once

#include <cstdint>

#include "sluice/subject.h"

namespace sluice::testing {

/// A client's subject whose digests are well mixed bits of `client` and `operation`, as an HMAC's
/// would be. Operation 0: none, its digest equals the client's.
inline Subject SubjectNumber(std::uint64_t client, std::uint64_t operation = 0) {
  const auto digest = [](std::uint64_t seed) {
    Digest made;
    for (std::size_t i = 0; i < made.bytes.size(); ++i) {
      if (i % 8 == 0) {  // one step of SplitMix64 for each half
        seed += 0x9e3779b97f4a7c15;
        seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
        seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
        seed ^= seed >> 31;
      }
      made.bytes[i] = static_cast<std::uint8_t>(seed >> (i % 8 * 8));
    }
    return made;
  };
  Subject subject{.key_version = 1, .client = digest(client), .operation = {}};
  subject.operation = operation == 0 ? subject.client : digest(client * 1'000'003 + operation);
  return subject;
}

}  // namespace sluice::testing
