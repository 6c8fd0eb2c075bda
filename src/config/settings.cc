#include "src/config/settings.h"

#include <chrono>

#include <fmt/format.h>

#include "src/config/chapters.h"
#include "src/config/environment.h"
#include "src/config/file.h"
#include "src/config/reader.h"

namespace sluice::config {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr Milliseconds kLeastWait{1};
constexpr std::int64_t kMaximumSubjects = 4'294'967'294;  // MemoryOptions: 2^32 - 2
constexpr std::int64_t kMaximumKeyVersion = 2'147'483'647;
constexpr std::int64_t kMaximumWorkers = 256;

// A rule: where to listen.
std::optional<ListenAddress> Listen(const Field& field) {
  const auto text = Text{}(field);
  if (!text) return std::nullopt;
  auto address = ParseListenAddress(*text);
  if (address) return *std::move(address);
  return Refused(field, Shown(field.node) + ": " + address.error());
}

void ReadMemory(const Field& field, MemoryOptions& memory) {
  MapReader reader(field);
  reader.Optional("max_subjects", Integer{1, kMaximumSubjects}, memory.max_subjects);
  reader.Finish();
}

// The key that a version is: text in JSON, a number without quotes in YAML, the same in both.
std::optional<std::uint32_t> ReadVersion(const Field& entry) {
  Node version{.kind = Node::Kind::kScalar, .place = entry.node.key_place, .text = entry.node.key};
  const auto value = Integer{1, kMaximumKeyVersion}(Field{version, entry.path, entry.errors});
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

void ReadKeys(const Field& field, PseudonymSettings& pseudonym) {
  const auto entries = Entries(field);
  if (!entries) return;
  if (entries->empty()) field.Report("there must be at least one key");
  for (const Field& entry : *entries) {
    const std::optional<std::uint32_t> version = ReadVersion(entry);
    if (!HasValue(entry)) continue;
    std::string file;
    MapReader reader(entry);
    reader.Required("file", Text{}, file);
    reader.Finish();
    if (version) pseudonym.keys.emplace(*version, std::move(file));
  }
}

void ReadPseudonym(const Field& field, PseudonymSettings& pseudonym) {
  MapReader reader(field);
  const std::size_t before = field.errors.size();
  if (const auto keys = reader.FindRequired("keys")) ReadKeys(*keys, pseudonym);
  const bool has_all_keys = field.errors.size() == before;
  std::uint32_t active = 0;
  if (reader.Required("active_version", Integer{1, kMaximumKeyVersion}, active)) {
    pseudonym.active_version = active;
    if (has_all_keys && !pseudonym.keys.contains(active)) {
      reader.Report("active_version", "there is no key of this version in pseudonym.keys");
    }
  }
  reader.Finish();
}

void ReadHttp(const Field& field, HttpSettings& http, Milliseconds& budget) {
  MapReader reader(field);
  reader.Optional("listen", Listen, http.listen);
  reader.Optional("budget", Duration{kLeastWait, minutes{1}}, budget);
  reader.Optional("workers", Integer{0, kMaximumWorkers}, http.workers);
  reader.Finish();
}

void ReadAdmin(const Field& field, AdminSettings& admin) {
  MapReader reader(field);
  reader.Optional("listen", Listen, admin.listen);
  reader.Finish();
}

// Two listeners cannot share an address. One of the two may be a default, so the report goes to
// whichever was written.
void CheckListeners(MapReader& root, const Settings& settings) {
  const ListenAddress& address = settings.http.listen;
  const auto* tcp = std::get_if<TcpAddress>(&address);
  const bool system_chooses = tcp != nullptr && tcp->port == 0;
  if (settings.admin.listen != address || system_chooses) return;
  const auto admin = root.Find("admin");
  const bool admin_is_written = admin && admin->node.Find("listen") != nullptr;
  const std::string_view written = admin_is_written ? "admin" : "http";
  const auto chapter = root.Find(written);
  if (!chapter) return;
  MapReader(*chapter).Report("listen", fmt::format("this is already the address of {}.listen",
                                                   admin_is_written ? "http" : "admin"));
}

void ReadLog(const Field& field, LogSettings& log) {
  MapReader reader(field);
  reader.Optional("level", Choice<LogLevel>{kLogLevelWords}, log.level);
  reader.Optional("format", Choice<LogFormat>{kLogFormatWords}, log.format);
  reader.Finish();
}

// Counters that outlive the process must be found again by the next one, and by other nodes.
void CheckKeys(const MapReader& root, const Settings& settings) {
  if (settings.provider != Provider::kRedis || root.Has("pseudonym")) return;
  root.Report("provider",
              "redis needs a pseudonym key, the same on every node, or no other process finds the "
              "counters; make one with \"sluice keygen FILE\" and name it in pseudonym.keys");
}

Settings ReadSettings(const Node& document, Errors& errors) {
  Settings settings;
  MapReader root(Field{document, "", errors});
  root.Optional("provider", Choice<Provider>{kProviderWords}, settings.provider);
  root.Optional("failure_retry_after", Duration{kLeastWait, hours{1}},
                settings.edge.failure_retry_after);

  PolicyBook book;
  if (const auto policies = root.FindRequired("policies")) book = ReadPolicies(*policies);
  root.Required("default_policy", PolicyId{book}, settings.edge.default_policy);
  if (const auto operations = root.Find("operations")) {
    settings.edge.operations = ReadOperations(*operations, book);
  }
  settings.edge.policies = std::move(book.policies);

  if (const auto identity = root.Find("identity")) settings.edge.identity = ReadIdentity(*identity);
  if (const auto pseudonym = root.Find("pseudonym")) ReadPseudonym(*pseudonym, settings.pseudonym);
  if (const auto memory = root.Find("memory")) ReadMemory(*memory, settings.memory);
  if (const auto redis = root.Find("redis")) settings.redis = ReadRedis(*redis);
  if (const auto http = root.Find("http")) ReadHttp(*http, settings.http, settings.edge.budget);
  if (const auto admin = root.Find("admin")) ReadAdmin(*admin, settings.admin);
  if (const auto log = root.Find("log")) ReadLog(*log, settings.log);
  CheckListeners(root, settings);
  CheckKeys(root, settings);
  root.Finish();
  return settings;
}

void Collect(const Node& node, const std::string& path, const Errors& names,
             std::map<std::string, std::string, std::less<>>& places) {
  places.emplace(path, names.Show(node.kind == Node::Kind::kMap ? node.key_place : node.place));
  std::size_t index = 0;
  for (const Node& child : node.children) {
    const bool in_map = node.kind == Node::Kind::kMap;
    Collect(child, in_map ? PathBelow(path, child.key) : PathBelow(path, index), names, places);
    ++index;
  }
}

}  // namespace

Places::Places(const Node& root, const Errors& names) {
  Collect(root, "", names, places_);
}

std::string Places::Find(std::string_view path) const {
  while (true) {
    const auto found = places_.find(path);
    if (found != places_.end()) return found->second;
    if (path.empty()) return "";
    const std::size_t end = path.find_last_of(".[");
    path = path.substr(0, end == std::string_view::npos ? 0 : end);
  }
}

std::expected<Settings, std::vector<Error>> Load(std::string_view text, const std::string& file,
                                                 std::span<const std::string> environment) {
  Errors errors(file);
  Node document = ParseDocument(text, errors);
  if (document.kind == Node::Kind::kRefused) return std::unexpected(errors.Sorted());
  // An empty file is a file without keys: the environment may bring them all.
  if (document.kind == Node::Kind::kNull) document = {.kind = Node::Kind::kMap};
  if (document.kind == Node::Kind::kMap) ApplyEnvironment(environment, document, errors);

  Settings settings = ReadSettings(document, errors);
  if (!errors.empty()) return std::unexpected(errors.Sorted());
  settings.places = Places(document, errors);
  return settings;
}

std::expected<Settings, std::vector<Error>> LoadFile(const std::string& path,
                                                     std::span<const std::string> environment) {
  const auto text = ReadFile(path, kMaximumDocumentBytes);
  if (!text)
    return std::unexpected(std::vector<Error>{{path, "", "cannot be read: " + text.error()}});
  return Load(*text, path, environment);
}

}  // namespace sluice::config
