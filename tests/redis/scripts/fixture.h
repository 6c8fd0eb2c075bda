// One server for all tests of the program, and for each test a prefix of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/keys.h"
#include "testing/harness.h"
#include "testing/manual_clock.h"
#include "testing/subjects.h"
#include "tests/redis/redis_server.h"
#include "tests/redis/support/blocking_client.h"

namespace sluice::redis {

class ScriptsTest : public ::testing::Test {
 protected:
  ScriptsTest() {
    static int tests = 0;
    options_.prefix = "t" + std::to_string(tests++);
    client_.LoadScripts();
  }

  static const RedisServer& Server() {
    static const RedisServer server;
    return server;
  }

  Evaluation EvaluationOf(const Plan& plan, const testing::Ask& ask) {
    const Instant now = clock_.Now();
    return {.plan = &plan,
            .subject = ask.subject,
            .cost = ask.cost,
            .id = ask.id.empty() ? NextId() : EvaluationId::FromCaller(ask.id),
            .mode = ask.mode,
            .now = now,
            .deadline = now.steady + Milliseconds{750}};
  }

  Outcome Ask(const Plan& plan, const testing::Ask& ask) {
    return client_.EvaluateOne(options_, EvaluationOf(plan, ask));
  }
  Evaluated Decided(const Plan& plan, const testing::Ask& ask) {
    return std::get<Evaluated>(Ask(plan, ask));
  }

  /// An id as this process makes them, its bits well mixed and never the same twice.
  static EvaluationId NextId() {
    static std::uint64_t made = 0;
    return EvaluationId::FromBytes(testing::SubjectNumber(++made).client.bytes);
  }

  [[nodiscard]] std::string KeyIn(const Plan& plan, const Subject& subject, std::size_t limit = 0) {
    return KeyOf(options_.prefix, subject, plan.policies()[limit]);
  }
  std::string Field(const std::string& key, const std::string& field) {
    return client_.Command({"HGET", key, field}).text;
  }
  /// The fields of a key, sorted, without their values.
  std::vector<std::string> Fields(const std::string& key) {
    std::vector<std::string> fields;
    const Reply reply = client_.Command({"HKEYS", key});
    for (const Reply& field : reply.elements) fields.push_back(field.text);
    std::ranges::sort(fields);
    return fields;
  }
  std::int64_t TtlOf(const std::string& key) { return client_.Command({"PTTL", key}).integer; }

  ScriptOptions options_;
  testing::ManualClock clock_;
  BlockingClient client_{Server().address()};
};

}  // namespace sluice::redis
