// What environment variables set, and which of them are refused.
#include "src/config/environment.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

Settings Loaded(std::string_view text, const Lines& environment) {
  auto settings = Load(text, "f", environment);
  if (settings) return *std::move(settings);
  ADD_FAILURE() << settings.error().front().ToString();
  return {};
}

// A file with some bytes for as long as it lives.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes)
      : path_(::testing::TempDir() + "sluice-environment-" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Environment, BeatsTheFileAndTheDefaults) {
  const std::string text = std::string(kTwoLines) + "http: {workers: 2, budget: 1s}\n";
  const Settings settings =
      Loaded(text, {"SLUICE_HTTP__WORKERS=3", "SLUICE_LOG__LEVEL=debug", "HOME=/root", "SLUICE",
                    "SLUICER=x", "XSLUICE_HTTP__WORKERS=9", "SLUICE_FAILURE_RETRY_AFTER=5s"});
  EXPECT_EQ(settings.http.workers, 3);
  EXPECT_EQ(settings.edge.budget, Milliseconds{1000});  // from the file
  EXPECT_EQ(settings.log.level, LogLevel::kDebug);
  EXPECT_EQ(settings.edge.failure_retry_after, Milliseconds{5000});
  EXPECT_EQ(settings.places.Find("http.workers"), "SLUICE_HTTP__WORKERS");
  EXPECT_EQ(settings.places.Find("http.budget"), "f:3:28");
}

TEST(Environment, ReachesIntoMapsAndLists) {
  const std::string text =
      "policies:\n"
      "  Log-in.v2: {algorithm: fixed-window, limit: 5, window: 1m}\n"
      "default_policy: Log-in.v2\n"
      "operations: [{id: a, match: {path: /a}, policies: [Log-in.v2]}]\n";
  const Settings settings =
      Loaded(text, {"SLUICE_POLICIES__LOG_IN_V2__LIMIT=9", "SLUICE_OPERATIONS__0__COST=4",
                    "SLUICE_POLICIES__LOG_IN_V2__DEDUP__ENABLED=false"});
  EXPECT_EQ(settings.edge.policies.at(0).limit(), 9);
  EXPECT_FALSE(settings.edge.policies.at(0).dedup().enabled);
  EXPECT_EQ(settings.edge.operations.at(0).cost, 4);
}

TEST(Environment, ReadsValuesAsWhatTheKeyAsksFor) {
  const Settings settings =
      Loaded(kTwoLines,
             {
                 "SLUICE_IDENTITY__TRUSTED_PROXIES=127.0.0.0/8, ::1/128",  // commas make a list
                 "SLUICE_IDENTITY__SOURCES=[client-ip]",                   // YAML does, too
                 "SLUICE_IDENTITY__PRINCIPAL_HEADER=7",  // a text, though it looks like a number
                 "SLUICE_HTTP__LISTEN=[::1]:8080",       // no list: it does not end with ]
                 "SLUICE_PSEUDONYM={\"active_version\": 1, \"keys\": {\"1\": {\"file\": \"a\"}}}",
                 "SLUICE_PSEUDONYM__KEYS__1__FILE=b",  // FILE is a key here
                 "SLUICE_ADMIN__LISTEN=unix:/a=b",     // = in a value
             });
  EXPECT_EQ(settings.edge.identity.trusted_proxies, (Lines{"127.0.0.0/8", "::1/128"}));
  EXPECT_EQ(settings.edge.identity.sources, std::vector{IdentityKind::kClientIp});
  EXPECT_EQ(settings.edge.identity.principal_header, "7");
  EXPECT_EQ(settings.http.listen, ListenAddress(TcpAddress{"::1", 8080}));
  EXPECT_EQ(settings.pseudonym.keys.at(1), "b");
  EXPECT_EQ(settings.admin.listen, ListenAddress(UnixAddress{"/a=b"}));
}

TEST(Environment, MayEmptyAList) {
  const Settings settings =
      Loaded(std::string(kTwoLines) + "identity: {trusted_proxies: [10.0.0.0/8]}\n",
             {"SLUICE_IDENTITY__TRUSTED_PROXIES="});
  EXPECT_EQ(settings.edge.identity.trusted_proxies, Lines{});
}

