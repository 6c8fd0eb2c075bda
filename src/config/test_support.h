// What the tests and the fuzz target of this folder share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/settings.h"

namespace sluice::config {

using Lines = std::vector<std::string>;

/// A complete configuration in two lines: what a test adds starts on line 3.
inline constexpr std::string_view kTwoLines =
    "policies: {p: {algorithm: fixed-window, limit: 5, window: 1m}}\n"
    "default_policy: p\n";

/// The errors of a configuration called "f", as they are printed; empty if it is accepted.
inline Lines ErrorsOf(std::string_view text, const Lines& environment = {}) {
  Lines lines;
  const auto settings = Load(text, "f", environment);
  if (settings) return lines;
  for (const Error& error : settings.error()) lines.push_back(error.ToString());
  return lines;
}

inline bool Equal(const Policy& a, const Policy& b) {
  return a.id() == b.id() && a.revision() == b.revision() && a.algorithm() == b.algorithm() &&
         a.maximum_cost() == b.maximum_cost() &&
         a.maximum_clock_regression() == b.maximum_clock_regression() &&
         a.cleanup_grace() == b.cleanup_grace() && a.dedup() == b.dedup() && a.scope() == b.scope();
}

inline bool Equal(const OperationSettings& a, const OperationSettings& b) {
  return a.id == b.id && a.match == b.match && a.policies == b.policies && a.cost == b.cost &&
         a.sources == b.sources && a.exempt == b.exempt;
}

inline bool Equal(const IdentitySettings& a, const IdentitySettings& b) {
  return a.sources == b.sources && a.principal_header == b.principal_header &&
         a.api_key_header == b.api_key_header && a.trusted_proxies == b.trusted_proxies &&
         a.forwarded == b.forwarded && a.ipv6_prefix == b.ipv6_prefix && a.anonymous == b.anonymous;
}

/// The settings that `Effective` shows: without the password.
inline Settings Masked(Settings settings) {
  if (!settings.redis.password.empty()) settings.redis.password = kMaskedPassword;
  if (!settings.redis.sentinel.password.empty()) {
    settings.redis.sentinel.password = kMaskedPassword;
  }
  return settings;
}

/// Whether two configurations mean the same; where they were written does not count.
inline bool Equal(const Settings& a, const Settings& b) {
  const auto equal = [](const auto& x, const auto& y) { return Equal(x, y); };
  return a.provider == b.provider && a.redis == b.redis &&
         std::ranges::equal(a.edge.policies, b.edge.policies, equal) &&
         std::ranges::equal(a.edge.operations, b.edge.operations, equal) &&
         a.edge.default_policy == b.edge.default_policy &&
         Equal(a.edge.identity, b.edge.identity) && a.edge.budget == b.edge.budget &&
         a.edge.failure_retry_after == b.edge.failure_retry_after &&
         a.memory.max_subjects == b.memory.max_subjects &&
         a.memory.minimum_ttl == b.memory.minimum_ttl && a.pseudonym == b.pseudonym &&
         a.http == b.http && a.admin == b.admin && a.log == b.log;
}

}  // namespace sluice::config
