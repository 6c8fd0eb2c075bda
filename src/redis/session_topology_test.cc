// What a session does for servers that are more than one: the kind of server it insists on,
// redirects, ASKING and WAIT.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/session_fixture.h"

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;

std::string Hello(const std::string& mode) {
  return "*2\r\n$4\r\nmode\r\n$" + std::to_string(mode.size()) + "\r\n" + mode + "\r\n";
}

const std::string kRest = "$4\r\naaaa\r\n$4\r\nbbbb\r\n" + std::string(kNoMemory);

TEST(SessionRole, DecidesWhichServersAreRefused) {
  struct Row {
    Role role;
    std::string replies;  // all before TIME's
    std::string why;      // empty: it opens
  };
  const Row rows[] = {
      {Role::kStandalone, Hello("standalone") + kRest, ""},
      {Role::kStandalone, Hello("cluster"), "cluster-mode server, standalone configured"},
      {Role::kClusterNode, Hello("cluster") + kRest, ""},
      {Role::kClusterNode, Hello("standalone"), "standalone server, cluster configured"},
      // A server that does not tell: the topology's own questions will.
      {Role::kClusterNode, "-ERR unknown command\r\n" + kRest, ""},
      {Role::kPrimary, Hello("standalone") + "*1\r\n$6\r\nmaster\r\n" + kRest, ""},
      {Role::kPrimary, Hello("cluster"), "cluster-mode server, sentinel configured"},
      {Role::kPrimary, Hello("standalone") + "*1\r\n$5\r\nslave\r\n",
       "the server that the sentinels name is no primary"},
      {Role::kPrimary, Hello("standalone") + "*0\r\n",
       "the server that the sentinels name is no primary"},
      {Role::kPrimary, Hello("standalone") + "-NOPERM no\r\n",
       "ROLE: the user may not run this command (NOPERM)"},
  };
  for (const Row& row : rows) {
    testing::ManualClock clock;
    Session session({.role = row.role, .scripts = kTestScripts, .read_clock = false});
    session.OnConnected(clock.Now());
    session.OnBytes(row.replies, clock.Now());
    session.OnEnd("closed", false);
    std::string why;
    bool opened = false;
    for (const Action& action : session.TakeActions()) {
      opened = opened || std::holds_alternative<Opened>(action);
      if (const auto* closed = std::get_if<Closed>(&action)) {
        const auto* wrong = std::get_if<Incompatible>(&closed->why);
        why = wrong != nullptr ? wrong->detail : As<Unavailable>(closed->why).detail;
      }
    }
    EXPECT_EQ(opened, row.why.empty()) << row.replies;
    EXPECT_EQ(why, row.why.empty() ? "closed" : row.why) << row.replies;
  }
}

class ClusterSession : public SessionTest {
 protected:
  ClusterSession() : SessionTest({.role = Role::kClusterNode, .scripts = kTestScripts}) {}
  void SendAsking(std::uint64_t id) {
    session.Send({.id = id, .bytes = "CALL" + std::to_string(id) + ";", .asks = true}, clock.Now());
  }
  static constexpr char kAsking[] = "*1\r\n$6\r\nASKING\r\n";
};

