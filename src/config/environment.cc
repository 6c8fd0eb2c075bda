#include "src/config/environment.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/config/file.h"

namespace sluice::config {
namespace {

constexpr std::string_view kPrefix = "SLUICE_";
constexpr std::string_view kFileSuffix = "_file";
// Keys that name files themselves, so that a file can be read again later.
constexpr std::string_view kFileKeys[] = {
    "redis__password_file",
    "redis__tls__ca_file",
    "redis__tls__certificate_file",
    "redis__tls__key_file",
    "redis__sentinel__password_file",
    "redis__sentinel__tls__ca_file",
    "redis__sentinel__tls__certificate_file",
    "redis__sentinel__tls__key_file",
};

struct Variable {
  std::string name;
  std::string value;
  std::vector<std::string> levels{};  // in small letters
  bool names_file = false;
};

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

// A key as a variable can spell it.
std::string Spelling(std::string_view key) {
  std::string spelling(key);
  for (char& c : spelling) c = c == '-' || c == '.' ? '_' : Lower(c);
  return spelling;
}

// "http__listen" -> {"http", "listen"}; none if a level is empty.
std::optional<std::vector<std::string>> SplitLevels(std::string_view path) {
  std::vector<std::string> levels;
  while (true) {
    const std::size_t end = path.find("__");
    const std::string_view level = path.substr(0, end);
    if (level.empty() || level.starts_with('_')) return std::nullopt;
    levels.emplace_back(level);
    if (end == std::string_view::npos) return levels;
    path.remove_prefix(end + 2);
  }
}

std::optional<Variable> ParseVariable(std::string_view definition, Errors& errors) {
  const std::size_t equals = definition.find('=');
  if (!definition.starts_with(kPrefix) || equals == std::string_view::npos) return std::nullopt;
  Variable variable{.name = std::string(definition.substr(0, equals)),
                    .value = std::string(definition.substr(equals + 1))};
  const std::string path = Spelling(std::string_view(variable.name).substr(kPrefix.size()));
  auto levels = SplitLevels(path);
  if (!levels || !IsPrintable(variable.name)) {
    errors.Add({variable.name}, "", "the name is malformed; allowed: SLUICE_KEY__KEY");
    return std::nullopt;
  }
  variable.levels = *std::move(levels);
  std::string& last = variable.levels.back();
  if (std::ranges::find(kFileKeys, path) != std::end(kFileKeys)) return variable;
  // "FILE" as a level of its own is a key: SLUICE_PSEUDONYM__KEYS__1__FILE.
  if (last.ends_with(kFileSuffix) && last.size() > kFileSuffix.size()) {
    last.resize(last.size() - kFileSuffix.size());
    variable.names_file = true;
  }
  return variable;
}

void SetPlaces(Node& node, const Place& place) {
  node.place = place;
  node.key_place = place;
  for (Node& child : node.children) SetPlaces(child, place);
}

void SetConfidential(Node& node) {
  node.confidential = true;
  for (Node& child : node.children) SetConfidential(child);
}

Node ScalarNode(std::string_view text) {
  return {.kind = Node::Kind::kScalar, .style = Style::kEnvironment, .text = std::string(text)};
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Node ScalarOrList(std::string_view text) {
  Node node = ScalarNode(text);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    node.children.push_back(ScalarNode(Trimmed(text.substr(0, comma))));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return node;
}

bool IsFlow(std::string_view text) {
  return (text.starts_with('{') && text.ends_with('}')) ||
         (text.starts_with('[') && text.ends_with(']'));
}

Node ParseFlow(std::string_view text, const Place& place, Errors& errors) {
  Errors inner("");
  Node node = ParseDocument(text, inner);
  for (const Error& error : inner.Sorted()) {
    errors.Add(place, error.key,
               fmt::format("in the value, {}: {}", error.place.substr(1), error.message));
  }
  return node;
}

std::optional<std::string> ValueOf(const Variable& variable, Errors& errors) {
  if (!variable.names_file) return variable.value;
  auto bytes = ReadFile(variable.value, kMaximumDocumentBytes);
  if (!bytes) {
    errors.Add({variable.name}, "",
               fmt::format("cannot read the file it names: {}", bytes.error()));
    return std::nullopt;
  }
  if (bytes->ends_with('\n')) bytes->pop_back();
  if (bytes->ends_with('\r')) bytes->pop_back();
  return *std::move(bytes);
}

Node NodeOf(const Variable& variable, Errors& errors) {
  const std::optional<std::string> value = ValueOf(variable, errors);
  if (!value) return {.kind = Node::Kind::kRefused};
  const Place place{variable.name};
  Node node = IsFlow(*value) ? ParseFlow(*value, place, errors) : ScalarOrList(*value);
  SetPlaces(node, place);
  if (variable.names_file) SetConfidential(node);
  return node;
}

// Walks from the root to where a variable points, making maps on its way.
class Walk {
 public:
  Walk(const Variable& variable, Errors& errors) : variable_(variable), errors_(errors) {}

  // Null, and reported, if there is no such place.
  Node* From(Node& root) {
    Node* node = &root;
    for (const std::string& level : variable_.levels) {
      if (node == nullptr || node->kind == Node::Kind::kRefused) return nullptr;
      node = node->kind == Node::Kind::kList ? Element(*node, level) : Member(*node, level);
    }
    return node;
  }

 private:
  Node* Refuse(std::string message) {
    errors_.Add({variable_.name}, path_, std::move(message));
    return nullptr;
  }

  Node* Element(Node& list, std::string_view level) {
    std::size_t index = list.children.size();
    const auto read = std::from_chars(level.data(), level.data() + level.size(), index);
    if (read.ptr != level.data() + level.size() || index >= list.children.size()) {
      return Refuse(fmt::format("\"{}\" is no element of this list; allowed: an index below {}",
                                level, list.children.size()));
    }
    path_ = PathBelow(path_, index);
    return &list.children[index];
  }

  Node* Member(Node& map, std::string_view level) {
    const Place place{variable_.name};
    if (map.kind == Node::Kind::kNull) {
      map.kind = Node::Kind::kMap;
      map.place = place;
    }
    if (map.kind != Node::Kind::kMap)
      return Refuse("this is no map, so nothing below it can be set");
    Node* found = nullptr;
    for (Node& child : map.children) {
      if (Spelling(child.key) != level) continue;
      if (found != nullptr && found->key != child.key) {
        return Refuse(fmt::format("\"{}\" may be {} or {}", level, found->key, child.key));
      }
      if (found == nullptr) found = &child;
    }
    if (found == nullptr) {
      found = &map.children.emplace_back(
          Node{.place = place, .key = std::string(level), .key_place = place});
    }
    path_ = PathBelow(path_, found->key);
    return found;
  }

  const Variable& variable_;
  Errors& errors_;
  std::string path_;
};

void Apply(const Variable& variable, Node& root, Errors& errors) {
  Node* target = Walk(variable, errors).From(root);
  if (target == nullptr) return;
  Node value = NodeOf(variable, errors);
  value.key = std::move(target->key);
  *target = std::move(value);
}

}  // namespace

void ApplyEnvironment(std::span<const std::string> environment, Node& root, Errors& errors) {
  // By path, a map before what is below it: SLUICE_HTTP={…} and SLUICE_HTTP__LISTEN go together.
  std::map<std::vector<std::string>, Variable> variables;
  for (const std::string& definition : environment) {
    std::optional<Variable> variable = ParseVariable(definition, errors);
    if (!variable) continue;
    const auto [first, is_new] = variables.emplace(variable->levels, *variable);
    if (!is_new) {
      errors.Add({variable->name}, "", fmt::format("{} sets the same key", first->second.name));
    }
  }
  for (const auto& [levels, variable] : variables) Apply(variable, root, errors);
}

}  // namespace sluice::config
