// What callers, the connection and the server see of each error reply: the whole lane before a
// scripted server.
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/redis/counting.h"
#include "tests/redis/scripted_server.h"

namespace sluice::redis {
namespace {

struct Row {
  std::string_view error;
  std::string_view word;  // what the caller is told
  bool kept;              // whether the next call uses the same connection
  int calls = 1;          // EVALSHAs sent for this one evaluation
  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.error; }
};

constexpr Row kRows[] = {
    {"NOSCRIPT No matching script. Please use EVAL.", "allowed", true, 2},
    {"LOADING Redis is loading the dataset in memory", "no-mutation-confirmed", true},
    {"BUSY Redis is busy running a script.", "no-mutation-confirmed", true},
    {"OOM command not allowed when used memory > 'maxmemory'.", "no-mutation-confirmed", true},
    {"MISCONF Redis is configured to save RDB snapshots", "no-mutation-confirmed", true},
    {"NOREPLICAS Not enough good replicas to write.", "no-mutation-confirmed", true},
    {"CLUSTERDOWN The cluster is down", "no-mutation-confirmed", true},
    {"CLUSTERDOWN Hash slot not served", "no-mutation-confirmed", true},
    {"CLUSTERDOWN The cluster is down and only accepts read commands", "no-mutation-confirmed",
     true},
    {"TRYAGAIN Multiple keys request during rehashing of slot", "no-mutation-confirmed", true},
    {"EXECABORT Transaction discarded because of previous errors.", "no-mutation-confirmed", true},
    {"READONLY You can't write against a read only replica.", "no-mutation-confirmed", false},
    {"ERR Error running script (call to f_5ca1e): @user_script:9: @user_script: 9: -READONLY You "
     "can't write against a read only replica.",
     "no-mutation-confirmed", false},
    {"MASTERDOWN Link with MASTER is down", "no-mutation-confirmed", false},
    {"REDIRECT 10.0.0.1:6379", "no-mutation-confirmed", false},
    {"NOAUTH Authentication required.", "permission-denied", false},
    {"WRONGPASS invalid username-password pair or user is disabled.", "permission-denied", false},
    {"NOPERM this user has no permissions to run the 'evalsha' command", "permission-denied",
     false},
    {"MOVED 8442 127.0.0.1:7001", "server-incompatible", true},
    {"ASK 8442 127.0.0.1:7001", "server-incompatible", true},
    {"CROSSSLOT Keys in request don't hash to the same slot", "server-incompatible", true},
    {"NOPROTO unsupported protocol version", "server-incompatible", true},
    {"ERR This instance has cluster support disabled", "server-incompatible", true},
    {"ERR unknown command 'EVALSHA'", "server-incompatible", true},
    {"WRONGTYPE Operation against a key script: 5ca1e, on @user_script:9.", "script-aborted", true},
    {"ERR user_script:9: attempt to compare script: 5ca1e, on @user_script:9.", "script-aborted",
     true},
    // A permission that was taken away: the next connection finds out which.
    {"ERR The user executing the script can't run this command script: 5ca1e, on @user_script:9.",
     "script-aborted", false},
    {"ERR ACL failure in script: User rl has no permissions to run the 'hset' command",
     "script-aborted", false},
    {"UNKILLABLE Sorry the script already executed write commands", "script-aborted", true},
    {"NOTBUSY No scripts in execution right now.", "script-aborted", true},
    {"FROBNICATED something new", "script-aborted", true},
};

class ReplyTable : public ::testing::TestWithParam<Row> {};

TEST_P(ReplyTable, DecidesOutcomeConnectionAndRetry) {
  const Row& row = GetParam();
  ScriptedServer server;
  const Plan plan = CountingPlan(10);
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));
  const int loads = server.seen().loads;
  server.AnswerNext({"-" + std::string(row.error) + "\r\n"});

  EXPECT_EQ(Word(AskNow(*limiter, plan)), row.word);
  EXPECT_EQ(server.seen().calls, row.calls);
  EXPECT_EQ(server.seen().loads, loads + row.calls - 1);  // one more before a repeat

  EXPECT_TRUE(Eventually([&] { return limiter->Health().ready; }));
  EXPECT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));
  EXPECT_EQ(server.seen().connections, row.kept ? 1 : 2);
}

