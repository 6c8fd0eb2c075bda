// From a raw identity to a pseudonym: HMAC-SHA-256 with a versioned key.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "sluice/raw_identity.h"
#include "sluice/subject.h"

namespace sluice {

/// A secret for pseudonyms. Move-only, wiped when it goes, never printed.
class PseudonymKey {
 public:
  static constexpr std::size_t kMinimumBytes = 32;

  /// `bytes` of at least kMinimumBytes, else one sentence on what is wrong.
  [[nodiscard]] static std::expected<PseudonymKey, std::string> FromBytes(std::string bytes);
  /// A fresh key from the operating system's random source.
  [[nodiscard]] static PseudonymKey Random();

  PseudonymKey(PseudonymKey&&) noexcept;
  PseudonymKey& operator=(PseudonymKey&&) noexcept;
  PseudonymKey(const PseudonymKey&) = delete;
  PseudonymKey& operator=(const PseudonymKey&) = delete;
  ~PseudonymKey();

 private:
  friend class Pseudonymizer;
  explicit PseudonymKey(std::string bytes);
  std::string bytes_;
};

/// Turns raw identities into Subjects with one key.
///
/// digest = the first 128 bits of HMAC-SHA-256 over a length-framed encoding of
/// (purpose, kind, canonical identity, operation id or empty). RFC 2104 for HMAC and its
/// truncation.
///
/// Thread safety: may be shared between threads.
class Pseudonymizer {
 public:
  /// `version` names the key in every pseudonym ("v1:…"); 1 .. 2^31 - 1.
  Pseudonymizer(std::uint32_t version, const PseudonymKey& key);
  ~Pseudonymizer();
  Pseudonymizer(const Pseudonymizer&) = delete;
  Pseudonymizer& operator=(const Pseudonymizer&) = delete;

  /// The subject that `identity`'s value of `kind` names. `operation` empty: `operation` digest
  /// equals `client`. The identity is taken and ends here. Precondition: `identity.Has(kind)`.
  [[nodiscard]] Subject SubjectOf(RawIdentity identity, IdentityKind kind,
                                  std::string_view operation) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace sluice
