#include "src/redis/options.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "src/redis/keys.h"
#include "src/redis/probes.h"

namespace sluice::redis {

std::expected<EngineOptions, std::string> CheckOptions(const RedisOptions& options) {
  const auto wrong = [](std::string text) { return std::unexpected(std::move(text)); };
  auto address = ParseAddress(options.address);
  if (!address) return wrong("address: " + address.error());
  if (options.tls && !address->unix_path.empty()) return wrong("tls: not over a unix socket");
  if (!options.password.empty() && !options.password_file.empty()) {
    return wrong("password: give it or password_file, not both");
  }
  if (options.database < 0) return wrong("database: must not be negative");
  if (options.command_timeout < Milliseconds{1} || options.command_timeout > Milliseconds{60'000}) {
    return wrong("command_timeout: must be 1ms to 1m");
  }
  if (options.max_in_flight < 1 || options.max_in_flight > 1'000'000) {
    return wrong("max_in_flight: must be 1 to 1000000");
  }
  if (options.connections < 1 || options.connections > 64) {
    return wrong("connections: must be 1 to 64");
  }
  const bool printable = std::ranges::all_of(
      options.prefix, [](char c) { return c > ' ' && c <= '~' && c != '{' && c != '}'; });
  if (options.prefix.empty() || options.prefix.size() > kMaximumPrefixBytes || !printable) {
    return wrong(
        fmt::format("prefix: must be 1 to {} printable characters without space and braces",
                    kMaximumPrefixBytes));
  }
  if (options.maximum_clock_skew && *options.maximum_clock_skew < Milliseconds{0}) {
    return wrong("maximum_clock_skew: must not be negative");
  }
  LaneOptions lane{.address = *std::move(address),
                   .session = {.username = options.username,
                               .database = options.database,
                               .scripts = Scripts(),
                               .probes = Probes(options.prefix),
                               .read_clock = options.maximum_clock_skew.has_value(),
                               .reply_timeout = options.command_timeout},
                   .password = options.password,
                   .password_file = options.password_file,
                   .connections = static_cast<std::size_t>(options.connections),
                   .maximum_clock_skew = options.maximum_clock_skew};
  if (options.tls) {
    auto context = MakeTlsContext(*options.tls);
    if (!context) return wrong("tls: " + context.error());
    lane.tls = *std::move(context);
    lane.server_name = options.tls->server_name;
  }
  return EngineOptions{.lane = std::move(lane),
                       .script = {.prefix = options.prefix, .minimum_ttl = options.minimum_ttl},
                       .max_in_flight = static_cast<std::size_t>(options.max_in_flight)};
}

}  // namespace sluice::redis
