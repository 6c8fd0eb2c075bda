// For tests: watches what one thread does with the heap. Linking it replaces the global operators
// new and delete of the whole test program.
#pragma once

#include <cstddef>
#include <string_view>

namespace sluice::identity {

/// Counts the calling thread's allocations since its making, and how many of the blocks freed since
/// then still held `secret`. One probe at a time on a thread.
class AllocationProbe {
 public:
  /// ThreadSanitizer brings operators of its own; without ours there is nothing to see.
  [[nodiscard]] static bool IsBlind();

  explicit AllocationProbe(std::string_view secret = {});
  ~AllocationProbe();
  AllocationProbe(const AllocationProbe&) = delete;
  AllocationProbe& operator=(const AllocationProbe&) = delete;

  [[nodiscard]] std::size_t allocations() const;
  [[nodiscard]] std::size_t leaked_secrets() const;
};

}  // namespace sluice::identity
