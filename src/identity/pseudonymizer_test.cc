#include "sluice/pseudonymizer.h"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "src/identity/allocation_probe.h"

namespace sluice {
namespace {

std::string CountingBytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

PseudonymKey Key(std::string bytes) {
  return PseudonymKey::FromBytes(std::move(bytes)).value();
}

Subject SubjectOf(const Pseudonymizer& pseudonymizer, IdentityKind kind, std::string value,
                  std::string_view operation = {}) {
  RawIdentity identity;
  identity.Add(kind, std::move(value));
  return pseudonymizer.SubjectOf(std::move(identity), kind, operation);
}

std::string Hex(const Digest& digest) {
  std::string hex;
  for (const std::uint8_t byte : digest.bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

// The expected values were made by `openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY` over the
// framed message that a script wrote, cut to 32 digits. A change here changes every key in every
// store.
TEST(Pseudonymizer, DigestsAreThoseOfTheOpensslTool) {
  using namespace std::string_literals;
  struct Row {
    std::string key;
    IdentityKind kind;
    std::string value;
    std::string_view operation;
    std::string_view digest;
  };
  const std::string key32 = CountingBytes(32);
  const std::string key64(64, '\x0b');    // exactly a block of SHA-256
  const std::string key131(131, '\xaa');  // longer than a block: hashed first (RFC 4231, case 6)
  const Row rows[] = {
      {key32, IdentityKind::kOpaque, "alice", "", "dc273a93617fbfacd8b617441216bbd1"},
      {key32, IdentityKind::kOpaque, "alice", "login", "24ae50a6e9487e78d032127966de6f3e"},
      {key32, IdentityKind::kPrincipal, "alice", "", "4c14b06e42dfe43ddf94841139c70718"},
      {key32, IdentityKind::kClientIp, "\x04\xcb\x00\x71\x09\x20"s, "",
       "46af2f9e5fb197225123290b12ff242c"},
      {key32, IdentityKind::kClientIp, "\x06\x20\x01\x0d\xb8\x00\x01\x00\x02\x40"s, "login",
       "dca6c0fae5a05fe8c0f80542f7a2139f"},
      {key32, IdentityKind::kAnonymous, "", "", "c653becc0351e5bb2c014515a3280208"},
      {key32, IdentityKind::kApiKey, "\xff\x00k"s, "", "fc6f77d94b8e173d65c38b46d26807d8"},
      {key64, IdentityKind::kOpaque, "alice", "login", "e0cfc9620e40e5721c226820275a8ad7"},
      {key131, IdentityKind::kOpaque, "alice", "login", "989f4faff14a474ac62e34023438e042"},
  };
  for (const Row& row : rows) {
    const Pseudonymizer pseudonymizer(1, Key(row.key));
    const Subject subject = SubjectOf(pseudonymizer, row.kind, row.value, row.operation);
    EXPECT_EQ(Hex(subject.operation), row.digest) << Name(row.kind) << row.key.size();
  }
}

// The encoding and the HMAC once more, by other means.
Digest Expected(const std::string& key, std::string_view kind, std::string_view value,
                std::string_view operation) {
  std::string message("\x04\0\0\0\0\0\0\0", 8);
  for (const std::string_view piece :
       {std::string_view("sluice-subject"), kind, value, operation}) {
    for (int byte = 0; byte < 8; ++byte)
      message += static_cast<char>(piece.size() >> (8 * byte) & 0xff);
    message += piece;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> whole{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), whole.data(),
       nullptr);
  Digest digest;
  std::copy_n(whole.begin(), digest.bytes.size(), digest.bytes.begin());
  return digest;
}

RC_GTEST_PROP(Pseudonymizer, DigestsAreHmacOfTheFramedTuple, ()) {
  const auto bytes = [](std::size_t least, std::size_t most) {
    return rc::gen::mapcat(rc::gen::inRange(least, most + 1), [](std::size_t size) {
      return rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
    });
  };
  const std::string key = *bytes(32, 200);
  const std::string value = *bytes(1, 200);
  const std::string operation = *bytes(0, 80);
  const Pseudonymizer pseudonymizer(7, Key(key));
  const Subject subject = SubjectOf(pseudonymizer, IdentityKind::kPrincipal, value, operation);
  RC_ASSERT(subject.key_version == 7u);
  RC_ASSERT(subject.client == Expected(key, "principal", value, ""));
  RC_ASSERT(subject.operation == Expected(key, "principal", value, operation));
}

TEST(Pseudonymizer, SubjectsDifferByValueKindOperationAndKey) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  const Subject alice = SubjectOf(pseudonymizer, IdentityKind::kOpaque, "alice", "login");
  EXPECT_EQ(SubjectOf(pseudonymizer, IdentityKind::kOpaque, "alice", "login"), alice);

  const Subject search = SubjectOf(pseudonymizer, IdentityKind::kOpaque, "alice", "search");
  EXPECT_EQ(search.client, alice.client);
  EXPECT_NE(search.operation, alice.operation);

  EXPECT_NE(SubjectOf(pseudonymizer, IdentityKind::kOpaque, "bob", "login").client, alice.client);
  EXPECT_NE(SubjectOf(pseudonymizer, IdentityKind::kApiKey, "alice", "login").client, alice.client);

  const Pseudonymizer other_key(1, Key(std::string(32, 'k')));
  EXPECT_NE(SubjectOf(other_key, IdentityKind::kOpaque, "alice", "login").client, alice.client);
}

TEST(Pseudonymizer, WithoutOperationTheOperationIsTheClient) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  const Subject subject = SubjectOf(pseudonymizer, IdentityKind::kOpaque, "alice");
  EXPECT_EQ(subject.operation, subject.client);
}

TEST(Pseudonymizer, ValuesAreBytes) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  const auto client = [&](std::string value) {
    return SubjectOf(pseudonymizer, IdentityKind::kPrincipal, std::move(value)).client;
  };
  // composed and decomposed e-acute look alike and are two users
  EXPECT_NE(client("caf\xc3\xa9"), client("cafe\xcc\x81"));
  EXPECT_NE(client("alice"), client("Alice"));
  EXPECT_NE(client("alice"), client("alice "));
  EXPECT_NE(client("\xff\xfe"), client("\xff"));
  EXPECT_NE(client(std::string("a\0b", 3)), client("a"));
}

TEST(Pseudonymizer, AnonymousClientsAreOneSubject) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  RawIdentity named;
  named.Add(IdentityKind::kPrincipal, "alice");
  EXPECT_EQ(pseudonymizer.SubjectOf(std::move(named), IdentityKind::kAnonymous, "login"),
            pseudonymizer.SubjectOf(RawIdentity(), IdentityKind::kAnonymous, "login"));
}

