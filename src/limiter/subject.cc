#include "sluice/subject.h"

namespace sluice {

std::string ToBase64Url(const Digest& digest) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text(22, '\0');
  std::size_t at = 0;
  std::uint32_t bits = 0;
  int held = 0;
  for (const std::uint8_t byte : digest.bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) text[at++] = kAlphabet[bits >> (held - 6) & 63];
  }
  text[at] = kAlphabet[bits << (6 - held) & 63];
  return text;
}

std::string ClientPseudonym(const Subject& subject) {
  return "v" + std::to_string(subject.key_version) + ":" + ToBase64Url(subject.client);
}

}  // namespace sluice
