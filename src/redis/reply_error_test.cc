#include "src/redis/reply_error.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

enum class Fate { kKeep, kClose, kReload };

struct Row {
  std::string_view error;
  std::string_view outcome;  // category or reason, as the contract writes it
  Fate fate;
};

std::string_view Word(const Outcome& outcome) {
  if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    return Name(unavailable->category);
  }
  if (const auto* indeterminate = std::get_if<Indeterminate>(&outcome)) {
    return Name(indeterminate->category);
  }
  return Name(std::get<Incompatible>(outcome).reason);
}

// The texts are those of Redis 7.0.15 unless another version is named.
constexpr Row kRows[] = {
    // The server says that it did not run the script.
    {"NOSCRIPT No matching script. Please use EVAL.", "no-mutation-confirmed", Fate::kReload},
    {"LOADING Redis is loading the dataset in memory", "no-mutation-confirmed", Fate::kKeep},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
     "no-mutation-confirmed", Fate::kKeep},
    {"OOM command not allowed when used memory > 'maxmemory'.", "no-mutation-confirmed",
     Fate::kKeep},
    // … with the suffix of a script: the first token still decides, nothing was written before.
    {"OOM command not allowed when used memory > 'maxmemory'. script: 5ca1e, on @user_script:9.",
     "no-mutation-confirmed", Fate::kKeep},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
     "no-mutation-confirmed", Fate::kKeep},
    {"NOREPLICAS Not enough good replicas to write.", "no-mutation-confirmed", Fate::kKeep},
    {"CLUSTERDOWN The cluster is down", "no-mutation-confirmed", Fate::kKeep},
    {"CLUSTERDOWN Hash slot not served", "no-mutation-confirmed", Fate::kKeep},
    {"CLUSTERDOWN The cluster is down and only accepts read commands", "no-mutation-confirmed",
     Fate::kKeep},
    {"TRYAGAIN Multiple keys request during rehashing of slot", "no-mutation-confirmed",
     Fate::kKeep},
    {"EXECABORT Transaction discarded because of previous errors.", "no-mutation-confirmed",
     Fate::kKeep},
    {"ERR max number of clients reached", "no-mutation-confirmed", Fate::kClose},
    {"ERR Script killed by user with SCRIPT KILL. script: 5ca1e, on @user_script:3.",
     "no-mutation-confirmed", Fate::kKeep},
    // A replica, in both forms. Old wrong behaviour: the second was taken for any error, and calls
    // failed on the demoted server until somebody restarted the client.
    {"READONLY You can't write against a read only replica.", "no-mutation-confirmed",
     Fate::kClose},
    {"ERR Error running script (call to f_5ca1e): @user_script:9: @user_script: 9: -READONLY You "
     "can't write against a read only replica.",  // before 7.0
     "no-mutation-confirmed", Fate::kClose},
    // Before 7.0 the memory's and the disk's refusals come wrapped as well.
    {"ERR Error running script (call to f_5ca1e): @user_script:9: @user_script: 9: -OOM command "
     "not allowed when used memory > 'maxmemory'.",
     "no-mutation-confirmed", Fate::kKeep},
    {"ERR Error running script (call to f_5ca1e): @user_script:9: @user_script: 9: -MISCONF Errors "
     "writing to the AOF file: No space left on device",
     "no-mutation-confirmed", Fate::kKeep},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
     "no-mutation-confirmed", Fate::kClose},
    {"REDIRECT 10.0.0.1:6379", "no-mutation-confirmed", Fate::kClose},  // Valkey 8
    // Somebody has to change something.
    {"NOAUTH Authentication required.", "permission-denied", Fate::kClose},
    {"WRONGPASS invalid username-password pair or user is disabled.", "permission-denied",
     Fate::kClose},
    {"NOPERM this user has no permissions to run the 'evalsha' command", "permission-denied",
     Fate::kClose},
    {"NOPERM User rl has no permissions to run the 'evalsha' command",  // 7.2
     "permission-denied", Fate::kClose},
    {"NOPERM this user has no permissions to access one of the keys used as arguments",
     "permission-denied", Fate::kClose},
    {"MOVED 8442 127.0.0.1:7001", "server-incompatible", Fate::kKeep},
    {"ASK 8442 127.0.0.1:7001", "server-incompatible", Fate::kKeep},
    {"CROSSSLOT Keys in request don't hash to the same slot", "server-incompatible", Fate::kKeep},
    {"NOPROTO unsupported protocol version", "server-incompatible", Fate::kKeep},
    {"ERR This instance has cluster support disabled", "server-incompatible", Fate::kKeep},
    {"ERR SELECT is not allowed in cluster mode", "server-incompatible", Fate::kKeep},
    {"ERR unknown command 'EVALSHA', with args beginning with: '5ca1e'", "server-incompatible",
     Fate::kKeep},
    {"ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'",
     "server-incompatible", Fate::kKeep},
    {"ERR DB index is out of range", "server-incompatible", Fate::kKeep},
    // Raised inside the script: what it wrote before stays.
    {"WRONGTYPE Operation against a key holding the wrong kind of value script: 5ca1e, on "
     "@user_script:9.",
     "script-aborted", Fate::kKeep},
    {"ERR user_script:9: attempt to compare nil with number script: 5ca1e, on @user_script:9.",
     "script-aborted", Fate::kKeep},
    // … a permission that was taken away just now: the next connection finds out which.
    {"ERR The user executing the script can't run this command or subcommand script: 5ca1e, on "
     "@user_script:9.",
     "script-aborted", Fate::kClose},
    {"ERR The user executing the script can't access at least one of the keys mentioned in the "
     "command arguments script: 5ca1e, on @user_script:9.",
     "script-aborted", Fate::kClose},
    {"ERR ACL failure in script: User rl has no permissions to run the 'pexpire' command "
     "script: 5ca1e, on @user_script:9.",  // 7.2, Valkey
     "script-aborted", Fate::kClose},
    {"ERR Error running script (call to f_5ca1e): @user_script:9: @user_script: 9: The user "
     "executing the script can't run this command or subcommand",  // before 7.0
     "script-aborted", Fate::kClose},
    // … and handed on by the script, also before 7.0.
    {"@user_script: 4: The user executing the script can't run this command or subcommand",
     "script-aborted", Fate::kClose},
    {"ERR Script attempted to access a non local key in a cluster node script: 5ca1e, on "
     "@user_script:9.",
     "script-aborted", Fate::kKeep},
    {"ERR invalid expire time in 'pexpire' command", "script-aborted", Fate::kKeep},
    // Unknown: the worst it can be.
    {"FROBNICATED something new", "script-aborted", Fate::kKeep},
    {"BUSYKEY Target key name already exists.", "script-aborted", Fate::kKeep},  // not BUSY
    {"OOMPH", "script-aborted", Fate::kKeep},
    {"", "script-aborted", Fate::kKeep},
};

