// The hash slots of a cluster: which one a key is in.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::redis {

using Slot = std::uint16_t;

inline constexpr Slot kSlots = 16'384;

/// 0 .. kSlots - 1. Where the key has a hash tag, a not empty text between its first brace and the
/// next closing one, the tag alone decides.
/// Source: the Redis cluster specification, "Key distribution model" and "Hash tags".
[[nodiscard]] Slot SlotOf(std::string_view key);

}  // namespace sluice::redis
