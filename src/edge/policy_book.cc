#include "src/edge/policy_book.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace sluice::edge {
namespace {

constexpr std::size_t kMaximumId = 64;

std::expected<std::shared_ptr<const Plan>, std::string> SharedPlan(std::vector<Policy> policies) {
  auto plan = Plan::Create(std::move(policies));
  if (!plan) return std::unexpected(std::move(plan).error());
  return std::make_shared<const Plan>(*std::move(plan));
}

}  // namespace

bool IsId(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto later = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kMaximumId && letter(text.front()) &&
         std::ranges::all_of(text, later);
}

std::string QuotedId(std::string_view text) {
  return IsId(text) ? fmt::format("\"{}\"", text) : "of such a name";
}

PolicyBook::PolicyBook(std::span<const Policy> policies, std::vector<EdgeError>& errors) {
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Policy& policy = policies[i];
    auto alone = SharedPlan({policy});
    if (!alone) {
      errors.emplace_back(fmt::format("policies[{}]", i), std::move(alone).error());
    } else if (!entries_.try_emplace(policy.id(), policy, *std::move(alone)).second) {
      errors.emplace_back(fmt::format("policies[{}].id", i),
                          fmt::format("a policy before it has the id \"{}\" too", policy.id()));
    }
  }
}

const Policy* PolicyBook::Find(std::string_view id) const {
  const auto entry = entries_.find(id);
  return entry == entries_.end() ? nullptr : &entry->second.policy;
}

std::expected<std::shared_ptr<const Plan>, std::string> PolicyBook::PlanOf(
    std::span<const std::string> ids) const {
  std::vector<Policy> policies;
  policies.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return std::unexpected("there is no policy " + QuotedId(id));
    if (ids.size() == 1) return entry->second.alone;
    policies.push_back(entry->second.policy);
  }
  return SharedPlan(std::move(policies));
}

}  // namespace sluice::edge
