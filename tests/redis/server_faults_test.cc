// Faults of the server itself. What was charged is read back from it each time.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/redis/counting.h"
#include "tests/redis/live_server.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

constexpr Milliseconds kShort{150};

class ServerFaults : public LiveServer {
 protected:
  using LiveServer::LiveServer;
};

// Old wrong behaviour: a server that hangs without closing its connections was fed until it came
// back, and then ran everything.
TEST_F(ServerFaults, AStoppedServerRunsNothingThatWasAskedForLater) {
  server.Signal(SIGSTOP);
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = kShort})), "deadline-passed");
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = 2})), "unavailable-before-send");
  }
  server.Signal(SIGCONT);
  ExpectUsable();
  EXPECT_EQ(Charged(server, 2), 0);
  EXPECT_LE(Charged(server, 1), 1);
}

TEST_F(ServerFaults, AKilledServerIsFoundAgain) {
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  server.Kill();
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Word(AskNow(*limiter, plan, {.client = 2})), "unavailable-before-send");
  }
  EXPECT_FALSE(limiter->Health().ready);
  EXPECT_NE(limiter->Health().reason, "");
  server.Start();
  ExpectUsable();
  EXPECT_EQ(Charged(server, 2), 0);  // of the 100
}

TEST(ServerFault, AServerThatStartsLaterIsFound) {
  RedisServer server;
  server.Kill();
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  const Plan plan = CountingPlan(10);
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connect_failures > 0; }));
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
  server.Start();
  ASSERT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));
  EXPECT_EQ(Charged(server, 1), 1);
}

std::int64_t EntriesOf(const char* directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

// Old wrong behaviour: each restart left a socket in CLOSE_WAIT behind, or a thread.
TEST_F(ServerFaults, FiftyRestartsLeaveFilesAndThreadsAsTheyWere) {
  ExpectUsable();
  const std::int64_t files = EntriesOf("/proc/self/fd");
  const std::int64_t threads = EntriesOf("/proc/self/task");
  for (int i = 0; i < 50; ++i) {
    server.Kill();
    server.Start();
    ASSERT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; })) << i;
  }
  EXPECT_TRUE(Eventually([&] { return EntriesOf("/proc/self/fd") == files; }));
  EXPECT_EQ(EntriesOf("/proc/self/task"), threads);
}

// Old wrong behaviour: after SCRIPT FLUSH every call failed until the process was restarted.
TEST_F(ServerFaults, FlushedScriptsAreLoadedAgainAndEachCallChargesOnce) {
  for (std::int64_t i = 1; i <= 100; ++i) {
    server.Command({"SCRIPT", "FLUSH"});
    ASSERT_EQ(Word(AskNow(*limiter, plan)), "allowed");
    ASSERT_EQ(Charged(server, 1), i);
  }
  EXPECT_EQ(limiter->Statistics().reloads, 100);
}

TEST_F(ServerFaults, APausedServerIsIndeterminateThenUsable) {
  server.Command({"CLIENT", "PAUSE", "3000", "ALL"});
  EXPECT_EQ(Word(AskNow(*limiter, plan, {.budget = kShort})), "deadline-passed");
  ExpectUsable();
  EXPECT_LE(Charged(server, 1), 1);
}

class BusyServer : public ServerFaults {
 protected:
  BusyServer() : ServerFaults({"--lua-time-limit", "1"}) {}
};

// Old wrong behaviour: somebody else's long script was killed, or clients never recovered from it.
TEST_F(BusyServer, IsUnavailableUntilTheScriptEnds) {
  const int fd = server.Send({"EVAL", "while true do end", "0"});
  ASSERT_TRUE(Eventually([&] { return server.Command({"PING"}).text.starts_with("BUSY"); }));
  const std::string word = Word(AskNow(*limiter, plan));
  EXPECT_TRUE(word == "no-mutation-confirmed") << word;
  EXPECT_TRUE(server.Command({"PING"}).text.starts_with("BUSY"));  // it was not killed
  server.Command({"SCRIPT", "KILL"});
  ASSERT_TRUE(Eventually([&] { return server.Command({"PING"}).text == "PONG"; }));
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 0);
  ::close(fd);
}

TEST_F(ServerFaults, AFullServerIsUnavailableAndChargesNothing) {
  server.Command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "no-mutation-confirmed");
  server.Command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(Charged(server, 1), 0);
  ExpectUsable();
}

TEST_F(ServerFaults, ADemotedServerIsLeftAndFoundAgain) {
  server.Command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "no-mutation-confirmed");
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().disconnects == 1; }));
  server.Command({"REPLICAOF", "NO", "ONE"});
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 0);
}

// Old wrong behaviour: a new password needed a restart of every client.
TEST_F(ServerFaults, AChangedPasswordFileIsReadAgain) {
  const std::string file =
      std::filesystem::temp_directory_path() / ("sluice-password-" + std::to_string(::getpid()));
  std::ofstream(file) << "first\n";
  RedisOptions options = TestOptions(server.address());
  options.password_file = file;
  server.Command({"CONFIG", "SET", "requirepass", "second"});
  const auto refused = MakeLimiter(options);
  ASSERT_TRUE(Eventually([&] { return refused->Statistics().connect_failures > 0; }));
  const Outcome outcome = AskNow(*refused, plan);
  EXPECT_EQ(Word(outcome), "permission-denied");
  EXPECT_EQ(std::get<Incompatible>(outcome).detail.find("first"), std::string::npos);
  std::ofstream(file) << "second\n";
  ASSERT_TRUE(Eventually([&] { return Word(AskNow(*refused, plan)) == "allowed"; }));
  std::filesystem::remove(file);
}

// A clock of this machine that is off from the server's.
class ShiftedClock : public Clock {
 public:
  explicit ShiftedClock(Milliseconds by) : by_(by) {}
  [[nodiscard]] Instant Now() const override {
    Instant now = SystemClock().Now();
    now.wall += by_;
    return now;
  }

 private:
  const Milliseconds by_;
};

TEST_F(ServerFaults, AClockThatIsFarOffIsUnsafeAndSendsNothing) {
  for (const Milliseconds shift : {Milliseconds{-60'000}, Milliseconds{60'000}}) {
    const ShiftedClock clock(shift);
    const auto shifted = MakeRedisLimiter(TestOptions(server.address()), clock).value();
    ASSERT_TRUE(Eventually([&] { return shifted->Health().clock_skew.has_value(); }));
    EXPECT_EQ(Word(AskNow(*shifted, plan)), "clock-unsafe");
    EXPECT_FALSE(shifted->Health().ready);
    EXPECT_EQ(shifted->Statistics().calls, 0);

    RedisOptions unguarded = TestOptions(server.address());
    unguarded.maximum_clock_skew.reset();
    const auto trusting = MakeRedisLimiter(unguarded, clock).value();
    EXPECT_EQ(Word(AskNow(*trusting, plan)), "allowed");
  }
}

}  // namespace
}  // namespace sluice::redis
