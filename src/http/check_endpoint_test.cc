#include "src/http/check_endpoint.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using Headers = std::vector<HeaderField>;

TEST(ForwardedRequest, IsReadFromEitherFamily) {
  const auto nginx = ReadForwardedRequest(Headers{
      {"host", "edge.example"}, {"x-original-method", "POST"}, {"X-ORIGINAL-URI", "/login?a=b"}});
  ASSERT_TRUE(nginx);
  EXPECT_EQ(nginx->method, "POST");
  EXPECT_EQ(nginx->target, "/login?a=b");
  EXPECT_EQ(nginx->host, "edge.example");

  // F10: Host is the daemon's own name there; the proxy says whose host it was.
  const auto caddy = ReadForwardedRequest(Headers{{"Host", "sluice:8080"},
                                                  {"X-Forwarded-Method", "GET"},
                                                  {"X-Forwarded-Uri", "/"},
                                                  {"X-Forwarded-Host", "shop.example"}});
  ASSERT_TRUE(caddy);
  EXPECT_EQ(caddy->method, "GET");
  EXPECT_EQ(caddy->target, "/");
  EXPECT_EQ(caddy->host, "shop.example");
}

struct Case {
  Headers headers;
  std::string_view error;  // what it contains; empty: accepted
};

TEST(ForwardedRequest, MissingMalformedAndContradictoryHeadersAreNamed) {
  const HeaderField method{"X-Original-Method", "GET"};
  const HeaderField uri{"X-Original-URI", "/a"};
  const HeaderField forwarded_method{"X-Forwarded-Method", "GET"};
  const HeaderField forwarded_uri{"X-Forwarded-Uri", "/a"};
  const Case cases[] = {
      {{method, uri}, ""},
      {{method, uri, forwarded_method, forwarded_uri}, ""},  // both, and equal
      {{method, uri, method}, ""},                           // twice the same
      {{{"X-Original-Method", "OPTIONS"}, {"X-Original-URI", "*"}}, ""},
      {{method, {"X-Original-URI", "http://h/a"}}, ""},  // an absolute URI
      {{method, {"X-Original-URI", "/\xc3\xa9"}}, ""},   // raw bytes, as nginx sends them
      {{}, "X-Forwarded-Uri"},                           // F5: never the daemon's own path
      {{{"Host", "a"}}, "X-Original-URI"},
      {{method}, "X-Original-URI is missing"},
      {{uri}, "X-Original-Method is missing"},
      {{forwarded_method}, "X-Forwarded-Uri is missing"},
      {{forwarded_uri}, "X-Forwarded-Method is missing"},
      {{uri, forwarded_method},
       "X-Original-Method is missing"},  // half of each: a client's forgery
      {{method, uri, forwarded_method}, "X-Forwarded-Uri is missing"},
      {{method, uri, {"X-Original-URI", "/b"}}, "X-Original-URI is given twice"},
      {{method, uri, forwarded_method, {"X-Forwarded-Uri", "/b"}}, "X-Forwarded-Uri differ"},
      {{method, uri, {"X-Forwarded-Method", "PUT"}, forwarded_uri}, "X-Forwarded-Method differ"},
      {{{"X-Original-Method", ""}, uri}, "X-Original-Method is malformed"},
      {{{"X-Original-Method", "G T"}, uri}, "X-Original-Method is malformed"},
      {{method, {"X-Original-URI", ""}}, "X-Original-URI is malformed"},
      {{method, {"X-Original-URI", "a"}}, "X-Original-URI is malformed"},
      {{method, {"X-Original-URI", "/a b"}}, "X-Original-URI is malformed"},
      {{forwarded_method, {"X-Forwarded-Uri", "a"}}, "X-Forwarded-Uri is malformed"},
      {{method, uri, {"X-Forwarded-Host", "a, b"}}, "X-Forwarded-Host is malformed"},
      {{method, uri, {"X-Forwarded-Host", ""}}, "X-Forwarded-Host is malformed"},
      {{method, uri, {"X-Forwarded-Host", "a"}, {"X-Forwarded-Host", "b"}}, "given twice"},
      {{method, uri, {"X-Forwarded-Host", "a"}, {"X-Original-Host", "b"}},
       "X-Forwarded-Host differ"},
  };
  for (const Case& test : cases) {
    const auto result = ReadForwardedRequest(test.headers);
    if (test.error.empty()) {
      EXPECT_TRUE(result) << result.error();
    } else {
      ASSERT_FALSE(result) << test.error;
      EXPECT_NE(result.error().find(test.error), std::string::npos) << result.error();
    }
  }
}

}  // namespace
}  // namespace sluice::http
