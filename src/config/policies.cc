#include <array>
#include <variant>

#include <fmt/format.h>

#include "src/config/chapters.h"

namespace sluice::config {
namespace {

using std::chrono::milliseconds;

enum class AlgorithmWord : std::uint8_t { kFixedWindow, kSlidingCounter, kTokenBucket };
constexpr std::array<std::pair<std::string_view, AlgorithmWord>, 3> kAlgorithmWords{
    {{"fixed-window", AlgorithmWord::kFixedWindow},
     {"sliding-counter", AlgorithmWord::kSlidingCounter},
     {"token-bucket", AlgorithmWord::kTokenBucket}}};

constexpr std::array<std::string_view, 2> kWindowKeys{"limit", "window"};
constexpr std::array<std::string_view, 3> kBucketKeys{"capacity", "refill", "period"};

// The algorithm's numbers. What cannot be read gets its most permissive value, so that
// `Policy::Create` still judges everything else and finds no fault of ours.
struct Numbers {
  Algorithm algorithm;
  bool has_amount = false;  // whether the limit or capacity was read
};

template <class Window>
Numbers ReadWindow(MapReader& policy, AlgorithmWord word) {
  for (const std::string_view key : kBucketKeys) {
    policy.Refuse(key, fmt::format("the key belongs to a token-bucket; a {} takes limit and window",
                                   WordFor(kAlgorithmWords, word)));
  }
  Window window{.limit = 0, .window = milliseconds{1}};
  const bool has_limit = policy.Required("limit", Integer{}, window.limit);
  policy.Required("window", Duration{}, window.window);
  return {window, has_limit};
}

Numbers ReadBucket(MapReader& policy) {
  for (const std::string_view key : kWindowKeys) {
    policy.Refuse(key,
                  "the key belongs to a fixed-window or a sliding-counter; a token-bucket takes "
                  "capacity, refill and period");
  }
  TokenBucket bucket{.capacity = 0, .refill = kMaximumAmount, .period = milliseconds{1}};
  const bool has_capacity = policy.Required("capacity", Integer{}, bucket.capacity);
  policy.Required("refill", Integer{}, bucket.refill);
  policy.Required("period", Duration{}, bucket.period);
  return {bucket, has_capacity};
}

std::optional<Numbers> ReadNumbers(MapReader& policy) {
  AlgorithmWord word{};
  if (!policy.Required("algorithm", Choice<AlgorithmWord>{kAlgorithmWords}, word)) {
    // Which keys belong here is unknown: none of them is to blame.
    for (const std::string_view key : kWindowKeys) policy.Skip(key);
    for (const std::string_view key : kBucketKeys) policy.Skip(key);
    return std::nullopt;
  }
  switch (word) {
    case AlgorithmWord::kFixedWindow:
      return ReadWindow<FixedWindow>(policy, word);
    case AlgorithmWord::kSlidingCounter:
      return ReadWindow<SlidingCounter>(policy, word);
    case AlgorithmWord::kTokenBucket:
      return ReadBucket(policy);
  }
  std::unreachable();
}

Dedup ReadDedup(const Field& field) {
  Dedup dedup;
  MapReader reader(field);
  reader.Optional("enabled", Boolean{}, dedup.enabled);
  reader.Optional("ttl", Duration{}, dedup.ttl);
  reader.Optional("max_entries", Integer{}, dedup.max_entries);
  reader.Optional("max_bytes", Size{}, dedup.max_bytes);
  reader.Finish();
  return dedup;
}

std::optional<std::string> CheckFailurePolicy(std::string_view text) {
  if (text == "fail-closed") return std::nullopt;
  return "a request that could not be counted must not pass as if it had been; allowed: "
         "fail-closed";
}

// The node of the setting that `Policy::Create` calls `name` ("window", "dedup.ttl"), or of the
// innermost map that would hold it.
const Node& NodeOfSetting(const Node& policy, std::string_view name) {
  const Node* node = &policy;
  while (!name.empty()) {
    const std::string_view key = name.substr(0, name.find('.'));
    const Node* child = node->Find(key);
    if (child == nullptr) break;
    node = child;
    name.remove_prefix(std::min(key.size() + 1, name.size()));
  }
  return *node;
}

void ReportPolicyErrors(const Field& field, const std::vector<PolicyError>& errors) {
  for (const PolicyError& error : errors) {
    if (error.field == "id") {
      field.errors.Add(field.node.key_place, field.path, error.message);
      continue;
    }
    const Node& node = NodeOfSetting(field.node, error.field);
    field.errors.Add(node.kind == Node::Kind::kMap ? node.key_place : node.place,
                     PathBelow(field.path, error.field),
                     node.confidential ? "the value is out of bounds" : error.message);
  }
}

// What `id` may have meant, and what is allowed. As with Suggestion, only while it will be shown.
std::string KnownPolicies(const PolicyBook& book, std::string_view id, const Errors& errors) {
  constexpr std::size_t kMostShown = 16;
  if (book.maximum_costs.empty() || errors.size() > Errors::kMaximumShown) return "";
  std::vector<std::string_view> known;
  known.reserve(book.maximum_costs.size());
  for (const auto& [name, cost] : book.maximum_costs) known.push_back(name);
  std::string suggestion = Suggestion(id, known, errors);
  const bool is_cut = known.size() > kMostShown;
  if (is_cut) known.resize(kMostShown);
  return fmt::format("{}; allowed: {}{}", suggestion, fmt::join(known, ", "), is_cut ? ", …" : "");
}

std::optional<Policy> ReadPolicy(const Field& field) {
  PolicySettings settings{.id = field.node.key};
  MapReader policy(field);
  const std::optional<Numbers> numbers = ReadNumbers(policy);
  if (numbers) settings.algorithm = numbers->algorithm;
  policy.Optional("revision", Integer{}, settings.revision);
  policy.Optional("maximum_cost", Integer{}, settings.maximum_cost);
  policy.Optional("maximum_clock_regression", Duration{}, settings.maximum_clock_regression);
  policy.Optional("cleanup_grace", Duration{}, settings.cleanup_grace);
  policy.Optional("scope", Choice<Scope>{kScopeWords}, settings.scope);
  std::string failure_policy;
  policy.Optional("failure_policy", Text{CheckFailurePolicy}, failure_policy);
  if (const auto dedup = policy.Find("dedup")) settings.dedup = ReadDedup(*dedup);
  policy.Finish();

  if (!numbers) return std::nullopt;
  // Against an amount that was not read, only the lower bound of the cost can be judged.
  if (!numbers->has_amount && settings.maximum_cost > 0) settings.maximum_cost.reset();
  auto created = Policy::Create(std::move(settings));
  if (created) return *std::move(created);
  ReportPolicyErrors(field, created.error());
  return std::nullopt;
}

}  // namespace

PolicyBook ReadPolicies(const Field& field) {
  PolicyBook book;
  const auto entries = Entries(field);
  if (!entries) return book;
  if (entries->empty()) field.Report("there must be at least one policy");
  for (const Field& entry : *entries) {
    std::optional<std::int64_t>& maximum_cost = book.maximum_costs[entry.node.key];
    if (!HasValue(entry)) continue;
    const std::optional<Policy> policy = ReadPolicy(entry);
    if (!policy) continue;
    maximum_cost = policy->maximum_cost();
    book.policies.push_back(*policy);
  }
  return book;
}

std::optional<std::string> PolicyId::operator()(const Field& field) const {
  std::optional<std::string> id = Text{}(field);
  if (!id || book.maximum_costs.contains(*id)) return id;
  return Refused(field, fmt::format("{}: there is no such policy{}", Shown(field.node),
                                    KnownPolicies(book, *id, field.errors)));
}

}  // namespace sluice::config
