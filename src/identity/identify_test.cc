#include "src/identity/identify.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::identity {
namespace {

// Raw identities cannot be looked into, so subjects are compared: equal iff kind and value are.
class Identify : public ::testing::Test {
 protected:
  static IdentitySettings Settings() {
    IdentitySettings settings;
    settings.trusted_proxies = {"10.0.0.0/8", "::1/128"};
    return settings;
  }
  static Identifier Make(const IdentitySettings& settings) {
    return Identifier::Create(settings).value();
  }

  /// The client's digest by one kind of value; nothing if that is missing.
  std::optional<Digest> Client(RawIdentity identity, IdentityKind kind) const {
    if (!identity.Has(kind)) return std::nullopt;
    return pseudonymizer_.SubjectOf(std::move(identity), kind, {}).client;
  }
  std::optional<Digest> ByName(IdentityKind kind, std::string_view value) const {
    auto identity = identifier_.IdentityFrom(kind, value);
    if (!identity) return std::nullopt;
    return Client(*std::move(identity), kind);
  }
  std::optional<Digest> Principal(const std::vector<HeaderField>& headers,
                                  std::string_view peer = "10.0.0.5") const {
    return Client(identifier_.Identify(identifier_.PeerFrom(peer), headers),
                  IdentityKind::kPrincipal);
  }
  std::optional<Digest> ClientIp(std::string_view peer,
                                 const std::vector<HeaderField>& headers = {}) const {
    return Client(identifier_.Identify(identifier_.PeerFrom(peer), headers),
                  IdentityKind::kClientIp);
  }

