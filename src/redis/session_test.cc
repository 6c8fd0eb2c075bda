#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "src/redis/session_fixture.h"

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;

using SessionCalls = SessionTest;

TEST_F(SessionCalls, GetTheirRepliesInTheOrderOfSending) {
  OpenSession();
  for (std::uint64_t id : {7, 8, 9}) SendCall(id);
  EXPECT_EQ(Written(), "CALL7;CALL8;CALL9;");
  Receive(":70\r\n:80\r\n:9");
  Receive("0\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(replies[i].id, 7 + i);
    EXPECT_EQ(replies[i].reply->integer, static_cast<std::int64_t>(70 + 10 * i));
  }
  EXPECT_EQ(session.calls_under_way(), 0U);
}

// Old wrong behaviour: one call's timeout cleared all callbacks, or its late reply was given to
// the next call.
TEST_F(SessionCalls, ThatNobodyWaitsForKeepTheirPlace) {
  OpenSession();
  SendCall(1);
  Written();
  clock.Advance(milliseconds{400});  // the deadline of 1 passes; the session is not told
  SendCall(2);
  Written();
  Receive(":1\r\n");
  Receive(":2\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[1].id, 2U);
  EXPECT_EQ(replies[1].reply->integer, 2);
}

TEST_F(SessionCalls, AreDroppedWithHowMuchOfThemLeft) {
  OpenSession();
  for (std::uint64_t id : {1, 2, 3}) SendCall(id);
  ASSERT_EQ(session.BeginWrite(), "CALL1;CALL2;CALL3;");
  session.OnWritten(8);
  session.OnEnd("reset", false);
  const auto dropped = Take<Dropped>();
  ASSERT_EQ(dropped.size(), 3U);
  EXPECT_EQ(dropped[0].departure, Departure::kFully);
  EXPECT_EQ(dropped[1].departure, Departure::kPartly);
  EXPECT_EQ(dropped[2].departure, Departure::kNone);
}

TEST_F(SessionCalls, MayHaveLeftWhenAWriteOfUnknownSizeFailed) {
  OpenSession();
  SendCall(1);
  ASSERT_EQ(session.BeginWrite(), "CALL1;");
  session.OnEnd("reset", true);
  EXPECT_EQ(Take<Dropped>().at(0).departure, Departure::kFully);
}

TEST_F(SessionCalls, ComeBackBeforeTheEndIsTold) {
  OpenSession();
  SendCall(1);
  Written();
  session.OnEnd("the server closed the connection", false);
  const auto actions = session.TakeActions();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Dropped>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<Closed>(actions[1]));
  session.OnEnd("again", false);
  EXPECT_TRUE(session.TakeActions().empty());
}

// No call is put behind bytes that the socket did not take: there its deadline could not be kept.
TEST_F(SessionCalls, WaitOutsideWhileAWriteIsUnderWay) {
  OpenSession();
  SendCall(1);
  const std::string_view bytes = session.BeginWrite();
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
  EXPECT_EQ(session.BeginWrite(), "");
  session.OnWritten(bytes.size());
  EXPECT_TRUE(session.CanSend(clock.Now().steady));
}

TEST_F(SessionCalls, WaitOutsideWhenTheNextWriteIsFull) {
  OpenSession();
  session.Send({.id = 1, .bytes = std::string(64 * 1024, 'x')}, clock.Now());
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
}

// Old wrong behaviour: a server that hangs was fed until its socket was full, and ran everything
// when it came back.
TEST_F(SessionCalls, AreNotSentToAServerThatOwesAReplyForLong) {
  OpenSession();
  SendCall(1);
  Written();
  clock.Advance(milliseconds{499});
  EXPECT_TRUE(session.CanSend(clock.Now().steady));
  clock.Advance(milliseconds{1});
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
  Receive(":1\r\n");
  EXPECT_TRUE(session.CanSend(clock.Now().steady));
}

