// What HTTP field syntax needs of ASCII; locales never matter here.
#pragma once

#include <algorithm>
#include <string_view>

namespace sluice::identity {

/// Equal but for the case of ASCII letters, as header names and parameter names are compared.
[[nodiscard]] inline bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Without the spaces and tabs around it (RFC 9110's OWS).
[[nodiscard]] inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace sluice::identity
