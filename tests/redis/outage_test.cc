// Outages that last: a server that is gone, loads, cannot save or runs somebody else's script, and
// how clients come back to it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/lane.h"
#include "testing/tcp_gate.h"
#include "tests/redis/counting.h"
#include "tests/redis/live_server.h"
#include "tests/redis/redis_server.h"
#include "tests/redis/scripted_server.h"

namespace sluice::redis {
namespace {

class Outage : public LiveServer {
 protected:
  using LiveServer::LiveServer;
  // A hundred calls; returns how many were answered with this word.
  int Hundred(const std::string& word) {
    int count = 0;
    for (int i = 0; i < 100; ++i) count += Word(AskNow(*limiter, plan)) == word;
    return count;
  }
};

// --- coming back ---

TEST(Reconnecting, TheCeilingOfTheWaitDoublesFromFiftyMillisecondsToFiveSeconds) {
  const int expected[] = {50, 100, 200, 400, 800, 1600, 3200, 5000, 5000};
  for (unsigned failures = 0; failures < std::size(expected); ++failures) {
    EXPECT_EQ(BackoffCeiling(failures), Milliseconds{expected[failures]}) << failures;
  }
  EXPECT_EQ(BackoffCeiling(1'000'000), Milliseconds{5'000});
}

// Old wrong behaviour: all clients of a server that came back opened connections until it fell over
// again. Now a restart costs it one for each that it had, in whatever time.
TEST(Reconnecting, TwentyLimitersOpenTheirConnectionsOnceForEachRestart) {
  constexpr std::int64_t kLimiters = 20;
  constexpr std::int64_t kConnections = 2;
  RedisServer server;
  testing::TcpGate gate(server.address());
  RedisOptions options = TestOptions(gate.address());
  options.connections = kConnections;
  options.command_timeout = Milliseconds{30'000};  // no attempt is given up because it is slow
  std::vector<std::unique_ptr<RedisLimiter>> limiters;
  for (int i = 0; i < kLimiters; ++i) limiters.push_back(MakeLimiter(options));
  const auto all_connected = [&] {
    return std::ranges::all_of(limiters, [](const auto& limiter) {
      return limiter->Statistics().connections == kConnections;
    });
  };
  const auto failures = [&] {
    std::int64_t sum = 0;
    for (const auto& limiter : limiters) sum += limiter->Statistics().connect_failures;
    return sum;
  };
  for (std::int64_t restart = 0; restart < 3; ++restart) {
    ASSERT_TRUE(Eventually(all_connected));
    EXPECT_EQ(gate.accepted(), (restart + 1) * kLimiters * kConnections);
    const std::int64_t before = failures();
    server.Kill();
    ASSERT_TRUE(Eventually([&] { return failures() >= before + 3 * kLimiters; }));
    server.Start();
  }
}

// Old wrong behaviour: a connection that the server had closed while it was idle was found out by
// the next call, which failed.
TEST(Reconnecting, AnIdleConnectionThatTheServerClosesIsReplacedBeforeItIsNeeded) {
  RedisServer server({"--timeout", "1"});
  const auto limiter = MakeLimiter(TestOptions(server.address()));
  const Plan plan = CountingPlan(10);
  for (std::int64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(Word(AskNow(*limiter, plan)), "allowed");
    EXPECT_EQ(Charged(server, 1), i);
    ASSERT_TRUE(Eventually([&] { return limiter->Statistics().disconnects >= i; }));
  }
  EXPECT_EQ(limiter->Statistics().expired, 0);
}

// This machine's TCP sockets to a port of 127.0.0.1 whose other end is closed.
int SocketsInCloseWaitTo(const std::string& address) {
  std::ostringstream remote;
  const int port = std::stoi(address.substr(address.find(':') + 1));
  remote << "0100007F:" << std::hex << std::uppercase;
  remote.width(4);
  remote.fill('0');
  remote << port;
  std::ifstream table("/proc/net/tcp");
  int count = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number;
    std::string local;
    std::string other;
    std::string state;
    words >> number >> local >> other >> state;
    count += other == remote.str() && state == "08";
  }
  return count;
}

// Old wrong behaviour: they stayed in CLOSE_WAIT for as long as the process lived.
TEST(Reconnecting, ConnectionsThatTheServerClosesAreClosedHereToo) {
  auto server = std::make_unique<ScriptedServer>();
  const std::string address = server->address();
  RedisOptions options = TestOptions(address);
  options.connections = 5;
  const auto limiter = MakeLimiter(options);
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().connections == 5; }));
  server.reset();
  ASSERT_TRUE(Eventually([&] { return limiter->Statistics().disconnects == 5; }));
  EXPECT_TRUE(Eventually([&] { return SocketsInCloseWaitTo(address) == 0; }));
}

// --- a server that answers and cannot serve ---

// A key takes it a twentieth of a second to load, until it is told otherwise.
class LoadingServer : public Outage {
 protected:
  LoadingServer()
      : Outage({"--rdbcompression", "no", "--key-load-delay", "50000",
                "--loading-process-events-interval-bytes", "1024"}) {}
};

TEST_F(LoadingServer, IsUnavailableUntilItHasLoaded) {
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  for (int i = 0; i < 1000; ++i) {
    server.Command({"SET", "filler" + std::to_string(i), std::string(2'000, 'x')});
  }
  server.Command({"SAVE"});
  server.Kill();
  ASSERT_TRUE(Eventually([&] { return !limiter->Health().ready; }));
  server.Start();
  ASSERT_TRUE(Eventually([&] {
    return limiter->Health().reason.find("LOADING") != std::string::npos;
  })) << limiter->Health().reason;
  EXPECT_EQ(Hundred("unavailable-before-send"), 100);
  ASSERT_TRUE(server.Command({"PING"}).text.starts_with("LOADING"));  // all the time

  server.Command({"CONFIG", "SET", "key-load-delay", "0"});
  ASSERT_TRUE(Eventually([&] { return server.Command({"PING"}).text == "PONG"; }));
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 1);  // as it was saved, and none of the hundred
}

class SavingServer : public Outage {
 protected:
  SavingServer() : Outage({"--save", "3600 1"}) {}
  bool Saves() {
    server.Command({"BGSAVE"});
    std::string status;
    EXPECT_TRUE(Eventually([&] {
      status = server.Command({"INFO", "persistence"}).text;
      return status.find("rdb_bgsave_in_progress:0") != std::string::npos;
    }));
    return status.find("rdb_last_bgsave_status:ok") != std::string::npos;
  }
};

TEST_F(SavingServer, ThatCannotSaveIsUnavailableUntilItCan) {
  // What it writes cannot take the name of a directory; a forbidden one would not stop root.
  const std::filesystem::path file =
      std::filesystem::path(server.address().substr(5)).parent_path() / "dump.rdb";
  std::filesystem::create_directory(file);
  ASSERT_FALSE(Saves());
  EXPECT_EQ(Hundred("no-mutation-confirmed"), 100);
  EXPECT_EQ(limiter->Statistics().error_replies.at("MISCONF"), 100);
  EXPECT_EQ(Charged(server, 1), 0);
  std::filesystem::remove(file);
  ASSERT_TRUE(Saves());
  ExpectUsable();
  EXPECT_EQ(Charged(server, 1), 0);
}

// Ten seconds of a server that runs nothing else: for half of them it is silent, as by default,
// then it says BUSY. Everybody is answered; only what was sent while it was silent is not known to
// be charged or not.
TEST_F(Outage, AForeignScriptOfTenSecondsLeavesTheBooksInOrder) {
  const int script = server.Send({"EVAL", "while true do end", "0"});
  std::map<std::string, std::int64_t> words;
  std::int64_t unknown = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (std::chrono::steady_clock::now() < end) {
    const Outcome outcome = AskNow(*limiter, plan, {.budget = Milliseconds{100}});
    unknown += std::holds_alternative<Indeterminate>(outcome);
    ++words[Word(outcome)];
    std::this_thread::sleep_for(Milliseconds{5});
  }
  EXPECT_TRUE(Eventually([&] {
    return limiter->Health().reason.find("BUSY") != std::string::npos;
  })) << limiter->Health().reason;
  server.EndScript(script);
  ExpectUsable();
  for (const auto& [word, count] : words) std::cout << word << ' ' << count << '\n';
  EXPECT_GT(unknown, 0);
  EXPECT_GE(Charged(server, 1), words["allowed"]);  // before it began
  EXPECT_LE(Charged(server, 1), words["allowed"] + unknown);
}

}  // namespace
}  // namespace sluice::redis
