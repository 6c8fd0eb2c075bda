#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "src/config/chapters.h"
#include "src/config/scalars.h"
#include "src/config/settings.h"

namespace sluice::config {
namespace {

// A text as YAML: without quotes where nothing else could be read into it.
std::string Quoted(std::string_view text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
  const bool starts_safely = !text.empty() && text.front() != '-';
  if (starts_safely && text.find_first_not_of(kSafe) == std::string_view::npos &&
      CoreTypeOf(text) == CoreType::kText) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}

std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Quoted(text);
  return fmt::format("[{}]", list);
}

std::string SourceList(const std::vector<IdentityKind>& sources) {
  std::vector<std::string> words;
  words.reserve(sources.size());
  for (const IdentityKind kind : sources) words.emplace_back(WordFor(kSourceWords, kind));
  return QuotedList(words);
}

// Lines of YAML at a depth.
class Writer {
 public:
  void Line(int depth, std::string_view line) {
    text_ += fmt::format("{:{}}{}\n", "", depth * 2, line);
  }
  template <class Value>
  void Set(int depth, std::string_view key, const Value& value) {
    Line(depth, fmt::format("{}: {}", key, value));
  }
  [[nodiscard]] std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

void Write(Writer& out, const FixedWindow& algorithm) {
  out.Set(2, "limit", algorithm.limit);
  out.Set(2, "window", FormatDuration(algorithm.window));
}
void Write(Writer& out, const SlidingCounter& algorithm) {
  out.Set(2, "limit", algorithm.limit);
  out.Set(2, "window", FormatDuration(algorithm.window));
}
void Write(Writer& out, const TokenBucket& algorithm) {
  out.Set(2, "capacity", algorithm.capacity);
  out.Set(2, "refill", algorithm.refill);
  out.Set(2, "period", FormatDuration(algorithm.period));
}

void Write(Writer& out, const Policy& policy) {
  out.Line(1, Quoted(policy.id()) + ":");
  out.Set(2, "algorithm", AlgorithmName(policy.algorithm()));
  std::visit([&](const auto& algorithm) { Write(out, algorithm); }, policy.algorithm());
  out.Set(2, "revision", policy.revision());
  out.Set(2, "scope", WordFor(kScopeWords, policy.scope()));
  out.Set(2, "maximum_cost", policy.maximum_cost());
  out.Set(2, "maximum_clock_regression", FormatDuration(policy.maximum_clock_regression()));
  out.Set(2, "cleanup_grace", FormatDuration(policy.cleanup_grace()));
  out.Set(2, "failure_policy", "fail-closed");
  const Dedup& dedup = policy.dedup();
  out.Line(2, "dedup:");
  out.Set(3, "enabled", dedup.enabled);
  out.Set(3, "ttl", FormatDuration(dedup.ttl));
  out.Set(3, "max_entries", dedup.max_entries);
  out.Set(3, "max_bytes", FormatSize(dedup.max_bytes));
}

void Write(Writer& out, const OperationSettings& operation) {
  out.Line(1, "- id: " + Quoted(operation.id));
  const RouteMatch& match = operation.match;
  const bool matches_all = match == RouteMatch{};
  out.Line(2, matches_all ? "match: {}" : "match:");
  if (!match.methods.empty()) out.Set(3, "methods", QuotedList(match.methods));
  if (!match.host.empty()) out.Set(3, "host", Quoted(match.host));
  if (!match.path.empty()) out.Set(3, "path", Quoted(match.path));
  if (operation.exempt) {
    out.Set(2, "exempt", true);
    return;
  }
  out.Set(2, "policies", QuotedList(operation.policies));
  out.Set(2, "cost", operation.cost);
  if (!operation.sources.empty()) out.Set(2, "subject", SourceList(operation.sources));
}

void Write(Writer& out, const IdentitySettings& identity) {
  out.Line(0, "identity:");
  out.Set(1, "sources", SourceList(identity.sources));
  out.Set(1, "principal_header", Quoted(identity.principal_header));
  out.Set(1, "api_key_header", Quoted(identity.api_key_header));
  out.Set(1, "trusted_proxies", QuotedList(identity.trusted_proxies));
  out.Set(1, "forwarded", WordFor(kForwardedWords, identity.forwarded));
  out.Set(1, "ipv6_prefix", identity.ipv6_prefix);
  out.Set(1, "anonymous", WordFor(kAnonymousWords, identity.anonymous));
}

void Write(Writer& out, const PseudonymSettings& pseudonym) {
  if (!pseudonym.active_version) return;  // a random key for each run has no keys to write
  out.Line(0, "pseudonym:");
  out.Set(1, "active_version", *pseudonym.active_version);
  out.Line(1, "keys:");
  for (const auto& [version, file] : pseudonym.keys) {
    out.Line(2, fmt::format("{}: {{file: {}}}", version, Quoted(file)));
  }
}

// A text that may be absent, and then is no text that could be read.
void SetGiven(Writer& out, int depth, std::string_view key, const std::string& text) {
  if (!text.empty()) out.Set(depth, key, Quoted(text));
}

// A login and TLS, of the servers or of the sentinels.
template <class Options>
void WriteLogin(Writer& out, int depth, const Options& options) {
  SetGiven(out, depth, "username", options.username);
  if (!options.password.empty()) out.Set(depth, "password", Quoted(kMaskedPassword));
  SetGiven(out, depth, "password_file", options.password_file);
  if (!options.tls) return;
  out.Line(depth, *options.tls == RedisTls{} ? "tls: {}" : "tls:");
  SetGiven(out, depth + 1, "ca_file", options.tls->ca_file);
  SetGiven(out, depth + 1, "certificate_file", options.tls->certificate_file);
  SetGiven(out, depth + 1, "key_file", options.tls->key_file);
  SetGiven(out, depth + 1, "server_name", options.tls->server_name);
}

void WriteServers(Writer& out, const RedisOptions& redis) {
  out.Set(1, "topology", WordFor(kTopologyWords, redis.topology));
  switch (redis.topology) {
    case RedisTopology::kStandalone:
      out.Set(1, "address", Quoted(redis.address));
      return;
    case RedisTopology::kSentinel:
      out.Line(1, "sentinel:");
      out.Set(2, "master", Quoted(redis.sentinel.master));
      out.Set(2, "addresses", QuotedList(redis.sentinel.addresses));
      WriteLogin(out, 2, redis.sentinel);
      return;
    case RedisTopology::kCluster:
      out.Set(1, "addresses", QuotedList(redis.addresses));
      return;
  }
}

void Write(Writer& out, const RedisOptions& redis) {
  out.Line(0, "redis:");
  WriteServers(out, redis);
  WriteLogin(out, 1, redis);
  out.Set(1, "database", redis.database);
  out.Set(1, "prefix", Quoted(redis.prefix));
  out.Set(1, "command_timeout", FormatDuration(redis.command_timeout));
  out.Set(1, "max_in_flight", redis.max_in_flight);
  out.Set(1, "connections", redis.connections);
  out.Set(1, "wait_replicas", redis.wait_replicas);
  if (redis.maximum_clock_skew) {
    out.Set(1, "maximum_clock_skew", FormatDuration(*redis.maximum_clock_skew));
  }
}

}  // namespace

std::string Effective(const Settings& settings) {
  Writer out;
  out.Set(0, "provider", WordFor(kProviderWords, settings.provider));
  out.Set(0, "failure_retry_after", FormatDuration(settings.edge.failure_retry_after));
  out.Set(0, "default_policy", Quoted(settings.edge.default_policy));
  out.Line(0, "policies:");
  for (const Policy& policy : settings.edge.policies) Write(out, policy);
  out.Line(0, settings.edge.operations.empty() ? "operations: []" : "operations:");
  for (const OperationSettings& operation : settings.edge.operations) Write(out, operation);
  Write(out, settings.edge.identity);
  Write(out, settings.pseudonym);
  out.Line(0, "memory:");
  out.Set(1, "max_subjects", settings.memory.max_subjects);
  Write(out, settings.redis);
  out.Line(0, "http:");
  out.Set(1, "listen", Quoted(ToString(settings.http.listen)));
  out.Set(1, "budget", FormatDuration(settings.edge.budget));
  out.Set(1, "workers", settings.http.workers);
  out.Line(0, "admin:");
  out.Set(1, "listen", Quoted(ToString(settings.admin.listen)));
  out.Line(0, "log:");
  out.Set(1, "level", WordFor(kLogLevelWords, settings.log.level));
  out.Set(1, "format", WordFor(kLogFormatWords, settings.log.format));
  return std::move(out).Take();
}

}  // namespace sluice::config
