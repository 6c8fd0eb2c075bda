// Sets of bytes that are looked up once per byte of every request.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::http {

class CharacterSet {
 public:
  constexpr explicit CharacterSet(std::string_view members) {
    for (const char c : members) contains_[static_cast<unsigned char>(c)] = true;
  }
  [[nodiscard]] constexpr bool Contains(char c) const {
    return contains_[static_cast<unsigned char>(c)];
  }
  [[nodiscard]] constexpr bool ContainsAll(std::string_view text) const {
    return std::ranges::all_of(text, [this](char c) { return Contains(c); });
  }
  [[nodiscard]] constexpr bool ContainsAny(std::string_view text) const {
    return std::ranges::any_of(text, [this](char c) { return Contains(c); });
  }

 private:
  std::array<bool, 256> contains_{};
};

/// tchar of RFC 9110, section 5.6.2: what methods and field names are made of.
inline constexpr CharacterSet kTokenCharacters{
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"};

/// uri-host [":" port] of RFC 9110, section 7.2, without the comma that could join two hosts.
inline constexpr CharacterSet kHostCharacters{
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+;=%:[]"};

inline constexpr CharacterSet kDigits{"0123456789"};
inline constexpr CharacterSet kWhitespace{" \t"};

}  // namespace sluice::http
