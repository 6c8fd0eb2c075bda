#include "src/app/doctor/judgement.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::app::doctor {
namespace {

using redis::Reply;
using redis::Words;
using std::chrono::microseconds;
using std::chrono::milliseconds;

Reply Text(std::string text) {
  return {.kind = Reply::Kind::kText, .text = std::move(text)};
}
Reply Error(std::string text) {
  return {.kind = Reply::Kind::kError, .text = std::move(text)};
}
Reply List(const std::vector<std::string>& texts) {
  Reply list{.kind = Reply::Kind::kArray};
  for (const std::string& text : texts) list.elements.push_back(Text(text));
  return list;
}
Reply Hello(const std::string& version) {
  return List({"server", "redis", "version", version, "mode", "standalone", "role", "master"});
}

TEST(Fields, AreReadFromInfoAndFromLists) {
  const Fields expected = {{"role", "master"}, {"slave0", "ip=::1,state=online"}, {"save", ""}};
  EXPECT_EQ(
      FieldsOf(Text("# Replication\r\nrole:master\r\nslave0:ip=::1,state=online\r\nsave:\r\n")),
      expected);
  EXPECT_EQ(FieldsOf(List({"role", "master", "slave0", "ip=::1,state=online", "save", ""})),
            expected);
}

TEST(Fields, ThatNobodyMayLookAtAreUnknown) {
  const auto refused = Seen(Error("NOPERM this user has no permissions to run the 'info' command"),
                            "+info", "sluice");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().verdict, Verdict::kUnknown);
  EXPECT_TRUE(refused.error().remedy.starts_with("ACL SETUSER sluice +info"));
  const auto unknown = Seen(Error("ERR unknown command 'CONFIG'"), "+config|get", "");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().verdict, Verdict::kUnknown);
  EXPECT_TRUE(Seen(Text("role:master\r\n"), "+info", ""));
}

struct PermissionRow {
  Words command;
  Reply reply;
  std::string remedy;  // empty: no obstacle
};
const std::vector<PermissionRow> kPermissionRows = {
    // As Redis 7.0 says it.
    {{"HSET", "k", "f", "v"},
     Error("NOPERM this user has no permissions to run the 'hset' command"),
     "ACL SETUSER sluice +hset"},
    {{"SCRIPT", "LOAD", "return 1"},
     Error("NOPERM this user has no permissions to run the 'script|load' command"),
     "ACL SETUSER sluice +script|load"},
    {{"HGET", "k", "f"},
     Error("NOPERM this user has no permissions to access one of the keys used as arguments"),
     "ACL SETUSER sluice ~edge:*"},
    // As Redis 7.2 and later say it.
    {{"HGET", "k", "f"},
     Error("NOPERM User sluice has no permissions to run the 'hget' command"),
     "ACL SETUSER sluice +hget"},
    {{"HGET", "k", "f"},
     Error("NOPERM No permissions to access a key"),
     "ACL SETUSER sluice ~edge:*"},
    {{"SUBSCRIBE", "+switch-master"},
     Error("NOPERM this user has no permissions to access one of the channels used as arguments"),
     "ACL SETUSER sluice &+switch-master"},
    {{"SUBSCRIBE", "+switch-master"},
     Error("NOPERM No permissions to access a channel"),
     "ACL SETUSER sluice &+switch-master"},
    // Switched off for everybody.
    {{"EVALSHA", "0", "0"},
     Error("ERR unknown command 'EVALSHA', with args beginning with: '0' "),
     "undo its rename-command, or use a server that has it"},
    // The command may be run, whatever it came to.
    {{"HGET", "k", "f"}, {}, ""},
    {{"HSET", "k", "f"}, Error("ERR wrong number of arguments for 'hset' command"), ""},
    {{"EVALSHA", "0", "1", "k"}, Error("NOSCRIPT No matching script."), ""},
    {{"HSET", "k", "f"}, Error("OOM command not allowed"), ""},
};

TEST(Permission, IsRefusedInTheWordsOfAnAcl) {
  for (const auto& [command, reply, remedy] : kPermissionRows) {
    const auto judged = JudgePermission(command, reply, {.user = "sluice", .prefix = "edge"});
    EXPECT_EQ(judged ? judged->remedy : "", remedy) << reply.text;
    if (judged) {
      EXPECT_EQ(judged->verdict, Verdict::kFailed);
    }
  }
}

TEST(Permission, OnKeysIsOneRefusalWhicheverCommandMetIt) {
  const Reply refusal = Error("NOPERM No permissions to access a key");
  EXPECT_EQ(JudgePermission({"HGET", "k", "f"}, refusal, {.prefix = "edge"}),
            JudgePermission({"EXISTS", "k"}, refusal, {.prefix = "edge"}));
}

TEST(Permission, OfTheDefaultUserNamesIt) {
  const auto judged = JudgePermission({"TIME"}, Error("NOPERM to run"), {.prefix = "edge"});
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->remedy, "ACL SETUSER default +time");
}

