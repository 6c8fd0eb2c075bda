#include "src/http/request_parser.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

constexpr std::string_view kMinimal = "GET /check HTTP/1.1\r\nHost: a\r\n\r\n";

/// What became of some bytes given in one piece or in many.
struct Parsed {
  bool done = false;
  int status = 0;  // of the failure
  std::size_t consumed = 0;
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool keep_alive = false;
};

Parsed ParseIn(std::string_view bytes, std::size_t piece, ParserLimits limits = {}) {
  RequestParser parser(limits);
  Parsed parsed;
  std::string pending;
  for (std::size_t at = 0; at < bytes.size() && !parser.done() && !parser.failure(); at += piece) {
    pending.append(bytes.substr(at, piece));
    const std::size_t used = parser.Consume(pending);
    pending.erase(0, used);
    parsed.consumed += used;
  }
  parsed.done = parser.done();
  if (parser.failure()) parsed.status = parser.failure()->status;
  if (!parsed.done) return parsed;
  parsed.method = parser.method();
  parsed.target = parser.target();
  parsed.body = parser.body();
  parsed.keep_alive = parser.keep_alive();
  for (const HeaderField& header : parser.headers()) {
    parsed.headers.emplace_back(header.name, header.value);
  }
  return parsed;
}

Parsed Parse(std::string_view bytes, ParserLimits limits = {}) {
  return ParseIn(bytes, bytes.size(), limits);
}

std::string With(std::string_view fields, std::string_view body = {}) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

TEST(RequestParser, ReadsMethodTargetAndFields) {
  const Parsed parsed =
      Parse("PURGE /a?b=c HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nx-y: \t v w \t\r\n\r\n");
  ASSERT_TRUE(parsed.done);
  EXPECT_EQ(parsed.method, "PURGE");
  EXPECT_EQ(parsed.target, "/a?b=c");
  const std::vector<std::pair<std::string, std::string>> expected{
      {"Host", "a"}, {"X-Empty", ""}, {"x-y", "v w"}};
  EXPECT_EQ(parsed.headers, expected);
  EXPECT_TRUE(parsed.keep_alive);
}

TEST(RequestParser, LeavesTheNextRequestUnread) {
  const std::string two = std::string(kMinimal) + "GET /2";
  const Parsed parsed = Parse(two);
  EXPECT_TRUE(parsed.done);
  EXPECT_EQ(parsed.consumed, kMinimal.size());
}

TEST(RequestParser, ReadsBodiesOfBothFramings) {
  EXPECT_EQ(Parse(With("Content-Length: 5\r\n", "hello")).body, "hello");
  EXPECT_EQ(
      Parse(With("Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\n\r\n")).body,
      "hello");
  EXPECT_EQ(Parse(With("Transfer-Encoding: Chunked\r\n", "0\r\nX-Trailer: v\r\n\r\n")).body, "");
}

// The old wrong behaviour of many servers: a trailer replaces a header that was already checked.
TEST(RequestParser, TrailersAreNoHeaders) {
  const Parsed parsed =
      Parse(With("Transfer-Encoding: chunked\r\n", "0\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n"));
  ASSERT_TRUE(parsed.done);
  EXPECT_EQ(parsed.headers.size(), 2U);
}

struct Case {
  std::string_view bytes;
  int status;  // 0: accepted
};

TEST(RequestParser, RequestLines) {
  const Case cases[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 0},   // empty lines before it
      {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 0},       // asterisk form
      {"GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n", 0},  // absolute form
      {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 0},   // authority form
      {"GET / HTTP/1.0\r\n\r\n", 0},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},           // asterisk is for OPTIONS
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},           // no form at all
      {"GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n", 400},   // absolute form without a host
      {"CONNECT /check HTTP/1.1\r\nHost: a\r\n\r\n", 400},  // CONNECT takes no path
      {"GET /\r\n\r\n", 400},                               // HTTP/0.9
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},  // the preface of HTTP/2
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},    // two spaces
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},  // a space in the target
      {"GET / HTTP/1.1\nHost: a\n\n", 400},           // bare line feeds
      {"G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"\x16\x03\x01\x02\x01\x01", 400},  // a TLS hello
  };
  for (const Case& test : cases) EXPECT_EQ(Parse(test.bytes).status, test.status) << test.bytes;
}

