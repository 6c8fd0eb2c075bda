// Two requests a minute: first the engine asked directly, then an edge with addresses and headers.
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sluice/edge.h"
#include "sluice/memory_limiter.h"
#include "sluice/policy.h"
#include "sluice/pseudonymizer.h"
#include "sluice/redis_limiter.h"
#include "sluice/testing/manual_clock.h"
#include "sluice/version.h"

using namespace std::chrono_literals;

namespace {

sluice::Policy TwoAMinute() {
  return sluice::Policy::Create({.id = "login", .algorithm = sluice::FixedWindow{2, 60s}}).value();
}

void AskTheEngine(const sluice::Clock& clock, const sluice::Pseudonymizer& pseudonymizer) {
  const auto limiter = sluice::MakeMemoryLimiter({});
  const auto plan = sluice::Plan::Create({TwoAMinute()}).value();
  sluice::RawIdentity identity;
  identity.Add(sluice::IdentityKind::kOpaque, "alice");
  const auto subject =
      pseudonymizer.SubjectOf(std::move(identity), sluice::IdentityKind::kOpaque, "");
  const auto now = clock.Now();

  std::printf("evaluated");
  sluice::Outcome last;
  for (int i = 0; i < 3; ++i) {
    limiter->Evaluate({.plan = &plan, .subject = subject, .now = now, .deadline = now.steady + 1s},
                      [&](sluice::Outcome outcome) { last = std::move(outcome); });
    std::printf(" %d", sluice::IsAllowed(last) ? 1 : 0);
  }
  const auto& denied = std::get<sluice::Evaluated>(last).LeadingLimit();
  std::printf(", retry in %lld ms\n", static_cast<long long>(denied.retry_after.value().count()));
}

void AskTheEdge(const sluice::Clock& clock, const sluice::Pseudonymizer& pseudonymizer) {
  const auto limiter = sluice::MakeMemoryLimiter({});
  sluice::EdgeSettings settings;
  settings.policies = {TwoAMinute()};
  settings.default_policy = "login";
  const auto edge =
      sluice::Edge::Create(std::move(settings), *limiter, pseudonymizer, clock).value();

  const auto peer = edge->PeerFrom("203.0.113.9");
  std::printf("answered");
  sluice::Answer last;
  for (int i = 0; i < 3; ++i) {
    last = edge->JudgeAndWait({.method = "POST",
                               .target = "/login",
                               .host = "example.com",
                               .identity = edge->Identify(peer, {})});
    std::printf(" %d", last.status);
  }
  for (const auto& field : last.headers) {
    if (field.name == "Retry-After") std::printf(", Retry-After %s", field.value.c_str());
  }
  std::printf("\n");
}

void AskNobody(const sluice::Clock& clock, const sluice::Pseudonymizer& pseudonymizer) {
  const auto limiter =
      sluice::MakeRedisLimiter({.address = "unix:/nonexistent/redis.sock"}).value();
  const auto plan = sluice::Plan::Create({TwoAMinute()}).value();
  sluice::RawIdentity identity;
  identity.Add(sluice::IdentityKind::kOpaque, "alice");
  const auto subject =
      pseudonymizer.SubjectOf(std::move(identity), sluice::IdentityKind::kOpaque, "");
  const auto now = clock.Now();
  std::promise<sluice::Outcome> outcome;
  limiter->Evaluate({.plan = &plan, .subject = subject, .now = now, .deadline = now.steady + 1min},
                    [&](sluice::Outcome given) { outcome.set_value(std::move(given)); });
  const auto answer = outcome.get_future().get();
  const bool unavailable = std::holds_alternative<sluice::Unavailable>(answer);
  std::printf("asked nobody: %s\n", unavailable ? "unavailable" : "something else");
}

}  // namespace

int main() {
  const sluice::testing::ManualClock clock;
  const sluice::Pseudonymizer pseudonymizer(1, sluice::PseudonymKey::Random());
  AskTheEngine(clock, pseudonymizer);
  AskTheEdge(clock, pseudonymizer);
  AskNobody(clock, pseudonymizer);
  std::printf("version %s\n", sluice::kVersion);
}
