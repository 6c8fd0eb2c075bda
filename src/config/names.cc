#include "src/config/names.h"

#include <algorithm>

namespace sluice::config {
namespace {

constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";

bool IsIn(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}
bool IsLetter(char c) {
  return IsIn(kCapitals, c) || IsIn(kSmall, c);
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return IsLetter(c) || IsIn(kDigits, c) || IsIn("!#$%&'*+-.^_`|~", c);
  });
}

}  // namespace

std::optional<std::string> CheckId(std::string_view id) {
  const bool is_id =
      !id.empty() && id.size() <= 64 && IsLetter(id.front()) && std::ranges::all_of(id, [](char c) {
        return IsLetter(c) || IsIn(kDigits, c) || IsIn("._-", c);
      });
  if (is_id) return std::nullopt;
  return "it is no id; allowed: a letter, then up to 63 of A-Z a-z 0-9 . _ -";
}

std::optional<std::string> CheckMethod(std::string_view method) {
  if (!IsToken(method)) return "it is no method; allowed: a token such as GET";
  if (std::ranges::none_of(method, [](char c) { return IsIn(kSmall, c); })) return std::nullopt;
  return "methods are case-sensitive; write it in capitals";
}

std::optional<std::string> CheckFieldName(std::string_view name) {
  if (IsToken(name)) return std::nullopt;
  return "it is no name of a header field; allowed: letters, digits and !#$%&'*+-.^_`|~";
}

}  // namespace sluice::config
