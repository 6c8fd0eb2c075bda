#include "src/identity/allocation_probe.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_PROBE_IS_BLIND 1
#endif
#endif

namespace {

struct Watch {
  bool active = false;
  std::string_view secret;
  std::size_t allocations = 0;
  std::size_t leaked_secrets = 0;
};
thread_local Watch watch;

}  // namespace

#ifndef SLUICE_PROBE_IS_BLIND
namespace {

void* Allocate(std::size_t size) {
  if (watch.active) ++watch.allocations;
  if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}

void Free(void* block) {
  if (block != nullptr && watch.active && !watch.secret.empty()) {
    const std::size_t size = malloc_usable_size(block);
    const std::string_view content(static_cast<const char*>(block), size);
    if (content.contains(watch.secret)) ++watch.leaked_secrets;
    std::memset(block, 0, size);  // a secret is found once, not again in whatever reuses its block
  }
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  return Allocate(size);
}
void* operator new[](std::size_t size) {
  return Allocate(size);
}
void operator delete(void* block) noexcept {
  Free(block);
}
void operator delete[](void* block) noexcept {
  Free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  Free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  Free(block);
}
#endif

namespace sluice::identity {

bool AllocationProbe::IsBlind() {
#ifdef SLUICE_PROBE_IS_BLIND
  return true;
#else
  return false;
#endif
}
AllocationProbe::AllocationProbe(std::string_view secret) {
  watch = {.active = true, .secret = secret};
}
AllocationProbe::~AllocationProbe() {
  watch = {};
}
std::size_t AllocationProbe::allocations() const {
  return watch.allocations;
}
std::size_t AllocationProbe::leaked_secrets() const {
  return watch.leaked_secrets;
}

}  // namespace sluice::identity
