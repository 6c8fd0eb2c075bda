#include "src/config/reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/config/scalars.h"

namespace sluice::config {
namespace {

constexpr std::string_view kDurationForm =
    "numbers with the units d, h, m, s, ms, such as 250ms or 1h30m";
constexpr std::string_view kSizeForm = "a number with B, KiB, MiB or GiB, such as 64KiB";

std::string_view NameOf(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
    default:
      return "a single value";
  }
}

std::string Range(const Integer& bounds) {
  if (bounds.most == std::numeric_limits<std::int64_t>::max()) return "decimal digits";
  return fmt::format("{} to {}", bounds.least, bounds.most);
}

std::string Range(const Duration& bounds) {
  if (bounds.most == Milliseconds::max()) return std::string(kDurationForm);
  return fmt::format("{} to {}", FormatDuration(bounds.least), FormatDuration(bounds.most));
}

// A word on why something that looks like a number is none here.
std::string_view NumberHint(std::string_view text) {
  const std::string_view digits =
      text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  if (digits.size() > 1 && digits[0] == '0' && digits.find('.') == std::string_view::npos) {
    return " (octal, hexadecimal and leading zeros are not read)";
  }
  if (digits.find('_') != std::string_view::npos) return " (write it without _)";
  if (digits.find(':') != std::string_view::npos) return " (base 60 is not read)";
  return "";
}

std::string_view SizeHint(std::string_view text) {
  if (text.ends_with("KB") || text.ends_with("kB") || text.ends_with("MB") ||
      text.ends_with("GB")) {
    return " (units count by 1024 and are written with an i)";
  }
  return "";
}

bool Holds(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

void Field::Report(std::string message) const {
  errors.Add(node.place, path, std::move(message));
}

std::nullopt_t Refused(const Field& field, std::string message) {
  field.Report(std::move(message));
  return std::nullopt;
}

std::string Shown(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return std::string(NameOf(node.kind));
  if (node.confidential) return "the value";
  constexpr std::size_t kLongest = 60;
  if (node.text.size() > kLongest || !IsPrintable(node.text)) {
    return fmt::format("a text of {} bytes", node.text.size());
  }
  return fmt::format("\"{}\"", node.text);
}

bool HasValue(const Field& field) {
  if (field.node.kind == Node::Kind::kNull) {
    field.Report("the value is missing; write one, or leave the key out");
  }
  return field.node.kind != Node::Kind::kNull && field.node.kind != Node::Kind::kRefused;
}

std::string Suggestion(std::string_view text, std::span<const std::string_view> known,
                       const Errors& errors) {
  if (errors.size() > Errors::kMaximumShown) return "";
  const auto closest = ClosestTo(text, known);
  return closest ? fmt::format(" (did you mean \"{}\"?)", *closest) : "";
}

std::optional<std::string_view> ScalarText(const Field& field, std::string_view allowed) {
  if (field.node.kind == Node::Kind::kScalar) return field.node.text;
  return Refused(field, fmt::format("{} stands where a single value belongs; allowed: {}",
                                    NameOf(field.node.kind), allowed));
}

std::optional<std::int64_t> Integer::operator()(const Field& field) const {
  const std::string range = Range(*this);
  const auto text = ScalarText(field, range);
  if (!text) return std::nullopt;
  if (field.node.style == Style::kQuoted) {
    return Refused(field,
                   fmt::format("{} is a text, not a whole number{}; allowed: {}", Shown(field.node),
                               ParseInteger(*text) ? " (write it without quotes)" : "", range));
  }
  const auto value = ParseInteger(*text);
  if (!value) {
    return Refused(field, fmt::format("{} is no whole number{}; allowed: {}", Shown(field.node),
                                      NumberHint(*text), range));
  }
  if (*value < least || *value > most) {
    return Refused(field,
                   fmt::format("{} is out of bounds; allowed: {}", Shown(field.node), range));
  }
  return value;
}

std::optional<Milliseconds> Duration::operator()(const Field& field) const {
  const std::string range = Range(*this);
  const auto text = ScalarText(field, range);
  if (!text) return std::nullopt;
  const auto value = ParseDuration(*text);
  if (!value) {
    return Refused(field, fmt::format("{} is no duration{}; allowed: {}", Shown(field.node),
                                      ParseInteger(*text) ? " (the unit is missing)" : "",
                                      most == Milliseconds::max()
                                          ? range
                                          : fmt::format("{}, from {}", kDurationForm, range)));
  }
  if (*value < least || *value > most) {
    return Refused(field,
                   fmt::format("{} is out of bounds; allowed: {}", Shown(field.node), range));
  }
  return value;
}

std::optional<std::int64_t> Size::operator()(const Field& field) const {
  const auto text = ScalarText(field, kSizeForm);
  if (!text) return std::nullopt;
  const auto value = ParseSize(*text);
  if (value) return value;
  return Refused(
      field,
      fmt::format("{} is no size{}; allowed: {}", Shown(field.node),
                  ParseInteger(*text) ? " (the unit is missing)" : SizeHint(*text), kSizeForm));
}

std::optional<bool> Boolean::operator()(const Field& field) const {
  const auto text = ScalarText(field, "true, false");
  if (!text) return std::nullopt;
  if (field.node.style != Style::kQuoted && CoreTypeOf(*text) == CoreType::kBoolean) {
    return text->front() == 't' || text->front() == 'T';
  }
  return Refused(field, fmt::format("{} is no boolean{}; allowed: true, false", Shown(field.node),
                                    field.node.style == Style::kQuoted &&
                                            CoreTypeOf(*text) == CoreType::kBoolean
                                        ? " (write it without quotes)"
                                        : ""));
}

std::optional<std::string> Text::operator()(const Field& field) const {
  const auto text = ScalarText(field, "a text");
  if (!text) return std::nullopt;
  if (field.node.style == Style::kPlain && CoreTypeOf(*text) != CoreType::kText) {
    return Refused(
        field,
        fmt::format("{} is a {}, not a text (put it in quotes to make it one)", Shown(field.node),
                    CoreTypeOf(*text) == CoreType::kNumber ? "number" : "boolean"));
  }
  if (text->empty()) return Refused(field, "the text must not be empty");
  if (!IsPrintable(*text)) return Refused(field, "the text holds control characters");
  const std::optional<std::string> reason = check ? check(*text) : std::nullopt;
  if (!reason) return std::string(*text);
  // A reason that opens with the value itself stands alone.
  if (!reason->starts_with('"')) return Refused(field, Shown(field.node) + ": " + *reason);
  return Refused(field, field.node.confidential ? "the value is refused" : *reason);
}

std::optional<std::vector<Field>> Elements(const Field& list) {
  const bool is_list =
      list.node.kind == Node::Kind::kList || list.node.style == Style::kEnvironment;
  if (!is_list) {
    return Refused(
        list, fmt::format("{} stands where a list belongs; allowed: [a, b]", Shown(list.node)));
  }
  std::vector<Field> elements;
  elements.reserve(list.node.children.size());
  for (const Node& child : list.node.children) {
    elements.push_back({child, PathBelow(list.path, elements.size()), list.errors});
  }
  return elements;
}

std::optional<std::vector<Field>> Entries(const Field& map) {
  if (map.node.kind != Node::Kind::kMap) {
    return Refused(
        map, fmt::format("{} stands where a map belongs; allowed: key: value", Shown(map.node)));
  }
  std::vector<Field> entries;
  entries.reserve(map.node.children.size());
  for (const Node& child : map.node.children) {
    entries.push_back({child, PathBelow(map.path, child.key), map.errors});
  }
  return entries;
}

MapReader::MapReader(const Field& map) : map_(map), readable_(Entries(map).has_value()) {}

std::optional<Field> MapReader::Find(std::string_view key) {
  Skip(key);
  const Node* node = readable_ ? map_.node.Find(key) : nullptr;
  if (node == nullptr) return std::nullopt;
  Field field{*node, PathBelow(map_.path, key), map_.errors};
  if (!HasValue(field)) return std::nullopt;
  return field;
}

std::optional<Field> MapReader::FindRequired(std::string_view key) {
  if (readable_ && !Has(key)) Report(key, "the key is missing");
  return Find(key);
}

void MapReader::Refuse(std::string_view key, std::string why) {
  const Node* node = readable_ ? map_.node.Find(key) : nullptr;
  if (node == nullptr) return;
  refused_.push_back(key);
  map_.errors.Add(node->key_place, PathBelow(map_.path, key), std::move(why));
}

void MapReader::Report(std::string_view key, std::string message) const {
  const Node* node = map_.node.Find(key);
  map_.errors.Add(node != nullptr ? node->place : map_.node.key_place, PathBelow(map_.path, key),
                  std::move(message));
}

void MapReader::Finish() const {
  if (!readable_) return;
  for (const Node& child : map_.node.children) {
    if (Holds(known_, child.key) || Holds(refused_, child.key)) continue;
    std::string message =
        fmt::format("the key is not known{}; allowed: {}",
                    Suggestion(child.key, known_, map_.errors), fmt::join(known_, ", "));
    if (child.key == "<<") message = "merge keys are not supported; write the values out";
    map_.errors.Add(child.key_place, PathBelow(map_.path, child.key), std::move(message));
  }
}

void ReportRepeated(const Field& field, const Field& first) {
  field.Report(fmt::format("{} is already in the list, at {}", Shown(field.node),
                           field.errors.Show(first.node.place)));
}

}  // namespace sluice::config
