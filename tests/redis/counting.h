// What the tests before servers share: an engine, a plan whose counter a test can read back from
// the server, and ways to ask and to wait.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "sluice/redis_limiter.h"

#include "testing/harness.h"
#include "testing/subjects.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {

/// The policy's counter of a client.
[[nodiscard]] std::string CountingKey(std::uint64_t client);
/// What the server has charged to a client.
[[nodiscard]] std::int64_t Charged(const RedisServer& server, std::uint64_t client);

/// One fixed window, long enough that it never ends in a test.
[[nodiscard]] inline Plan CountingPlan(std::int64_t limit, bool dedup = true) {
  return testing::PlanOf({{.id = "count",
                           .algorithm = FixedWindow{limit, std::chrono::days{366}},
                           .dedup = {.enabled = dedup}}});
}

/// Options for tests: a server gone quiet is given up after half a second.
[[nodiscard]] RedisOptions TestOptions(const std::string& address);
[[nodiscard]] std::unique_ptr<RedisLimiter> MakeLimiter(const RedisOptions& options);

/// An id as this process makes them, never the same twice.
[[nodiscard]] EvaluationId NextId();

struct AskedFor {
  std::uint64_t client = 1;
  /// Long where the answer is awaited: no test depends on how fast the machine is.
  Milliseconds budget{30'000};
  std::string id{};  ///< as if a caller brought it
  std::int64_t cost = 1;
};
[[nodiscard]] std::future<Outcome> Ask(Limiter& limiter, const Plan& plan, const AskedFor& asked);
/// Asks and waits.
[[nodiscard]] Outcome AskNow(Limiter& limiter, const Plan& plan, const AskedFor& asked = {});

/// "allowed", "denied", or the category or reason of what is not evaluated.
[[nodiscard]] std::string Word(const Outcome& outcome);

/// Waits for a condition, for 30 seconds at most; false if it never came.
[[nodiscard]] bool Eventually(const std::function<bool()>& condition);

}  // namespace sluice::redis
