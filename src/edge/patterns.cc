#include "src/edge/patterns.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "sluice/edge.h"

#include "src/edge/path.h"

namespace sluice::edge {
namespace {

constexpr std::size_t kMaximumHost = 253;  // RFC 1035, without the root's dot
constexpr std::size_t kMaximumLabel = 63;

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool IsLetter(char c) {
  return Lower(c) >= 'a' && Lower(c) <= 'z';
}

bool IsParameter(std::string_view segment) {
  if (segment.size() < 3 || segment.front() != '{' || segment.back() != '}') return false;
  segment = segment.substr(1, segment.size() - 2);
  return !IsDigit(segment.front()) && std::ranges::all_of(segment, [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '_' || c == '-';
  });
}

bool IsLabel(std::string_view label) {
  if (label.empty() || label.size() > kMaximumLabel) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::ranges::all_of(
      label, [](char c) { return IsLetter(c) || IsDigit(c) || c == '-' || c == '_'; });
}

bool IsBracketedAddress(std::string_view text) {
  if (text.size() < 4 || text.front() != '[' || text.back() != ']') return false;
  return std::ranges::all_of(text.substr(1, text.size() - 2), [](char c) {
    return IsDigit(c) || (Lower(c) >= 'a' && Lower(c) <= 'f') || c == ':' || c == '.';
  });
}

}  // namespace

std::expected<PathPattern, std::string> PathPattern::Parse(std::string_view text) {
  if (!text.starts_with('/')) return std::unexpected("a path begins with /");
  if (text.find_first_of("?#") != std::string_view::npos) {
    return std::unexpected("a query or fragment never matches: paths are compared without it");
  }
  PathPattern pattern;
  while (!text.empty()) {
    text.remove_prefix(1);  // the slash
    const std::string_view segment = text.substr(0, text.find('/'));
    text.remove_prefix(segment.size());
    if (pattern.open_ && !segment.empty()) return std::unexpected("** stands only at the end");
    if (segment == "**") {
      pattern.open_ = true;
    } else if (IsParameter(segment)) {
      pattern.segments_.emplace_back();
    } else if (segment.find_first_of("{}*") != std::string_view::npos) {
      return std::unexpected(
          "a segment is a literal, {name} or, at the end, **; a literal has no braces and no *");
    } else {
      std::string literal;
      if (const auto appended = AppendSegment(segment, literal); !appended) {
        return std::unexpected(std::string{appended.error()});
      }
      if (literal == "..") {
        if (!pattern.segments_.empty()) pattern.segments_.pop_back();
      } else if (!literal.empty() && literal != ".") {
        pattern.segments_.push_back(std::move(literal));
      }
    }
  }
  return pattern;
}

bool PathPattern::Matches(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  if (path.size() == 1) path = {};  // the root has no segments
  for (const std::string& segment : segments_) {
    if (path.empty()) return false;
    path.remove_prefix(1);  // the slash
    if (segment.empty()) {
      path.remove_prefix(std::min(path.find('/'), path.size()));
    } else {
      if (!path.starts_with(segment)) return false;
      path.remove_prefix(segment.size());
      if (!path.empty() && path.front() != '/') return false;
    }
  }
  return open_ || path.empty();
}

std::expected<HostPattern, std::string> HostPattern::Parse(std::string_view text) {
  HostPattern pattern;
  pattern.below_ = text.starts_with("*.");
  if (pattern.below_) text.remove_prefix(1);
  if (text.size() > 1 && text.ends_with('.')) text.remove_suffix(1);
  std::string_view labels = text.substr(pattern.below_ ? 1 : 0);
  if (labels.empty()) return std::unexpected("a host is not empty");
  if (labels.size() > kMaximumHost) return std::unexpected("a host has at most 253 characters");
  if (NameOf(labels) != labels) return std::unexpected("a port never matches: leave it out");
  if (pattern.below_ || !IsBracketedAddress(labels)) {
    while (true) {
      const auto dot = labels.find('.');
      if (!IsLabel(labels.substr(0, dot))) {
        return std::unexpected(
            "a host is a name such as example.com (international ones in their xn-- form), an "
            "address, or *.example.com");
      }
      if (dot == std::string_view::npos) break;
      labels.remove_prefix(dot + 1);
    }
  }
  pattern.name_.resize(text.size());
  std::ranges::transform(text, pattern.name_.begin(), Lower);
  return pattern;
}

bool HostPattern::Matches(std::string_view host) const {
  if (below_) {
    if (host.size() <= name_.size()) return false;
    host.remove_prefix(host.size() - name_.size());
  }
  return std::ranges::equal(host, name_, {}, Lower);
}

std::string_view HostPattern::NameOf(std::string_view host) {
  const auto colon = host.rfind(':');
  // In "[2001:db8::1]" the last colon is the address's own.
  if (colon != std::string_view::npos && std::ranges::all_of(host.substr(colon + 1), IsDigit)) {
    host = host.substr(0, colon);
  }
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace sluice::edge

namespace sluice {

std::optional<std::string> CheckPathPattern(std::string_view pattern) {
  const auto parsed = edge::PathPattern::Parse(pattern);
  return parsed ? std::nullopt : std::optional{parsed.error()};
}

std::optional<std::string> CheckHostPattern(std::string_view host) {
  const auto parsed = edge::HostPattern::Parse(host);
  return parsed ? std::nullopt : std::optional{parsed.error()};
}

}  // namespace sluice
