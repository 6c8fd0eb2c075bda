// HMAC-SHA-256 (RFC 2104) twice for each request, so each must be cheap.
//
// The key's two padded blocks are hashed once, together with what all messages begin with; every
// HMAC starts from copies of those two states. The copies are plain values on the stack: threads
// share nothing, nothing is allocated and no algorithm is fetched. The client's and the operation's
// message differ in their last piece only and share the state before it.
//
// SHA256_CTX is OpenSSL's low-level interface, deprecated since 3.0 in favour of EVP and still part
// of libcrypto. On an x86-64 with SHA instructions two HMACs take 0.33 us with it, 0.48 us with
// copies of EVP_MD_CTX, 0.6 us with a re-initialised EVP_MAC_CTX (both need one context for each
// thread) and 1.4 us with a duplicated one. Should the interface go, EVP_MD_CTX replaces it within
// `Sha256` below and nothing else changes.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "sluice/pseudonymizer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <unistd.h>

#include "src/identity/framing.h"

namespace sluice {
namespace {

// What this HMAC is for: the same key and identity give other digests under another purpose.
constexpr std::string_view kPurpose = "sluice-subject";

constexpr unsigned char kInnerPad = 0x36;
constexpr unsigned char kOuterPad = 0x5c;

using Sha256Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

// A running SHA-256, copied by value. The functions below fail for no input.
class Sha256 {
 public:
  Sha256() { SHA256_Init(&context_); }
  void operator()(std::string_view bytes) { SHA256_Update(&context_, bytes.data(), bytes.size()); }
  template <std::size_t kSize>
  void operator()(const std::array<unsigned char, kSize>& bytes) {
    SHA256_Update(&context_, bytes.data(), bytes.size());
  }
  [[nodiscard]] Sha256Digest Finish() {
    Sha256Digest digest;
    SHA256_Final(digest.data(), &context_);
    return digest;
  }

 private:
  SHA256_CTX context_;
};

}  // namespace

PseudonymKey::PseudonymKey(std::string bytes) : bytes_(std::move(bytes)) {}

std::expected<PseudonymKey, std::string> PseudonymKey::FromBytes(std::string bytes) {
  if (bytes.size() >= kMinimumBytes) return PseudonymKey(std::move(bytes));
  std::string message = "a pseudonym key has at least " + std::to_string(kMinimumBytes) +
                        " bytes, this one has " + std::to_string(bytes.size());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return std::unexpected(std::move(message));
}

PseudonymKey PseudonymKey::Random() {
  std::string bytes(kMinimumBytes, '\0');
  // Only fails where the kernel has no random source; there is no safe way on without one.
  if (getentropy(bytes.data(), bytes.size()) != 0) std::abort();
  return PseudonymKey(std::move(bytes));
}

// A string as long as a key is never stored within the object, so moving one leaves no copy behind.
PseudonymKey::PseudonymKey(PseudonymKey&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

PseudonymKey& PseudonymKey::operator=(PseudonymKey&& other) noexcept {
  if (this != &other) {
    OPENSSL_cleanse(bytes_.data(), bytes_.size());
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

PseudonymKey::~PseudonymKey() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

struct Pseudonymizer::State {
  std::uint32_t version;
  Sha256 message;  // after the key's inner pad and what every message begins with
  Sha256 outer;    // after the key's outer pad

  ~State() {
    // With these one can make pseudonyms, as with the key itself.
    OPENSSL_cleanse(&message, sizeof(message));
    OPENSSL_cleanse(&outer, sizeof(outer));
  }

  [[nodiscard]] Digest Finish(Sha256& whole_message) const {
    Sha256 hmac = outer;
    hmac(whole_message.Finish());
    const Sha256Digest whole = hmac.Finish();
    Digest digest;
    std::copy_n(whole.begin(), digest.bytes.size(), digest.bytes.begin());
    return digest;
  }
};

Pseudonymizer::Pseudonymizer(std::uint32_t version, const PseudonymKey& key) {
  if (version == 0 || version > 0x7fffffff) std::abort();
  auto state = std::make_unique<State>(version);

  std::array<unsigned char, SHA256_CBLOCK> block{};
  if (key.bytes_.size() <= block.size()) {
    std::ranges::copy(key.bytes_, block.begin());
  } else {  // RFC 2104: a key longer than a block is hashed first
    SHA256(reinterpret_cast<const unsigned char*>(key.bytes_.data()), key.bytes_.size(),
           block.data());
  }
  for (unsigned char& byte : block) byte ^= kInnerPad;
  state->message(block);
  for (unsigned char& byte : block) byte ^= kInnerPad ^ kOuterPad;
  state->outer(block);
  OPENSSL_cleanse(block.data(), block.size());

  identity::FrameCount(4, state->message);
  identity::FramePiece(kPurpose, state->message);
  state_ = std::move(state);
}

Pseudonymizer::~Pseudonymizer() = default;

Subject Pseudonymizer::SubjectOf(RawIdentity identity, IdentityKind kind,
                                 std::string_view operation) const {
  // A missing value would make one subject of all clients that lack it.
  if (!identity.Has(kind)) std::abort();
  const std::string& value = identity.values_[static_cast<std::size_t>(kind)];

  Sha256 message = state_->message;
  identity::FramePiece(Name(kind), message);
  identity::FramePiece(value, message);
  Sha256 operation_message = message;

  identity::FramePiece({}, message);
  Subject subject{
      .key_version = state_->version, .client = state_->Finish(message), .operation = {}};
  if (operation.empty()) {
    subject.operation = subject.client;
  } else {
    identity::FramePiece(operation, operation_message);
    subject.operation = state_->Finish(operation_message);
  }
  return subject;
}

}  // namespace sluice
