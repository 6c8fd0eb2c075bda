#include "src/identity/ip_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "sluice/edge.h"

namespace sluice::identity {
namespace {

using Family = IpAddress::Family;
using Bytes = std::array<std::uint8_t, 16>;

constexpr Bytes kDb8{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

TEST(IpAddress, ReadsEverySpelling) {
  struct Row {
    std::string_view text;
    Family family;
    Bytes bytes;
  };
  const Row rows[] = {
      {"0.0.0.0", Family::kV4, {}},
      {"203.0.113.9", Family::kV4, {203, 0, 113, 9}},
      {"255.255.255.255", Family::kV4, {255, 255, 255, 255}},
      {"::", Family::kV6, {}},
      {"::1", Family::kV6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
      // one address: compressed, upper case, with leading zeros, with a run compressed elsewhere
      {"2001:db8::1", Family::kV6, kDb8},
      {"2001:DB8::1", Family::kV6, kDb8},
      {"2001:0db8:0000:0000:0000:0000:0000:0001", Family::kV6, kDb8},
      {"2001:db8:0:0::1", Family::kV6, kDb8},
      {"2001:db8::0:0:0.0.0.1", Family::kV6, kDb8},
      // a compression at the end, and one of a single group
      {"1::", Family::kV6, {0, 1}},
      {"1:2:3:4:5:6:7::", Family::kV6, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7}},
      // IPv4-mapped, in both spellings, is IPv4
      {"::ffff:192.0.2.1", Family::kV4, {192, 0, 2, 1}},
      {"::FFFF:c000:0201", Family::kV4, {192, 0, 2, 1}},
      {"0:0:0:0:0:ffff:192.0.2.1", Family::kV4, {192, 0, 2, 1}},
      // IPv4-compatible (deprecated) and NAT64 are plain IPv6
      {"::192.0.2.1", Family::kV6, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1}},
      {"64:ff9b::8.8.8.8", Family::kV6, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8}},
  };
  for (const Row& row : rows) {
    const auto address = ParseAddress(row.text);
    ASSERT_TRUE(address) << row.text;
    EXPECT_EQ(address->family, row.family) << row.text;
    EXPECT_EQ(address->bytes, row.bytes) << row.text;
  }
}

TEST(IpAddress, RefusesWhatIsNoAddress) {
  using namespace std::string_view_literals;
  const std::string_view texts[] = {
      "",
      " ",
      "unknown",
      "_hidden",
      "unix:",
      "localhost",
      "1238909",
      // octal, hexadecimal and short forms, which C's inet_aton would take
      "192.168.001.001",
      "010.0.0.1",
      "0x7f.1",
      "0x7f.0.0.1",
      "127.1",
      "2130706433",
      "1.2.3",
      "1.2.3.4.5",
      "1.2.3.",
      ".1.2.3",
      "1..2.3",
      "256.1.1.1",
      "1.2.3.-4",
      "+1.2.3.4",
      // blanks, terminators, ports, brackets, prefixes and zones belong to somebody else
      " 1.2.3.4",
      "1.2.3.4 ",
      "1.2.3.4\n",
      "1.2.3.4\0"sv,
      "1.2.3.4\0x"sv,
      "1.2.3.4:80",
      "[::1]",
      "::1/128",
      "fe80::1%eth0",
      "fe80::1%1",
      ":",
      ":::",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1::2::3",
      "12345::",
      "::g",
      ":1:2:3:4:5:6:7:8",
      "1:2:3:4:5:6:7:8::",
      "::1:2:3:4:5:6:7:8",
      "1.2.3.4::",
      "::1.2.3",
      "::01.2.3.4",
      "1:2:3:4:5:6:7:1.2.3.4",
      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
  };
  for (const std::string_view text : texts) EXPECT_FALSE(ParseAddress(text)) << text;
}

RC_GTEST_PROP(IpAddress, ReadsBackWhatTheSystemPrints, (const Bytes& bytes)) {
  char text[INET6_ADDRSTRLEN];
  RC_ASSERT(inet_ntop(AF_INET6, bytes.data(), text, sizeof(text)) != nullptr);
  const auto v6 = ParseAddress(text);
  RC_ASSERT(v6.has_value());
  if (v6->family == Family::kV6) RC_ASSERT(v6->bytes == bytes);

  RC_ASSERT(inet_ntop(AF_INET, bytes.data(), text, sizeof(text)) != nullptr);
  const auto v4 = ParseAddress(text);
  RC_ASSERT(v4 && v4->family == Family::kV4);
  RC_ASSERT(std::equal(v4->bytes.begin(), v4->bytes.begin() + 4, bytes.begin()));
}

// Elsewhere a port made each connection a client of its own, and a bare IPv6 address was cut at its
// last colon.
TEST(Endpoint, PortsAreStripped) {
  struct Row {
    std::string_view text;
    std::string_view address;  // empty: refused
  };
  const Row rows[] = {
      {"203.0.113.9", "203.0.113.9"},
      {"203.0.113.9:52241", "203.0.113.9"},
      {"203.0.113.9:_hidden.1", "203.0.113.9"},
      {"2001:db8::1", "2001:db8::1"},
      {"2001:db8::1:443", "2001:db8::1:443"},  // one address, not an address and a port
      {"[2001:db8::1]", "2001:db8::1"},
      {"[2001:db8::1]:443", "2001:db8::1"},
      {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
      // no port after the colon, a port that is none, or one too long
      {"203.0.113.9:", ""},
      {"203.0.113.9:http", ""},
      {"203.0.113.9:-1", ""},
      {"203.0.113.9:123456", ""},
      {"203.0.113.9:_", ""},
      {"203.0.113.9:80:80", ""},
      {"[2001:db8::1]:", ""},
      {"[2001:db8::1]443", ""},
      {"[2001:db8::1", ""},
      {"2001:db8::1]", ""},
      {"[]", ""},
      {"[", ""},
      // brackets are for IPv6
      {"[192.0.2.1]:80", ""},
      {"[fe80::1%eth0]:80", ""},
      {":80", ""},
      {"unix:", ""},
  };
  for (const Row& row : rows)
    EXPECT_EQ(ParseEndpoint(row.text), ParseAddress(row.address)) << row.text;
}

TEST(CanonicalBytes, AreFamilyCoveredBytesAndPrefix) {
  using namespace std::string_literals;
  struct Row {
    std::string_view address;
    int ipv6_prefix;
    std::string bytes;
  };
  const Row rows[] = {
      {"203.0.113.9", 64, "\x04\xcb\x00\x71\x09\x20"s},
      {"::ffff:203.0.113.9", 64, "\x04\xcb\x00\x71\x09\x20"s},  // the prefix is IPv6's alone
      {"2001:db8:1:2::1", 64, "\x06\x20\x01\x0d\xb8\x00\x01\x00\x02\x40"s},
      {"2001:db8:1:2ff:ffff::9", 56, "\x06\x20\x01\x0d\xb8\x00\x01\x02\x38"s},
      {"ffff::", 1, "\x06\x80\x01"s},
      {"2001:db8::1", 128,
       "\x06\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x80"s},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(CanonicalBytes(*ParseAddress(row.address), row.ipv6_prefix), row.bytes)
        << row.address;
  }
}

// Elsewhere a client got a new budget with each of its 2^64 addresses.
TEST(CanonicalBytes, AddressesOfOneNetworkAreOneClient) {
  const auto of = [](std::string_view text) { return CanonicalBytes(*ParseAddress(text), 64); };
  EXPECT_EQ(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
  EXPECT_EQ(of("2001:db8:1:2::1"), of("2001:DB8:0001:2:0::1"));
  EXPECT_NE(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
  // NAT64 is not unwrapped: one network, one client
  EXPECT_EQ(of("64:ff9b::808:808"), of("64:ff9b::909:909"));
  EXPECT_NE(of("64:ff9b::8.8.8.8"), of("8.8.8.8"));
}

RC_GTEST_PROP(CutTo, KeepsThePrefixAndClearsTheRest, (const Bytes& bytes)) {
  const int prefix = *rc::gen::inRange(0, 129);
  const IpAddress cut = CutTo({.family = Family::kV6, .bytes = bytes}, prefix);
  for (int bit = 0; bit < 128; ++bit) {
    const auto at = [bit](const Bytes& of) {
      return of[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1;
    };
    RC_ASSERT(at(cut.bytes) == (bit < prefix ? at(bytes) : 0));
  }
}

TEST(Network, ContainsItsAddressesAlone) {
  struct Row {
    std::string_view network;
    std::string_view inside;  // empty: none to try
    std::string_view outside;
  };
  const Row rows[] = {
      {"127.0.0.0/8", "127.255.255.255", "128.0.0.0"},
      {"10.0.0.0/15", "10.1.255.255", "10.2.0.0"},
      {"192.0.2.1", "192.0.2.1", "192.0.2.0"},  // a plain address is a network of one
      {"192.0.2.1/32", "::ffff:192.0.2.1", "192.0.2.2"},
      {"::1/128", "0:0:0:0:0:0:0:1", "::2"},
      {"2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"},
      {"::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.0"},  // an IPv4-mapped network is IPv4's
      {"::ffff:10.0.0.1", "10.0.0.1", "::10.0.0.1"},
      {"0.0.0.0/0", "255.255.255.255", "::"},  // everything, but of one family
      {"::/0", "ffff::", "0.0.0.0"},
  };
  for (const Row& row : rows) {
    const auto network = ParseNetwork(row.network);
    ASSERT_TRUE(network) << row.network << ": " << network.error();
    EXPECT_TRUE(network->Contains(*ParseAddress(row.inside))) << row.network;
    EXPECT_FALSE(network->Contains(*ParseAddress(row.outside))) << row.network;
    EXPECT_EQ(CheckNetwork(row.network), std::nullopt);
  }
}

TEST(Network, SaysWhyItIsNone) {
  struct Row {
    std::string_view text;
    std::string_view part_of_message;
  };
  const Row rows[] = {
      {"", "neither an IP address nor a network"},
      {"proxy.example.com", "neither an IP address nor a network"},
      {"10.0.0/8", "neither an IP address nor a network"},
      {"fe80::1%eth0/64", "neither an IP address nor a network"},
      {"[::1]/128", "neither an IP address nor a network"},
      {"/8", "neither an IP address nor a network"},
      {"10.0.0.0/", "prefix length outside 0 .. 32"},
      {"10.0.0.0/33", "prefix length outside 0 .. 32"},
      {"10.0.0.0/-1", "prefix length outside 0 .. 32"},
      {"10.0.0.0/+8", "prefix length outside 0 .. 32"},
      {"10.0.0.0/08", "prefix length outside 0 .. 32"},
      {"10.0.0.0/8/8", "prefix length outside 0 .. 32"},
      {"10.0.0.0/99999999999", "prefix length outside 0 .. 32"},
      {"10.0.0.0/255.0.0.0", "prefix length outside 0 .. 32"},
      {"::/129", "prefix length outside 0 .. 128"},
      {"::ffff:10.0.0.0/8", "prefix length outside 96 .. 128"},
      // bits beyond the prefix: the network that was probably meant is named
      {"10.0.0.5/8", "\"10.0.0.5/8\" has bits set beyond its prefix, perhaps 10.0.0.0/8 was meant"},
      {"2001:db8::1/32", "perhaps 2001:db8::/32 was meant"},
      {"::1/0", "perhaps ::/0 was meant"},
      {"::ffff:10.0.0.5/104", "perhaps 10.0.0.0/8 was meant"},
  };
  for (const Row& row : rows) {
    const auto message = CheckNetwork(row.text);
    ASSERT_TRUE(message) << row.text;
    EXPECT_NE(message->find(row.part_of_message), std::string::npos) << *message;
    EXPECT_NE(message->find(row.text), std::string::npos) << *message;
  }
}

}  // namespace
}  // namespace sluice::identity
