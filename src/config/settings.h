// The whole configuration as values: what a file and the environment come to.
//
//   auto settings = sluice::config::LoadFile("sluice.yaml", environment);
//   if (!settings) for (const Error& error : settings.error()) Print(error.ToString());
//
// The keys, their defaults and bounds are documented in docs/guide/configuration.md.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/edge.h"
#include "sluice/memory_limiter.h"
#include "sluice/redis_limiter.h"

#include "src/config/document.h"
#include "src/config/listen_address.h"

namespace sluice::config {

/// Where counters live.
enum class Provider : std::uint8_t { kMemory, kRedis };

/// Where pseudonym keys are; without keys the daemon makes a random one for its run.
struct PseudonymSettings {
  std::optional<std::uint32_t> active_version;  ///< one of `keys`; absent only if there are none
  std::map<std::uint32_t, std::string> keys;    ///< version -> file with the key
  friend bool operator==(const PseudonymSettings&, const PseudonymSettings&) = default;
};

struct HttpSettings {
  ListenAddress listen = TcpAddress{"127.0.0.1", 8080};
  int workers = 0;  ///< 0 .. 256; 0 = one per core
  friend bool operator==(const HttpSettings&, const HttpSettings&) = default;
};

struct AdminSettings {
  ListenAddress listen = TcpAddress{"127.0.0.1", 9090};
  friend bool operator==(const AdminSettings&, const AdminSettings&) = default;
};

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  friend bool operator==(const LogSettings&, const LogSettings&) = default;
};

/// Where each key path was written, for those who find something wrong with a value later.
class Places {
 public:
  Places() = default;
  /// Remembers every path of `root`.
  Places(const Node& root, const Errors& names);

  /// "sluice.yaml:12:9" or a variable's name for a path such as "operations[2].match.path". What
  /// has no place of its own (a default) has that of the key that would hold it.
  [[nodiscard]] std::string Find(std::string_view path) const;

 private:
  std::map<std::string, std::string, std::less<>> places_;
};

/// The words of `provider`.
inline constexpr std::array<std::pair<std::string_view, Provider>, 2> kProviderWords{
    {{"memory", Provider::kMemory}, {"redis", Provider::kRedis}}};
/// The words of `log.level` and `log.format`.
inline constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLogLevelWords{
    {{"trace", LogLevel::kTrace},
     {"debug", LogLevel::kDebug},
     {"info", LogLevel::kInfo},
     {"warn", LogLevel::kWarn},
     {"error", LogLevel::kError}}};
inline constexpr std::array<std::pair<std::string_view, LogFormat>, 2> kLogFormatWords{
    {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}};

/// A checked configuration: every value is in its bounds, every name that is used exists.
struct Settings {
  Provider provider = Provider::kMemory;
  EdgeSettings edge;  ///< policies, operations, identity, http.budget, failure_retry_after
  MemoryOptions memory;
  RedisOptions redis;
  PseudonymSettings pseudonym;
  HttpSettings http;
  AdminSettings admin;
  LogSettings log;
  Places places;
};

/// Reads a configuration. `file` names `text` in places; each element of `environment` is
/// "NAME=VALUE", those without the prefix SLUICE_ are ignored. Values come from the environment,
/// else the text, else the defaults. Returns everything that is wrong, in the order of the file.
/// Reads the files that `SLUICE_…_FILE` variables name, and nothing else.
[[nodiscard]] std::expected<Settings, std::vector<Error>> Load(
    std::string_view text, const std::string& file, std::span<const std::string> environment);

/// The same for the file at `path`; that it cannot be read is an error at `path`.
[[nodiscard]] std::expected<Settings, std::vector<Error>> LoadFile(
    const std::string& path, std::span<const std::string> environment);

/// What stands for a password in the configuration in effect.
inline constexpr std::string_view kMaskedPassword = "***";

/// The configuration in effect, every default spelled out, as YAML that loads to equal settings, a
/// password excepted. Holds no secret: keys are named by their files, a password is
/// `kMaskedPassword`.
[[nodiscard]] std::string Effective(const Settings& settings);

}  // namespace sluice::config
