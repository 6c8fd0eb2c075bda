#include "src/redis/options.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/redis/keys.h"
#include "src/redis/probes.h"

namespace sluice::redis {

namespace {

constexpr int kMaximumReplicas = 16;
// Whoever is asked about the topology has this long at most; then another one is asked.
constexpr Milliseconds kEnquiryTimeout{500};

using Wrong = std::optional<std::string>;

// Several addresses, of hosts only.
std::expected<std::vector<Address>, std::string> ParseAddresses(
    std::string_view name, const std::vector<std::string>& texts) {
  std::vector<Address> addresses;
  for (const std::string& text : texts) {
    auto address = ParseAddress(text);
    if (!address) return std::unexpected(fmt::format("{}: {}", name, address.error()));
    if (!address->unix_path.empty()) {
      return std::unexpected(fmt::format("{}: none may be a unix socket", name));
    }
    addresses.push_back(*std::move(address));
  }
  if (addresses.empty()) return std::unexpected(fmt::format("{}: at least one is needed", name));
  return addresses;
}

Wrong CheckLogin(const std::string& password, const std::string& password_file,
                 std::string_view chapter = {}) {
  if (password.empty() || password_file.empty()) return std::nullopt;
  return fmt::format("{}password: give it or password_file, not both", chapter);
}

Wrong CheckNumbers(const RedisOptions& options) {
  if (options.database < 0) return "database: must not be negative";
  if (options.database != 0 && options.topology == RedisTopology::kCluster) {
    return "database: must be 0 in a cluster";
  }
  if (options.command_timeout < Milliseconds{1} || options.command_timeout > Milliseconds{60'000}) {
    return "command_timeout: must be 1ms to 1m";
  }
  if (options.max_in_flight < 1 || options.max_in_flight > 1'000'000) {
    return "max_in_flight: must be 1 to 1000000";
  }
  if (options.connections < 1 || options.connections > 64) return "connections: must be 1 to 64";
  if (options.wait_replicas < 0 || options.wait_replicas > kMaximumReplicas) {
    return fmt::format("wait_replicas: must be 0 to {}", kMaximumReplicas);
  }
  if (options.maximum_clock_skew && *options.maximum_clock_skew < Milliseconds{0}) {
    return "maximum_clock_skew: must not be negative";
  }
  return std::nullopt;
}

Wrong CheckPrefix(const std::string& prefix) {
  const bool printable = std::ranges::all_of(
      prefix, [](char c) { return c > ' ' && c <= '~' && c != '{' && c != '}'; });
  if (printable && !prefix.empty() && prefix.size() <= kMaximumPrefixBytes) return std::nullopt;
  return fmt::format("prefix: must be 1 to {} printable characters without space and braces",
                     kMaximumPrefixBytes);
}

std::expected<TopologyOptions, std::string> TopologyOf(const RedisOptions& options) {
  switch (options.topology) {
    case RedisTopology::kStandalone: {
      auto address = ParseAddress(options.address);
      if (!address) return std::unexpected("address: " + address.error());
      if (options.tls && !address->unix_path.empty()) {
        return std::unexpected(std::string("tls: not over a unix socket"));
      }
      return Standalone{*std::move(address)};
    }
    case RedisTopology::kSentinel: {
      if (options.sentinel.master.empty()) {
        return std::unexpected(std::string("sentinel.master: must not be empty"));
      }
      auto addresses = ParseAddresses("sentinel.addresses", options.sentinel.addresses);
      if (!addresses) return std::unexpected(std::move(addresses).error());
      return Sentinels{.master = options.sentinel.master, .addresses = *std::move(addresses)};
    }
    case RedisTopology::kCluster:
      break;
  }
  auto seeds = ParseAddresses("addresses", options.addresses);
  if (!seeds) return std::unexpected(std::move(seeds).error());
  return Cluster{.seeds = *std::move(seeds), .tls = options.tls.has_value()};
}

// The access to servers or sentinels, whose options carry the same names.
template <class Options>
std::expected<Access, std::string> AccessOf(const Options& options, std::string_view chapter = {}) {
  auto access = MakeAccess(options.tls ? &*options.tls : nullptr, options.username,
                           options.password, options.password_file);
  if (access) return access;
  return std::unexpected(fmt::format("{}tls: {}", chapter, access.error()));
}

Role RoleOf(RedisTopology topology) {
  switch (topology) {
    case RedisTopology::kStandalone:
      return Role::kStandalone;
    case RedisTopology::kSentinel:
      return Role::kPrimary;
    case RedisTopology::kCluster:
      break;
  }
  return Role::kClusterNode;
}

SessionOptions SessionOf(const RedisOptions& options) {
  SessionOptions session{.role = RoleOf(options.topology),
                         .database = options.database,
                         .scripts = Scripts(),
                         .probes = Probes(options.prefix),
                         .read_clock = options.maximum_clock_skew.has_value(),
                         .reply_timeout = options.command_timeout};
  if (session.role == Role::kClusterNode) session.probes.push_back(AskingProbe());
  if (options.wait_replicas > 0) session.probes.push_back(WaitProbe());
  return session;
}

}  // namespace

std::expected<EngineOptions, std::string> CheckOptions(const RedisOptions& options) {
  const bool has_sentinels = options.topology == RedisTopology::kSentinel;
  Wrong wrong = CheckLogin(options.password, options.password_file);
  if (!wrong && has_sentinels) {
    wrong = CheckLogin(options.sentinel.password, options.sentinel.password_file, "sentinel.");
  }
  if (!wrong) wrong = CheckNumbers(options);
  if (!wrong) wrong = CheckPrefix(options.prefix);
  if (wrong) return std::unexpected(*std::move(wrong));
  auto topology = TopologyOf(options);
  if (!topology) return std::unexpected(std::move(topology).error());
  auto servers = AccessOf(options);
  if (!servers) return std::unexpected(std::move(servers).error());
  auto asked = has_sentinels ? AccessOf(options.sentinel, "sentinel.") : servers;
  if (!asked) return std::unexpected(std::move(asked).error());
  return EngineOptions{
      .node = {.lane = {.access = *std::move(servers),
                        .session = SessionOf(options),
                        .connections = static_cast<std::size_t>(options.connections),
                        .maximum_clock_skew = options.maximum_clock_skew},
               .script = {.prefix = options.prefix, .minimum_ttl = options.minimum_ttl},
               .wait_replicas = options.wait_replicas},
      .watch = {.topology = *std::move(topology),
                .access = *std::move(asked),
                .timeout = std::min(options.command_timeout, kEnquiryTimeout)},
      .max_in_flight = static_cast<std::size_t>(options.max_in_flight)};
}

}  // namespace sluice::redis
