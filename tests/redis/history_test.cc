// Random faults under load, and the books afterwards: for every counter, what the server charged is
// at least what was allowed, at most that and what nobody knows, and never above the limit.
//
// SLUICE_HISTORY_SECONDS is how long at least (default 3; each fault comes once in any case),
// SLUICE_HISTORY_SEED which faults (default random, printed).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "testing/tcp_gate.h"
#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

constexpr int kClients = 8;
constexpr std::int64_t kLimit = 700;
constexpr std::uint64_t kAsksOfASubject = 1'000;  // then all clients move on to the next

struct Book {
  std::int64_t allowed = 0;
  std::int64_t unknown = 0;  // indeterminate: charged or not
  std::int64_t denied = 0;
  std::int64_t others = 0;

  void Enter(const Outcome& outcome) {
    if (std::holds_alternative<Indeterminate>(outcome)) {
      ++unknown;
    } else if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
      ++(evaluated->allowed ? allowed : denied);
    } else {
      ++others;
    }
  }
};

// The clients' part: asks a few at a time until it is over.
void AskUntil(const std::atomic<bool>& done, std::atomic<std::uint64_t>& asked,
              RedisLimiter& limiter, std::span<const Plan> plans, std::uint64_t seed,
              std::map<std::uint64_t, Book>& books) {
  std::mt19937_64 random(seed);
  while (!done) {
    std::vector<std::pair<std::uint64_t, std::future<Outcome>>> answers;
    for (std::uint64_t i = 0; i <= random() % 4; ++i) {
      const std::uint64_t subject = 1 + asked++ / kAsksOfASubject;
      answers.emplace_back(subject,
                           Ask(limiter, plans[subject % plans.size()],
                               {.client = subject, .budget = Milliseconds{1 + random() % 250}}));
    }
    bool answered = true;
    for (auto& [subject, answer] : answers) {
      const Outcome outcome = answer.get();
      answered = answered && std::holds_alternative<Evaluated>(outcome);
      books[subject].Enter(outcome);
    }
    if (!answered) std::this_thread::sleep_for(Milliseconds{1});
  }
}

// What may happen to a lane, each for a while: how it begins and how it ends.
class Faults {
 public:
  struct Fault {
    const char* name;
    std::function<void()> begin;
    std::function<void()> end = [] {};
  };

  Faults(RedisServer& server, testing::TcpGate& gate, std::mt19937_64& random)
      : server_(server), gate_(gate), random_(random) {
    const auto open = [this] { gate_.Follow({}); };
    all_ = {
        {"replies swallowed", [this] { gate_.Follow({.swallow_replies = true}); }, open},
        {"replies delayed", [this] { gate_.Follow({.delay_replies = UpTo(300)}); }, open},
        {"a reply cut", [this] { gate_.Follow({.cut_after = random_() % 200}); }, open},
        {"a black hole",
         [this] { gate_.Follow({.swallow_requests = true, .swallow_replies = true}); }, open},
        {"connections cut", [this] { gate_.Cut(); }},
        {"connections refused",
         [this] {
           gate_.Follow({.refuse = true});
           gate_.Cut();
         },
         open},
        {"SIGSTOP", [this] { server_.Signal(SIGSTOP); }, [this] { server_.Signal(SIGCONT); }},
        {"SIGKILL", [this] { server_.Kill(); }, [this] { server_.Start(); }},
        {"SCRIPT FLUSH", [this] { server_.Command({"SCRIPT", "FLUSH"}); }},
        {"CLIENT KILL", [this] { server_.Command({"CLIENT", "KILL", "TYPE", "normal"}); }},
        {"CLIENT PAUSE",
         [this] {
           server_.Command({"CLIENT", "PAUSE", std::to_string(UpTo(300).count()), "ALL"});
         }},
        {"a foreign script", [this] { script_ = server_.Send({"EVAL", "while true do end", "0"}); },
         [this] { server_.EndScript(script_); }},
    };
  }

