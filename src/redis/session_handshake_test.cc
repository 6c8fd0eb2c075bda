#include <gtest/gtest.h>

#include "src/redis/session_fixture.h"

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;

using SessionHandshake = SessionTest;

TEST_F(SessionHandshake, LoadsAndReadsTheClockInOneGo) {
  session.OnConnected(clock.Now());
  EXPECT_EQ(Written(),
            "*1\r\n$5\r\nHELLO\r\n"
            "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\nsluice\r\n"
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n"
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 2\r\n"
            "*1\r\n$4\r\nTIME\r\n");
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
}

TEST_F(SessionHandshake, OpensAfterTheLastReply) {
  session.OnConnected(clock.Now());
  Written();
  Receive("*0\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n");
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
  Receive("+OK\r\n*0\r\n+OK\r\n+OK\r\n$4\r\naaaa\r\n");
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
  std::string_view replies;  // to HELLO, CLIENT SETNAME, SCRIPT LOAD twice, TIME
  std::string_view word;     // of the outcome for calls that waited; empty: the session opens
};

std::string_view Word(const Outcome& outcome) {
  if (const auto* incompatible = std::get_if<Incompatible>(&outcome)) {
    return sluice::Name(incompatible->reason);
  }
  return sluice::Name(std::get<Unavailable>(outcome).category);
}

constexpr Refusal kRefusals[] = {
    // Naming the client is a courtesy: no right to do so is no reason to serve nobody.
    {"*0\r\n-NOPERM no\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n", ""},
    // A server before 6.0 lacks HELLO, but SCRIPT LOAD will tell.
    {"-ERR unknown command\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n*2\r\n$1\r\n1\r\n$1\r\n1\r\n", ""},
    {"*2\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n"
     "*2\r\n$1\r\n1\r\n$1\r\n1\r\n",
     ""},
    {"*2\r\n$7\r\nversion\r\n$5\r\n6.2.0\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n"
     "*2\r\n$1\r\n1\r\n$1\r\n1\r\n",
     ""},
    {"*2\r\n$7\r\nversion\r\n$6\r\n6.0.16\r\n", "server-incompatible"},
    {"*2\r\n$7\r\nversion\r\n$6\r\n5.9.99\r\n", "server-incompatible"},
    {"*2\r\n$4\r\nmode\r\n$7\r\ncluster\r\n", "server-incompatible"},
    {"*0\r\n+OK\r\n-NOPERM no\r\n", "permission-denied"},
    {"*0\r\n+OK\r\n-NOAUTH Authentication required.\r\n", "permission-denied"},
    {"*0\r\n+OK\r\n-LOADING Redis is loading\r\n", "unavailable-before-send"},
    {"*0\r\n+OK\r\n-BUSY a script\r\n", "unavailable-before-send"},
    {"*0\r\n+OK\r\n-ERR Error compiling script\r\n", "server-incompatible"},
    {"*0\r\n+OK\r\n$4\r\ncccc\r\n", "server-incompatible"},  // not the script's SHA-1
    {"*0\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n-NOPERM no\r\n", "permission-denied"},
    {"-ERR max number of clients reached\r\n-ERR max number of clients reached\r\n"
     "-ERR max number of clients reached\r\n",
     "unavailable-before-send"},
    {"HTTP/1.1 400 Bad Request\r\n", "unavailable-before-send"},
};

TEST(SessionHandshakeTable, RepliesDecideWhetherItOpens) {
  for (const Refusal& row : kRefusals) {
    const testing::ManualClock clock;
    Session session({.scripts = kTestScripts});
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
    Receive(i == 0 ? "*0\r\n" : i == 1 ? "+OK\r\n" : "$4\r\naaaa\r\n");
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
  Receive("*0\r\n+OK\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n" + TimeReply(milliseconds{1'980}));
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

}  // namespace
}  // namespace sluice::redis
