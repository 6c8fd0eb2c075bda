// An encoding of a tuple of byte strings that no other tuple shares.
//
// Plain concatenation would let ("ab", "c") and ("a", "bc") become the same message, and so two
// clients one subject. Here every piece says its length first: the number of pieces, then each
// piece's length and bytes, all numbers 64-bit little-endian. (The pre-authentication encoding of
// PASETO; NIST SP 800-185 gives the same reason for its TupleHash.)
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::identity {

/// Takes the next bytes of an encoding, in order; called several times.
template <typename T>
concept ByteSink = std::invocable<T&, std::string_view>;

/// A number as the encoding writes it.
template <ByteSink Sink>
void FrameNumber(std::uint64_t number, Sink& sink) {
  char bytes[8];
  for (char& byte : bytes) {
    byte = static_cast<char>(number & 0xff);
    number >>= 8;
  }
  sink(std::string_view(bytes, sizeof(bytes)));
}

/// Begins a tuple of `pieces` pieces; `FramePiece` must follow as many times.
template <ByteSink Sink>
void FrameCount(std::size_t pieces, Sink& sink) {
  FrameNumber(pieces, sink);
}

template <ByteSink Sink>
void FramePiece(std::string_view piece, Sink& sink) {
  FrameNumber(piece.size(), sink);
  sink(piece);
}

}  // namespace sluice::identity