  /// Each fault once, in random order, with good times in between.
  void Pass() {
    std::ranges::shuffle(all_, random_);
    for (const Fault& fault : all_) {
      SCOPED_TRACE(fault.name);
      fault.begin();
      std::this_thread::sleep_for(UpTo(200));
      fault.end();
      ++count_;
      std::this_thread::sleep_for(UpTo(60));
    }
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  Milliseconds UpTo(std::uint64_t most) { return Milliseconds{random_() % most}; }

  RedisServer& server_;
  testing::TcpGate& gate_;
  std::mt19937_64& random_;
  std::vector<Fault> all_;
  int script_ = -1;
  int count_ = 0;
};

// Of all clients, once they are done, for one counter.
Book SumOf(std::vector<std::map<std::uint64_t, Book>>& books, std::uint64_t subject) {
  Book sum;
  for (auto& book : books) {
    sum.allowed += book[subject].allowed;
    sum.unknown += book[subject].unknown;
    sum.denied += book[subject].denied;
    sum.others += book[subject].others;
  }
  return sum;
}

// Also if a fault throws, so that the clients end.
struct SetAtEnd {
  std::atomic<bool>& value;
  ~SetAtEnd() { value = true; }
};

TEST(History, ChargesAreAtLeastWhatWasAllowedAndAtMostThatAndTheUnknown) {
  const std::uint64_t seed = Setting("SLUICE_HISTORY_SEED", std::random_device{}());
  const std::chrono::seconds length{Setting("SLUICE_HISTORY_SECONDS", 3)};
  fmt::print("seed {}, {} s\n", seed, length.count());
  RecordProperty("seed", std::to_string(seed));

  // What it has answered is on disk before: a kill forgets nothing that anybody was told.
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always", "--lua-time-limit", "1"});
  testing::TcpGate gate(server.address());
  RedisOptions options = TestOptions(gate.address());
  options.command_timeout = Milliseconds{150};
  options.connections = 2;
  const auto limiter = MakeLimiter(options);
  ASSERT_TRUE(Eventually([&] { return limiter->Health().ready; }));

  const Plan plans[] = {CountingPlan(kLimit), CountingPlan(kLimit, false)};
  std::vector<std::map<std::uint64_t, Book>> books(kClients);
  std::atomic<std::uint64_t> asked{0};
  std::atomic<bool> done{false};
  std::mt19937_64 random(seed);
  Faults faults(server, gate, random);
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        AskUntil(done, asked, *limiter, plans, seed + 1 + static_cast<std::uint64_t>(client),
                 books[static_cast<std::size_t>(client)]);
      });
    }
    const SetAtEnd stop{done};
    const auto end = std::chrono::steady_clock::now() + length;
    do {
      faults.Pass();
    } while (std::chrono::steady_clock::now() < end);
  }
  // What the last start had to read is there.
  ASSERT_TRUE(Eventually([&] { return server.Command({"PING"}).text == "PONG"; }));
  Book all;
  const std::uint64_t subjects = 1 + asked / kAsksOfASubject;
  for (std::uint64_t subject = 1; subject <= subjects; ++subject) {
    const Book sum = SumOf(books, subject);
    const std::int64_t charged = Charged(server, subject);
    EXPECT_GE(charged, sum.allowed) << "subject " << subject;
    EXPECT_LE(charged, sum.allowed + sum.unknown) << "subject " << subject;
    EXPECT_LE(charged, kLimit) << "subject " << subject;
    if (charged > 0) {
      EXPECT_GT(server.Integer({"PTTL", CountingKey(subject)}), 0);
    }
    all.allowed += sum.allowed;
    all.unknown += sum.unknown;
    all.denied += sum.denied;
    all.others += sum.others;
  }
  const RedisStatistics seen = limiter->Statistics();
  fmt::print(
      "{} faults, {} counters: allowed {}, denied {}, indeterminate {}, others {}; repeats {}, "
      "connects {}\n",
      faults.count(), subjects, all.allowed, all.denied, all.unknown, all.others, seen.repeats,
      seen.connects);
  EXPECT_GT(all.allowed, 0);
  EXPECT_GT(all.unknown + seen.repeats, 0);  // the faults met somebody
}

}  // namespace
}  // namespace sluice::redis
