#include "src/redis/topology/redirect.h"

#include <charconv>
#include <string>

namespace sluice::redis {
namespace {

std::optional<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The next word of `text`, which is taken from it.
std::string_view TakeWord(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \r\n"));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return word;
}

}  // namespace

std::optional<Redirect> ReadRedirect(std::string_view error) {
  const std::string_view token = TakeWord(error);
  if (token == "TRYAGAIN") return Redirect{};
  if (token != "MOVED" && token != "ASK") return std::nullopt;
  const auto slot = Number(TakeWord(error));
  const std::string_view address = TakeWord(error);
  const std::size_t colon = address.rfind(':');
  if (!slot || *slot < 0 || *slot >= kSlots || colon == std::string_view::npos) return Redirect{};
  const std::string_view host = address.substr(0, colon);
  const auto port = Number(address.substr(colon + 1));
  if (!port || *port < 1 || *port > 65'535 || host == "?") return Redirect{};
  return Redirect{.kind = token == "MOVED" ? Redirect::Kind::kMoved : Redirect::Kind::kAsk,
                  .slot = static_cast<Slot>(*slot),
                  .to = {.host = std::string(host), .port = std::to_string(*port)}};
}

}  // namespace sluice::redis
