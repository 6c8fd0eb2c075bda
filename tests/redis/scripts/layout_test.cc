// What stands in the keys, how long it is kept, and what writes nothing.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using testing::PlanOf;
using testing::SubjectNumber;
using Names = std::vector<std::string>;

class Layout : public ScriptsTest {
 protected:
  // How often the server ran a command since the last reset of its statistics.
  std::int64_t Runs(const std::string& command) {
    const std::string text = client_.Command({"INFO", "commandstats"}).text;
    const std::size_t at = text.find("cmdstat_" + command + ":calls=");
    return at == std::string::npos ? 0 : std::stoll(text.substr(text.find('=', at) + 1));
  }
  // Asks in one call; callers' ids have 22 characters.
  std::vector<Outcome> AskTogether(const Plan& plan, const Subject& subject, std::size_t count,
                                   bool caller_ids) {
    std::vector<Evaluation> evaluations;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string id = std::to_string(100'000'000 + ++asked_);
      evaluations.push_back(EvaluationOf(
          plan, {.subject = subject, .id = caller_ids ? std::string(13, 'x') + id : ""}));
    }
    std::vector<Gathering::Item> items;
    for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
    return client_.Evaluate(options_, items);
  }
  std::int64_t Writes() { return Runs("hset") + Runs("hdel") + Runs("pexpire"); }

 private:
  int asked_ = 0;
};

TEST_F(Layout, StatesAreNamedDecimalFields) {
  const Dedup off{.enabled = false};
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{9, 1s}, .dedup = off},
                            {.id = "s", .algorithm = SlidingCounter{9, 1s}, .dedup = off},
                            {.id = "b", .algorithm = TokenBucket{9, 1, 1s}, .dedup = off}});
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .cost = 2}).allowed);
  const std::string keys[] = {KeyIn(plan, SubjectNumber(1), 0), KeyIn(plan, SubjectNumber(1), 1),
                              KeyIn(plan, SubjectNumber(1), 2)};
  EXPECT_EQ(Fields(keys[0]), (Names{"count", "window", "written"}));
  EXPECT_EQ(Fields(keys[1]), (Names{"current", "previous", "window", "written"}));
  EXPECT_EQ(Fields(keys[2]), (Names{"since", "tokens", "written"}));
  EXPECT_EQ(Field(keys[0], "window"), "1767225600000");
  EXPECT_EQ(Field(keys[0], "count"), "2");
  EXPECT_EQ(Field(keys[2], "tokens"), "7");
}

TEST_F(Layout, LargeNumbersStayDecimal) {
  // Lua wrote numbers of 15 digits and more in scientific notation, and read them back rounded.
  const Plan plans[] = {
      PlanOf({{.id = "w", .algorithm = FixedWindow{kMaximumAmount, 366 * 24h}}}),
      PlanOf({{.id = "s", .algorithm = SlidingCounter{kMaximumAmount, 1ms}}}),
      PlanOf({{.id = "b", .algorithm = TokenBucket{kMaximumAmount, kMaximumAmount, 366 * 24h}}})};
  for (const Plan& plan : plans) {
    EXPECT_EQ(Decided(plan, {.subject = SubjectNumber(1), .cost = kMaximumAmount - 1})
                  .limits[0]
                  .remaining,
              1);
    EXPECT_EQ(Decided(plan, {.subject = SubjectNumber(1)}).limits[0].remaining, 0);
    const Reply hash = client_.Command({"HGETALL", KeyIn(plan, SubjectNumber(1))});
    for (std::size_t i = 0; i < hash.elements.size(); i += 2) {
      if (hash.elements[i].text.starts_with("own")) continue;
      EXPECT_TRUE(std::regex_match(hash.elements[i + 1].text, std::regex("[0-9]+")))
          << hash.elements[i].text << " = " << hash.elements[i + 1].text;
    }
  }
}

