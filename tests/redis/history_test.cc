// Random faults under load, and the books afterwards: for every counter, what the server charged is
// at least what was allowed, at most that and what nobody knows, and never above the limit.
//
// SLUICE_HISTORY_SECONDS is how long (default 3), SLUICE_HISTORY_SEED which faults (default random,
// printed).
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <span>
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

void Fault(std::mt19937_64& random, testing::TcpGate& gate, const RedisServer& server) {
  switch (random() % 8) {
    case 0:
      gate.Follow({.swallow_replies = true});
      break;
    case 1:
      gate.Follow({.delay_replies = Milliseconds{random() % 300}});
      break;
    case 2:
      gate.Follow({.cut_after = random() % 200});
      break;
    case 3:
      gate.Follow({.swallow_requests = true, .swallow_replies = true});
      break;
    case 4:
      gate.Cut();
      break;
    case 5:
      server.Command({"SCRIPT", "FLUSH"});
      break;
    case 6:
      server.Command({"CLIENT", "KILL", "TYPE", "normal"});
      break;
    default:
      server.Command({"CLIENT", "PAUSE", std::to_string(random() % 200), "ALL"});
      break;
  }
}

TEST(History, ChargesAreAtLeastWhatWasAllowedAndAtMostThatAndTheUnknown) {
  const std::uint64_t seed = Setting("SLUICE_HISTORY_SEED", std::random_device{}());
  const std::chrono::seconds length{Setting("SLUICE_HISTORY_SECONDS", 3)};
  fmt::print("seed {}, {} s\n", seed, length.count());
  RecordProperty("seed", std::to_string(seed));

  RedisServer server;
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
  {
    std::vector<std::jthread> clients;
    for (int client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        AskUntil(done, asked, *limiter, plans, seed + 1 + static_cast<std::uint64_t>(client),
                 books[static_cast<std::size_t>(client)]);
      });
    }
    std::mt19937_64 random(seed);
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
      Fault(random, gate, server);
      std::this_thread::sleep_for(Milliseconds{random() % 120});
      gate.Follow({});
      std::this_thread::sleep_for(Milliseconds{random() % 60});
    }
    done = true;
  }
  Book all;
  for (std::uint64_t subject = 1; subject <= 1 + asked / kAsksOfASubject; ++subject) {
    Book sum;
    for (auto& book : books) {
      sum.allowed += book[subject].allowed;
      sum.unknown += book[subject].unknown;
      sum.denied += book[subject].denied;
      sum.others += book[subject].others;
    }
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
      "{} counters: allowed {}, denied {}, indeterminate {}, others {}; repeats {}, connects {}\n",
      1 + asked / kAsksOfASubject, all.allowed, all.denied, all.unknown, all.others, seen.repeats,
      seen.connects);
  EXPECT_GT(all.allowed, 0);
}

}  // namespace
}  // namespace sluice::redis
