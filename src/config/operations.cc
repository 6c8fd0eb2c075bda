#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "src/config/chapters.h"
#include "src/config/names.h"

namespace sluice::config {
namespace {

// Two matches are equal if no request can tell them apart: the order of methods and the case of the
// host do not count, nor does one trailing slash.
using MatchKey = std::tuple<std::vector<std::string>, std::string, std::string>;
MatchKey KeyOf(const RouteMatch& match) {
  MatchKey key{match.methods, match.host, match.path};
  auto& [methods, host, path] = key;
  std::ranges::sort(methods);
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return key;
}

// What earlier operations have taken, with its place.
struct Taken {
  std::map<std::string, Place> ids;
  std::map<MatchKey, Place> matches;
};

RouteMatch ReadMatch(const Field& field) {
  RouteMatch match;
  MapReader reader(field);
  reader.Optional("methods", ListOf{Text{CheckMethod}}, match.methods);
  reader.Optional("host", Text{CheckHostPattern}, match.host);
  reader.Optional("path", Text{CheckPathPattern}, match.path);
  reader.Finish();
  return match;
}

void ReadId(const Field& id, OperationSettings& operation, Taken& taken) {
  const auto text = Text{CheckId}(id);
  if (!text) return;
  operation.id = *text;
  const auto [first, is_new] = taken.ids.emplace(*text, id.node.place);
  if (!is_new) {
    id.Report(fmt::format("{} is already the id of the operation at {}", Shown(id.node),
                          id.errors.Show(first->second)));
  }
}

// A match that cannot be read is not compared: its defaults are not what was meant.
void ReadUniqueMatch(const Field& field, OperationSettings& operation, Taken& taken) {
  Errors& errors = field.errors;
  const std::size_t before = errors.size();
  operation.match = ReadMatch(field);
  if (errors.size() != before) return;
  const auto [first, is_new] = taken.matches.emplace(KeyOf(operation.match), field.node.place);
  if (!is_new) {
    field.Report(
        fmt::format("the operation at {} matches the same requests, so this one never does",
                    errors.Show(first->second)));
  }
}

void CheckCost(const MapReader& reader, const OperationSettings& operation,
               const PolicyBook& book) {
  std::int64_t most = kMaximumAmount;
  std::string_view strictest;
  for (const std::string& id : operation.policies) {
    const auto found = book.maximum_costs.find(id);
    if (found == book.maximum_costs.end() || !found->second || *found->second >= most) continue;
    most = *found->second;
    strictest = id;
  }
  if (operation.cost <= most) return;
  reader.Report("cost",
                fmt::format("the cost exceeds the maximum_cost of policy {}; allowed: 1 to {}",
                            strictest, most));
}

void ReadCharged(MapReader& reader, OperationSettings& operation, const PolicyBook& book) {
  if (reader.Required("policies", ListOf{PolicyId{book}}, operation.policies) &&
      operation.policies.size() > Plan::kMaximumPolicies) {
    reader.Report("policies", fmt::format("{} policies are too many; allowed: 1 to {}",
                                          operation.policies.size(), Plan::kMaximumPolicies));
  }
  if (reader.Optional("cost", Integer{1, kMaximumAmount}, operation.cost)) {
    CheckCost(reader, operation, book);
  }
  reader.Optional("subject", ListOf{Choice<IdentityKind>{kSourceWords}}, operation.sources);
}

OperationSettings ReadOperation(const Field& field, const PolicyBook& book, Taken& taken) {
  OperationSettings operation;
  MapReader reader(field);
  if (const auto id = reader.FindRequired("id")) ReadId(*id, operation, taken);
  if (const auto match = reader.FindRequired("match")) ReadUniqueMatch(*match, operation, taken);
  reader.Optional("exempt", Boolean{}, operation.exempt);
  if (operation.exempt) {
    for (const std::string_view key : {"policies", "cost", "subject"}) {
      reader.Refuse(key, "an exempt operation counts nothing, so it takes no such key");
    }
  } else {
    ReadCharged(reader, operation, book);
  }
  reader.Finish();
  return operation;
}

}  // namespace

std::vector<OperationSettings> ReadOperations(const Field& field, const PolicyBook& book) {
  std::vector<OperationSettings> operations;
  Taken taken;
  const auto elements = Elements(field);
  if (!elements) return operations;
  for (const Field& element : *elements) {
    if (HasValue(element)) operations.push_back(ReadOperation(element, book, taken));
  }
  return operations;
}

}  // namespace sluice::config
