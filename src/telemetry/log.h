// The log: one line an event on stderr, as text for people or JSON for machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/clock.h"

namespace sluice::telemetry {

enum class Level : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };

struct LogOptions {
  Level level = Level::kInfo;
  bool json = false;
};

/// One field of a line; its name comes from names.h.
struct Field {
  std::string_view name;
  std::string value;
};

/// Renders a message with its fields: `message name=value`, or the members of a JSON object without
/// its braces, valid whatever the text holds.
[[nodiscard]] std::string Render(bool json, std::string_view message,
                                 std::initializer_list<Field> fields);

/// Writes to stderr. Colours only on a terminal, and not with NO_COLOR set.
///
/// Thread safety: all of it may be called from any thread.
class Log {
 public:
  explicit Log(const LogOptions& options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

 private:
  class Sink;
  std::unique_ptr<Sink> sink_;
};

/// At most one line per ten seconds and cause, so that an outage under load fills no disk.
///
/// Thread safety: may be called from any thread.
class Throttle {
 public:
  static constexpr std::chrono::seconds kInterval{10};

  /// None: keep quiet. Else the number of lines that were kept back since the last one.
  [[nodiscard]] std::optional<std::int64_t> Admit(std::string_view cause, SteadyTime now);

 private:
  struct Cause {
    SteadyTime next;
    std::int64_t suppressed = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Cause, std::less<>> causes_;
};

}  // namespace sluice::telemetry
