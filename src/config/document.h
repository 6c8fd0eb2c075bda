// A configuration document as plain data: every value knows where it was written.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::config {

/// Where something was written: in the file, or in an environment variable.
struct Place {
  std::string variable{};  ///< empty for the file; orders the file before the environment
  int line = 1;
  int column = 1;  ///< counts characters, not bytes
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// One reason why a configuration is refused.
struct Error {
  std::string place;    ///< "sluice.yaml:3:11", or the name of an environment variable
  std::string key;      ///< "http.workers"; empty where the document as a whole is meant
  std::string message;  ///< what is wrong and, where there is a choice, what is allowed
  /// "sluice.yaml:3:11: http.workers: 300 is out of bounds; allowed: 0 to 256"
  [[nodiscard]] std::string ToString() const;
  friend bool operator==(const Error&, const Error&) = default;
};

/// Collects what is wrong, so that all of it is told at once.
class Errors {
 public:
  /// `file` names the document in places.
  explicit Errors(std::string file) : file_(std::move(file)) {}

  void Add(Place place, std::string key, std::string message);
  [[nodiscard]] bool empty() const { return found_.empty(); }
  [[nodiscard]] std::size_t size() const { return found_.size(); }
  /// "sluice.yaml:3:11", or the variable's name.
  [[nodiscard]] std::string Show(const Place& place) const;
  /// In the order of the file, then what the environment brought. At most `kMaximumShown`, and a
  /// last one that says how many more there are.
  [[nodiscard]] std::vector<Error> Sorted() const;

  static constexpr std::size_t kMaximumShown = 200;

 private:
  struct Found {
    std::string key;
    std::string message;
  };
  std::string file_;
  std::multimap<Place, Found> found_;
};

/// How a scalar was written, which decides what it may be read as.
enum class Style : std::uint8_t {
  kPlain,        ///< without quotes: a number, a boolean or a text, by its form
  kQuoted,       ///< in quotes or as a block: always a text
  kEnvironment,  ///< the value of a variable, which cannot quote: whatever is asked for
};

/// A value of a document: a scalar, a list or a map.
struct Node {
  enum class Kind : std::uint8_t {
    kNull,  ///< nothing, ~ or null
    kScalar,
    kList,
    kMap,
    kRefused,  ///< cannot be read and has been reported: readers skip it silently
  };
  Kind kind = Kind::kNull;
  Style style = Style::kPlain;
  bool confidential = false;  ///< came from a file that a variable names: messages must not show it
  Place place{};
  std::string text{};  ///< of a scalar
  std::string key{};   ///< under which a map holds this node, else empty
  Place key_place{};   ///< of the key; for what no map holds, `place`
  /// Of a list or a map, in order. A scalar of the environment has its parts between commas here,
  /// in case a list is asked for.
  std::vector<Node> children{};

  /// The child that a map holds under `name`, or null.
  [[nodiscard]] const Node* Find(std::string_view name) const;
};

inline constexpr std::size_t kMaximumDocumentBytes = std::size_t{1024} * 1024;
inline constexpr std::size_t kMaximumDepth = 16;

/// Reads one YAML document (JSON is a part of YAML) without judging its values.
///
/// Refused, and reported to `errors`: more than `kMaximumDocumentBytes`, text that is not UTF-8,
/// control characters, nesting beyond `kMaximumDepth`, a second document, duplicate keys, keys that
/// are no scalars, tags, anchors and aliases (so a small file cannot unfold into a large one). A
/// syntax error ends the reading; what was found before it is reported too, and the root is
/// kRefused. An empty document is kNull. Never throws.
[[nodiscard]] Node ParseDocument(std::string_view text, Errors& errors);

/// The path of what `path` (empty for the root) holds under `key` or at `index`.
[[nodiscard]] std::string PathBelow(std::string_view path, std::string_view key);
[[nodiscard]] std::string PathBelow(std::string_view path, std::size_t index);

/// Whether `text` is well-formed UTF-8 (RFC 3629) without control characters.
[[nodiscard]] bool IsPrintable(std::string_view text);

}  // namespace sluice::config
