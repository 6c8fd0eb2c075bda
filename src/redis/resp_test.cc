#include "src/redis/resp.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sluice::redis {
namespace {

Reply Text(std::string text) {
  return {.kind = Reply::Kind::kText, .text = std::move(text)};
}
Reply Integer(std::int64_t value) {
  return {.kind = Reply::Kind::kInteger, .integer = value};
}
Reply Array(std::vector<Reply> elements) {
  return {.kind = Reply::Kind::kArray, .elements = std::move(elements)};
}

Reply One(std::string_view bytes) {
  ReplyReader reader(1 << 20);
  reader.Feed(bytes);
  return reader.Next().value().value();
}

std::string Wire(const Reply& reply) {
  switch (reply.kind) {
    case Reply::Kind::kNil:
      return "$-1\r\n";
    case Reply::Kind::kInteger:
      return ":" + std::to_string(reply.integer) + "\r\n";
    case Reply::Kind::kStatus:
      return "+" + reply.text + "\r\n";
    case Reply::Kind::kError:
      return "-" + reply.text + "\r\n";
    case Reply::Kind::kText:
      return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
    case Reply::Kind::kArray:
      break;
  }
  std::string out = "*" + std::to_string(reply.elements.size()) + "\r\n";
  for (const Reply& element : reply.elements) out += Wire(element);
  return out;
}

TEST(EncodeCommand, IsAnArrayOfBulkStrings) {
  const std::string_view words[] = {"SET", "a key", std::string_view("\r\n\0", 3), ""};
  EXPECT_EQ(EncodeCommand(words), std::string("*4\r\n$3\r\nSET\r\n$5\r\na key\r\n$3\r\n\r\n\0\r\n"
                                              "$0\r\n\r\n",
                                              39));
}

TEST(ReplyReader, ReadsEveryKind) {
  EXPECT_EQ(One("+OK\r\n"), (Reply{.kind = Reply::Kind::kStatus, .text = "OK"}));
  EXPECT_EQ(One("-ERR no\r\n"), (Reply{.kind = Reply::Kind::kError, .text = "ERR no"}));
  EXPECT_EQ(One(":-9007199254740991\r\n"), Integer(-9'007'199'254'740'991));
  EXPECT_EQ(One("$3\r\na\r\n\r\n"), Text("a\r\n"));
  EXPECT_EQ(One("$-1\r\n"), Reply{});
  EXPECT_EQ(One("*-1\r\n"), Reply{});
  EXPECT_EQ(One("*0\r\n"), Array({}));
  EXPECT_EQ(One("*2\r\n*1\r\n:1\r\n$1\r\nx\r\n"), Array({Array({Integer(1)}), Text("x")}));
}

// However the bytes are cut, the same replies come out in the same order.
RC_GTEST_PROP(ReplyReader, GivesTheSameRepliesForAnyCut, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
  std::string bytes;
  std::vector<Reply> sent;
  for (const std::string& text : texts) {
    sent.push_back(text.size() % 2 == 0
                       ? Text(text)
                       : Array({Integer(static_cast<std::int64_t>(text.size())), Text(text)}));
    bytes += Wire(sent.back());
  }
  ReplyReader reader(1 << 20);
  std::vector<Reply> read;
  while (!bytes.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, bytes.size() + 1);
    reader.Feed(bytes.substr(0, size));
    bytes.erase(0, size);
    while (auto reply = reader.Next().value()) read.push_back(*std::move(reply));
  }
  RC_ASSERT(read == sent);
}

TEST(ReplyReader, RefusesWhatIsNoResp) {
  for (const char* bytes : {
           "HTTP/1.1 400 Bad Request\r\n",  // another protocol
           "$9999999999999999999999\r\n",   // a size no machine has
           "*1000000000\r\n",               // memory for the peer's word alone
           ":12x\r\n",                      // no number
           "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",  // too deep
       }) {
    ReplyReader reader(1 << 20);
    reader.Feed(bytes);
    EXPECT_FALSE(reader.Next().has_value()) << bytes;
  }
}

// Old wrong behaviour: a reply without an end grew the buffer until the process was killed.
TEST(ReplyReader, GivesUpAReplyOverItsBound) {
  ReplyReader reader(1000);
  reader.Feed("$100000\r\n");
  EXPECT_EQ(reader.Next(), std::nullopt);
  reader.Feed(std::string(1001, 'x'));
  EXPECT_FALSE(reader.Next().has_value());
}

TEST(ReplyReader, CountsOnlyWhatNoReplyHasUsedUp) {
  ReplyReader reader(100);
  for (int i = 0; i < 100; ++i) {
    reader.Feed("$50\r\n" + std::string(50, 'x') + "\r\n");
    ASSERT_EQ(reader.Next().value(), Text(std::string(50, 'x')));
    ASSERT_EQ(reader.Next().value(), std::nullopt);
  }
}

}  // namespace
}  // namespace sluice::redis
