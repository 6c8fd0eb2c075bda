#include "src/redis/topology/slot.h"

#include <array>

namespace sluice::redis {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, nothing reflected, start and end with 0.
constexpr std::array<std::uint16_t, 256> MakeTable() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr auto kTable = MakeTable();

std::string_view HashedPart(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

Slot SlotOf(std::string_view key) {
  std::uint32_t crc = 0;
  for (const char c : HashedPart(key)) {
    crc = ((crc << 8U) ^ kTable[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xFFU]) & 0xFFFFU;
  }
  return static_cast<Slot>(crc % kSlots);
}

}  // namespace sluice::redis
