#include "src/config/listen_address.h"

#include <gtest/gtest.h>

namespace sluice::config {
namespace {

TEST(ListenAddress, IsParsedAndPrintedAgain) {
  struct Row {
    std::string text;
    ListenAddress address;
  };
  const Row rows[] = {
      {"127.0.0.1:8080", TcpAddress{"127.0.0.1", 8080}},
      {"0.0.0.0:0", TcpAddress{"0.0.0.0", 0}},  // the system chooses the port
      {"[::1]:65535", TcpAddress{"::1", 65535}},
      {"[::]:80", TcpAddress{"::", 80}},
      {"localhost:8080", TcpAddress{"localhost", 8080}},
      {"unix:/run/sluice/http.sock", UnixAddress{"/run/sluice/http.sock"}},
      {"unix:/" + std::string(106, 'x'), UnixAddress{"/" + std::string(106, 'x')}},
  };
  for (const Row& row : rows) {
    const auto address = ParseListenAddress(row.text);
    ASSERT_TRUE(address) << row.text << ": " << address.error();
    EXPECT_EQ(*address, row.address) << row.text;
    EXPECT_EQ(ToString(*address), row.text);
  }
}

TEST(ListenAddress, IsRefusedWithTheReason) {
  constexpr std::string_view kForms = "; allowed: host:port, [v6]:port or unix:/path";
  const auto with_forms = [&](std::string_view reason) {
    return std::string(reason) + std::string(kForms);
  };
  struct Row {
    std::string text;
    std::string error;
  };
  const std::string port = "the port is no number in bounds; allowed: 0 to 65535";
  const Row rows[] = {
      {"localhost", with_forms("the port is missing")},
      {"127.0.0.1:", port},
      {"127.0.0.1:65536", port},
      {"127.0.0.1:-1", port},
      {"127.0.0.1:http", port},
      {"127.0.0.1:080", port},
      {":8080", with_forms("the host is missing (0.0.0.0 or [::] for all interfaces)")},
      {"*:8080", with_forms("the host is missing (0.0.0.0 or [::] for all interfaces)")},
      {"::1:8080", with_forms("an IPv6 address must stand in brackets")},
      {"[::g]:8080", with_forms("no IPv6 address stands between the brackets")},
      {"[127.0.0.1]:80", with_forms("no IPv6 address stands between the brackets")},
      {"[fe80::1%eth0]:80", with_forms("no IPv6 address stands between the brackets")},
      {"127.0.0.256:80", with_forms("the host is no IPv4 address")},
      {"127.1:80", with_forms("the host is no IPv4 address")},
      {"a b:80", with_forms("the host is no address and no host name")},
      {"http//x:80", with_forms("the host is no address and no host name")},
      {"unix:relative", with_forms("the path of a unix socket must start with /")},
      {"unix:", with_forms("the path of a unix socket must start with /")},
      {"unix:/" + std::string(107, 'x'),
       "the path of the unix socket has 108 bytes; allowed: up to 107"},
  };
  for (const Row& row : rows) {
    const auto address = ParseListenAddress(row.text);
    ASSERT_FALSE(address) << row.text;
    EXPECT_EQ(address.error(), row.error) << row.text;
  }
}

}  // namespace
}  // namespace sluice::config