TEST(Refusal, BelongsToTheCheckOfItsCause) {
  const std::pair<const char*, Check> rows[] = {
      {"NOREPLICAS Not enough good replicas to write.", Check::kReplication},
      {"MISCONF Redis is configured to save RDB snapshots, but", Check::kPersistence},
      {"OOM command not allowed when used memory > 'maxmemory'.", Check::kMemoryPolicy},
      {"READONLY You can't write against a read only replica.", Check::kTopology},
      {"MOVED 3999 127.0.0.1:6381", Check::kTopology},
      {"NOSCRIPT No matching script.", Check::kScriptCache},
      // Before 7.0.
      {"ERR Error running script (call to f_0): @user_script:1: -OOM command not allowed",
       Check::kMemoryPolicy},
      // Whatever else.
      {"ERR user_script:3: attempt to index a nil value", Check::kScriptCache},
  };
  for (const auto& [error, check] : rows) {
    const Refusal refusal = JudgeRefusal(error);
    EXPECT_EQ(refusal.check, check) << error;
    EXPECT_EQ(refusal.judgement.verdict, Verdict::kFailed);
    EXPECT_NE(refusal.judgement.remedy, "");
  }
}

TEST(Version, IsOldEnoughFromSixTwoOn) {
  const std::pair<Reply, Verdict> rows[] = {
      {Hello("6.2.0"), Verdict::kOk},
      {Hello("10.0.1"), Verdict::kOk},
      {Hello("6.0.20"), Verdict::kFailed},
      {Hello("5.9"), Verdict::kFailed},
      {Hello("unstable"), Verdict::kUnknown},
      {Error("ERR unknown command `HELLO`"), Verdict::kFailed},
      {Error("ERR something else"), Verdict::kUnknown},
  };
  for (const auto& [hello, verdict] : rows) EXPECT_EQ(JudgeVersion(hello).verdict, verdict);
}

TEST(Topology, IsWhatIsConfigured) {
  struct Row {
    const char* mode;
    const char* role;
    Expectation expected;
    Verdict verdict;
  };
  const Row rows[] = {
      {"standalone", "master", {}, Verdict::kOk},
      {"cluster", "master", {}, Verdict::kFailed},
      {"sentinel", "master", {}, Verdict::kFailed},
      {"standalone", "replica", {}, Verdict::kFailed},
      {"standalone", "replica", {.is_replica = true}, Verdict::kOk},
      // It was promoted since, which is as it should be.
      {"standalone", "master", {.is_replica = true}, Verdict::kOk},
      {"cluster", "master", {.kind = redis::Role::kClusterNode}, Verdict::kOk},
      {"standalone", "master", {.kind = redis::Role::kClusterNode}, Verdict::kFailed},
      {"cluster", "replica", {.kind = redis::Role::kClusterNode}, Verdict::kFailed},
  };
  for (const auto& [mode, role, expected, verdict] : rows) {
    const auto judged = JudgeTopology({{"mode", mode}, {"role", role}}, expected);
    EXPECT_EQ(judged.verdict, verdict) << mode << ' ' << role << ": " << judged.found;
  }
  EXPECT_EQ(JudgeTopology({}, {}).verdict, Verdict::kUnknown);
}