TEST(PseudonymizerDeathTest, MissingValueIsABrokenPrecondition) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  EXPECT_DEATH((void)pseudonymizer.SubjectOf(RawIdentity(), IdentityKind::kPrincipal, ""), "");
}

TEST(Pseudonymizer, MayBeSharedBetweenThreads) {
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  const auto subjects = [&pseudonymizer] {
    std::vector<Subject> made;
    made.reserve(500);
    for (int n = 0; n < 500; ++n) {
      made.push_back(SubjectOf(pseudonymizer, IdentityKind::kOpaque, std::to_string(n), "login"));
    }
    return made;
  };
  const std::vector<Subject> expected = subjects();
  std::vector<Subject> seen[4];
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) threads.emplace_back([&mine, &subjects] { mine = subjects(); });
  }
  for (const auto& mine : seen) EXPECT_EQ(mine, expected);
}

TEST(Pseudonymizer, DoesNotAllocate) {
  if (identity::AllocationProbe::IsBlind()) GTEST_SKIP();
  const Pseudonymizer pseudonymizer(1, Key(CountingBytes(32)));
  RawIdentity identity;
  identity.Add(IdentityKind::kPrincipal, std::string(500, 'x'));
  const identity::AllocationProbe probe;
  const Subject subject =
      pseudonymizer.SubjectOf(std::move(identity), IdentityKind::kPrincipal, "login");
  EXPECT_EQ(probe.allocations(), 0u);
  EXPECT_NE(subject.client, subject.operation);
}

TEST(PseudonymKey, NeedsThirtyTwoBytes) {
  EXPECT_TRUE(PseudonymKey::FromBytes(std::string(32, 'k')));
  const auto refused = PseudonymKey::FromBytes("correct horse battery staple...");  // 31
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "a pseudonym key has at least 32 bytes, this one has 31");
}

TEST(PseudonymKey, RandomKeysDiffer) {
  const Pseudonymizer one(1, PseudonymKey::Random());
  const Pseudonymizer other(1, PseudonymKey::Random());
  EXPECT_NE(SubjectOf(one, IdentityKind::kOpaque, "alice"),
            SubjectOf(other, IdentityKind::kOpaque, "alice"));
}

TEST(PseudonymKey, LeavesNoCopyOfItsBytesBehind) {
  if (identity::AllocationProbe::IsBlind()) GTEST_SKIP();
  const std::string secret(20, 'S');
  std::string not_a_key(40, 'S');
  std::string first(40, 'S');
  std::string second(50, 'S');
  std::string too_short(31, 'S');

  const identity::AllocationProbe probe(secret);
  {
    const std::string freed = std::move(not_a_key);
  }
  ASSERT_EQ(probe.leaked_secrets(), 1u);  // the probe sees what nobody wipes
  {
    PseudonymKey key = Key(std::move(first));
    PseudonymKey moved = std::move(key);
    PseudonymKey assigned = Key(std::move(second));
    assigned = std::move(moved);
    const Pseudonymizer pseudonymizer(1, assigned);
    EXPECT_FALSE(PseudonymKey::FromBytes(std::move(too_short)));
  }
  EXPECT_EQ(probe.leaked_secrets(), 1u);
}

TEST(PseudonymKey, SurvivesMoves) {
  PseudonymKey key = Key(CountingBytes(32));
  PseudonymKey moved = std::move(key);
  PseudonymKey assigned = PseudonymKey::Random();
  assigned = std::move(moved);
  EXPECT_EQ(SubjectOf(Pseudonymizer(1, assigned), IdentityKind::kOpaque, "alice"),
            SubjectOf(Pseudonymizer(1, Key(CountingBytes(32))), IdentityKind::kOpaque, "alice"));
}

}  // namespace
}  // namespace sluice
