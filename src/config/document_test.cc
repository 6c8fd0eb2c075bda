// How a text becomes a document: what YAML is read, what is refused, and where things stand.
#include "src/config/document.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::config {
namespace {

using Lines = std::vector<std::string>;

Lines ErrorsIn(std::string_view text) {
  Errors errors("f");
  (void)ParseDocument(text, errors);
  Lines lines;
  for (const Error& error : errors.Sorted()) lines.push_back(error.ToString());
  return lines;
}

Node Parse(std::string_view text) {
  Errors errors("f");
  Node node = ParseDocument(text, errors);
  EXPECT_TRUE(errors.empty()) << text << "\n" << errors.Sorted().front().ToString();
  return node;
}

std::string Nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Document, KeepsThePlaceOfEveryKeyAndValue) {
  const Node root = Parse("a: 1\nb:\n  c: [x, \"y\"]\n");
  ASSERT_EQ(root.kind, Node::Kind::kMap);
  const Node* c = root.Find("b")->Find("c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->key_place, (Place{"", 3, 3}));
  EXPECT_EQ(c->place, (Place{"", 3, 6}));
  EXPECT_EQ(c->children[1].place, (Place{"", 3, 10}));
  EXPECT_EQ(c->children[0].style, Style::kPlain);
  EXPECT_EQ(c->children[1].style, Style::kQuoted);
  EXPECT_EQ(root.Find("z"), nullptr);
}

TEST(Document, CountsColumnsInCharacters) {
  // Old wrong behaviour: the parser's own columns count bytes, here 14.
  const Node root = Parse("{\"größe\": 1, ü: 2}\n");
  EXPECT_EQ(root.Find("ü")->key_place, (Place{"", 1, 14}));
}

TEST(Document, OfAMissingValueHasThePlaceOfItsKey) {
  // Old wrong behaviour: the parser marks the token that follows, here line 3.
  const Node root = Parse("a:\n\nb: 1\n");
  EXPECT_EQ(root.Find("a")->kind, Node::Kind::kNull);
  EXPECT_EQ(root.Find("a")->place, (Place{"", 1, 1}));
}

TEST(Document, IsReadInEveryFormOfTheSubset) {
  const std::string_view texts[] = {
      "a: {b: c}\n",
      "a:\n  b: c\n",
      "{\"a\": {\"b\": \"c\"}}",        // JSON
      "{\"a\":{\"b\":\"c\"}}",          // JSON without spaces
      "{\n\t\"a\": {\"b\": \"c\"}\n}",  // JSON indented with tabs
      "a:\r\n  b: c\r\n",               // CRLF
      "\xEF\xBB\xBF"
      "a: {b: c}\n",            // a byte order mark at the start
      "---\na: {b: c}\n...\n",  // the marks of one document
      "# first\na: # here\n  b: c # there\n",
      "? a\n: b: c\n",  // an explicit key
      "a: {b: c,}\n",   // a comma at the end
      "%YAML 1.2\n---\na: {b: c}\n",
  };
  for (const std::string_view text : texts) {
    const Node root = Parse(text);
    const Node* a = root.Find("a");
    ASSERT_NE(a, nullptr) << text;
    ASSERT_NE(a->Find("b"), nullptr) << text;
    EXPECT_EQ(a->Find("b")->text, "c") << text;
  }
}

TEST(Document, WithoutContentIsNull) {
  for (const std::string_view text : {"", "\n\n", "# only a comment\n", "---\n", "~", "null"}) {
    EXPECT_EQ(Parse(text).kind, Node::Kind::kNull) << text;
  }
}

TEST(Document, IsRefusedWithThePlaceOfWhatIsWrong) {
  struct Row {
    std::string text;
    Lines errors;
  };
  const Row rows[] = {
      // a key twice: the last one won silently elsewhere
      {"a: 1\nb: 2\na: 3\n", {"f:3:1: a: the key is already set at f:1:1"}},
      {"x:\n  - {b: 1, b: 2}\n", {"f:2:12: x[0].b: the key is already set at f:2:6"}},
      // the same key, once as a text
      {"{1: a, \"1\": b}", {"f:1:8: 1: the key is already set at f:1:2"}},
      // aliases and anchors, so that nothing can unfold
      {"a: &x [1]\nb: *x\n",
       {"f:1:4: a: the anchor &x is not supported",
        "f:2:4: b: aliases are not supported; write the value out"}},
      {"a: *x\n", {"f:1:4: the referenced anchor is not defined"}},
      // tags
      {"a: !!str 5\n", {"f:1:4: a: the tag tag:yaml.org,2002:str is not supported"}},
      {"a: !x {b: 1}\n", {"f:1:4: a: the tag !x is not supported"}},
      // keys that are no texts
      {"? [a]\n: b\n", {"f:1:3: a key must be a text"}},
      {"{~: 1}\n", {"f:1:2: a key must be a text"}},
      {": x\n", {"f:1:1: a key must be a text"}},
      // several documents
      {"a: 1\n---\nb: 2\n", {"f:2:1: a second document starts here; allowed: one"}},
      {"{} garbage", {"f:1:4: a second document starts here; allowed: one"}},
      // tabs as indentation
      {"a:\n\tb: 1\n", {"f:2:3: illegal map value"}},
      // broken syntax
      {"a: [1, 2\n", {"f:1:1: end of sequence flow not found; it starts at f:1:4"}},
      // Old wrong behaviour: a quoted text without an end, as in a file that was cut, was accepted.
      {"a: 'x\n", {"f:1:6: illegal EOF in scalar"}},
      {"a: \"x\nb: 1\n\n", {"f:2:5: illegal EOF in scalar"}},
      {"a: b: c\n", {"f:1:5: illegal map value"}},
      {"a: 1\n]\n", {"f:2:1: illegal flow end"}},
      // an address of IPv6 that needs quotes
      {"a: [::1]:8080\n", {"f:1:9: end of map not found; it starts at f:1:1"}},
      // what was found before the syntax broke is told too
      {"a: 1\na: 2\nb: [\n",
       {"f:2:1: a: the key is already set at f:1:1",
        "f:3:1: end of sequence flow not found; it starts at f:3:4"}},
      // bytes that are no text
      {std::string("a: x\0y\n", 7), {"f:1:5: the control character 0x00 is not allowed"}},
      {"a: 1\nb: \x1b[1m\n", {"f:2:4: the control character 0x1B is not allowed"}},
      {"a: 1\rb: 2\n", {"f:1:5: the control character 0x0D is not allowed"}},
      {"\xFF\xFE"
       "a\n",
       {"f:1:1: the text is not UTF-8"}},  // UTF-16
      {"a: ü \xC3(\n", {"f:1:6: the text is not UTF-8"}},
      {"a: \xC0\xAF\n", {"f:1:4: the text is not UTF-8"}},          // overlong
      {"a: \xED\xA0\x80\n", {"f:1:4: the text is not UTF-8"}},      // a surrogate
      {"a: \xF4\x90\x80\x80\n", {"f:1:4: the text is not UTF-8"}},  // beyond U+10FFFF
      {"a: \xE2\x82", {"f:1:4: the text is not UTF-8"}},            // cut
  };
  for (const Row& row : rows) EXPECT_EQ(ErrorsIn(row.text), row.errors) << row.text;
}

TEST(Document, IsRefusedBeyondItsBounds) {
  EXPECT_EQ(ErrorsIn(Nested(kMaximumDepth)), Lines{});
  EXPECT_EQ(ErrorsIn(Nested(kMaximumDepth + 1)),
            Lines{"f:1:17: nested too deeply; allowed: up to 16 levels"});
  // Old wrong behaviour: a parser that recurses overflows its stack.
  EXPECT_EQ(ErrorsIn(std::string(500'000, '[')).size(), 1u);
  std::string blocks;
  for (int depth = 0; depth < 500; ++depth) blocks += "- ";
  EXPECT_EQ(ErrorsIn(blocks), Lines{"f:1:33: nested too deeply; allowed: up to 16 levels"});

  const std::string full = "#" + std::string(kMaximumDocumentBytes - 1, 'x');
  EXPECT_EQ(ErrorsIn(full), Lines{});
  EXPECT_EQ(ErrorsIn(full + "x"),
            Lines{"f:1:1: the document has 1048577 bytes; allowed: up to 1MiB"});
}

TEST(Document, DoesNotUnfoldNestedAliases) {
  // Nine lines that would unfold to 10^9 values.
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int n = 1; n < 10; ++n) text += ", " + last;
    text += "]\n";
  }
  EXPECT_EQ(ErrorsIn(text).size(), 89u);
}

TEST(Document, CutsTheListOfErrors) {
  std::string text = "a: 1\n";
  for (std::size_t i = 0; i < Errors::kMaximumShown + 5; ++i) text += "a: 1\n";
  const Lines errors = ErrorsIn(text);
  ASSERT_EQ(errors.size(), Errors::kMaximumShown + 1);
  EXPECT_EQ(errors.back(), "f: and 5 more errors");
}

}  // namespace
}  // namespace sluice::config