TEST_F(Layout, ASubjectThatIsAlwaysActiveDoesNotGrow) {
  // A field for each window grew without end.
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{9, 10ms}}});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
    clock_.Advance(10ms);
  }
  EXPECT_LE(Fields(KeyIn(plan, SubjectNumber(1))).size(), 3U + 32U);
}

TEST_F(Layout, CallersRecordsAreBoundedByEntriesAndBytes) {
  // 200 ids of 100 bytes count 212 bytes each: four fit into 1 KiB.
  const Plan plan = PlanOf({{.id = "w",
                             .algorithm = FixedWindow{1000, 24h},
                             .dedup = {.ttl = 1h, .max_entries = 100, .max_bytes = 1024}}});
  const auto id = [](int i) { return std::string(97, 'x') + std::to_string(100 + i); };
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(Decided(plan, {.subject = SubjectNumber(1), .id = id(i)}).replayed);
  }
  EXPECT_LE(Fields(KeyIn(plan, SubjectNumber(1))).size(), 5U + 2U * 4U + 1U);
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = id(199)}).replayed);
  EXPECT_TRUE(Decided(plan, {.subject = SubjectNumber(1), .id = id(196)}).replayed);
  EXPECT_FALSE(Decided(plan, {.subject = SubjectNumber(1), .id = id(195)}).replayed);
}

TEST_F(Layout, KeysOutliveTheirStateAndRecordsAndNoMore) {
  // What the policy says, and the least and most that a key may then live.
  struct Case {
    Algorithm algorithm;
    Dedup dedup;
    Milliseconds least;
    Milliseconds most;
  };
  const Dedup off{.enabled = false};
  const Case cases[] = {
      // until the window's end, a second of grace, half of tolerance
      {FixedWindow{5, 60s}, off, 60s + 1500ms - 100ms, 60s + 1500ms},
      // records of 5 s take the place of the grace
      {FixedWindow{5, 60s}, {}, 60s + 5500ms - 100ms, 60s + 5500ms},
      // the next window as well
      {SlidingCounter{5, 60s}, off, 120s + 1500ms - 100ms, 120s + 1500ms},
      // as long as an empty bucket takes to fill: a shorter time forgot that it was empty
      {TokenBucket{3, 1, 15s}, off, 45s + 1500ms - 100ms, 45s + 1500ms},
      // milliseconds above 32 bits
      {FixedWindow{5, 31 * 24h}, off, 24h, 32 * 24h},
      // the records of a short window
      {FixedWindow{5, 10ms}, {.ttl = 1h}, 1h, 1h + 2s},
  };
  int number = 0;
  for (const Case& one : cases) {
    const Plan plan = PlanOf(
        {{.id = "p" + std::to_string(++number), .algorithm = one.algorithm, .dedup = one.dedup}});
    EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
    const Milliseconds ttl{TtlOf(KeyIn(plan, SubjectNumber(1)))};
    // The server's own clock goes on while the test runs.
    EXPECT_GT(ttl, one.least - 10s) << number;
    EXPECT_LE(ttl, one.most) << number;
  }
}

TEST_F(Layout, ATtlGivenOnceIsNotGivenAgainBeforeItMust) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{100, 60s}}});
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  client_.Command({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(1s);
    EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  }
  EXPECT_EQ(Runs("hset"), 10);
  EXPECT_EQ(Runs("pexpire"), 0);
  clock_.Advance(60s);
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  EXPECT_EQ(Runs("pexpire"), 1);
}

