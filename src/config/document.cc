#include "src/config/document.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace sluice::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Bytes of the character that starts at `text[0]`; 0 if it is not well-formed UTF-8 (RFC 3629).
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

bool IsControl(char c) {
  return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F;
}

// What makes bytes no text to parse, with its place. yaml-cpp would guess another encoding from
// NULs and reads on past malformed characters.
struct Unreadable {
  Place place;
  std::string message;
};
std::optional<Unreadable> FindUnreadable(std::string_view text) {
  if (text.size() > kMaximumDocumentBytes) {
    return Unreadable{{},
                      fmt::format("the document has {} bytes; allowed: up to 1MiB", text.size())};
  }
  Place place;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = CharacterLength(text.substr(i));
    if (length == 0) return Unreadable{place, "the text is not UTF-8"};
    const bool line_break = text[i] == '\n' || text.substr(i, 2) == "\r\n";
    if (IsControl(text[i]) && !line_break && text[i] != '\t') {
      return Unreadable{place, fmt::format("the control character 0x{:02X} is not allowed",
                                           static_cast<unsigned>(text[i]))};
    }
    ++place.column;
    if (text[i] == '\n') place = {{}, place.line + 1, 1};
    i += length;
  }
  return std::nullopt;
}

// Builds the tree from yaml-cpp's events. The parser's own node graph is not used: it resolves
// aliases and forgets the places of keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, Errors& errors) : text_(text), errors_(errors) {}

  Node TakeRoot() && { return std::move(root_); }

  /// yaml-cpp says of what never ends only where the text does.
  [[nodiscard]] std::string Explained(const std::string& message) const {
    if (open_.empty() || !message.starts_with("end of")) return message;
    return fmt::format("{}; it starts at {}", message, errors_.Show(open_.back().node->place));
  }

  /// yaml-cpp counts bytes; people count characters. Places come in order, so counting goes on from
  /// the last one: from the start of the line each time, a file of one line would take forever.
  Place PlaceOf(const YAML::Mark& mark) {
    const auto column = static_cast<std::size_t>(std::max(mark.column, 0));
    const auto position = static_cast<std::size_t>(std::max(mark.pos, 0));
    const std::size_t start = position - std::min(position, column);
    if (mark.line != counted_.line || column < counted_.bytes) counted_ = {mark.line, 0, 0};
    const std::string_view line = text_.substr(std::min(start, text_.size()), column);
    counted_.characters +=
        std::ranges::count_if(line.substr(std::min(counted_.bytes, line.size())),
                              [](char c) { return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80; });
    counted_.bytes = column;
    return {{}, mark.line + 1, static_cast<int>(counted_.characters) + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) {
      throw YAML::ParserException(mark, "a second document starts here; allowed: one");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (ExpectsKey()) throw YAML::ParserException(mark, "a key must be a text");
    Add({.kind = Node::Kind::kNull, .place = PlaceOf(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (ExpectsKey()) throw YAML::ParserException(mark, "a key must be a text");
    const std::string path = NextPath();
    Add({.kind = Node::Kind::kRefused, .place = PlaceOf(mark)});
    errors_.Add(PlaceOf(mark), path, "aliases are not supported; write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    errors_.Add(PlaceOf(mark), NextPath(), fmt::format("the anchor &{} is not supported", name));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    RefuseTag(mark, tag);
    if (ExpectsKey()) return SetKey(mark, value);
    Add({.kind = Node::Kind::kScalar,
         .style = tag == "!" ? Style::kQuoted : Style::kPlain,
         .place = PlaceOf(mark),
         .text = value});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, Node::Kind::kList);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, Node::Kind::kMap);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  // A list or map whose end has not come. A node's address is stable while it is open: its parent
  // gets no further child before it ends.
  struct OpenNode {
    Node* node;
    std::optional<std::string> key{};  // of a map, while its value is awaited
    Place key_place{};
    std::unordered_map<std::string, Place> keys{};
  };

  [[nodiscard]] bool ExpectsKey() const {
    return !open_.empty() && open_.back().node->kind == Node::Kind::kMap && !open_.back().key;
  }

  // The path of the innermost open list or map.
  [[nodiscard]] std::string OpenPath() const {
    std::string path;
    for (std::size_t i = 1; i < open_.size(); ++i) {
      const Node& parent = *open_[i - 1].node;
      path = parent.kind == Node::Kind::kList ? PathBelow(path, parent.children.size() - 1)
                                              : PathBelow(path, open_[i].node->key);
    }
    return path;
  }

  // The path of the value that comes next.
  [[nodiscard]] std::string NextPath() const {
    if (open_.empty()) return "";
    const OpenNode& parent = open_.back();
    const bool in_list = parent.node->kind == Node::Kind::kList;
    return in_list ? PathBelow(OpenPath(), parent.node->children.size())
                   : PathBelow(OpenPath(), parent.key.value_or(""));
  }

  void SetKey(const YAML::Mark& mark, const std::string& key) {
    OpenNode& map = open_.back();
    map.key = key;
    map.key_place = PlaceOf(mark);
    const auto [first, is_new] = map.keys.emplace(key, map.key_place);
    if (!is_new) {
      errors_.Add(map.key_place, PathBelow(OpenPath(), key),
                  fmt::format("the key is already set at {}", errors_.Show(first->second)));
    }
  }

  Node& Add(Node node) {
    node.key_place = node.place;
    if (open_.empty()) return root_ = std::move(node);
    OpenNode& parent = open_.back();
    if (parent.key) {
      node.key = *std::exchange(parent.key, std::nullopt);
      node.key_place = parent.key_place;
      // A missing value is marked where the next token stands, which may be lines below.
      if (node.kind == Node::Kind::kNull) node.place = node.key_place;
    }
    return parent.node->children.emplace_back(std::move(node));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, Node::Kind kind) {
    if (ExpectsKey()) throw YAML::ParserException(mark, "a key must be a text");
    if (open_.size() == kMaximumDepth) {
      throw YAML::ParserException(
          mark, fmt::format("nested too deeply; allowed: up to {} levels", kMaximumDepth));
    }
    RefuseTag(mark, tag);
    open_.push_back({.node = &Add({.kind = kind, .place = PlaceOf(mark)})});
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    errors_.Add(PlaceOf(mark), NextPath(), fmt::format("the tag {} is not supported", tag));
  }

  struct Counted {
    int line;
    std::size_t bytes;
    std::ptrdiff_t characters;
  };

  std::string_view text_;
  Errors& errors_;
  Counted counted_{};  // of a line, up to the last place
  bool started_ = false;
  Node root_;
  std::vector<OpenNode> open_;
};

}  // namespace

const Node* Node::Find(std::string_view name) const {
  const auto found = std::ranges::find(children, name, &Node::key);
  return found == children.end() ? nullptr : &*found;
}

std::string PathBelow(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string PathBelow(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

bool IsPrintable(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = CharacterLength(text.substr(i));
    if (length == 0 || IsControl(text[i])) return false;
    i += length;
  }
  return true;
}

Node ParseDocument(std::string_view text, Errors& errors) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto unreadable = FindUnreadable(text)) {
    errors.Add(unreadable->place, "", std::move(unreadable->message));
    return {.kind = Node::Kind::kRefused};
  }
  // yaml-cpp takes a quoted text that never ends for complete if the last line is empty: a file
  // that was cut would go unnoticed.
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  TreeBuilder builder(text, errors);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    errors.Add(builder.PlaceOf(error.mark), "", builder.Explained(error.msg));
    return {.kind = Node::Kind::kRefused};
  }
  return std::move(builder).TakeRoot();
}

}  // namespace sluice::config
