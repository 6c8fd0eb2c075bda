#include "src/edge/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace sluice::edge {

void AppendJsonString(std::string_view text, std::string& out) {
  // Nearly everything written here is our own words.
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    const nlohmann::json string = text;
    out += string.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

}  // namespace sluice::edge