TEST_F(Layout, DenialsAndPeeksWriteNothing) {
  const Plan one = PlanOf({{.id = "w", .algorithm = FixedWindow{1, 24h}}});
  const Plan two = PlanOf({{.id = "w", .algorithm = FixedWindow{1, 24h}},
                           {.id = "b", .algorithm = TokenBucket{9, 1, 1s}}});
  EXPECT_TRUE(Decided(one, {SubjectNumber(1)}).allowed);
  const std::int64_t keys = client_.Command({"DBSIZE"}).integer;
  client_.Command({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(1s);
    EXPECT_FALSE(Decided(one, {SubjectNumber(1)}).allowed);
    EXPECT_FALSE(Decided(one, {.subject = SubjectNumber(1), .id = "id"}).allowed);
    EXPECT_FALSE(Decided(two, {SubjectNumber(1)}).allowed);
    EXPECT_TRUE(Decided(one, {.subject = SubjectNumber(2), .mode = Mode::kPeek}).allowed);
    EXPECT_TRUE(Decided(two, {.subject = SubjectNumber(2), .mode = Mode::kPeek}).allowed);
  }
  EXPECT_EQ(Writes(), 0);
  EXPECT_EQ(client_.Command({"DBSIZE"}).integer, keys);
}

TEST_F(Layout, AnUnsafeClockWritesNothing) {
  const Plan plan = PlanOf({{.id = "w", .algorithm = FixedWindow{9, 24h}}});
  EXPECT_TRUE(Decided(plan, {SubjectNumber(1)}).allowed);
  client_.Command({"CONFIG", "RESETSTAT"});
  clock_.SetWall(clock_.Now().wall - 501ms);
  for (const std::string id : {"", "id"}) {
    EXPECT_EQ(std::get<Unavailable>(Ask(plan, {.subject = SubjectNumber(1), .id = id})).category,
              Unavailable::Category::kClockUnsafe);
  }
  EXPECT_EQ(Writes(), 0);
}

// The figures of docs/guide/redis.md, with room for other allocators.
struct MemoryCase {
  const char* what;
  bool dedup;
  bool caller_ids;
  int calls;
  std::size_t batch;
  std::int64_t most;
};
constexpr MemoryCase kMemoryCases[] = {
    {"dedup off", false, false, 300, 1, 256},
    {"1 evaluation", true, false, 1, 1, 288},
    {"8 evaluations", true, false, 8, 1, 832},
    {"any number", true, false, 300, 1, 3 * 1024},
    {"any number, single and 64 in a call", true, false, 300, 64, 16 * 1024},
    {"1 caller's id", true, true, 1, 1, 448},
    {"32 callers' ids", true, true, 32, 1, 8 * 1024},
    {"as many callers' ids as are kept", true, true, 256, 1, 56 * 1024},
    {"and those not yet removed", true, true, 600, 1, 96 * 1024},
};

TEST_F(Layout, MemoryOfASubjectIsBounded) {
  const Algorithm algorithms[] = {FixedWindow{1'000'000, 24h}, SlidingCounter{1'000'000, 24h},
                                  TokenBucket{1'000'000, 10, 1s}};
  std::uint64_t subjects = 0;
  for (const MemoryCase& one : kMemoryCases) {
    std::string measured;
    for (const Algorithm& algorithm : algorithms) {
      const Plan plan =
          PlanOf({{.id = "p", .algorithm = algorithm, .dedup = {.enabled = one.dedup, .ttl = 1h}}});
      const Subject subject = SubjectNumber(++subjects);
      std::int64_t bytes = 0;
      for (int call = 0; call < one.calls; ++call) {
        clock_.Advance(1ms);
        // Every other call of those with several evaluations has one, as under changing load.
        const std::size_t batch = call % 2 == 0 ? one.batch : 1;
        EXPECT_TRUE(IsAllowed(AskTogether(plan, subject, batch, one.caller_ids).back()));
        const Reply reply =
            client_.Command({"MEMORY", "USAGE", KeyIn(plan, subject), "SAMPLES", "0"});
        bytes = std::max(bytes, reply.integer);
      }
      EXPECT_GT(bytes, 0);
      EXPECT_LE(bytes, one.most) << one.what;
      measured += "  " + std::to_string(bytes);
    }
    std::cout << one.what << ":" << measured << '\n';
  }
}

}  // namespace
}  // namespace sluice::redis
