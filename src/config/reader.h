// Strict reading of a document: rules say what a value must be, a MapReader which keys there are.
//
//   MapReader http(field);
//   http.Optional("workers", Integer{0, 256}, settings.workers);
//   http.Required("listen", Listen{}, settings.listen);
//   http.Finish();                                     // every other key is an error
//
// A rule is a function from a Field to an optional value. Where it gives none, it has reported why.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sluice/clock.h"

#include "src/config/document.h"

namespace sluice::config {

/// A value of the document with the key path that leads to it ("operations[2].match.path").
struct Field {
  const Node& node;
  std::string path;
  Errors& errors;

  void Report(std::string message) const;
};

/// The value as a message may show it: in quotes, cut, printable; "the value" where it is
/// confidential. This is the only place where messages take values from, so nothing confidential
/// leaves by another.
[[nodiscard]] std::string Shown(const Node& node);

/// Whether there is something to read; reports an empty value.
[[nodiscard]] bool HasValue(const Field& field);

/// " (did you mean "x"?)" where a candidate is close, else nothing. Nothing either once there are
/// more errors than will be shown: a long list of slips must not cost a long time.
[[nodiscard]] std::string Suggestion(std::string_view text, std::span<const std::string_view> known,
                                     const Errors& errors);

/// A whole number without quotes, in decimal. Without bounds here, the caller checks them.
struct Integer {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] std::optional<std::int64_t> operator()(const Field& field) const;
};

struct Duration {
  Milliseconds least = Milliseconds::min();
  Milliseconds most = Milliseconds::max();
  [[nodiscard]] std::optional<Milliseconds> operator()(const Field& field) const;
};

/// A number of bytes. Without bounds: the caller checks them.
struct Size {
  [[nodiscard]] std::optional<std::int64_t> operator()(const Field& field) const;
};

/// true or false, without quotes.
struct Boolean {
  [[nodiscard]] std::optional<bool> operator()(const Field& field) const;
};

/// A printable, not empty text that passes `check`, which gives one sentence on why it does not.
struct Text {
  std::function<std::optional<std::string>(std::string_view)> check;
  [[nodiscard]] std::optional<std::string> operator()(const Field& field) const;
};

/// One of a few words.
template <class Value>
struct Choice {
  std::span<const std::pair<std::string_view, Value>> words;
  [[nodiscard]] std::optional<Value> operator()(const Field& field) const;
};

/// A list whose values all follow `rule`, none of them twice. A variable may separate them by
/// commas.
template <class Rule>
struct ListOf {
  Rule rule;
  bool may_be_empty = false;
  template <class Value = typename std::invoke_result_t<Rule, const Field&>::value_type>
  [[nodiscard]] std::optional<std::vector<Value>> operator()(const Field& field) const;
};
template <class Rule>
ListOf(Rule) -> ListOf<Rule>;
template <class Rule>
ListOf(Rule, bool) -> ListOf<Rule>;

/// The elements of a list, or the entries of a map, as fields. Reports another kind of value.
[[nodiscard]] std::optional<std::vector<Field>> Elements(const Field& list);
[[nodiscard]] std::optional<std::vector<Field>> Entries(const Field& map);

/// Reads the keys of one map and reports those that nobody asked for.
class MapReader {
 public:
  /// Reports a value that is no map, and reads it as an empty one.
  explicit MapReader(const Field& map);

  /// Reads `key` into `target` if it is there. Returns whether it was read.
  template <class Rule, class Target>
  bool Optional(std::string_view key, const Rule& rule, Target& target) {
    const std::optional<Field> field = Find(key);
    return field && Read(*field, rule, target);
  }
  /// The same, and reports a key that is not there.
  template <class Rule, class Target>
  bool Required(std::string_view key, const Rule& rule, Target& target) {
    const std::optional<Field> field = FindRequired(key);
    return field && Read(*field, rule, target);
  }
  /// The value under `key`; none if it is missing or empty, the latter reported.
  [[nodiscard]] std::optional<Field> Find(std::string_view key);
  [[nodiscard]] std::optional<Field> FindRequired(std::string_view key);

  [[nodiscard]] bool Has(std::string_view key) const { return map_.node.Find(key) != nullptr; }
  /// Reports `key`, if it is there, with `why`.
  void Refuse(std::string_view key, std::string why);
  /// Counts `key` as known without reading it.
  void Skip(std::string_view key) { known_.push_back(key); }
  /// Reports something about the value of `key`, at its place; the map's own key if it is not
  /// there.
  void Report(std::string_view key, std::string message) const;
  /// Reports every key that none of the calls above has named.
  void Finish() const;

 private:
  template <class Rule, class Target>
  static bool Read(const Field& field, const Rule& rule, Target& target) {
    auto value = rule(field);
    if (!value) return false;
    target = static_cast<Target>(*std::move(value));
    return true;
  }

  Field map_;
  bool readable_;
  std::vector<std::string_view> known_;    // the callers' literals
  std::vector<std::string_view> refused_;  // likewise; already reported
};

// Reports and returns none: the end of every rule that refuses.
[[nodiscard]] std::nullopt_t Refused(const Field& field, std::string message);
// The text of a scalar for a rule that allows `allowed`; reports lists and maps.
[[nodiscard]] std::optional<std::string_view> ScalarText(const Field& field,
                                                         std::string_view allowed);
void ReportRepeated(const Field& field, const Field& first);

template <class Value>
std::optional<Value> Choice<Value>::operator()(const Field& field) const {
  std::string allowed;
  for (const auto& [word, value] : words) (allowed += allowed.empty() ? "" : ", ") += word;
  const std::optional<std::string_view> text = ScalarText(field, allowed);
  if (!text) return std::nullopt;
  for (const auto& [word, value] : words) {
    if (*text == word) return value;
  }
  return Refused(field, Shown(field.node) + " is not known; allowed: " + allowed);
}

template <class Rule>
template <class Value>
std::optional<std::vector<Value>> ListOf<Rule>::operator()(const Field& field) const {
  const auto elements = Elements(field);
  if (!elements) return std::nullopt;
  if (elements->empty() && !may_be_empty) return Refused(field, "the list must not be empty");
  bool all_read = true;
  std::vector<Value> values;
  std::unordered_map<std::string_view, const Field*> seen;
  for (const Field& element : *elements) {
    std::optional<Value> value = HasValue(element) ? rule(element) : std::nullopt;
    if (!value) {
      all_read = false;
      continue;
    }
    const auto [first, is_new] = seen.emplace(element.node.text, &element);
    if (!is_new) ReportRepeated(element, *first->second);
    values.push_back(*std::move(value));
  }
  if (!all_read) return std::nullopt;
  return values;
}

}  // namespace sluice::config