TEST(Environment, MayBringEverything) {
  const Settings settings =
      Loaded("", {"SLUICE_DEFAULT_POLICY=p", "SLUICE_POLICIES__P__ALGORITHM=token-bucket",
                  "SLUICE_POLICIES__P__CAPACITY=9", "SLUICE_POLICIES__P__REFILL=1",
                  "SLUICE_POLICIES__P__PERIOD=1s"});
  EXPECT_EQ(settings.edge.policies.at(0).id(), "p");
  EXPECT_EQ(settings.edge.policies.at(0).limit(), 9);
}

TEST(Environment, IsRefusedWithTheVariableAsThePlace) {
  struct Row {
    Lines environment;
    Lines errors;
  };
  const std::string http_keys = "; allowed: listen, budget, workers";
  const Row rows[] = {
      // old wrong behaviour elsewhere: a misspelt override was ignored
      {{"SLUICE_HTTP__LISEN=127.0.0.1:1"},
       {"SLUICE_HTTP__LISEN: http.lisen: the key is not known (did you mean \"listen\"?)" +
        http_keys}},
      {{"SLUICE_HTTP__WORKERS=many"},
       {"SLUICE_HTTP__WORKERS: http.workers: \"many\" is no whole number; allowed: 0 to 256"}},
      {{"SLUICE_HTTP__WORKERS="},
       {"SLUICE_HTTP__WORKERS: http.workers: \"\" is no whole number; allowed: 0 to 256"}},
      {{"SLUICE_HTTP__WORKERS=\"4\""},
       {"SLUICE_HTTP__WORKERS: http.workers: \"\"4\"\" is no whole number; allowed: 0 to 256"}},
      {{"SLUICE_HTTP=8080"},
       {"SLUICE_HTTP: http: \"8080\" stands where a map belongs; allowed: key: value"}},
      // names that name nothing
      {{"SLUICE_=1"}, {"SLUICE_: the name is malformed; allowed: SLUICE_KEY__KEY"}},
      {{"SLUICE_HTTP__=1"}, {"SLUICE_HTTP__: the name is malformed; allowed: SLUICE_KEY__KEY"}},
      {{"SLUICE_HTTP___LISTEN=1"},
       {"SLUICE_HTTP___LISTEN: the name is malformed; allowed: SLUICE_KEY__KEY"}},
      // two variables for one key
      {{"SLUICE_HTTP__WORKERS=1", "SLUICE_http__workers=2"},
       {"SLUICE_http__workers: SLUICE_HTTP__WORKERS sets the same key"}},
      {{"SLUICE_HTTP__WORKERS=1", "SLUICE_HTTP__WORKERS_FILE=/x"},
       {"SLUICE_HTTP__WORKERS_FILE: SLUICE_HTTP__WORKERS sets the same key"}},
      // below what is no map, and beside a list
      {{"SLUICE_DEFAULT_POLICY__X=1"},
       {"SLUICE_DEFAULT_POLICY__X: default_policy: this is no map, so nothing below it can be "
        "set"}},
      {{"SLUICE_OPERATIONS=[]", "SLUICE_OPERATIONS__0__COST=1"},
       {"SLUICE_OPERATIONS__0__COST: operations: \"0\" is no element of this list; allowed: an "
        "index "
        "below 0"}},
      // values that are no YAML, and YAML that is refused
      {{"SLUICE_HTTP={workers: }"},
       {"SLUICE_HTTP: http.workers: the value is missing; write one, or leave the key out"}},
      {{"SLUICE_HTTP={workers: 1, workers: 2}"},
       {"SLUICE_HTTP: workers: in the value, 1:14: the key is already set at :1:2"}},
      {{"SLUICE_HTTP={[}"}, {"SLUICE_HTTP: in the value, 1:3: illegal flow end"}},
      {{"SLUICE_IDENTITY__API_KEY_HEADER_FILE=/nonexistent/x"},
       {"SLUICE_IDENTITY__API_KEY_HEADER_FILE: cannot read the file it names: No such file or "
        "directory"}},
      {{"SLUICE_IDENTITY__API_KEY_HEADER=\xFF"},
       {"SLUICE_IDENTITY__API_KEY_HEADER: identity.api_key_header: the text holds control "
        "characters"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ErrorsOf(kTwoLines, row.environment), row.errors) << row.environment.front();
  }
}

TEST(Environment, RefusesALevelThatPicksTwoKeys) {
  EXPECT_EQ(ErrorsOf("policies:\n"
                     "  log-in: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "  Log.in: {algorithm: fixed-window, limit: 5, window: 1m}\n"
                     "default_policy: log-in\n",
                     {"SLUICE_POLICIES__LOG_IN__LIMIT=9"}),
            Lines{"SLUICE_POLICIES__LOG_IN__LIMIT: policies: \"log_in\" may be log-in or Log.in"});
}

TEST(Environment, ReportsComeAfterThoseOfTheFile) {
  EXPECT_EQ(
      ErrorsOf(std::string(kTwoLines) + "log: {level: loud}\n", {"SLUICE_HTTP__WORKERS=-1"}),
      (Lines{"f:3:14: log.level: \"loud\" is not known; allowed: trace, debug, info, warn, error",
             "SLUICE_HTTP__WORKERS: http.workers: \"-1\" is out of bounds; allowed: 0 to 256"}));
}

TEST(EnvironmentFile, GivesTheValueWithoutItsLastLineBreak) {
  for (const std::string_view bytes : {"X-Key", "X-Key\n", "X-Key\r\n"}) {
    const TemporaryFile file(bytes);
    const Settings settings =
        Loaded(kTwoLines, {"SLUICE_IDENTITY__API_KEY_HEADER_FILE=" + file.path()});
    EXPECT_EQ(settings.edge.identity.api_key_header, "X-Key");
  }
  const TemporaryFile two_breaks("X-Key\n\n");
  EXPECT_EQ(ErrorsOf(kTwoLines, {"SLUICE_IDENTITY__API_KEY_HEADER_FILE=" + two_breaks.path()}),
            Lines{"SLUICE_IDENTITY__API_KEY_HEADER_FILE: identity.api_key_header: the text holds "
                  "control characters"});
}

TEST(EnvironmentFile, MayNameTheFileOfAKey) {
  const TemporaryFile file("/keys/1\n");
  const Settings settings =
      Loaded(kTwoLines, {"SLUICE_PSEUDONYM__ACTIVE_VERSION=1",
                         "SLUICE_PSEUDONYM__KEYS__1__FILE_FILE=" + file.path()});
  EXPECT_EQ(settings.pseudonym.keys.at(1), "/keys/1");
}

TEST(EnvironmentFile, IsNotShownInErrors) {
  struct Row {
    std::string_view variable;
    std::string_view error;
  };
  const Row rows[] = {
      {"SLUICE_HTTP__WORKERS", "http.workers: the value is no whole number; allowed: 0 to 256"},
      {"SLUICE_LOG__FORMAT", "log.format: the value is not known; allowed: text, json"},
      {"SLUICE_DEFAULT_POLICY", "default_policy: the value: there is no such policy; allowed: p"},
      {"SLUICE_MEMORY", "memory: the value stands where a map belongs; allowed: key: value"},
      // checks of other modules may repeat what they were given
      {"SLUICE_IDENTITY__TRUSTED_PROXIES", "identity.trusted_proxies[0]: the value is refused"},
      {"SLUICE_POLICIES__P__REVISION", "policies.p.revision: the value is out of bounds"},
  };
  for (const Row& row : rows) {
    const bool is_number = row.variable == "SLUICE_POLICIES__P__REVISION";
    const TemporaryFile file(is_number ? "-7777" : "s3cret");
    const std::string name = std::string(row.variable) + "_FILE";
    EXPECT_EQ(ErrorsOf(kTwoLines, {name + "=" + file.path()}),
              Lines{name + ": " + std::string(row.error)});
  }
}

}  // namespace
}  // namespace sluice::config
