// The accounts of deploy/redis/users.acl before a real server: the daemon's can do its work and
// nothing else, and a permission that it lacks is named.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "src/redis/probes.h"
#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"
#include "tests/redis/support/blocking_client.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;

struct Account {
  std::string name;
  std::string password;
};
// The shipped passwords are placeholders.
const Account kDaemon{"sluice", "change-me-sluice"};
const Account kOperator{"operator", "change-me-operator"};
// One that only tests have, to take permissions away and to give them back.
const Account kAdmin{"admin", "admin"};
constexpr char kAdminLine[] = "user admin on >admin ~* &* +@all\n";

std::string ShippedUsers() {
  std::ifstream file(SLUICE_USERS_ACL);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What an account is given, as the file writes it: "+hget", "~sluice:*".
std::vector<std::string> PermissionsOf(const Account& account) {
  std::istringstream lines(ShippedUsers());
  std::vector<std::string> permissions;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("user " + account.name + " ")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word.starts_with('+') || word.starts_with('~')) permissions.push_back(word);
    }
  }
  return permissions;
}

// "+script|load" -> "SCRIPT LOAD", as refusals name it.
std::string CommandOf(std::string permission) {
  permission.erase(0, 1);
  for (char& c : permission) {
    c = c == '|' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return permission;
}

class UsersFile {
 public:
  explicit UsersFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("sluice-users-" + std::to_string(::getpid()) + ".acl")) {
    std::ofstream(path_) << text;
  }
  ~UsersFile() { std::filesystem::remove(path_); }
  UsersFile(const UsersFile&) = delete;
  UsersFile& operator=(const UsersFile&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Reply CommandAs(const RedisServer& server, const Account& account,
                const std::vector<std::string>& words) {
  BlockingClient client(server.address());
  const Reply login = client.Command({"AUTH", account.name, account.password});
  if (login.kind == Reply::Kind::kError) return login;
  return client.Command(words);
}

std::int64_t KeysOn(const RedisServer& server) {
  return CommandAs(server, kOperator, {"DBSIZE"}).integer;
}

RedisOptions OptionsOfDaemon(const RedisServer& server) {
  RedisOptions options = TestOptions(server.address());
  options.username = kDaemon.name;
  options.password = kDaemon.password;
  return options;
}

// The server runs with the very file.
class ShippedAccess : public ::testing::Test {
 protected:
  RedisServer server{{"--aclfile", SLUICE_USERS_ACL}};
};

TEST_F(ShippedAccess, IsWhatTheEngineAsksForAndNothingElse) {
  std::set<std::string> needed{"SCRIPT LOAD", "TIME"};
  for (const Probe& probe : Probes("sluice")) {
    needed.insert(probe.name.substr(0, probe.name.find(' ')));
  }
  std::set<std::string> given;
  std::vector<std::string> keys;
  for (const std::string& permission : PermissionsOf(kDaemon)) {
    if (permission.starts_with('~')) {
      keys.push_back(permission);
    } else {
      given.insert(CommandOf(permission));
    }
  }
  EXPECT_EQ(given, needed);
  EXPECT_EQ(keys, (std::vector<std::string>{"~sluice:*"}));
}

TEST_F(ShippedAccess, LetsTheDaemonEvaluate) {
  const auto limiter = MakeLimiter(OptionsOfDaemon(server));
  const Plan plan = CountingPlan(3);
  std::string words;
  for (int i = 0; i < 4; ++i) words += Word(AskNow(*limiter, plan)) + " ";
  EXPECT_EQ(words, "allowed allowed allowed denied ") << limiter->Health().reason;
  EXPECT_TRUE(limiter->Health().ready);
  // It may not look at the memory, which keeps nothing from working.
  EXPECT_EQ(limiter->Health().eviction_policy, "");
  EXPECT_EQ(CommandAs(server, kOperator, {"HGET", CountingKey(1), "count"}).text, "3");
  EXPECT_EQ(CommandAs(server, kOperator, {"CLIENT", "LIST"}).text.contains(" name=sluice "), true);
}

// Every script, and every way through them that runs another command.
TEST_F(ShippedAccess, LetsEveryScriptRun) {
  BlockingClient client(server.address());
  ASSERT_EQ(client.Command({"AUTH", kDaemon.name, kDaemon.password}).text, "OK");
  client.LoadScripts();
  const Dedup few{.enabled = true, .max_entries = 2};
  const PolicySettings window{.id = "w", .algorithm = FixedWindow{1'000, 1h}, .dedup = few};
  const PolicySettings counter{.id = "c", .algorithm = SlidingCounter{1'000, 1h}, .dedup = few};
  const PolicySettings bucket{.id = "b", .algorithm = TokenBucket{1'000, 1, 1s}, .dedup = few};
  std::uint64_t clients = 0;
  for (const Plan& plan : {testing::PlanOf({window}), testing::PlanOf({counter}),
                           testing::PlanOf({bucket}), testing::PlanOf({window, bucket})}) {
    const Subject subject = testing::SubjectNumber(++clients);
    std::vector<Evaluation> evaluations;
    for (int i = 0; i < 12; ++i) {
      const Instant now = SystemClock().Now();
      evaluations.push_back({.plan = &plan,
                             .subject = subject,
                             .cost = 1,
                             .id = i < 6 ? NextId() : EvaluationId::FromCaller(std::to_string(i)),
                             .now = now,
                             .deadline = now.steady + 30s});
    }
    std::vector<Gathering::Item> items;
    for (const Evaluation& one : evaluations) {
      EXPECT_EQ(Word(client.EvaluateOne({}, one)), "allowed");
      EXPECT_EQ(Word(client.EvaluateOne({}, one, true)), "allowed");
    }
    for (Evaluation& one : evaluations) {
      one.id = one.id.is_from_caller() ? EvaluationId::FromCaller("again " + one.id.ToString())
                                       : NextId();
      items.push_back({.evaluation = &one});
    }
    // All, and those without ids of a caller's, for which there is a script of its own.
    for (const std::size_t count : {std::size_t{12}, std::size_t{6}}) {
      if (count == 6) {
        for (Evaluation& one : evaluations) one.id = NextId();
      }
      for (const Outcome& outcome : client.Evaluate({}, std::span(items).first(count))) {
        EXPECT_EQ(Word(outcome), "allowed");
      }
    }
  }
}

TEST_F(ShippedAccess, IsClosedToTheDefaultUser) {
  BlockingClient client(server.address());
  EXPECT_TRUE(client.Command({"PING"}).text.starts_with("NOAUTH"));
  EXPECT_TRUE(client.Command({"AUTH", "default", ""}).text.starts_with("WRONGPASS"));
}

TEST_F(ShippedAccess, LetsNobodyRunCodeOrWriteElsewhere) {
  const std::string inside = CountingKey(1);
  const std::vector<std::vector<std::string>> refused{
      {"EVAL", "return 1", "0"},
      {"EVAL_RO", "return 1", "0"},
      {"FCALL", "f", "0"},
      {"FCALL_RO", "f", "0"},
      {"FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('f', function() end)"},
      {"SCRIPT", "FLUSH"},
      {"HSET", "elsewhere", "a", "1"},
      {"HSET", "sluice2:1", "a", "1"},
      {"SET", inside, "1"},
      {"SET", "elsewhere", "1"},
      {"HDEL", "elsewhere", "a"},
      {"UNLINK", "elsewhere"},
      {"DEL", inside},
      {"HGETALL", "elsewhere"},
      {"FLUSHALL"},
      {"KEYS", "*"},
      {"PUBLISH", "sluice:1", "x"},
      {"CONFIG", "SET", "maxmemory", "1"},
      {"ACL", "SETUSER", "sluice", "+@all"},
      {"ACL", "LIST"},
      {"MONITOR"},
      {"SHUTDOWN"},
  };
  for (const Account& account : {kDaemon, kOperator}) {
    for (const auto& words : refused) {
      const Reply reply = CommandAs(server, account, words);
      EXPECT_TRUE(reply.text.starts_with("NOPERM"))
          << account.name << ": " << words[0] << " " << words[1 % words.size()] << reply.text;
    }
  }
  EXPECT_EQ(KeysOn(server), 0);
}

TEST_F(ShippedAccess, LetsTheOperatorLookAndForgetAClientButNotCount) {
  const auto limiter = MakeLimiter(OptionsOfDaemon(server));
  ASSERT_EQ(Word(AskNow(*limiter, CountingPlan(3))), "allowed");
  const std::string key = CountingKey(1);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"INFO", "memory"},
                                             {"CONFIG", "GET", "maxmemory-policy"},
                                             {"SCAN", "0"},
                                             {"HGETALL", key},
                                             {"PTTL", key},
                                             {"MEMORY", "USAGE", key},
                                             {"SCRIPT", "EXISTS", std::string(Scripts()[0].sha)},
                                             {"CLIENT", "LIST"},
                                             {"SLOWLOG", "GET"},
                                             {"LATENCY", "LATEST"},
                                             {"ACL", "LOG"}}) {
    EXPECT_NE(CommandAs(server, kOperator, words).kind, Reply::Kind::kError) << words[0];
  }
  EXPECT_TRUE(CommandAs(server, kOperator, {"HSET", key, "count", "0"}).text.starts_with("NOPERM"));
  EXPECT_EQ(CommandAs(server, kOperator, {"UNLINK", key}).integer, 1);
}

// After a change of the file ACL LOAD is enough: a password is changed without a restart.
TEST(Access, IsReadAgainByTheOperator) {
  const UsersFile users(ShippedUsers());
  const RedisServer server({"--aclfile", users.path()});
  // Not before it has read the file once.
  ASSERT_EQ(CommandAs(server, kOperator, {"PING"}).text, "PONG");
  std::string text = ShippedUsers();
  const std::string line = "user " + kDaemon.name + " on ";
  text.replace(text.find(line), line.size(), line + ">another ");
  std::ofstream(users.path()) << text;
  EXPECT_EQ(CommandAs(server, kOperator, {"ACL", "LOAD"}).text, "OK");
  EXPECT_NE(CommandAs(server, {kDaemon.name, "another"}, {"TIME"}).kind, Reply::Kind::kError);
}

class AccessWithout : public ::testing::TestWithParam<std::string> {};

// For each permission that the file gives: without it nothing is evaluated and its name is told;
// given back, all is well without a restart.
TEST_P(AccessWithout, IsNamedAndFoundAgainWhenItIsGivenBack) {
  const std::string& permission = GetParam();
  std::string text = ShippedUsers();
  const std::size_t line = text.find("user " + kDaemon.name + " ");
  text.erase(text.find(" " + permission, line), permission.size() + 1);
  const UsersFile users(text + kAdminLine);
  const RedisServer server({"--aclfile", users.path()});

  const auto limiter = MakeLimiter(OptionsOfDaemon(server));
  const Plan plan = CountingPlan(1'000);
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  const bool is_key = permission.starts_with('~');
  const std::string named =
      is_key
          ? "EVALSHA on sluice:1:{v1:AAAAAAAAAAAAAAAAAAAAAA}:absent: the user may not use such keys"
          : CommandOf(permission);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = AskNow(*limiter, plan);
    ASSERT_EQ(Word(outcome), "permission-denied");
    const std::string& detail = std::get<Incompatible>(outcome).detail;
    EXPECT_TRUE(detail.starts_with(named + (is_key ? "" : ":")) ||
                detail.starts_with(named + " on "))
        << detail;
  }
  const RedisHealth health = limiter->Health();
  EXPECT_FALSE(health.ready);
  EXPECT_EQ(health.category, "permission-denied");
  EXPECT_TRUE(health.reason.starts_with(named)) << health.reason;
  EXPECT_EQ(KeysOn(server), 0);  // nothing was charged, and no probe has written

  ASSERT_EQ(CommandAs(server, kAdmin, {"ACL", "SETUSER", kDaemon.name, permission}).text, "OK");
  ASSERT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));
  EXPECT_TRUE(limiter->Health().ready);
  EXPECT_EQ(CommandAs(server, kOperator, {"HGET", CountingKey(1), "count"}).text, "1");
}

INSTANTIATE_TEST_SUITE_P(Each, AccessWithout, ::testing::ValuesIn(PermissionsOf(kDaemon)),
                         [](const auto& permission) {
                           std::string name = permission.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return (permission.param.starts_with('~') ? "Keys_" : "") + name;
                         });

class AccessTakenAway : public ::testing::TestWithParam<std::string> {};

// While the daemon runs: a script that is refused half-way may have charged something, so that call
// says so; from then on the missing permission is told.
TEST_P(AccessTakenAway, IsIndeterminateOnceAndThenNamed) {
  const UsersFile users(ShippedUsers() + kAdminLine);
  const RedisServer server({"--aclfile", users.path()});
  const auto limiter = MakeLimiter(OptionsOfDaemon(server));
  const Plan plan = CountingPlan(1'000);
  ASSERT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  const auto admin = [&](const std::string& rule) {
    ASSERT_EQ(CommandAs(server, kAdmin, {"ACL", "SETUSER", kDaemon.name, rule}).text, "OK");
  };
  admin("-" + GetParam());
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "script-aborted");
  Outcome told = AskNow(*limiter, plan);
  EXPECT_EQ(Word(told), "permission-denied");
  EXPECT_TRUE(std::get<Incompatible>(told).detail.starts_with(CommandOf("-" + GetParam())));
  EXPECT_FALSE(limiter->Health().ready);
  // Attempts to connect follow the backoff; a refused caller makes none.
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(Word(AskNow(*limiter, plan)), "permission-denied");
  EXPECT_LT(limiter->Statistics().connect_failures, 100);
  EXPECT_EQ(limiter->Statistics().error_replies.at("ERR"), 1);
  admin("+" + GetParam());
  EXPECT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));
  EXPECT_EQ(limiter->Statistics().disconnects, 1);
}

INSTANTIATE_TEST_SUITE_P(Each, AccessTakenAway, ::testing::Values("hset", "hmget"),
                         [](const auto& command) { return command.param; });

}  // namespace
}  // namespace sluice::redis
