#include "src/edge/evaluation_id.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <pthread.h>
#include <sys/random.h>

namespace sluice::edge {
namespace {

constexpr std::size_t kTimeBytes = 6;
constexpr std::size_t kRandomBytes = 10;
constexpr std::size_t kMaximumCallerId = 128;

// A forked child inherits the random bytes its parent fetched ahead and would make the same ids.
// Counting forks tells every thread's store that it is a copy.
std::uint32_t ForkCount() {
  static std::atomic<std::uint32_t> forks{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  if (registered != 0) std::abort();
  return forks.load(std::memory_order_relaxed);
}

// One system call for 256 ids.
class RandomStore {
 public:
  void Take(std::span<std::uint8_t, kRandomBytes> out) {
    const std::uint32_t forks = ForkCount();
    if (used_ == bytes_.size() || forks != forks_) {
      Fill();
      forks_ = forks;
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(used_), kRandomBytes, out.begin());
    used_ += kRandomBytes;
  }

 private:
  void Fill() {
    std::size_t filled = 0;
    while (filled < bytes_.size()) {
      const ssize_t got = getrandom(bytes_.data() + filled, bytes_.size() - filled, 0);
      if (got > 0) {
        filled += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        std::abort();
      }
    }
    used_ = 0;
  }

  std::array<std::uint8_t, 256 * kRandomBytes> bytes_;
  std::size_t used_ = bytes_.size();
  std::uint32_t forks_ = 0;
};

}  // namespace

EvaluationId NewEvaluationId(WallTime now) {
  thread_local RandomStore store;
  std::array<std::uint8_t, kTimeBytes + kRandomBytes> bytes{};
  auto time = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (std::size_t i = kTimeBytes; i-- > 0; time >>= 8U) {
    bytes[i] = static_cast<std::uint8_t>(time);
  }
  store.Take(std::span{bytes}.last<kRandomBytes>());
  return EvaluationId::FromBytes(bytes);
}

std::expected<EvaluationId, std::string> EvaluationIdFromCaller(std::string_view text) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.empty() || text.size() > kMaximumCallerId || !std::ranges::all_of(text, printable)) {
    return std::unexpected("an evaluation id is 1 to 128 bytes of printable ASCII");
  }
  return EvaluationId::FromCaller(std::string{text});
}

}  // namespace sluice::edge