  const Pseudonymizer pseudonymizer_{1, PseudonymKey::FromBytes(std::string(32, 'k')).value()};
  const Identifier identifier_ = Make(Settings());
};

TEST_F(Identify, PeersAreTrustedByTheirNetwork) {
  struct Row {
    std::string_view text;
    bool trusted;
    bool has_address;
  };
  const Row rows[] = {
      {"10.0.0.5", true, true},
      {"::1", true, true},
      {"::ffff:10.0.0.5", true, true},  // as a dual-stack socket sees an IPv4 peer
      {"203.0.113.9", false, true},
      {"10.0.0.5:52241", true, true},
      {"[::1]:443", true, true},
      {"unix:", true, false},
      // no address: nobody, and never trusted
      {"", false, false},
      {"unix", false, false},
      {"localhost", false, false},
      {"fe80::1%eth0", false, false},
      {"010.0.0.5", false, false},
  };
  for (const Row& row : rows) {
    const Peer peer = identifier_.PeerFrom(row.text);
    EXPECT_EQ(peer.trusted(), row.trusted) << row.text;
    EXPECT_EQ(identifier_.Identify(peer, {}).Has(IdentityKind::kClientIp), row.has_address)
        << row.text;
  }
}

TEST_F(Identify, CollectsEveryValueThatIsPresent) {
  const std::vector<HeaderField> headers{{"x-authenticated-user", "alice"},
                                         {"X-Api-Key", "k-1"},
                                         {"X-Forwarded-For", "203.0.113.9"},
                                         {"User-Agent", "curl"}};
  const Peer peer = identifier_.PeerFrom("10.0.0.5");
  const struct {
    IdentityKind kind;
    std::string_view value;
  } rows[] = {{IdentityKind::kPrincipal, "alice"},
              {IdentityKind::kApiKey, "k-1"},
              {IdentityKind::kClientIp, "203.0.113.9"}};
  for (const auto& row : rows) {
    const auto client = Client(identifier_.Identify(peer, headers), row.kind);
    ASSERT_TRUE(client) << Name(row.kind);
    EXPECT_EQ(client, ByName(row.kind, row.value)) << Name(row.kind);
  }
  EXPECT_FALSE(identifier_.Identify(peer, headers).Has(IdentityKind::kOpaque));
}

// Elsewhere a header nobody had verified chose the budget: 30 calls with 30 made-up keys were 30
// clients.
TEST_F(Identify, UntrustedPeersHeadersNameNobody) {
  const Peer stranger = identifier_.PeerFrom("203.0.113.9");
  for (int n = 0; n < 30; ++n) {
    const std::string key = "key-" + std::to_string(n);
    const HeaderField headers[] = {
        {"X-API-Key", key}, {"X-Authenticated-User", key}, {"X-Forwarded-For", "198.51.100.1"}};
    RawIdentity identity = identifier_.Identify(stranger, headers);
    EXPECT_FALSE(identity.Has(IdentityKind::kPrincipal));
    EXPECT_FALSE(identity.Has(IdentityKind::kApiKey));
    EXPECT_EQ(Client(std::move(identity), IdentityKind::kClientIp), ClientIp("203.0.113.9"));
  }
}

TEST_F(Identify, EmptyValueIsMissing) {
  EXPECT_FALSE(Principal({}));
  EXPECT_FALSE(Principal({{"X-Authenticated-User", ""}}));
  EXPECT_FALSE(Principal({{"X-Authenticated-User", " \t "}}));
}

TEST_F(Identify, RepeatedHeaderNamesSomebodyOnlyIfItAgrees) {
  const auto alice = ByName(IdentityKind::kPrincipal, "alice");
  EXPECT_EQ(Principal({{"X-Authenticated-User", "alice"}, {"x-authenticated-user", " alice"}}),
            alice);
  // one of the two may be the client's own
  EXPECT_FALSE(Principal({{"X-Authenticated-User", "root"}, {"X-Authenticated-User", "alice"}}));
  EXPECT_FALSE(Principal({{"X-Authenticated-User", ""}, {"X-Authenticated-User", "alice"}}));
  EXPECT_FALSE(Principal({{"X-Authenticated-User", "alice"}, {"X-Authenticated-User", ""}}));
}

TEST_F(Identify, ValuesAreBytes) {
  const auto composed = Principal({{"X-Authenticated-User", "caf\xc3\xa9"}});
  const auto decomposed = Principal({{"X-Authenticated-User", "cafe\xcc\x81"}});
  const auto not_utf8 = Principal({{"X-Authenticated-User", "caf\xe9\xff"}});
  ASSERT_TRUE(composed && decomposed && not_utf8);
  EXPECT_NE(composed, decomposed);
  EXPECT_NE(composed, not_utf8);
  EXPECT_EQ(Principal({{"X-Authenticated-User", " a b\tc "}}),
            ByName(IdentityKind::kPrincipal, "a b\tc"));
  EXPECT_NE(Principal({{"X-Authenticated-User", "alice"}}),
            Principal({{"X-Authenticated-User", "Alice"}}));
}

TEST_F(Identify, AuthorizationGivesTheBearerToken) {
  IdentitySettings settings = Settings();
  settings.api_key_header = "authorization";
  const Identifier identifier = Make(settings);
  struct Row {
    std::string_view credentials;
    std::string_view token;  // empty: missing
  };
  const Row rows[] = {
      {"Bearer abc.def", "abc.def"},
      {"bearer abc.def", "abc.def"},
      {"BEARER   abc.def ", "abc.def"},
      {"Basic YWxpY2U6eA==", ""},
      {"Bearer", ""},
      {"Bearer ", ""},
      {"Bearerabc", ""},
      {"abc.def", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    const HeaderField headers[] = {{"Authorization", row.credentials}, {"X-API-Key", "other"}};
    EXPECT_EQ(Client(identifier.Identify(identifier.PeerFrom("10.0.0.5"), headers),
                     IdentityKind::kApiKey),
              ByName(IdentityKind::kApiKey, row.token))
        << row.credentials;
  }
}

TEST_F(Identify, HeaderWithoutNameIsNeverRead) {
  IdentitySettings settings = Settings();
  settings.principal_header = "";
  const Identifier identifier = Make(settings);
  const HeaderField headers[] = {{"", "alice"}};
  EXPECT_FALSE(
      identifier.Identify(identifier.PeerFrom("10.0.0.5"), headers).Has(IdentityKind::kPrincipal));
}

TEST_F(Identify, AddressesAreCutToThePrefix) {
  EXPECT_EQ(ClientIp("2001:db8:1:2::1"), ClientIp("2001:DB8:1:2:ffff::9"));
  EXPECT_NE(ClientIp("2001:db8:1:2::1"), ClientIp("2001:db8:1:3::1"));
  EXPECT_EQ(ClientIp("::ffff:203.0.113.9"), ClientIp("203.0.113.9"));
  EXPECT_EQ(ClientIp("10.0.0.5", {{"X-Forwarded-For", "[2001:db8:1:2::1]:443"}}),
            ByName(IdentityKind::kClientIp, "2001:db8:1:2:3:4:5:6"));
  // ten connections of one client are one client
  EXPECT_EQ(ClientIp("203.0.113.9:52241"), ClientIp("203.0.113.9:52242"));
}

TEST_F(Identify, PrefixIsPartOfTheIdentity) {
  IdentitySettings settings = Settings();
  settings.ipv6_prefix = 128;
  const Identifier single = Make(settings);
  const auto client = [&](std::string_view peer) {
    return Client(single.Identify(single.PeerFrom(peer), {}), IdentityKind::kClientIp);
  };
  EXPECT_NE(client("2001:db8::1"), client("2001:db8::2"));
  EXPECT_NE(client("2001:db8::"), ClientIp("2001:db8::"));
}

// Elsewhere what was no address became a client called "unknown", or one with an empty name.
TEST_F(Identify, ClientThatCannotBeNamedIsMissing) {
  for (const std::string_view hop :
       {"192.168.001.001", "0x7f.1", "fe80::1%eth0", "unix:", "unknown", ""}) {
    EXPECT_FALSE(ClientIp("unix:", {{"X-Forwarded-For", hop}})) << hop;
  }
  EXPECT_FALSE(ClientIp("unix:"));
  EXPECT_TRUE(ClientIp("unix:", {{"X-Forwarded-For", "203.0.113.9"}}));
}

TEST_F(Identify, NamedOutrightIsCanonicalOrRefusedWithoutRepeatingIt) {
  const std::string long_enough(1'024, 's');
  struct Row {
    IdentityKind kind;
    std::string value;
    std::string_view error;  // empty: accepted
  };
  const Row rows[] = {
      {IdentityKind::kOpaque, "alice", ""},
      {IdentityKind::kOpaque, " ", ""},
      {IdentityKind::kPrincipal, long_enough, ""},
      {IdentityKind::kApiKey, std::string("\0\xff", 2), ""},
      {IdentityKind::kClientIp, "203.0.113.9", ""},
      {IdentityKind::kAnonymous, "", ""},
      {IdentityKind::kOpaque, "", "the value is empty"},
      {IdentityKind::kClientIp, "", "the value is empty"},
      {IdentityKind::kOpaque, long_enough + "s", "the value is longer than 1024 bytes"},
      {IdentityKind::kClientIp, "s3cret", "the value is neither an IPv4 nor an IPv6 address"},
      {IdentityKind::kClientIp, "203.0.113.9:80",
       "the value is neither an IPv4 nor an IPv6 address"},
      {IdentityKind::kAnonymous, "s3cret", "an anonymous client has no value"},
  };
  for (const Row& row : rows) {
    const auto identity = identifier_.IdentityFrom(row.kind, row.value);
    EXPECT_EQ(identity ? "" : identity.error(), row.error) << Name(row.kind);
    EXPECT_TRUE(!identity || identity->Has(row.kind)) << Name(row.kind);
  }
}

TEST(IdentifierSettings, EverythingWrongIsReportedAtOnce) {
  IdentitySettings settings;
  settings.principal_header = "X User";
  settings.api_key_header = "X-Key:";
  settings.trusted_proxies = {"127.0.0.0/8", "10.0.0.5/8", "proxy"};
  settings.ipv6_prefix = 0;
  const auto identifier = Identifier::Create(settings);
  ASSERT_FALSE(identifier);
  std::vector<std::string> places;
  for (const EdgeError& error : identifier.error()) {
    EXPECT_FALSE(error.message.empty());
    places.push_back(error.place);
  }
  EXPECT_EQ(places,
            (std::vector<std::string>{"identity.principal_header", "identity.api_key_header",
                                      "identity.trusted_proxies[1]", "identity.trusted_proxies[2]",
                                      "identity.ipv6_prefix"}));
}

TEST(IdentifierSettings, PrefixBounds) {
  for (const auto& [prefix, is_valid] :
       {std::pair{1, true}, {128, true}, {129, false}, {-1, false}}) {
    IdentitySettings settings;
    settings.ipv6_prefix = prefix;
    EXPECT_EQ(Identifier::Create(settings).has_value(), is_valid) << prefix;
  }
}

TEST(IdentityKindName, AreTheWordsOfTheConfiguration) {
  EXPECT_EQ(Name(IdentityKind::kPrincipal), "principal");
  EXPECT_EQ(Name(IdentityKind::kApiKey), "api-key");
  EXPECT_EQ(Name(IdentityKind::kClientIp), "client-ip");
  EXPECT_EQ(Name(IdentityKind::kOpaque), "opaque");
  EXPECT_EQ(Name(IdentityKind::kAnonymous), "anonymous");
}

}  // namespace
}  // namespace sluice::identity