INSTANTIATE_TEST_SUITE_P(EveryPrefix, ReplyTable, ::testing::ValuesIn(kRows), [](const auto& row) {
  std::string name(row.param.error.substr(0, row.param.error.find(' ')));
  return name + std::to_string(row.index);
});

class Replies : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));
  }
  ScriptedServer server;
  Plan plan = CountingPlan(10);
  std::unique_ptr<RedisLimiter> limiter = MakeLimiter(TestOptions(server.address()));
};

TEST_F(Replies, ASecondNoScriptIsNoMutationConfirmed) {
  server.AnswerNext({"-NOSCRIPT no\r\n", "-NOSCRIPT no\r\n"});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "no-mutation-confirmed");
  EXPECT_EQ(server.seen().calls, 2);
}

// Old wrong behaviour: after a reply that made no sense the next caller was given the one after it.
TEST_F(Replies, ThatAreNoneOfTheScriptsEndTheConnection) {
  for (const char* reply : {":1\r\n", "*0\r\n", "*1\r\n$11\r\nx allowed 9\r\n", "$-1\r\n",
                            "*1\r\n*1\r\n:1\r\n", "?\r\n"}) {
    ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));
    const int connections = server.seen().connections;
    server.AnswerNext({reply});
    EXPECT_EQ(Word(AskNow(*limiter, plan)), "reply-malformed") << reply;
    EXPECT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; })) << reply;
    EXPECT_EQ(server.seen().connections, connections + 1) << reply;
  }
}

TEST_F(Replies, ThatAreMissingAreNotWaitedForPastTheDeadline) {
  server.AnswerNext({""});
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = Milliseconds{100}})), "deadline-passed");
}

TEST_F(Replies, AreCounted) {
  server.AnswerNext({"-NOSCRIPT no\r\n", "-OOM no\r\n"});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "no-mutation-confirmed");
  const RedisStatistics statistics = limiter->Statistics();
  EXPECT_EQ(statistics.calls, 1);
  EXPECT_EQ(statistics.evaluations, 1);
  EXPECT_EQ(statistics.reloads, 1);
  EXPECT_EQ(statistics.error_replies,
            (std::map<std::string, std::int64_t, std::less<>>{{"OOM", 1}}));
  EXPECT_EQ(statistics.in_flight, 0);
}

// A deadline that is over and a cost that no policy admits are answered without the server.
TEST_F(Replies, AreNotAskedForInVain) {
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = Milliseconds{0}})), "admission-rejected");
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.cost = 11})), "cost-exceeds-maximum");
  EXPECT_EQ(server.seen().calls, 0);
}

TEST(CheckOptions, NamesTheOptionThatIsWrong) {
  const auto error = [](const RedisOptions& options) {
    const auto made = MakeRedisLimiter(options);
    return made ? std::string() : made.error().substr(0, made.error().find(':'));
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.address = "localhost"}), "address");
  EXPECT_EQ(error({.address = "unix:/x", .tls = RedisTls{}}), "tls");
  EXPECT_EQ(error({.password = "a", .password_file = "b"}), "password");
  EXPECT_EQ(error({.database = -1}), "database");
  EXPECT_EQ(error({.command_timeout = Milliseconds{0}}), "command_timeout");
  EXPECT_EQ(error({.max_in_flight = 0}), "max_in_flight");
  EXPECT_EQ(error({.connections = 65}), "connections");
  EXPECT_EQ(error({.prefix = ""}), "prefix");
  EXPECT_EQ(error({.prefix = std::string(63, 'x')}), "prefix");  // a key has at most 200 bytes
  EXPECT_EQ(error({.prefix = "a{b}"}), "prefix");                // it would decide the hash slot
  EXPECT_EQ(error({.maximum_clock_skew = Milliseconds{-1}}), "maximum_clock_skew");
}

}  // namespace
}  // namespace sluice::redis
