#include "src/http/malformed_requests.h"

#include <array>
#include <string_view>
#include <vector>

namespace sluice::http::testing {
namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t bound) {
  return random() % bound;
}

template <class Items>
const auto& OneOf(Random& random, const Items& items) {
  return items[Below(random, std::size(items))];
}

constexpr std::string_view kVisible =
    "!\"#$%&'()*+,-./"
    "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string Text(Random& random, std::string_view alphabet, std::size_t least, std::size_t most) {
  std::string text(least + Below(random, most - least + 1), ' ');
  for (char& c : text) c = OneOf(random, alphabet);
  return text;
}

/// Bytes that stand nowhere in a head, except as the end of a line or between words.
char Control(Random& random) {
  constexpr std::string_view kControls("\x00\x01\x08\x0b\x0c\x0e\x1b\x1f\x7f", 9);
  return OneOf(random, kControls);
}

/// A request in parts, so that each can be broken by itself.
struct Parts {
  std::string method, target, version;
  std::vector<std::string> fields;
  std::string framing;  // Content-Length or Transfer-Encoding, if there is a body
  std::string body;
  bool is_chunked = false;

  [[nodiscard]] std::string Bytes() const {
    std::string bytes = method + " " + target + " " + version + "\r\n";
    for (const std::string& field : fields) bytes += field + "\r\n";
    if (!framing.empty()) bytes += framing + "\r\n";
    return bytes + "\r\n" + body;
  }
};

std::string Chunked(Random& random, std::string_view content) {
  constexpr std::array<std::string_view, 4> kExtensions{"", ";a", ";a=b", ";a=\"b c\""};
  std::string body;
  while (!content.empty()) {
    const std::size_t size = 1 + Below(random, std::min<std::size_t>(content.size(), 15));
    body += "0123456789abcdef"[size];
    body += OneOf(random, kExtensions);
    body += "\r\n" + std::string(content.substr(0, size)) + "\r\n";
    content.remove_prefix(size);
  }
  return body + "0\r\n\r\n";
}

Parts ValidParts(Random& random) {
  constexpr std::array<std::string_view, 6> kMethods{"GET",    "POST",  "PUT",
                                                     "DELETE", "PATCH", "X-Y"};
  constexpr std::array<std::string_view, 4> kTargets{"/", "/check", "/check?deny=403",
                                                     "http://h/x"};
  Parts parts;
  parts.method = OneOf(random, kMethods);
  parts.target = OneOf(random, kTargets);
  parts.version = "HTTP/1.1";
  parts.fields.push_back("Host: " + Text(random, kLetters, 1, 20));
  for (std::size_t i = Below(random, 5); i > 0; --i) {
    parts.fields.push_back("X-" + Text(random, kLetters, 1, 20) + ": " +
                           Text(random, kVisible, 0, 40));
  }
  const std::string content = Text(random, kVisible, 1, 40);
  switch (Below(random, 3)) {
    case 0:
      parts.framing = "Content-Length: " + std::to_string(content.size());
      parts.body = content;
      break;
    case 1:
      parts.framing = "Transfer-Encoding: chunked";
      parts.body = Chunked(random, content);
      parts.is_chunked = true;
      break;
    default:
      break;
  }
  return parts;
}

void Insert(Random& random, std::string& text, char c) {
  text.insert(Below(random, text.size() + 1), 1, c);
}

void BreakRequestLine(Random& random, Parts& parts) {
  constexpr std::array<std::string_view, 7> kVersions{
      "", "HTTP/1.1x", "HTTP/11", "http/1.1", "HTTP/1.x", "HTTP/3.0", "HTTP/1.1 "};
  constexpr std::array<std::string_view, 6> kTargets{"", "x", "*", "?a", "ftp://h/", "http://"};
  constexpr std::string_view kNoToken = "(),/:;<=>?@[\\]{}\"";
  switch (Below(random, 6)) {
    case 0:
      Insert(random, parts.method, Control(random));
      break;
    case 1:
      Insert(random, parts.method, OneOf(random, kNoToken));
      break;
    case 2:
      Insert(random, parts.target, Control(random));
      break;
    case 3:
      parts.target.insert(1 + Below(random, parts.target.size()), " ");
      break;
    case 4:
      parts.target = OneOf(random, kTargets);
      break;
    default:
      parts.version = OneOf(random, kVersions);
      break;
  }
}

