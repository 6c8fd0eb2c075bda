// The subcommands of `sluice`. Each returns the exit status of the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/clock.h"
#include "sluice/limiter.h"

namespace sluice::app {

/// Exit statuses, as the contract has them.
inline constexpr int kSuccess = 0;
inline constexpr int kDenied = 1;
inline constexpr int kUnhealthy = 1;  ///< the doctor found something wrong
inline constexpr int kUsage = 2;      ///< usage, configuration, malformed input
inline constexpr int kNoAnswer = 3;   ///< an outcome that is not "evaluated"

/// Serves until SIGTERM or SIGINT.
int Serve(const std::string& config_file);

/// Prints the effective configuration, or everything that is wrong with it.
int CheckConfig(const std::string& config_file);

struct EvaluateOptions {
  std::string config_file;
  std::vector<std::string> policies;
  std::string subject;
  std::int64_t cost = 1;
  bool peek = false;
  Milliseconds budget{750};
};
/// One evaluation, its outcome as JSON on stdout.
int EvaluateOnce(const EvaluateOptions& options);

struct StreamOptions {
  std::string config_file;
  Milliseconds budget{750};
  bool manual_clock = false;
};
/// One evaluation for each line of stdin, one outcome a line on stdout.
int EvaluateStream(const StreamOptions& options);

struct DoctorOptions {
  std::string config_file;
  bool json = false;
  /// Who looks at what the daemon's user need not see; empty: that user.
  std::string redis_user{};
  std::string redis_password_file{};
};
/// Examines the key files and servers of a configuration; a report on stdout.
int Doctor(const DoctorOptions& options);

/// Makes a new pseudonym key file.
int Keygen(const std::string& file);

}  // namespace sluice::app
