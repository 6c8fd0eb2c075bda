// Any bytes as a request target, and as a path pattern: never a crash, one spelling for each path.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/edge/path.h"
#include "src/edge/patterns.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckTarget(std::string_view text) {
  std::string scratch;
  const auto target = sluice::edge::NormaliseTarget(text, scratch);
  if (!target) return;
  const std::string_view path = target->path;
  Require(path == "*" || path.starts_with('/'));
  Require(path == "/" || !path.ends_with('/'));
  Require(path.find("//") == std::string_view::npos);
  for (const std::string_view dots : {"/.", "/.."}) {
    Require(!path.ends_with(dots));
    Require(path.find(std::string{dots} + '/') == std::string_view::npos);
  }
  std::string again_scratch;
  const auto again = sluice::edge::NormaliseTarget(path, again_scratch);
  Require(again.has_value() && again->path == path);

  // A literal pattern of the same text covers exactly what it says.
  if (!text.starts_with('/')) return;
  const auto pattern = sluice::edge::PathPattern::Parse(text);
  Require(!pattern || text.find_first_of("{*") != std::string_view::npos || pattern->Matches(path));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckTarget(text);
  (void)sluice::edge::IsAuthorityForm(text);
  if (const auto host = sluice::edge::HostPattern::Parse(text)) {
    // A name matches itself; what stands for names below it does not.
    Require(host->Matches(sluice::edge::HostPattern::NameOf(text)) || text.starts_with("*."));
  }
  return 0;
}
