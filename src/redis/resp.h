// RESP, the wire format of Redis: commands out, reply trees in. Replies are parsed by hiredis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::redis {

/// One reply as the server sent it, an error reply included. A plain value.
struct Reply {
  enum class Kind : std::uint8_t { kNil, kInteger, kText, kStatus, kError, kArray };
  Kind kind = Kind::kNil;
  std::int64_t integer = 0;       ///< of kInteger
  std::string text{};             ///< of kText, kStatus and kError; binary safe
  std::vector<Reply> elements{};  ///< of kArray
  friend bool operator==(const Reply&, const Reply&) = default;
};

/// Writes one command, an array of bulk strings, word by word.
class CommandWriter {
 public:
  void Add(std::string_view word);
  void Add(std::int64_t number);
  [[nodiscard]] std::string Finish() const;

 private:
  std::string words_;
  std::size_t count_ = 0;
};

/// The bytes of one command.
[[nodiscard]] std::string EncodeCommand(std::span<const std::string_view> words);

/// Splits a stream of bytes into replies. Bounded: a reply over `maximum_bytes`, an array of more
/// than kMaximumElements or nested deeper than hiredis goes (7) is an error.
/// After an error the reader is of no use, and neither is the connection.
class ReplyReader {
 public:
  static constexpr std::size_t kMaximumElements = 64 * 1024;

  explicit ReplyReader(std::size_t maximum_bytes);
  ~ReplyReader();
  ReplyReader(ReplyReader&&) noexcept;
  ReplyReader& operator=(ReplyReader&&) noexcept;

  void Feed(std::string_view bytes);
  /// The next whole reply, none if more bytes are needed, or one sentence on what is wrong.
  [[nodiscard]] std::expected<std::optional<Reply>, std::string> Next();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::redis