TEST(JudgeError, ReadsEveryPrefixAsTheTableSays) {
  for (const Row& row : kRows) {
    const ErrorVerdict verdict = JudgeError(row.error, "EVALSHA");
    EXPECT_EQ(Word(verdict.outcome), row.outcome) << row.error;
    EXPECT_EQ(verdict.close, row.fate == Fate::kClose) << row.error;
    EXPECT_EQ(verdict.reload, row.fate == Fate::kReload) << row.error;
  }
}

TEST(ErrorLabel, IsAWordOfTheTable) {
  EXPECT_EQ(ErrorLabel("BUSY Redis is busy running a script."), "BUSY");
  EXPECT_EQ(ErrorLabel("ERR max number of clients reached"), "ERR");
  // A label that a server could choose would let the metrics grow without end.
  EXPECT_EQ(ErrorLabel("FROBNICATED something new"), "other");
}

TEST(JudgeError, NamesTheCommandThatWasDenied) {
  const Outcome denied = JudgeError("NOPERM this user has no permissions", "SCRIPT LOAD").outcome;
  EXPECT_TRUE(std::get<Incompatible>(denied).detail.starts_with("SCRIPT LOAD"));
}

TEST(JudgeError, TellsAKeyThatWasDeniedFromACommand) {
  for (const char* error :
       {"NOPERM this user has no permissions to access one of the keys used as arguments",
        "NOPERM No permissions to access a key"}) {  // 7.2
    const Outcome denied = JudgeError(error, "HGET on key").outcome;
    EXPECT_EQ(std::get<Incompatible>(denied).detail,
              "HGET on key: the user may not use such keys (NOPERM)");
  }
}

// Old wrong behaviour: an old server quotes the arguments of a command it does not know, and the
// password stood in the log.
TEST(JudgeError, QuotesNoArgument) {
  const Outcome outcome =
      JudgeError("ERR unknown command `AUTH`, with args beginning with: `rl`, `hunter2`,", "AUTH")
          .outcome;
  EXPECT_EQ(std::get<Incompatible>(outcome).detail.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace sluice::redis