TEST_F(SessionCalls, EndTheConnectionWhenAReplyIsOwedTooLong) {
  OpenSession();
  SendCall(1);
  Written();
  EXPECT_EQ(session.NextTimer(), clock.Now().steady + milliseconds{1'000});
  clock.Advance(milliseconds{999});
  session.OnTimer(clock.Now());
  EXPECT_TRUE(Take<CloseSocket>().empty());
  clock.Advance(milliseconds{1});
  session.OnTimer(clock.Now());
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
  EXPECT_EQ(session.BeginWrite(), "");
}

TEST_F(SessionCalls, LearnThatAReplyIsNoResp) {
  OpenSession();
  SendCall(1);
  SendCall(2);
  Written();
  Receive("?what\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
  Receive(":2\r\n");  // nothing after it counts
  session.OnEnd("closed", false);
  const auto dropped = Take<Dropped>();
  ASSERT_EQ(dropped.size(), 2U);
  EXPECT_TRUE(dropped[0].malformed);
  EXPECT_FALSE(dropped[1].malformed);
}

TEST_F(SessionCalls, EndWithAReplyThatNothingAskedFor) {
  OpenSession();
  Receive(":1\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
}

using SessionNoScript = SessionTest;

constexpr std::string_view kNoScript = "-NOSCRIPT No matching script.\r\n";
constexpr std::string_view kLoad = "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$8\r\nreturn 1\r\n";

TEST_F(SessionNoScript, LoadsOnThisConnectionAndRepeatsOnce) {
  OpenSession();
  SendCall(1);
  Written();
  Receive(kNoScript);
  EXPECT_EQ(Written(), std::string(kLoad) + "CALL1;");
  EXPECT_EQ(session.calls_under_way(), 1U);
  Receive("$4\r\naaaa\r\n:5\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].reply->integer, 5);
}

TEST_F(SessionNoScript, TwiceIsNoMutationConfirmed) {
  OpenSession();
  SendCall(1);
  Written();
  Receive(kNoScript);
  Written();
  Receive("$4\r\naaaa\r\n");
  Receive(kNoScript);
  EXPECT_EQ(Written(), "");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(As<Unavailable>(replies[0].reply.error()).category,
            Unavailable::Category::kNoMutationConfirmed);
}

// Old wrong behaviour: after SCRIPT FLUSH every call that was under way loaded the script again.
TEST_F(SessionNoScript, LoadsOnceForAllThatWereUnderWay) {
  OpenSession();
  for (std::uint64_t id : {1, 2, 3}) SendCall(id);
  Written();
  Receive(std::string(kNoScript) + std::string(kNoScript) + std::string(kNoScript));
  EXPECT_EQ(Written(), std::string(kLoad) + "CALL1;CALL2;CALL3;");
  EXPECT_EQ(Take<Reloaded>().size(), 1U);
  Receive("$4\r\naaaa\r\n:1\r\n:2\r\n:3\r\n");
  const auto replies = Take<Replied>();
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(replies[2].id, 3U);
  EXPECT_EQ(replies[2].reply->integer, 3);
}

TEST_F(SessionNoScript, RepeatDuringAWriteLeavesWithTheNext) {
  OpenSession();
  SendCall(1);
  Written();
  SendCall(2);
  const std::string_view bytes = session.BeginWrite();
  Receive(kNoScript);
  session.OnWritten(bytes.size());
  EXPECT_EQ(Written(), std::string(kLoad) + "CALL1;");
}

using SessionDraining = SessionTest;

// Old wrong behaviour: a demoted server keeps its connections open, and calls failed for ever.
TEST_F(SessionDraining, BeginsWithReadonlyAndWaitsForWhatIsUnderWay) {
  OpenSession();
  SendCall(1);
  SendCall(2);
  Written();
  Receive("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
  EXPECT_EQ(Take<CloseSocket>().size(), 0U);
  Receive("-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
}

TEST_F(SessionDraining, EndsWhenTheRestNeverComes) {
  OpenSession();
  SendCall(1);
  SendCall(2);
  Written();
  Receive("-NOAUTH Authentication required.\r\n");
  clock.Advance(milliseconds{1'000});
  session.OnTimer(clock.Now());
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
}

TEST_F(SessionDraining, IsNotBegunByAnErrorThatPasses) {
  OpenSession();
  SendCall(1);
  Written();
  Receive("-BUSY Redis is busy running a script.\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 0U);
  EXPECT_TRUE(session.CanSend(clock.Now().steady));
}

// A permission that is taken away later: the connection ends, so that the next one finds out which.
TEST_F(SessionDraining, BeginsWhenAScriptIsRefusedACommand) {
  OpenSession();
  SendCall(1);
  Written();
  Receive("-ERR The user executing the script can't run this command or subcommand script: 5c\r\n");
  const auto actions = session.TakeActions();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(As<Indeterminate>(std::get<Replied>(actions[0]).reply.error()).category,
            Indeterminate::Category::kScriptAborted);
  EXPECT_TRUE(std::holds_alternative<CloseSocket>(actions[1]));
}

TEST_F(SessionDraining, BeginsWhenTheClockMayNoLongerBeRead) {
  OpenSession();
  clock.Advance(milliseconds{10'000});
  session.OnTimer(clock.Now());
  Written();
  Receive("-NOPERM this user has no permissions to run the 'time' command\r\n");
  EXPECT_EQ(Take<CloseSocket>().size(), 1U);
}

TEST_F(SessionDraining, BeginsWhenAForgottenScriptMayNotBeLoaded) {
  OpenSession();
  SendCall(1);
  Written();
  Receive(kNoScript);
  Written();
  Receive("-NOPERM this user has no permissions to run the 'script|load' command\r\n");
  EXPECT_FALSE(session.CanSend(clock.Now().steady));
  Receive(kNoScript);
  const auto actions = session.TakeActions();
  EXPECT_TRUE(std::holds_alternative<CloseSocket>(actions.back()));
  session.OnEnd("closed", false);
  const auto closed = Take<Closed>();
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_TRUE(As<Incompatible>(closed[0].why).detail.starts_with("SCRIPT LOAD"));
}

// Every call comes back exactly once and never with another's reply, whatever happens when.
RC_GTEST_PROP(SessionProperty, EachCallComesBackOnceWithItsOwnReply, ()) {
  testing::ManualClock clock;
  Session session({.scripts = kTestScripts, .read_clock = false});
  session.OnConnected(clock.Now());
  std::string server;  // what the server received and has not answered
  std::vector<std::uint64_t> returned;
  std::uint64_t sent = 0;
  const auto write = [&](std::size_t at_most) {
    const std::string_view bytes = session.BeginWrite();
    const std::size_t size = std::min(bytes.size(), at_most);
    if (bytes.empty()) return;
    server += bytes.substr(0, size);
    session.OnWritten(size);
  };
  while (!session.CanSend(clock.Now().steady)) {
    write(1'000'000);
    server.clear();
    session.OnBytes("*0\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n-NOPERM no\r\n", clock.Now());
  }
  for (int step = 0; step < 60; ++step) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        if (!session.CanSend(clock.Now().steady)) break;
        session.Send({.id = ++sent, .bytes = std::to_string(sent) + ";"}, clock.Now());
        break;
      case 1:
        write(*rc::gen::inRange<std::size_t>(1, 10));
        break;
      case 2:
        while (server.contains(';')) {
          const std::string id = server.substr(0, server.find(';'));
          server.erase(0, id.size() + 1);
          session.OnBytes(":" + id + "\r\n", clock.Now());
        }
        break;
      default:
        clock.Advance(milliseconds{10});
        break;
    }
  }
  session.OnEnd("end", *rc::gen::arbitrary<bool>());
  for (const Action& action : session.TakeActions()) {
    if (const auto* replied = std::get_if<Replied>(&action)) {
      RC_ASSERT(replied->reply->integer == static_cast<std::int64_t>(replied->id));
      returned.push_back(replied->id);
    }
    if (const auto* dropped = std::get_if<Dropped>(&action)) returned.push_back(dropped->id);
  }
  std::ranges::sort(returned);
  RC_ASSERT(returned.size() == sent);
  RC_ASSERT(std::ranges::adjacent_find(returned) == returned.end());
}

}  // namespace
}  // namespace sluice::redis