TEST(RequestParser, HeaderFields) {
  const Case cases[] = {
      {"X: \x80\xff\r\n", 0},   // obs-text
      {"X y: z\r\n", 400},      // a space in a name
      {"X : y\r\n", 400},       // a space before the colon
      {": y\r\n", 400},         // no name
      {"X\r\n", 400},           // no colon
      {" X: y\r\n", 400},       // leading space
      {"X: a\r\n b\r\n", 400},  // folded
      {"X:\r\n b\r\n", 400},    // folded after nothing
      {"X: a\r\n \r\n", 400},   // folded into nothing
      {"X: a\rb\r\n", 400},     // bare CR
      {"X: a\nY: b\r\n", 400},  // bare LF
      {"X: a\x01\r\n", 400},    // a control character
      {"Host: b\r\n", 400},     // the second one
      {"Content-Length: 0\r\n", 0},
      {"Content-Length: +0\r\n", 400},
      {"Content-Length: 0x0\r\n", 400},
      {"Content-Length: -1\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: 0, 0\r\n", 400},  // a list
      {"Content-Length: 0\r\nContent-Length: 0\r\n", 400},
      {"Content-Length: 18446744073709551616\r\n", 400},
      {"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: gzip\r\n", 400},  // read as "no body" by lenient parsers
      {"Transfer-Encoding: gzip, chunked\r\n", 400},
      {"Transfer-Encoding: chunked, identity\r\n", 400},
      {"Transfer-Encoding: xchunked\r\n", 400},
      {"Expect: 200-ok\r\n", 417},
      {"Connection: close,,\x7f\r\n", 400},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Parse(With(test.bytes)).status, test.status) << test.bytes;
  }
}

TEST(RequestParser, TransferCodingsInHttp10AreRefused) {
  EXPECT_EQ(Parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status, 400);
}

TEST(RequestParser, Hosts) {
  const Case cases[] = {
      {"Host: example.com:80\r\n", 0},
      {"Host: [::1]:80\r\n", 0},
      {"Host:\r\n", 0},
      {"", 400},               // missing
      {"Host: a b\r\n", 400},  // a space
      {"Host: a,b\r\n", 400},  // two hosts
      {"Host: a/b\r\n", 400},  // a path
      {"Host: u@a\r\n", 400},  // user information
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Parse("GET / HTTP/1.1\r\n" + std::string(test.bytes) + "\r\n").status, test.status)
        << test.bytes;
  }
}

TEST(RequestParser, Chunks) {
  const Case cases[] = {
      {"5\r\nhello\r\n0\r\n\r\n", 0},
      {"5;name=value;other=\"a b\"\r\nhello\r\n0\r\n\r\n", 0},
      {"x\r\n\r\n", 400},                  // no size
      {"0x5\r\nhello\r\n0\r\n\r\n", 400},  // a prefix
      {"-1\r\n\r\n", 400},
      {"5\r\nhelloX\r\n0\r\n\r\n", 400},  // longer than it says
      {"5 hello\r\n0\r\n\r\n", 400},
      {"5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", 400},  // a line feed in an extension
      {"ffffffffffffffff0\r\n", 400},             // beyond 64 bits
      {"10001\r\n", 413},
      {"0\r\nX: a\r\n b\r\n\r\n", 400},  // a folded trailer
      {"0\r\nX\r\n\r\n", 400},           // a trailer that is no field
  };
  for (const Case& test : cases) {
    const std::string bytes = With("Transfer-Encoding: chunked\r\n", test.bytes);
    EXPECT_EQ(Parse(bytes).status, test.status) << test.bytes;
  }
}

