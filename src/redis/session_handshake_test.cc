#include <gtest/gtest.h>

#include "src/redis/session_fixture.h"

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;

using SessionHandshake = SessionTest;

TEST_F(SessionHandshake, LoadsAndReadsTheClockInOneGo) {
  session.OnConnected(clock.Now());
  EXPECT_EQ(Written(),
            "*4\r\n$5\r\nHELLO\r\n$1\r\n2\r\n$7\r\nSETNAME\r\n$6\r\nsluice\r\n"
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n"
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 2\r\n"
            "*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n"
            "*1\r\n$4\r\nTIME\r\n");
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
}

TEST_F(SessionHandshake, OpensAfterTheLastReply) {
  session.OnConnected(clock.Now());
  Written();
  Receive("*0\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n-NOPERM no\r\n");
  EXPECT_TRUE(Take<Opened>().empty());
  Receive(TimeReply());
  EXPECT_EQ(Take<Opened>().size(), 1U);
  EXPECT_TRUE(session.CanSend(clock.Now().steady));
}

class SessionLogin : public SessionTest {
 protected:
  SessionLogin()
      : SessionTest({.username = "rl",
                     .password = "hunter2",
                     .database = 3,
                     .scripts = std::span(kTestScripts, 1),
                     .read_clock = false}) {}
};

TEST_F(SessionLogin, ComesFirstAndSelectsTheDatabase) {
  session.OnConnected(clock.Now());
  const std::string written = Written();
  EXPECT_TRUE(written.starts_with("*3\r\n$4\r\nAUTH\r\n$2\r\nrl\r\n$7\r\nhunter2\r\n"));
  EXPECT_NE(written.find("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"), std::string::npos);
  Receive("+OK\r\n*0\r\n+OK\r\n$4\r\naaaa\r\n-NOPERM no\r\n");
  EXPECT_EQ(Take<Opened>().size(), 1U);
}

