// Pseudonyms: what engines, logs and stores may know of a client.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sluice {

/// 128 bits of an HMAC-SHA-256. Says nothing about the identity it was made from without the key.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

/// base64url without padding, 22 characters.
[[nodiscard]] std::string ToBase64Url(const Digest& digest);

/// Whose budget an evaluation takes from. Everything of one client shares `client`, which decides
/// the shard or hash slot; `operation` tells that client's operations apart.
/// Made by a Pseudonymizer.
struct Subject {
  std::uint32_t key_version = 0;
  Digest client{};
  /// Equal to `client` where the evaluation has no operation.
  Digest operation{};
  friend bool operator==(const Subject&, const Subject&) = default;
};

/// "v<key version>:<22 characters>", the client's pseudonym as stores and logs write it.
[[nodiscard]] std::string ClientPseudonym(const Subject& subject);

}  // namespace sluice
