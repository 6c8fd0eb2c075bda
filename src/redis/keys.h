// What a counter is called in Redis.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sluice/policy.h"
#include "sluice/subject.h"

namespace sluice::redis {

inline constexpr std::size_t kMaximumKeyBytes = 200;

/// The longest prefix with which every key stays within kMaximumKeyBytes, whatever the subject and
/// policy.
inline constexpr std::size_t kMaximumPrefixBytes = 62;

/// "<prefix>:1:{v1:<client digest>}:<policy>@<revision>[:<operation digest>]". The 1 is the version
/// of what the key holds. Braces: everything of one client is in one hash slot of a cluster. The
/// operation's digest is there where the policy counts by operation and the subject has one.
/// Holds pseudonyms only.
[[nodiscard]] std::string KeyOf(std::string_view prefix, const Subject& subject,
                                const Policy& policy);

/// A key of that form that nothing is ever written to: a counter's name always has an @.
[[nodiscard]] std::string AbsentKey(std::string_view prefix);

}  // namespace sluice::redis
