// Memory for large tables: on large pages where the system offers them, and given back when freed.
#pragma once

#include <cstddef>
#include <new>

#include <sys/mman.h>

namespace sluice::memory {

/// An allocator that maps what takes several large pages (2 MiB) itself and asks for large pages: a
/// random access to a table of 100 MB then does not wait for the page tables as well. Smaller
/// blocks come from operator new.
template <class T>
struct PageAllocator {
  using value_type = T;

  static constexpr std::size_t kLargePage = std::size_t{2} << 20;

  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (!IsLarge(bytes)) {
      return static_cast<T*>(::operator new(bytes, std::align_val_t{alignof(T)}));
    }
    void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) throw std::bad_alloc();
    madvise(block, bytes, MADV_HUGEPAGE);  // a wish: nothing depends on it
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (IsLarge(bytes)) {
      munmap(block, bytes);
    } else {
      ::operator delete(block, std::align_val_t{alignof(T)});
    }
  }

  friend bool operator==(const PageAllocator&, const PageAllocator&) { return true; }

 private:
  static constexpr bool IsLarge(std::size_t bytes) { return bytes >= 2 * kLargePage; }
};

}  // namespace sluice::memory
