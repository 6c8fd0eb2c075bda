#include "src/edge/path.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::edge {
namespace {

enum class Byte : std::uint8_t {
  kInvalid,     // control bytes and the space: no URI holds them
  kUnreserved,  // RFC 3986, 2.3: the same raw and escaped
  kPlain,       // the rest of a segment's characters: raw and escaped differ
  kEscaped,     // stands in a URI only as an escape; many clients send it raw
};

constexpr std::array<Byte, 256> kBytes = [] {
  std::array<Byte, 256> bytes{};
  bytes.fill(Byte::kEscaped);
  for (std::size_t c = 0; c <= 0x20; ++c) bytes[c] = Byte::kInvalid;
  bytes[0x7F] = Byte::kInvalid;
  for (char c = '0'; c <= '9'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::kUnreserved;
  for (char c = 'a'; c <= 'z'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::kUnreserved;
  for (char c = 'A'; c <= 'Z'; ++c) bytes[static_cast<unsigned char>(c)] = Byte::kUnreserved;
  for (const char c : std::string_view{"-._~"}) {
    bytes[static_cast<unsigned char>(c)] = Byte::kUnreserved;
  }
  for (const char c : std::string_view{"!$&'()*+,;=:@"}) {
    bytes[static_cast<unsigned char>(c)] = Byte::kPlain;
  }
  return bytes;
}();

constexpr Byte KindOf(char c) {
  return kBytes[static_cast<unsigned char>(c)];
}

constexpr std::string_view kBrokenEscape = "the path has a % without two hexadecimal digits";
constexpr std::string_view kInvalidByte = "the path has a space or a control byte";
constexpr std::string_view kNoPath =
    "the request target is neither a path from the root, nor an absolute URI, nor *";

constexpr int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendEscape(char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(c);
  out += '%';
  out += kDigits[value >> 4U];
  out += kDigits[value & 0xFU];
}

// Nearly every target is normal already: one pass without a copy finds out. A segment that begins
// with a dot is left to the careful way, whether it is a dot segment or not.
bool IsNormal(std::string_view path) {
  char previous = '\0';
  for (const char c : path) {
    if (previous == '/' && (c == '/' || c == '.')) return false;
    if (c != '/' && KindOf(c) != Byte::kUnreserved && KindOf(c) != Byte::kPlain) return false;
    previous = c;
  }
  return true;
}

std::expected<std::string_view, std::string_view> NormalisePath(std::string_view path,
                                                                std::string& scratch) {
  if (IsNormal(path)) {
    if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
    return path;
  }
  scratch.clear();
  scratch.reserve(path.size());
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    const std::size_t begin = scratch.size();
    scratch += '/';
    if (const auto appended = AppendSegment(segment, scratch); !appended) {
      return std::unexpected(appended.error());
    }
    const std::string_view canonical = std::string_view{scratch}.substr(begin);
    if (canonical == "/" || canonical == "/.") {
      scratch.resize(begin);
    } else if (canonical == "/..") {
      scratch.resize(begin);
      // Each byte is dropped at most once, so this stays linear.
      scratch.resize(begin == 0 ? 0 : scratch.rfind('/'));
    }
  }
  if (scratch.empty()) scratch = "/";
  return scratch;
}

// The end of "http" in "http://h/p", npos if `target` is no absolute URI.
std::size_t SchemeEnd(std::string_view target) {
  const std::size_t end = target.find("://");
  if (end == 0 || end == std::string_view::npos) return std::string_view::npos;
  for (std::size_t i = 0; i < end; ++i) {
    const char c = target[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!letter && (i == 0 || !later)) return std::string_view::npos;
  }
  return end;
}

// Host and port: what RFC 3986 lets stand there, brackets of an IPv6 address included.
bool IsHostAndPort(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const Byte kind = KindOf(c);
    if (kind != Byte::kUnreserved && kind != Byte::kPlain && c != '[' && c != ']' && c != '%') {
      return false;
    }
  }
  return text.find('@') == std::string_view::npos;
}

}  // namespace

std::expected<void, std::string_view> AppendSegment(std::string_view segment, std::string& out) {
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const char c = segment[i];
    if (c == '%') {
      if (segment.size() - i < 3) return std::unexpected(kBrokenEscape);
      const int high = HexValue(segment[i + 1]);
      const int low = HexValue(segment[i + 2]);
      if (high < 0 || low < 0) return std::unexpected(kBrokenEscape);
      const char decoded = static_cast<char>(high * 16 + low);
      if (KindOf(decoded) == Byte::kUnreserved) {
        out += decoded;
      } else {
        AppendEscape(decoded, out);
      }
      i += 2;
      continue;
    }
    switch (KindOf(c)) {
      case Byte::kInvalid:
        return std::unexpected(kInvalidByte);
      case Byte::kEscaped:
        AppendEscape(c, out);
        break;
      case Byte::kUnreserved:
      case Byte::kPlain:
        out += c;
        break;
    }
  }
  return {};
}

std::expected<Target, std::string_view> NormaliseTarget(std::string_view target,
                                                        std::string& scratch) {
  if (target == "*") return Target{.path = target, .authority = {}};
  std::string_view authority;
  std::string_view path = target.substr(0, target.find('?'));
  path = path.substr(0, path.find('#'));
  if (!path.starts_with('/')) {
    const std::size_t scheme = SchemeEnd(path);
    if (scheme == std::string_view::npos) return std::unexpected(kNoPath);
    path.remove_prefix(scheme + 3);
    authority = path.substr(0, path.find('/'));
    path.remove_prefix(authority.size());
    // User information is obsolete in HTTP and never part of the host.
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
      authority.remove_prefix(at + 1);
    }
    if (!IsHostAndPort(authority)) return std::unexpected(kNoPath);
    if (path.empty()) path = "/";
  }
  const auto normal = NormalisePath(path, scratch);
  if (!normal) return std::unexpected(normal.error());
  return Target{.path = *normal, .authority = authority};
}

bool IsAuthorityForm(std::string_view target) {
  return IsHostAndPort(target) && target.find(':') != std::string_view::npos;
}

}  // namespace sluice::edge