TEST(RequestParser, LimitsAreExact) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const auto of_size = [&](std::size_t size) {
    return head + std::string(size - head.size() - 4, 'x') + "\r\n\r\n";
  };
  const ParserLimits limits{.maximum_header = 1'000, .maximum_body = 10};
  for (const std::size_t piece : {1UL, 7UL, 5'000UL}) {
    EXPECT_TRUE(ParseIn(of_size(1'000), piece, limits).done) << piece;
    EXPECT_EQ(ParseIn(of_size(1'001), piece, limits).status, 431) << piece;
    // Many small fields add up as well; they are read one by one.
    std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
    while (many.size() < 1'001) many += "A: b\r\n";
    EXPECT_EQ(ParseIn(many, piece, limits).status, 431) << piece;
    EXPECT_EQ(ParseIn("GET /" + std::string(2'000, 'x'), piece, limits).status, 414) << piece;
    EXPECT_TRUE(ParseIn(With("Content-Length: 10\r\n", "0123456789"), piece, limits).done);
    EXPECT_EQ(ParseIn(With("Content-Length: 11\r\n"), piece, limits).status, 413);
    const std::string chunks = "6\r\n012345\r\n5\r\n67890\r\n0\r\n\r\n";
    EXPECT_EQ(ParseIn(With("Transfer-Encoding: chunked\r\n", chunks), piece, limits).status, 413);
    // A chunk extension or a trailer that never ends.
    const std::string endless = "1;a=" + std::string(2'000, 'x');
    EXPECT_EQ(ParseIn(With("Transfer-Encoding: chunked\r\n", endless), piece, limits).status, 431);
  }
}

TEST(RequestParser, PiecesMakeNoDifference) {
  const std::string inputs[] = {
      std::string(kMinimal),
      "\r\n" + std::string(kMinimal) + "GET",
      With("Content-Length: 5\r\n", "hello"),
      With("Transfer-Encoding: chunked\r\n", "2\r\nhe\r\n3;a=\"b\"\r\nllo\r\n0\r\nT: v\r\n\r\n"),
      // The old wrong behaviour: an assertion failed when a last chunk came byte by byte.
      With("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
      With("Transfer-Encoding: chunked\r\n", "0;a=b\r\nT: v\r\n\r\n"),
      With("X: a\r\n b\r\n"),
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
  };
  for (const std::string& input : inputs) {
    const Parsed whole = Parse(input);
    for (std::size_t piece = 1; piece < input.size(); ++piece) {
      const Parsed split = ParseIn(input, piece);
      EXPECT_EQ(split.status, whole.status) << input << " in pieces of " << piece;
      EXPECT_EQ(split.body, whole.body);
      EXPECT_EQ(split.headers, whole.headers);
      EXPECT_EQ(split.done, whole.done);
    }
  }
}

TEST(RequestParser, KeepAliveFollowsVersionAndConnection) {
  const auto keeps = [](std::string_view version, std::string_view connection) {
    std::string bytes = "GET / HTTP/" + std::string(version) + "\r\nHost: a\r\n";
    if (!connection.empty()) bytes += "Connection: " + std::string(connection) + "\r\n";
    return Parse(bytes + "\r\n").keep_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Close"));
  EXPECT_TRUE(keeps("1.1", "Upgrade"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Keep-Alive"));
}

TEST(RequestParser, ResetForgetsTheRequest) {
  RequestParser parser({});
  const std::string first = With("Content-Length: 5\r\nExpect: 100-continue\r\n", "hello");
  ASSERT_EQ(parser.Consume(first), first.size());
  parser.Reset();
  EXPECT_FALSE(parser.has_started());
  ASSERT_EQ(parser.Consume(kMinimal), kMinimal.size());
  EXPECT_EQ(parser.body(), "");
  EXPECT_FALSE(parser.expects_continue());
  EXPECT_EQ(parser.headers().size(), 1U);
}

}  // namespace
}  // namespace sluice::http
