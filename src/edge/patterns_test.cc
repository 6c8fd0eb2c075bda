#include "src/edge/patterns.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sluice/edge.h"

namespace sluice::edge {
namespace {

struct MatchRow {
  std::string_view pattern;
  std::string_view subject;
  bool matches;
};

TEST(PathPattern, MatchesSegmentBySegment) {
  const MatchRow rows[] = {
      {"/login", "/login", true},
      {"/login", "/Login", false},    // case kept
      {"/login", "/login2", false},   // whole segments only
      {"/login", "/log", false},      //
      {"/login", "/login/x", false},  //
      {"/login", "/", false},         //
      {"/login/", "/login", true},    // a pattern is normalised as a path is
      {"//login", "/login", true},    //
      {"/%6cogin", "/login", true},   //
      {"/a/./b/../c", "/a/c", true},  //
      {"/a%2fb", "/a%2Fb", true},     //
      {"/caf\xC3\xA9", "/caf%C3%A9", true},
      {"/", "/", true},
      {"/", "/x", false},
      {"/items/{id}", "/items/7", true},
      {"/items/{id}", "/items/a%2Fb", true},  // an escaped slash stays in its segment
      {"/items/{id}", "/items", false},       // exactly one segment
      {"/items/{id}", "/items/7/8", false},   //
      {"/items/{id}/tags", "/items/7/tags", true},
      {"/items/{id}/tags", "/items/7/tag", false},
      {"/{a}/{b}", "/x/y", true},
      {"/{a}", "/", false},           // a segment is not empty
      {"/files/**", "/files", true},  // also no segment at all
      {"/files/**", "/files/a", true},
      {"/files/**", "/files/a/b/c", true},
      {"/files/**", "/files2", false},
      {"/files/{id}/**", "/files", false},
      {"/files/{id}/**", "/files/a", true},
      {"/**", "/", true},
      {"/**", "/a/b", true},
      {"/**", "*", false},  // "OPTIONS *" names no path
  };
  for (const MatchRow& row : rows) {
    const auto pattern = PathPattern::Parse(row.pattern);
    ASSERT_TRUE(pattern.has_value()) << row.pattern << ": " << pattern.error();
    EXPECT_EQ(pattern->Matches(row.subject), row.matches) << row.pattern << " " << row.subject;
  }
}

TEST(PathPattern, IsRefusedIfItCouldNotMatchAsMeant) {
  const std::string_view patterns[] = {
      "",          //
      "login",     // no leading slash
      "*",         //
      "/a?b",      // a query is never compared
      "/a#b",      //
      "/**/a",     // ** at the end only
      "/a/**/**",  //
      "/a*",       // no other wildcards
      "/*/a",      //
      "/a**",      //
      "/{}",       // a parameter has a name
      "/{1d}",     // that begins with a letter
      "/{a b}",    //
      "/x{id}",    // and is a whole segment
      "/{id}x",    //
      "/{id",      //
      "/id}",      //
      "/{a}{b}",   //
      "/%4",       // broken escape
      "/a b",      // no URI has a space
  };
  for (const std::string_view pattern : patterns) {
    EXPECT_TRUE(CheckPathPattern(pattern).has_value()) << pattern;
  }
  EXPECT_FALSE(CheckPathPattern("/items/{id}/**").has_value());
}

TEST(PathPattern, NamesOfParametersDoNotTellPatternsApart) {
  EXPECT_EQ(*PathPattern::Parse("/items/{id}"), *PathPattern::Parse("/items//{item_id}/"));
  EXPECT_NE(*PathPattern::Parse("/items/{id}"), *PathPattern::Parse("/items/id"));
  EXPECT_NE(*PathPattern::Parse("/items"), *PathPattern::Parse("/items/**"));
}

TEST(HostPattern, MatchesNamesWithoutPortCaseAndTrailingDot) {
  const MatchRow rows[] = {
      {"cdn.example.com", "cdn.example.com", true},
      {"CDN.example.com.", "cdn.EXAMPLE.com", true},
      {"cdn.example.com", "cdn.example.com:8443", true},
      {"cdn.example.com", "cdn.example.com.", true},
      {"cdn.example.com", "cdn.example.com.:443", true},
      {"cdn.example.com", "xcdn.example.com", false},
      {"cdn.example.com", "", false},
      {"*.example.com", "a.example.com", true},
      {"*.example.com", "a.b.Example.com:80", true},
      {"*.example.com", "example.com", false},   // the name itself is not below it
      {"*.example.com", ".example.com", false},  //
      {"*.example.com", "badexample.com", false},
      {"*.example.com", "a.example.com.evil.org", false},
      {"192.0.2.1", "192.0.2.1:80", true},
      {"[2001:db8::1]", "[2001:DB8::1]:443", true},
      {"[2001:db8::1]", "[2001:db8::1]", true},
      {"localhost", "localhost:", true},  // an empty port is allowed (RFC 3986, 3.2.3)
  };
  for (const MatchRow& row : rows) {
    const auto pattern = HostPattern::Parse(row.pattern);
    ASSERT_TRUE(pattern.has_value()) << row.pattern << ": " << pattern.error();
    EXPECT_EQ(pattern->Matches(HostPattern::NameOf(row.subject)), row.matches)
        << row.pattern << " " << row.subject;
  }
}

TEST(HostPattern, IsRefusedIfItIsNoName) {
  const std::string long_label(64, 'a');
  std::string long_name;
  while (long_name.size() < 254) long_name += "abcdefgh.";
  long_name += "com";
  const std::string_view hosts[] = {
      "",
      "*",
      "*.",
      ".example.com",
      "a..b",
      "a.*.com",
      "*a.com",
      "example.com:443",      // a port never matches
      "https://example.com",  //
      "example.com/x",        //
      "exa mple.com",         //
      "b\xC3\xBC"
      "cher.example",  // only the xn-- form is on the wire
      "-a.com",
      "[2001:db8::1",
      "*.[::1]",
      long_label,
      long_name,
  };
  for (const std::string_view host : hosts) {
    EXPECT_TRUE(CheckHostPattern(host).has_value()) << host;
  }
  EXPECT_FALSE(CheckHostPattern("*.example.com").has_value());
  EXPECT_FALSE(CheckHostPattern("xn--bcher-kva.example").has_value());
}

}  // namespace
}  // namespace sluice::edge
