// What an operation matches a request against: the patterns for its path and its host.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::edge {

/// "/items/{id}", "/files/**": literal segments, `{name}` for exactly one segment, and `**`, only
/// as the last segment, for any number of segments, also none. Literals are normalised as paths
/// are, so "/%6cogin/" is "/login".
///
/// Thread safety: may be read from any thread.
class PathPattern {
 public:
  /// The pattern, or one sentence on why the text is none.
  [[nodiscard]] static std::expected<PathPattern, std::string> Parse(std::string_view text);

  /// `path` as NormaliseTarget gives it. "*" matches no pattern.
  [[nodiscard]] bool Matches(std::string_view path) const;

  /// Equal patterns match the same paths: the names in braces do not count.
  friend bool operator==(const PathPattern&, const PathPattern&) = default;

 private:
  std::vector<std::string> segments_;  // empty: any one segment, which is never empty itself
  bool open_ = false;                  // ends with **
};

/// "cdn.example.com", or "*.example.com" for every name below example.com, not that name itself.
/// Letter case, a port and a dot at the end of the request's host do not count.
///
/// Thread safety: may be read from any thread.
class HostPattern {
 public:
  /// The pattern, or one sentence on why the text is none.
  [[nodiscard]] static std::expected<HostPattern, std::string> Parse(std::string_view text);

  /// `host` as NameOf gives it.
  [[nodiscard]] bool Matches(std::string_view host) const;

  /// The name in a Host field or a URI's authority: without port and trailing dot, its letter case
  /// as it was.
  [[nodiscard]] static std::string_view NameOf(std::string_view host);

  friend bool operator==(const HostPattern&, const HostPattern&) = default;

 private:
  std::string name_;    // lower case; with the leading dot of a suffix
  bool below_ = false;  // "*": name_ is a suffix
};

}  // namespace sluice::edge