TEST(Clock, MayBeApartByTheBoundAndInDoubtByMore) {
  const auto verdict = [](int skew, int uncertainty) {
    return JudgeClock(milliseconds(skew), milliseconds(uncertainty), milliseconds(1'000)).verdict;
  };
  EXPECT_EQ(verdict(1'000, 0), Verdict::kOk);
  EXPECT_EQ(verdict(1'001, 0), Verdict::kFailed);
  EXPECT_EQ(verdict(-1'001, 0), Verdict::kFailed);
  EXPECT_EQ(verdict(-1'500, 500), Verdict::kOk);
}

TEST(MemoryPolicy, MustForgetNothing) {
  const auto verdict = [](const char* policy) {
    return JudgeMemoryPolicy({{"maxmemory_policy", policy}, {"maxmemory", "0"}}).verdict;
  };
  EXPECT_EQ(verdict("noeviction"), Verdict::kOk);
  EXPECT_EQ(verdict("allkeys-lru"), Verdict::kFailed);
  EXPECT_EQ(verdict("volatile-ttl"), Verdict::kFailed);
  EXPECT_EQ(JudgeMemoryPolicy({}).verdict, Verdict::kUnknown);
}

TEST(Replication, NeedsWhatIsConfigured) {
  const Fields kOne = {{"role", "master"}, {"connected_slaves", "1"}};
  const Fields kOnline = {{"slave0", "ip=::1,port=1,state=online,lag=0"}};
  const Fields kLoading = {{"slave0", "ip=::1,port=1,state=wait_bgsave,lag=0"}};
  const Fields kGood = {{"min_slaves_good_slaves", "1"}};
  const auto with = [](Fields fields, const Fields& more) {
    fields.insert(more.begin(), more.end());
    return fields;
  };
  struct Row {
    Fields info;
    std::optional<Fields> config;
    int replicas;  // that are needed
    Verdict verdict;
  };
  const Fields kRequired = {{"min-replicas-to-write", "1"}};
  const Fields kTwoRequired = {{"min-replicas-to-write", "2"}};
  const Row rows[] = {
      // Alone: fine, unless there must be somebody to take its place.
      {{{"role", "master"}, {"connected_slaves", "0"}}, {}, 0, Verdict::kOk},
      {{{"role", "master"}, {"connected_slaves", "0"}}, {}, 1, Verdict::kFailed},
      {with(kOne, kOnline), {}, 1, Verdict::kOk},
      {with(kOne, kLoading), {}, 1, Verdict::kFailed},
      // Writes are refused below min-replicas-to-write, which may be seen without CONFIG.
      {with(with(kOne, kOnline), kGood), kRequired, 0, Verdict::kOk},
      {with(with(kOne, kOnline), kGood), kTwoRequired, 0, Verdict::kFailed},
      {{{"role", "master"}, {"min_slaves_good_slaves", "0"}}, {}, 0, Verdict::kFailed},
      {{{"role", "slave"}, {"master_link_status", "up"}}, {}, 0, Verdict::kOk},
      {{{"role", "slave"}, {"master_link_status", "down"}}, {}, 0, Verdict::kFailed},
      {{}, {}, 0, Verdict::kUnknown},
  };
  for (const Row& row : rows) {
    const auto judged =
        JudgeReplication(row.info, row.config ? &*row.config : nullptr, {.replicas = row.replicas});
    EXPECT_EQ(judged.verdict, row.verdict) << judged.found;
  }
}

TEST(Persistence, MustOutliveARestart) {
  const Fields kConfigOff = {{"save", ""}, {"appendfsync", "everysec"}};
  const Fields kConfigSave = {{"save", "3600 1"}, {"appendfsync", "everysec"}};
  const auto verdict = [](Fields info, const Fields* config) {
    info.try_emplace("aof_enabled", "0");
    return JudgePersistence(info, config).verdict;
  };
  EXPECT_EQ(verdict({{"aof_enabled", "1"}}, nullptr), Verdict::kOk);
  EXPECT_EQ(verdict({{"aof_enabled", "1"}}, &kConfigOff), Verdict::kOk);
  EXPECT_EQ(verdict({}, &kConfigSave), Verdict::kOk);
  EXPECT_EQ(verdict({}, &kConfigOff), Verdict::kFailed);
  EXPECT_EQ(verdict({}, nullptr), Verdict::kUnknown);
  EXPECT_EQ(verdict({{"rdb_last_bgsave_status", "err"}}, &kConfigSave), Verdict::kFailed);
  EXPECT_EQ(verdict({{"aof_enabled", "1"}, {"aof_last_write_status", "err"}}, nullptr),
            Verdict::kFailed);
  EXPECT_EQ(JudgePersistence({}, nullptr).verdict, Verdict::kUnknown);
}

TEST(Latency, IsJudgedByItsNinetyNinthPercentile) {
  const auto judged = [](std::size_t slow) {
    std::vector<microseconds> probes(200 - slow, microseconds(1'234));
    probes.resize(200, microseconds(50'001));
    return JudgeLatency(probes, milliseconds(100));
  };
  EXPECT_EQ(judged(2).verdict, Verdict::kOk);
  EXPECT_EQ(judged(3).verdict, Verdict::kFailed);
  EXPECT_EQ(judged(3).found, "p50 1.234 ms, p99 50.001 ms of 200 probes; http.budget is 100 ms");
  EXPECT_EQ(JudgeLatency({milliseconds(50)}, milliseconds(100)).verdict, Verdict::kOk);
}

TEST(Keyspace, IsSluicesAlone) {
  const auto integer = [](std::int64_t value) {
    return Reply{.kind = Reply::Kind::kInteger, .integer = value};
  };
  KeyTally tally;
  tally.Count(Text("hash"), integer(1'000));
  tally.Count(Text("none"), integer(-2));  // expired meanwhile
  EXPECT_EQ(JudgeKeyspace(tally, "edge").verdict, Verdict::kOk);
  EXPECT_EQ(JudgeKeyspace(tally, "edge").found, "1 key under \"edge:\"");
  KeyTally forever = tally;
  forever.Count(Text("hash"), integer(-1));
  EXPECT_EQ(JudgeKeyspace(forever, "edge").verdict, Verdict::kFailed);
  KeyTally foreign = tally;
  foreign.Count(Text("string"), integer(1'000));
  EXPECT_EQ(JudgeKeyspace(foreign, "edge").verdict, Verdict::kFailed);
}

}  // namespace
}  // namespace sluice::app::doctor
