#include "src/identity/forwarded.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sluice::identity {
namespace {

std::vector<std::string> ElementsFromTheRight(std::string_view line) {
  std::vector<std::string> elements;
  for (std::optional<std::string_view> rest = line; rest;)
    elements.emplace_back(TakeLastElement(rest));
  return elements;
}

TEST(ForwardedLine, IsSplitFromTheRight) {
  using Elements = std::vector<std::string>;
  struct Row {
    std::string_view line;
    Elements elements;
  };
  const Row rows[] = {
      {"", {""}},
      {"for=a", {"for=a"}},
      {"for=a,for=b", {"for=b", "for=a"}},
      {",", {"", ""}},
      // commas and escaped quotes within a quoted string separate nothing
      {R"(for="a,b", for=c)", {" for=c", R"(for="a,b")"}},
      {R"(for="a\",b", for=c)", {" for=c", R"(for="a\",b")"}},
      {R"(for="a\\", for=c)", {" for=c", R"(for="a\\")"}},
      {R"(for="a\\\",\\", for="c")", {R"( for="c")", R"(for="a\\\",\\")"}},
      // what stands before a proxy's element cannot swallow it, however it ends
      {R"(for=", for=203.0.113.9)", {" for=203.0.113.9", R"(for=")"}},
      {R"(for=", for="203.0.113.9")", {R"( for="203.0.113.9")", R"(for=")"}},
      {R"(for="x\, for="203.0.113.9")", {R"( for="203.0.113.9")", R"(for="x\)"}},
      // a quote without its pair reaches to the beginning
      {R"(for=a, for=b")", {R"(for=a, for=b")"}},
  };
  for (const Row& row : rows) EXPECT_EQ(ElementsFromTheRight(row.line), row.elements) << row.line;
}

RC_GTEST_PROP(ForwardedLine, WellFormedElementsComeBackInReverse, ()) {
  const auto value =
      rc::gen::container<std::string>(rc::gen::element('a', ',', ';', '"', '\\', '=', ' '));
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(value));
  std::string line;
  std::vector<std::string> expected;
  for (const std::string& text : values) {
    std::string element = "by=\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') element += '\\';
      element += c;
    }
    element += '"';
    if (!line.empty()) line += ',';
    line += element;
    expected.insert(expected.begin(), element);
  }
  RC_ASSERT(ElementsFromTheRight(line) == expected);
}

TEST(ForwardedElement, NamesAnAddress) {
  struct Row {
    std::string_view element;
    std::string_view address;
  };
  const Row rows[] = {
      {"for=192.0.2.60", "192.0.2.60"},
      {"for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"},
      {"proto=https;By=_x;FOR=192.0.2.60", "192.0.2.60"},  // names are case-insensitive
      {R"(For="[2001:db8:cafe::17]:4711")", "2001:db8:cafe::17"},
      {R"(for="[2001:db8:cafe::17]")", "2001:db8:cafe::17"},
      {R"(for="192.0.2.43:47011")", "192.0.2.43"},
      {R"(for="192.0.2.43:_port")", "192.0.2.43"},
      {R"(for="\1\9\2.0.2.4\3")", "192.0.2.43"},
      // parameters that are not ours may hold anything quoted
      {R"(host="a;for=6.6.6.6,\"";for=192.0.2.60)", "192.0.2.60"},
      {"host=;for=192.0.2.60", "192.0.2.60"},
      // empty parameters are in the grammar; blanks are not, yet leave no doubt
      {";for=192.0.2.60;;", "192.0.2.60"},
      {"\t for=192.0.2.60 ; proto=http ", "192.0.2.60"},
      // neither are colons and brackets outside quotes
      {"for=192.0.2.60:80;proto=http", "192.0.2.60"},
      {"for=[2001:db8::1]:80", "2001:db8::1"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(AddressOfElement(row.element), ParseAddress(row.address)) << row.element;
  }
}

TEST(ForwardedElement, NamesNobodyWhenMalformed) {
  const std::string_view elements[] = {
      "",
      " ",
      ";",
      "for",
      "for=",
      "for=\"\"",
      "=1.2.3.4",
      "1.2.3.4",
      "proto=https;by=1.2.3.4",
      "for=unknown",
      "for=_hidden",
      R"(for="_SEVKISEK")",
      "for=\"unix:\"",
      "for=192.168.001.001",
      // two clients are none
      "for=1.2.3.4;for=1.2.3.4",
      "for=1.2.3.4;FOR=5.6.7.8",
      // quotes without an end, or with something after it
      R"(for="1.2.3.4)",
      R"(for="1.2.3.4\")",
      R"(for="1.2.3.4"x)",
      R"(for=1.2.3.4")",
      R"(for=1".2.3.4")",
      R"(for=1.2.3.4;host="x)",
      "for==1.2.3.4",
      "for =1.2.3.4",
      "for= 1.2.3.4",
      "for=1.2.3.4 proto=http",
      "for=1.2.3.4,for=5.6.7.8",
      // longer than any address
      R"(for="1111111111111111111111111111111111111111111111111111111111111111111111111111")",
  };
  for (const std::string_view element : elements)
    EXPECT_FALSE(AddressOfElement(element)) << element;
}

}  // namespace
}  // namespace sluice::identity
