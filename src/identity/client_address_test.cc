#include "src/identity/client_address.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "src/identity/allocation_probe.h"
#include "src/identity/peer.h"

namespace sluice::identity {
namespace {

std::vector<Network> Networks(std::initializer_list<std::string_view> texts) {
  std::vector<Network> networks;
  for (const std::string_view text : texts) networks.push_back(ParseNetwork(text).value());
  return networks;
}

// Proxies are 10.0.0.0/8 and fd00::/8; the peer is one of them unless said otherwise.
class ClientAddress : public ::testing::Test {
 protected:
  static ClientAddressFinder Finder(Forwarded forwarded) {
    return {forwarded, Networks({"10.0.0.0/8", "fd00::/8"})};
  }
  static Peer PeerAt(std::string_view text) {
    const auto address = ParseAddress(text);
    return PeerAccess::Make(address, !address || Finder(Forwarded::kNone).Trusts(*address));
  }
  static Peer UnixPeer() { return PeerAccess::Make(std::nullopt, true); }

  const ClientAddressFinder x_forwarded_for_ = Finder(Forwarded::kXForwardedFor);
  const ClientAddressFinder forwarded_ = Finder(Forwarded::kForwarded);
  const Peer proxy_ = PeerAt("10.0.0.5");
};

TEST_F(ClientAddress, WalksFromTheRightOverTrustedHops) {
  struct Row {
    std::vector<std::string> lines;
    std::string_view client;
  };
  const Row rows[] = {
      {{}, "10.0.0.5"},  // a proxy that says nothing is the client itself
      {{"203.0.113.9"}, "203.0.113.9"},
      {{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},  // the left is the client's to write
      {{"203.0.113.9, 10.1.1.1, fd00::1"}, "203.0.113.9"},
      {{"203.0.113.9,10.1.1.1"}, "203.0.113.9"},
      {{"\t203.0.113.9 \t,  10.1.1.1 "}, "203.0.113.9"},
      // several lines are one list, in order
      {{"198.51.100.1", "203.0.113.9"}, "203.0.113.9"},
      {{"203.0.113.9, 10.2.2.2", "10.1.1.1"}, "203.0.113.9"},
      {{"10.1.1.1", "203.0.113.9"}, "203.0.113.9"},
      // all are trusted: the left-most
      {{"10.3.3.3, 10.2.2.2", "10.1.1.1"}, "10.3.3.3"},
      // ports
      {{"203.0.113.9:52241"}, "203.0.113.9"},
      {{"[2001:db8::1]:443, 10.1.1.1:80"}, "2001:db8::1"},
      {{"2001:db8::1"}, "2001:db8::1"},
      // mapped addresses are matched and returned as IPv4
      {{"::ffff:203.0.113.9, ::ffff:10.1.1.1"}, "203.0.113.9"},
  };
  for (const Row& row : rows) {
    std::vector<HeaderField> headers{{"Via", "1.1 proxy"}};
    for (const std::string& line : row.lines) headers.push_back({"x-Forwarded-FOR", line});
    headers.push_back({"Forwarded", "for=6.6.6.6"});
    EXPECT_EQ(x_forwarded_for_.Find(proxy_, headers), ParseAddress(row.client)) << row.client;
  }
}

TEST_F(ClientAddress, MalformedHopStopsTheWalkAtTheLastVouchedAddress) {
  struct Row {
    std::string_view line;
    std::string_view client;
  };
  const Row rows[] = {
      {"unknown", "10.0.0.5"},
      {"203.0.113.9, 1238909", "10.0.0.5"},
      {"203.0.113.9, unknown, 10.1.1.1", "10.1.1.1"},
      {"203.0.113.9, 10.2.2.2, 192.168.001.001, 10.1.1.1", "10.1.1.1"},
      {"0x7f.1", "10.0.0.5"},
      {"fe80::1%eth0, 10.1.1.1", "10.1.1.1"},
      {"unix:, 10.1.1.1", "10.1.1.1"},
      {"\"203.0.113.9\"", "10.0.0.5"},
      // a proxy that named nobody does not vouch for what stands left of it
      {"203.0.113.9, , 10.1.1.1", "10.1.1.1"},
      {"203.0.113.9,", "10.0.0.5"},
      {"", "10.0.0.5"},
      // what is malformed left of an untrusted hop is never looked at
      {"unknown, 203.0.113.9", "203.0.113.9"},
      {", 203.0.113.9", "203.0.113.9"},
  };
  for (const Row& row : rows) {
    const HeaderField headers[] = {{"X-Forwarded-For", row.line}};
    EXPECT_EQ(x_forwarded_for_.Find(proxy_, headers), ParseAddress(row.client)) << row.line;
  }
}

// Elsewhere the left-most entry was used: 200 made-up values gave 200 budgets, and a victim's
// budget could be spent by naming it.
TEST_F(ClientAddress, MadeUpHopsOnTheLeftChangeNothing) {
  for (int n = 0; n < 200; ++n) {
    const std::string line = "198.51.100." + std::to_string(n) + ", 203.0.113.9";
    const HeaderField headers[] = {{"X-Forwarded-For", line}};
    EXPECT_EQ(x_forwarded_for_.Find(proxy_, headers), ParseAddress("203.0.113.9"));
  }
}

// Elsewhere the header was believed without any trusted proxy.
TEST_F(ClientAddress, UntrustedPeersHeadersDoNotCount) {
  const HeaderField headers[] = {{"X-Forwarded-For", "198.51.100.1"},
                                 {"Forwarded", "for=198.51.100.1"}};
  const Peer stranger = PeerAt("192.0.2.7");
  EXPECT_EQ(x_forwarded_for_.Find(stranger, headers), ParseAddress("192.0.2.7"));
  EXPECT_EQ(forwarded_.Find(stranger, headers), ParseAddress("192.0.2.7"));
}

TEST_F(ClientAddress, OnlyTheConfiguredHeaderIsRead) {
  const HeaderField headers[] = {{"X-Forwarded-For", "198.51.100.1"},
                                 {"Forwarded", "for=198.51.100.2"}};
  EXPECT_EQ(x_forwarded_for_.Find(proxy_, headers), ParseAddress("198.51.100.1"));
  EXPECT_EQ(forwarded_.Find(proxy_, headers), ParseAddress("198.51.100.2"));
  EXPECT_EQ(Finder(Forwarded::kNone).Find(proxy_, headers), ParseAddress("10.0.0.5"));
}

TEST_F(ClientAddress, UnixPeerIsTrustedAndHasNoAddressOfItsOwn) {
  const auto find = [&](std::string_view line) {
    const HeaderField headers[] = {{"X-Forwarded-For", line}};
    return x_forwarded_for_.Find(UnixPeer(), headers);
  };
  EXPECT_EQ(x_forwarded_for_.Find(UnixPeer(), {}), std::nullopt);
  EXPECT_EQ(find("203.0.113.9"), ParseAddress("203.0.113.9"));
  EXPECT_EQ(find("unix:"), std::nullopt);
  EXPECT_EQ(find("203.0.113.9, unknown"), std::nullopt);
  EXPECT_EQ(find("unknown, 10.1.1.1"), ParseAddress("10.1.1.1"));
  EXPECT_EQ(Finder(Forwarded::kNone).Find(UnixPeer(), {}), std::nullopt);
}

TEST_F(ClientAddress, ForwardedIsWalkedLikewise) {
  struct Row {
    std::vector<std::string> lines;
    std::string_view client;
  };
  const Row rows[] = {
      {{R"(for=198.51.100.1, for="[2001:db8::1]:443";proto=https)"}, "2001:db8::1"},
      {{"for=203.0.113.9, for=10.2.2.2", "for=10.1.1.1"}, "203.0.113.9"},
      {{"for=10.2.2.2", "for=10.1.1.1"}, "10.2.2.2"},
      {{"for=203.0.113.9, for=unknown, for=10.1.1.1"}, "10.1.1.1"},
      {{"for=203.0.113.9, for=_hidden"}, "10.0.0.5"},
      {{"for=203.0.113.9, by=10.1.1.1"}, "10.0.0.5"},
      {{"for=203.0.113.9,"}, "10.0.0.5"},
      // A client's open quote does not swallow what its proxy appended. Read forwards, it would
      // make the line malformed, and the client would hide behind its proxy's address.
      {{R"(for=", for=203.0.113.9)"}, "203.0.113.9"},
      {{R"(for="\, for="[2001:db8::1]")"}, "2001:db8::1"},
  };
  for (const Row& row : rows) {
    std::vector<HeaderField> headers{{"X-Forwarded-For", "6.6.6.6"}};
    for (const std::string& line : row.lines) headers.push_back({"forwarded", line});
    EXPECT_EQ(forwarded_.Find(proxy_, headers), ParseAddress(row.client)) << row.lines.front();
  }
}

TEST_F(ClientAddress, ThousandsOfHopsAreWalkedWithoutAllocating) {
  if (AllocationProbe::IsBlind()) GTEST_SKIP();
  std::string x_forwarded_for = "203.0.113.9";
  std::string forwarded = "for=203.0.113.9";
  for (int n = 0; n < 5'000; ++n) {
    x_forwarded_for += ", 10.0.0.1";
    forwarded += R"(, for="[fd00::\1]:80")";
  }
  const HeaderField headers[] = {{"X-Forwarded-For", x_forwarded_for}, {"Forwarded", forwarded}};
  const AllocationProbe probe;
  const auto by_x_forwarded_for = x_forwarded_for_.Find(proxy_, headers);
  const auto by_forwarded = forwarded_.Find(proxy_, headers);
  EXPECT_EQ(probe.allocations(), 0u);
  EXPECT_EQ(by_x_forwarded_for, ParseAddress("203.0.113.9"));
  EXPECT_EQ(by_forwarded, ParseAddress("203.0.113.9"));
}

// The walk against its definition: split everything, then look from the right.
RC_GTEST_PROP(ClientAddressWalk, IsThatOfItsDefinition, ()) {
  const auto hop = rc::gen::element<std::string>("10.0.0.1", "10.0.0.2", "fd00::1", "203.0.113.9",
                                                 "2001:db8::1", "unknown", "");
  const auto lines = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(hop)));

  const ClientAddressFinder finder(Forwarded::kXForwardedFor, Networks({"10.0.0.0/8", "fd00::/8"}));
  std::vector<std::string> joined;
  std::vector<std::string> texts;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) text += (i == 0 ? "" : ", ") + line[i];
    texts.push_back(text);
    joined.insert(joined.end(), line.begin(), line.end());
  }
  std::vector<HeaderField> headers;
  headers.reserve(texts.size());
  for (const std::string& text : texts) headers.push_back({"X-Forwarded-For", text});

  std::string expected = "10.9.9.9";
  for (std::size_t i = joined.size(); i-- > 0;) {
    if (joined[i].empty() || joined[i] == "unknown") break;
    expected = joined[i];
    if (!expected.starts_with("10.") && !expected.starts_with("fd00:")) break;
  }
  const Peer peer = PeerAccess::Make(ParseAddress("10.9.9.9"), true);
  RC_ASSERT(finder.Find(peer, headers) == ParseAddress(expected));
}

}  // namespace
}  // namespace sluice::identity
