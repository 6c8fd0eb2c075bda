// A strict reader of structured-field lists for tests: RFC 9651, 4.2, as far as String items with
// Integer parameters go. Anything else is an error, as a strict client would have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::edge {

struct ListItem {
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> parameters;

  [[nodiscard]] std::optional<std::int64_t> Get(std::string_view key) const {
    for (const auto& [name_of, value] : parameters) {
      if (name_of == key) return value;
    }
    return std::nullopt;
  }
};

class ListReader {
 public:
  /// The items, or nothing if `text` is no such list.
  static std::optional<std::vector<ListItem>> Read(std::string_view text) {
    ListReader reader(text);
    std::vector<ListItem> items;
    do {
      auto item = reader.Item();
      if (!item) return std::nullopt;
      items.push_back(*std::move(item));
    } while (reader.Separator());
    if (!reader.rest_.empty()) return std::nullopt;
    return items;
  }

 private:
  explicit ListReader(std::string_view text) : rest_(text) {}

  bool Skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool Separator() {
    while (Skip(' ') || Skip('\t')) {
    }
    if (!Skip(',')) return false;
    while (Skip(' ') || Skip('\t')) {
    }
    return true;
  }

  std::optional<std::string> String() {
    if (!Skip('"')) return std::nullopt;
    std::string out;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return out;
      if (c < ' ' || c > '~') return std::nullopt;
      if (c == '\\') {
        if (!rest_.starts_with('"') && !rest_.starts_with('\\')) return std::nullopt;
        out += rest_.front();
        rest_.remove_prefix(1);
      } else {
        out += c;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> Key() {
    std::string out;
    while (!rest_.empty()) {
      const char c = rest_.front();
      const bool first = (c >= 'a' && c <= 'z') || c == '*';
      const bool later = first || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
      if (!(out.empty() ? first : later)) break;
      out += c;
      rest_.remove_prefix(1);
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  std::optional<std::int64_t> Integer() {
    const bool negative = Skip('-');
    std::size_t digits = 0;
    std::int64_t value = 0;
    for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; ++digits) {
      if (digits == 15) return std::nullopt;
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
    return negative ? -value : value;
  }

  std::optional<ListItem> Item() {
    auto name = String();
    if (!name) return std::nullopt;
    ListItem item{.name = *std::move(name), .parameters = {}};
    while (Skip(';')) {
      while (Skip(' ')) {
      }
      auto key = Key();
      if (!key || !Skip('=')) return std::nullopt;
      const auto value = Integer();
      if (!value || item.Get(*key)) return std::nullopt;
      item.parameters.emplace_back(*std::move(key), *value);
    }
    return item;
  }

  std::string_view rest_;
};

}  // namespace sluice::edge
