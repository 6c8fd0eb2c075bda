#include "src/redis/stream.h"

#include <gtest/gtest.h>

#include "src/redis/lane.h"

namespace sluice::redis {
namespace {

TEST(ParseAddress, ReadsTheThreeForms) {
  const auto tcp = ParseAddress("redis.example.com:6380").value();
  EXPECT_EQ(tcp.host, "redis.example.com");
  EXPECT_EQ(tcp.port, "6380");
  const auto v6 = ParseAddress("[2001:db8::1]:6379").value();
  EXPECT_EQ(v6.host, "2001:db8::1");
  EXPECT_EQ(v6.port, "6379");
  EXPECT_EQ(ParseAddress("unix:/run/redis.sock").value().unix_path, "/run/redis.sock");
}

TEST(ParseAddress, RefusesEverythingElse) {
  for (const char* text : {
           "",
           "localhost",         // no port
           "localhost:",        // an empty one
           ":6379",             // no host
           "localhost:0",       // no port to connect to
           "localhost:65536",   // out of range
           "localhost:redis",   // a service's name
           "localhost:-1",      // a sign
           "2001:db8::1:6379",  // ambiguous without brackets
           "[]:6379",
           "unix:",
       }) {
    EXPECT_FALSE(ParseAddress(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseAddress("unix:/" + std::string(107, 'x')).has_value());  // sun_path's size
}

TEST(MakeTlsContext, NamesTheFileThatIsWrong) {
  const auto missing = MakeTlsContext({.ca_file = "/nonexistent/ca.pem"});
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().find("/nonexistent/ca.pem"), std::string::npos);
  EXPECT_FALSE(MakeTlsContext({.certificate_file = "/nonexistent/cert.pem"}).has_value());
  EXPECT_TRUE(MakeTlsContext({}).has_value());
}

TEST(BackoffCeiling, DoublesFrom50MillisecondsTo5Seconds) {
  const int milliseconds[] = {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
  for (unsigned failures = 0; failures < std::size(milliseconds); ++failures) {
    EXPECT_EQ(BackoffCeiling(failures), Milliseconds{milliseconds[failures]});
  }
  EXPECT_EQ(BackoffCeiling(1'000'000), Milliseconds{5000});
}

}  // namespace
}  // namespace sluice::redis
