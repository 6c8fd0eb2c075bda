// Any bytes as a configuration: never a crash, never long, and what is accepted is in its bounds
// and loads again from its effective form.
//
// An input is the file, then, each after a NUL, variables of the environment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "src/config/settings.h"
#include "src/config/test_support.h"

namespace {

using sluice::Milliseconds;
using sluice::OperationSettings;
using sluice::Policy;
using sluice::config::Settings;
using std::chrono::hours;
using std::chrono::minutes;

void Require(bool holds) {
  if (!holds) std::abort();
}

template <class Value>
bool IsWithin(Value value, Value least, Value most) {
  return least <= value && value <= most;
}

std::string_view TakePart(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view part = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return part;
}

// A variable that names a file is left out: a fuzzer must not choose which files are read.
bool NamesFile(std::string_view definition) {
  std::string_view name = definition.substr(0, definition.find('='));
  name = name.substr(name.size() - std::min<std::size_t>(name.size(), 4));
  return std::ranges::equal(name, std::string_view("FILE"),
                            [](char a, char b) { return (a & ~0x20) == b; });
}

const Policy* FindPolicy(const Settings& settings, std::string_view id) {
  for (const Policy& policy : settings.edge.policies) {
    if (policy.id() == id) return &policy;
  }
  return nullptr;
}

void CheckOperation(const Settings& settings, const OperationSettings& operation) {
  Require(operation.policies.empty() == operation.exempt);
  Require(operation.cost >= 1);
  for (const std::string& id : operation.policies) {
    const Policy* policy = FindPolicy(settings, id);
    Require(policy != nullptr);
    Require(operation.cost <= policy->maximum_cost());
  }
}

void CheckBounds(const Settings& settings) {
  Require(!settings.edge.policies.empty());
  for (const Policy& policy : settings.edge.policies) {
    Require(IsWithin<std::int64_t>(policy.limit(), 0, sluice::kMaximumAmount));
    Require(IsWithin<std::int64_t>(policy.maximum_cost(), 1,
                                   std::max<std::int64_t>(policy.limit(), 1)));
  }
  Require(FindPolicy(settings, settings.edge.default_policy) != nullptr);
  for (const OperationSettings& operation : settings.edge.operations) {
    CheckOperation(settings, operation);
  }
  Require(IsWithin<Milliseconds>(settings.edge.budget, Milliseconds{1}, minutes{1}));
  Require(IsWithin<Milliseconds>(settings.edge.failure_retry_after, Milliseconds{1}, hours{1}));
  Require(!settings.edge.identity.sources.empty());
  Require(IsWithin(settings.edge.identity.ipv6_prefix, 1, 128));
  Require(IsWithin<std::int64_t>(settings.memory.max_subjects, 1, 4'294'967'294));
  Require(IsWithin(settings.http.workers, 0, 256));
  const auto& pseudonym = settings.pseudonym;
  Require(pseudonym.active_version.has_value() != pseudonym.keys.empty());
  Require(!pseudonym.active_version || pseudonym.keys.contains(*pseudonym.active_version));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view text = TakePart(bytes);
  std::vector<std::string> environment;
  while (!bytes.empty()) {
    const std::string_view definition = TakePart(bytes);
    if (!NamesFile(definition)) environment.emplace_back(definition);
  }

  const auto settings = sluice::config::Load(text, "fuzz", environment);
  if (!settings) {
    Require(!settings.error().empty());
    for (const auto& error : settings.error()) Require(!error.message.empty());
    return 0;
  }
  CheckBounds(*settings);
  const auto again = sluice::config::Load(sluice::config::Effective(*settings), "effective", {});
  Require(again.has_value());
  Require(sluice::config::Equal(sluice::config::Masked(*settings), *again));
  return 0;
}