TEST_F(ClusterSession, HandsRedirectsOn) {
  OpenSession();
  SendCall(1);
  SendCall(2);
  Written();
  Receive("-MOVED 3999 127.0.0.1:6381\r\n-ASK 7 :7000\r\n");
  const auto redirected = Take<Redirected>();
  ASSERT_EQ(redirected.size(), 2U);
  EXPECT_EQ(redirected[0].id, 1U);
  EXPECT_EQ(redirected[0].redirect,
            (Redirect{Redirect::Kind::kMoved, 3'999, {"127.0.0.1", "6381"}}));
  EXPECT_EQ(redirected[1].redirect, (Redirect{Redirect::Kind::kAsk, 7, {"", "7000"}}));
  EXPECT_EQ(session.calls_under_way(), 0U);
}

TEST_F(SessionTest, OfAStandaloneServerFollowsNoRedirect) {
  OpenSession();
  SendCall(1);
  Written();
  Receive("-MOVED 3999 127.0.0.1:6381\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(As<Incompatible>(replies[0].reply.error()).reason,
            Incompatible::Reason::kServerIncompatible);
}

// Old wrong behaviour: the ASKING was used up by the EVALSHA that was told NOSCRIPT.
TEST_F(ClusterSession, AsksBeforeEachTryOfACall) {
  OpenSession();
  SendAsking(1);
  EXPECT_EQ(Written(), std::string(kAsking) + "CALL1;");
  Receive("+OK\r\n-NOSCRIPT no\r\n");
  EXPECT_EQ(Written(), "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n" +
                           std::string(kAsking) + "CALL1;");
  Receive("$4\r\naaaa\r\n+OK\r\n:7\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].reply->integer, 7);
}

// What leaves of an ASKING alone is no part of the call.
TEST_F(ClusterSession, KnowsThatACallDidNotLeaveThoughItsAskingDid) {
  OpenSession();
  SendAsking(1);
  (void)session.BeginWrite();
  session.OnWritten(std::string_view(kAsking).size());
  session.OnEnd("reset", false);
  EXPECT_EQ(Take<Dropped>().at(0).departure, Departure::kNone);
}

class WaitingSession : public SessionTest {
 protected:
  void SendWaiting(std::uint64_t id) {
    session.Send({.id = id,
                  .bytes = "CALL" + std::to_string(id) + ";",
                  .replicas = 2,
                  .longest_wait = milliseconds{40}},
                 clock.Now());
  }
  static constexpr char kWait[] = "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$2\r\n40\r\n";
};

TEST_F(WaitingSession, HoldsAReplyUntilReplicasConfirmIt) {
  OpenSession();
  SendWaiting(1);
  SendWaiting(2);
  EXPECT_EQ(Written(), "CALL1;" + std::string(kWait) + "CALL2;" + kWait);
  Receive(":7\r\n");
  EXPECT_TRUE(Take<Replied>().empty());
  EXPECT_EQ(session.calls_under_way(), 2U);
  Receive(":2\r\n:8\r\n:1\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[0].reply->integer, 7);
  EXPECT_FALSE(replies[0].is_unreplicated);
  EXPECT_EQ(replies[1].reply->integer, 8);
  EXPECT_TRUE(replies[1].is_unreplicated);
  EXPECT_EQ(session.calls_under_way(), 0U);
}

TEST_F(WaitingSession, CountsARefusedWaitAsNoReplica) {
  OpenSession();
  SendWaiting(1);
  Written();
  Receive(":7\r\n-NOPERM no\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0].is_unreplicated);
}

// The call ran and its answer is known, whatever becomes of the replicas.
TEST_F(WaitingSession, GivesTheReplyWhenTheConnectionEndsMeanwhile) {
  OpenSession();
  SendWaiting(1);
  SendWaiting(2);
  Written();
  Receive(":7\r\n");
  session.OnEnd("reset", false);
  const auto actions = session.TakeActions();
  ASSERT_EQ(actions.size(), 3U);
  const auto& replied = std::get<Replied>(actions[0]);
  EXPECT_EQ(replied.id, 1U);
  EXPECT_TRUE(replied.is_unreplicated);
  EXPECT_EQ(std::get<Dropped>(actions[1]).id, 2U);
  EXPECT_EQ(std::get<Dropped>(actions[1]).departure, Departure::kFully);
}

TEST_F(WaitingSession, DoesNotWaitForWhatWasRefused) {
  OpenSession();
  SendWaiting(1);
  Written();
  Receive("-OOM no\r\n");
  EXPECT_EQ(Take<Replied>().size(), 1U);
  Receive(":0\r\n");
  EXPECT_TRUE(Take<Replied>().empty());

  SendWaiting(2);
  Written();
  Receive("-NOSCRIPT no\r\n:0\r\n");
  EXPECT_EQ(Written(),
            "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\nCALL2;" + std::string(kWait));
  Receive("$4\r\naaaa\r\n:8\r\n:2\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_FALSE(replies[0].is_unreplicated);
}

}  // namespace
}  // namespace sluice::redis
