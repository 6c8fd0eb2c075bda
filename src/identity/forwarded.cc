#include "src/identity/forwarded.h"

#include <array>
#include <cstddef>

#include "src/identity/ascii.h"

namespace sluice::identity {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

// A `name=value` pair; a quoted value keeps its escapes and loses its quotes.
struct Parameter {
  std::string_view name;
  std::string_view value;
};

// The length of a quoted string's inside, `text` starting after its opening quote.
std::size_t FindClosingQuote(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at < text.size() ? at : kNone;
}

// Removes the first parameter of `text` and the semicolon after it.
std::optional<Parameter> TakeParameter(std::string_view& text) {
  const std::size_t equals = text.find('=');
  if (equals == kNone || equals == 0) return std::nullopt;
  Parameter parameter{.name = text.substr(0, equals), .value = {}};
  if (parameter.name.find_first_of(" \t\";,") != kNone) return std::nullopt;
  text.remove_prefix(equals + 1);

  if (text.starts_with('"')) {
    text.remove_prefix(1);
    const std::size_t length = FindClosingQuote(text);
    if (length == kNone) return std::nullopt;
    parameter.value = text.substr(0, length);
    text.remove_prefix(length + 1);
  } else {
    parameter.value = text.substr(0, text.find_first_of(" \t\";,="));
    text.remove_prefix(parameter.value.size());
  }
  text = Trim(text);
  if (text.starts_with(';')) {
    text.remove_prefix(1);
  } else if (!text.empty()) {
    return std::nullopt;
  }
  return parameter;
}

// The node that a value names. Longer than any address with its port is no address.
std::optional<IpAddress> AddressOfValue(std::string_view value) {
  std::array<char, 64> unescaped;
  std::size_t size = 0;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '\\') ++at;
    if (at == value.size() || size == unescaped.size()) return std::nullopt;
    unescaped[size++] = value[at];
  }
  return ParseEndpoint({unescaped.data(), size});
}

}  // namespace

std::string_view TakeLastElement(std::optional<std::string_view>& rest) {
  const std::string_view line = *rest;
  bool quoted = false;
  for (std::size_t at = line.size(); at-- > 0;) {
    if (line[at] == ',' && !quoted) {
      rest = line.substr(0, at);
      return line.substr(at + 1);
    }
    if (line[at] != '"') continue;
    std::size_t backslashes = 0;
    while (backslashes < at && line[at - 1 - backslashes] == '\\') ++backslashes;
    const bool escaped = backslashes % 2 == 1;
    quoted = !quoted || escaped;
  }
  rest.reset();
  return line;
}

std::optional<IpAddress> AddressOfElement(std::string_view element) {
  std::optional<std::string_view> node;
  for (element = Trim(element); !element.empty(); element = Trim(element)) {
    if (element.front() == ';') {  // the grammar allows empty parameters
      element.remove_prefix(1);
      continue;
    }
    const auto parameter = TakeParameter(element);
    if (!parameter) return std::nullopt;
    if (!EqualsIgnoringCase(parameter->name, "for")) continue;
    if (node) return std::nullopt;
    node = parameter->value;
  }
  return node ? AddressOfValue(*node) : std::nullopt;
}

}  // namespace sluice::identity