void BreakFields(Random& random, Parts& parts) {
  std::string& field = parts.fields[Below(random, parts.fields.size())];
  const std::size_t colon = field.find(':');
  switch (Below(random, 9)) {
    case 0:
      parts.fields.erase(parts.fields.begin());
      break;  // no Host
    case 1:
      parts.fields.push_back(parts.fields.front());
      break;  // two
    case 2:
      field.insert(colon, 1, OneOf(random, std::string_view(" \t")));
      break;  // a space before
    case 3:
      field.erase(colon);
      break;  // no colon
    case 4:
      field.insert(0, 1, OneOf(random, std::string_view(" \t")));
      break;  // a fold
    case 5:
      field.insert(colon + 1, "\r\n ");
      break;
    case 6:
      Insert(random, field, Control(random));
      break;
    case 7:
      field.insert(0, ":");
      break;  // no name
    default:
      parts.fields.front() = "Host: a" + Text(random, ",/ @\\<>\"", 1, 3) + "b";
      break;
  }
}

void BreakFraming(Random& random, Parts& parts) {
  constexpr std::array<std::string_view, 12> kFramings{
      "Content-Length: x",
      "Content-Length: -1",
      "Content-Length: 1, 1",
      "Content-Length: 0x1",
      "Content-Length: 99999999999999999999",
      "Content-Length: 1\r\nContent-Length: 1",
      "Content-Length: 1\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: chunked\r\nContent-Length: 1",
      "Transfer-Encoding: gzip",
      "Transfer-Encoding: chunked, identity",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      "Content-Length: 1000000",
  };
  parts.framing = OneOf(random, kFramings);
  parts.body = "0\r\n\r\n";
}

void BreakChunks(Random& random, Parts& parts) {
  constexpr std::array<std::string_view, 10> kBodies{
      "g\r\na\r\n0\r\n\r\n",       "1\r\nab\r\n0\r\n\r\n",    "1\na\n0\n\n",
      "1 x\r\na\r\n0\r\n\r\n",     "\r\n0\r\n\r\n",           "1;a=\"\n\"\r\na\r\n0\r\n\r\n",
      "0\r\nx y: z\r\n\r\n",       "0\r\nX: a\r\n b\r\n\r\n", "fffffffffffffffff\r\n",
      "fffffff\r\na\r\n0\r\n\r\n",
  };
  parts.framing = "Transfer-Encoding: chunked";
  parts.body = OneOf(random, kBodies);
}

/// Ends of lines that some programs take and others do not.
std::string WithOneBadLineEnd(Random& random, std::string head) {
  std::vector<std::size_t> ends;
  for (std::size_t at = head.find("\r\n"); at != std::string::npos;
       at = head.find("\r\n", at + 2)) {
    ends.push_back(at);
  }
  const std::size_t at = OneOf(random, ends);
  head.replace(at, 2, Below(random, 2) == 0 ? "\n" : "\r");
  return head;
}

}  // namespace

std::string ValidRequest(Random& random) {
  return ValidParts(random).Bytes();
}

std::string CutOffRequest(Random& random) {
  const std::string bytes = ValidRequest(random);
  return bytes.substr(0, 1 + Below(random, bytes.size() - 1));
}

std::string BrokenRequest(Random& random) {
  Parts parts = ValidParts(random);
  switch (Below(random, 7)) {
    case 0:
      BreakRequestLine(random, parts);
      break;
    case 1:
      BreakFields(random, parts);
      break;
    case 2:
      BreakFraming(random, parts);
      break;
    case 3:
      BreakChunks(random, parts);
      break;
    case 4: {
      parts.framing = parts.body = "";
      return WithOneBadLineEnd(random, parts.Bytes());
    }
    case 5:  // larger than the limits
      parts.fields.push_back("X: " + std::string(17'000 + Below(random, 10'000), 'x'));
      break;
    default: {  // noise
      std::string noise(1 + Below(random, 200), ' ');
      for (char& c : noise) c = static_cast<char>(random());
      noise[0] = Control(random);
      return noise;
    }
  }
  return parts.Bytes();
}

}  // namespace sluice::http::testing
