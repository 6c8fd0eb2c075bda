#include "src/identity/framing.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sluice::identity {
namespace {

using Tuple = std::vector<std::string>;

std::string Encode(const Tuple& tuple) {
  std::string encoding;
  const auto sink = [&encoding](std::string_view bytes) { encoding += bytes; };
  FrameCount(tuple.size(), sink);
  for (const std::string& piece : tuple) FramePiece(piece, sink);
  return encoding;
}

// Pieces over a tiny alphabet with the bytes that lengths are made of, so that confusions are
// likely.
rc::Gen<Tuple> Tuples() {
  return rc::gen::container<Tuple>(
      rc::gen::container<std::string>(rc::gen::element('\0', '\x01', '\x02', 'a')));
}

TEST(Framing, IsCountThenLengthAndBytesOfEachPiece) {
  using namespace std::string_literals;
  EXPECT_EQ(Encode({}), "\0\0\0\0\0\0\0\0"s);
  EXPECT_EQ(Encode({""}), "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s);
  EXPECT_EQ(
      Encode({"test", std::string(258, 'x')}),
      "\x02\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0test\x02\x01\0\0\0\0\0\0"s + std::string(258, 'x'));
}

RC_GTEST_PROP(Framing, DifferentTuplesNeverEncodeEqual, ()) {
  const Tuple a = *Tuples();
  const Tuple b = *Tuples();
  RC_ASSERT((Encode(a) == Encode(b)) == (a == b));
}

// Concatenation fails this one at once: the bytes and their order stay, only a border moves.
RC_GTEST_PROP(Framing, MovingBytesAcrossABorderChangesTheEncoding, ()) {
  const Tuple tuple = *rc::gen::suchThat(Tuples(), [](const Tuple& t) { return t.size() >= 2; });
  const std::size_t border = *rc::gen::inRange<std::size_t>(1, tuple.size());
  Tuple moved = tuple;
  const std::string both = tuple[border - 1] + tuple[border];
  const std::size_t cut = *rc::gen::inRange<std::size_t>(0, both.size() + 1);
  moved[border - 1] = both.substr(0, cut);
  moved[border] = both.substr(cut);
  RC_ASSERT((Encode(moved) == Encode(tuple)) == (cut == tuple[border - 1].size()));

  Tuple merged = tuple;
  merged[border - 1] = both;
  merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(border));
  RC_ASSERT(Encode(merged) != Encode(tuple));
}

}  // namespace
}  // namespace sluice::identity
