#include "tests/redis/counting.h"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "src/redis/keys.h"

namespace sluice::redis {
std::string CountingKey(std::uint64_t client) {
  const Plan plan = CountingPlan(1);
  return KeyOf(RedisOptions{}.prefix, testing::SubjectNumber(client), plan.policies()[0]);
}

std::int64_t Charged(const RedisServer& server, std::uint64_t client) {
  return server.Integer({"HGET", CountingKey(client), "count"});
}

RedisOptions TestOptions(const std::string& address) {
  return {.address = address, .command_timeout = Milliseconds{500}, .max_in_flight = 100'000};
}

std::unique_ptr<RedisLimiter> MakeLimiter(const RedisOptions& options) {
  return MakeRedisLimiter(options).value();
}

EvaluationId NextId() {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t number = ++last;
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = bytes.size(); number != 0; number >>= 8) {
    bytes[--i] = static_cast<std::uint8_t>(number);
  }
  return EvaluationId::FromBytes(bytes);
}

std::future<Outcome> Ask(Limiter& limiter, const Plan& plan, const AskedFor& asked) {
  auto promise = std::make_shared<std::promise<Outcome>>();
  const Instant now = SystemClock().Now();
  limiter.Evaluate({.plan = &plan,
                    .subject = testing::SubjectNumber(asked.client),
                    .cost = asked.cost,
                    .id = asked.id.empty() ? NextId() : EvaluationId::FromCaller(asked.id),
                    .now = now,
                    .deadline = now.steady + asked.budget},
                   [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
  return promise->get_future();
}

Outcome AskNow(Limiter& limiter, const Plan& plan, const AskedFor& asked) {
  return Ask(limiter, plan, asked).get();
}

std::string Word(const Outcome& outcome) {
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    return evaluated->allowed ? "allowed" : "denied";
  }
  if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    return std::string(Name(unavailable->category));
  }
  if (const auto* indeterminate = std::get_if<Indeterminate>(&outcome)) {
    return std::string(Name(indeterminate->category));
  }
  return std::string(Name(std::get<Incompatible>(outcome).reason));
}

bool Eventually(const std::function<bool()>& condition) {
  // Sentinels that find themselves on a slow machine do nothing for half a minute (TILT).
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{120};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace sluice::redis