TEST_F(SessionLogin, RefusedEndsAsPermissionDeniedWithoutTheSecret) {
  session.OnConnected(clock.Now());
  Written();
  Receive("-WRONGPASS invalid username-password pair or user is disabled.\r\n-NOAUTH x\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
  session.OnEnd("closed", false);
  const auto closed = Take<Closed>();
  ASSERT_EQ(closed.size(), 1U);
  const auto& why = As<Incompatible>(closed[0].why);
  EXPECT_EQ(why.reason, Incompatible::Reason::kPermissionDenied);
  EXPECT_TRUE(why.detail.starts_with("AUTH"));
  EXPECT_EQ(why.detail.find("hunter2"), std::string::npos);
}

struct Refusal {
  std::string replies;    // to HELLO, SCRIPT LOAD twice, the probe of HGET, INFO, TIME
  std::string_view word;  // of the outcome for calls that waited; empty: the session opens
};

std::string_view Word(const Outcome& outcome) {
  if (const auto* incompatible = std::get_if<Incompatible>(&outcome)) {
    return sluice::Name(incompatible->reason);
  }
  return sluice::Name(std::get<Unavailable>(outcome).category);
}

const Probe kTestProbe{.name = "HGET on key", .bytes = "HGET;"};

TEST(SessionHandshakeTable, RepliesDecideWhetherItOpens) {
  const std::string loaded = "$4\r\naaaa\r\n$4\r\nbbbb\r\n";
  const std::string probed = "$-1\r\n";
  const std::string told = "$0\r\n\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n";
  const Refusal rows[] = {
      {"*0\r\n" + loaded + probed + told, ""},
      // A server before 6.0 lacks HELLO, but SCRIPT LOAD will tell.
      {"-ERR unknown command\r\n" + loaded + probed + told, ""},
      {"-NOPROTO unsupported protocol version\r\n" + loaded + probed + told, ""},
      {"*2\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n" + loaded + probed + told, ""},
      {"*2\r\n$7\r\nversion\r\n$5\r\n6.2.0\r\n" + loaded + probed + told, ""},
      {"*2\r\n$7\r\nversion\r\n$6\r\n6.0.16\r\n", "server-incompatible"},
      {"*2\r\n$7\r\nversion\r\n$5\r\n5.9.99\r\n", "server-incompatible"},
      {"*2\r\n$4\r\nmode\r\n$7\r\ncluster\r\n", "server-incompatible"},
      {"*0\r\n-NOPERM no\r\n", "permission-denied"},
      {"-NOAUTH no\r\n-NOAUTH Authentication required.\r\n", "permission-denied"},
      {"*0\r\n-LOADING Redis is loading\r\n", "unavailable-before-send"},
      {"*0\r\n-BUSY a script\r\n", "unavailable-before-send"},
      {"*0\r\n-ERR Error compiling script\r\n", "server-incompatible"},
      {"*0\r\n$4\r\ncccc\r\n", "server-incompatible"},  // not the script's SHA-1
      {"*0\r\n" + loaded + "$-1\r\n$0\r\n\r\n-NOPERM no\r\n", "permission-denied"},
      // Of a probe a missing permission counts and nothing else: what may pass is the calls' to
      // tell.
      {"*0\r\n" + loaded + "-NOPERM no\r\n", "permission-denied"},
      {"*0\r\n" + loaded + "-NOAUTH Authentication required.\r\n", "permission-denied"},
      {"*0\r\n" + loaded + "-READONLY no\r\n" + told, ""},
      {"*0\r\n" + loaded + "-OOM no\r\n" + told, ""},
      {"*0\r\n" + loaded + "-ERR unknown command\r\n" + told, ""},
      {"*0\r\n" + loaded + "-MOVED 1 a:1\r\n" + told, ""},
      // What the server does when it is full is only good to know.
      {"*0\r\n" + loaded + "$-1\r\n-NOPERM no\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n", ""},
      {"-ERR max number of clients reached\r\n-ERR max number of clients reached\r\n",
       "unavailable-before-send"},
      {"HTTP/1.1 400 Bad Request\r\n", "unavailable-before-send"},
  };
  for (const Refusal& row : rows) {
    const testing::ManualClock clock;
    Session session({.scripts = kTestScripts, .probes = {kTestProbe}});
    session.OnConnected(clock.Now());
    session.OnBytes(row.replies, clock.Now());
    EXPECT_EQ(session.CanSend(clock.Now().steady), row.word.empty()) << row.replies;
    session.OnEnd("closed", false);
    const auto actions = session.TakeActions();
    if (!row.word.empty()) {
      EXPECT_EQ(Word(std::get<Closed>(actions.back()).why), row.word) << row.replies;
    }
  }
}

TEST_F(SessionHandshake, IsGivenUpWhenTheServerDribbles) {
  session.OnConnected(clock.Now());
  Written();
  for (int i = 0; i < 3; ++i) {
    clock.Advance(milliseconds{300});
    Receive(i == 0 ? "*0\r\n" : i == 1 ? "$4\r\naaaa\r\n" : "$4\r\nbbbb\r\n");
    session.OnTimer(clock.Now());
    ASSERT_TRUE(Take<CloseSocket>().empty());
  }
  clock.Advance(milliseconds{100});
  EXPECT_EQ(session.NextTimer(), clock.Now().steady);
  session.OnTimer(clock.Now());
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
}

TEST_F(SessionHandshake, ThatNeverConnectedTellsWhy) {
  session.OnEnd("connecting: refused", false);
  const auto closed = Take<Closed>();
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(As<Unavailable>(closed[0].why).detail, "connecting: refused");
}

TEST_F(SessionHandshake, MeasuresTheClockAtHalfTheRoundTrip) {
  session.OnConnected(clock.Now());
  Written();
  clock.Advance(milliseconds{40});
  Receive("*0\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n" + (kNoMemory + TimeReply(milliseconds{1'980})));
  const auto readings = Take<ClockReading>();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].skew, milliseconds{2'000});
  EXPECT_EQ(readings[0].uncertainty, milliseconds{20});
}

// The round trip is no wall time: a step of this machine's clock during it is no long round trip.
TEST_F(SessionHandshake, MeasuresTheRoundTripOnTheClockThatNeverSteps) {
  OpenSession();
  clock.Advance(milliseconds{10'000});
  session.OnTimer(clock.Now());
  EXPECT_EQ(Written(), "*1\r\n$4\r\nTIME\r\n");
  const std::string reply = TimeReply();
  clock.SetWall(clock.Now().wall - milliseconds{5'000});
  Receive(reply);
  const auto readings = Take<ClockReading>();
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].uncertainty, milliseconds{0});
}

TEST_F(SessionHandshake, AsksForTheTimeAgainWhileItIsIdle) {
  OpenSession();
  EXPECT_EQ(session.NextTimer(), clock.Now().steady + milliseconds{10'000});
  clock.Advance(milliseconds{9'999});
  session.OnTimer(clock.Now());
  EXPECT_EQ(Written(), "");
  clock.Advance(milliseconds{1});
  session.OnTimer(clock.Now());
  EXPECT_EQ(Written(), "*1\r\n$4\r\nTIME\r\n");
}

class SessionProbes : public SessionTest {
 protected:
  SessionProbes()
      : SessionTest({.scripts = std::span(kTestScripts, 1),
                     .probes = {kTestProbe, {.name = "HSET on key", .bytes = "HSET;"}},
                     .read_clock = false}) {}
};

TEST_F(SessionProbes, LeaveWithTheHandshakeAndNameWhatIsRefused) {
  session.OnConnected(clock.Now());
  EXPECT_TRUE(Written().ends_with("return 1\r\nHGET;HSET;*2\r\n$4\r\nINFO\r\n$6\r\nmemory\r\n"));
  Receive("*0\r\n$4\r\naaaa\r\n$-1\r\n-NOPERM this user has no permissions to run the 'hset'\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
  session.OnEnd("closed", false);
  const auto closed = Take<Closed>();
  ASSERT_EQ(closed.size(), 1U);
  const auto& why = As<Incompatible>(closed[0].why);
  EXPECT_EQ(why.reason, Incompatible::Reason::kPermissionDenied);
  EXPECT_EQ(why.detail, "HSET on key: the user may not run this command (NOPERM)");
}

struct MemoryReply {
  std::string_view reply;
  std::string_view policy;  // empty: not known
};

constexpr MemoryReply kMemoryReplies[] = {
    {"$46\r\n# Memory\r\nmaxmemory_policy:allkeys-lru\r\nmore:1\r\n\r\n", "allkeys-lru"},
    {"$27\r\nmaxmemory_policy:noeviction\r\n", "noeviction"},
    {"$-1\r\n", ""},
    {"*0\r\n", ""},
    {"-NOPERM maxmemory_policy:noeviction\r\n", ""},
    {"$8\r\n# Memory\r\n", ""},
    {"$17\r\nmaxmemory_policy:\r\n", ""},
    // It goes to logs, so it is no text of a server's choice.
    {"$21\r\nmaxmemory_policy:a\nb \r\n", "a"},
    {"$20\r\nmaxmemory_policy:a b\r\n", ""},
    {"$50\r\nmaxmemory_policy:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", ""},
};

TEST(SessionMemory, IsToldAsFarAsTheServerSays) {
  for (const MemoryReply& row : kMemoryReplies) {
    const testing::ManualClock clock;
    Session session({.read_clock = false});
    session.OnConnected(clock.Now());
    session.OnBytes("*0\r\n" + std::string(row.reply), clock.Now());
    std::string told;
    bool opened = false;
    for (const Action& action : session.TakeActions()) {
      if (const auto* policy = std::get_if<EvictionPolicy>(&action)) told = policy->name;
      if (std::holds_alternative<Opened>(action)) opened = true;
    }
    EXPECT_EQ(told, row.policy) << row.reply;
    EXPECT_TRUE(opened) << row.reply;
  }
}

}  // namespace
}  // namespace sluice::redis
