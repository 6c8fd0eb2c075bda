// The chapters of a configuration that are more than a few keys: one reading function each.
// They report to the field's Errors, and leave what they could not read at its default.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/edge.h"
#include "sluice/policy.h"
#include "sluice/redis_limiter.h"

#include "src/config/reader.h"

namespace sluice::config {

/// The policies of a configuration, also those that have errors: naming one of them is no further
/// error.
struct PolicyBook {
  std::vector<Policy> policies;
  /// Every id, with the policy's maximum_cost if it has no errors.
  std::map<std::string, std::optional<std::int64_t>, std::less<>> maximum_costs;
};

[[nodiscard]] PolicyBook ReadPolicies(const Field& field);
[[nodiscard]] std::vector<OperationSettings> ReadOperations(const Field& field,
                                                            const PolicyBook& book);
[[nodiscard]] IdentitySettings ReadIdentity(const Field& field);
[[nodiscard]] RedisOptions ReadRedis(const Field& field);

/// A rule: the id of one of the policies.
struct PolicyId {
  const PolicyBook& book;
  [[nodiscard]] std::optional<std::string> operator()(const Field& field) const;
};

/// Where the client's name may come from, in the words of `identity.sources` and `subject`.
inline constexpr std::array<std::pair<std::string_view, IdentityKind>, 3> kSourceWords{
    {{"principal", IdentityKind::kPrincipal},
     {"api-key", IdentityKind::kApiKey},
     {"client-ip", IdentityKind::kClientIp}}};
inline constexpr std::array<std::pair<std::string_view, Forwarded>, 3> kForwardedWords{
    {{"x-forwarded-for", Forwarded::kXForwardedFor},
     {"forwarded", Forwarded::kForwarded},
     {"none", Forwarded::kNone}}};
inline constexpr std::array<std::pair<std::string_view, Anonymous>, 2> kAnonymousWords{
    {{"shared", Anonymous::kShared}, {"deny", Anonymous::kDeny}}};
inline constexpr std::array<std::pair<std::string_view, Scope>, 2> kScopeWords{
    {{"operation", Scope::kOperation}, {"client", Scope::kClient}}};

/// The words of `redis.topology`.
inline constexpr std::array<std::pair<std::string_view, RedisTopology>, 3> kTopologyWords{
    {{"standalone", RedisTopology::kStandalone},
     {"sentinel", RedisTopology::kSentinel},
     {"cluster", RedisTopology::kCluster}}};

/// The word that `words` has for `value`.
template <class Value, std::size_t kCount>
[[nodiscard]] constexpr std::string_view WordFor(
    const std::array<std::pair<std::string_view, Value>, kCount>& words, Value value) {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return word;
  }
  std::unreachable();
}

}  // namespace sluice::config
