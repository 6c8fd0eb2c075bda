#include <utility>

#include "sluice/limiter.h"

namespace sluice {

EvaluationId EvaluationId::FromCaller(std::string text) {
  EvaluationId id;
  id.text_ = std::move(text);
  return id;
}

EvaluationId EvaluationId::FromBytes(const std::array<std::uint8_t, 16>& bytes) {
  EvaluationId id;
  id.bytes_ = bytes;
  return id;
}

// Crockford's base32, most significant bits first: 26 characters, the first of which holds 3 bits
// (the ULID specification).
std::string EvaluationId::ToString() const {
  if (is_from_caller()) return text_;
  static constexpr char kAlphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::string text(26, '\0');
  std::size_t at = 0;
  std::uint32_t bits = 0;
  int held = 2;  // 128 bits are 26 * 5 - 2: two leading zeros
  for (const std::uint8_t byte : bytes_) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 5; held -= 5) text[at++] = kAlphabet[bits >> (held - 5) & 31];
  }
  return text;
}

}  // namespace sluice
