// A Redis server for benchmarks: it runs on one core, and the program that loads it on another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sched.h>

#include "tests/redis/redis_server.h"
#include "tests/redis/support/blocking_client.h"

namespace sluice::bench {

inline constexpr int kServerCore = 0;
inline constexpr int kLoadCore = 1;

/// This thread, and what it starts from now on.
inline void PinTo(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
    throw std::runtime_error("core " + std::to_string(core) + " is not to be had");
  }
}

/// The maker goes on on the other core.
class PinnedServer {
 public:
  PinnedServer() { PinTo(kLoadCore); }
  [[nodiscard]] std::string address() const { return server_.address(); }

 private:
  // Before the server, which inherits it.
  struct OnServerCore {
    OnServerCore() { PinTo(kServerCore); }
  } on_server_core_;
  redis::RedisServer server_;
};

/// Processor time that a server has taken so far.
inline double ProcessorSecondsOf(redis::BlockingClient& client) {
  const std::string text = client.Command({"INFO", "cpu"}).text;
  const auto value = [&](std::string_view name) {
    return std::stod(text.substr(text.find(name) + name.size()));
  };
  return value("used_cpu_user:") + value("used_cpu_sys:");
}

inline double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace sluice::bench
