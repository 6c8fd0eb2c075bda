// What the tests of this folder share: policies, outcomes and an edge over a Limiter of their
// choice.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/edge.h"

#include "testing/limiters.h"
#include "testing/manual_clock.h"

namespace sluice::edge {

inline Policy MakePolicy(std::string id, Algorithm algorithm, Scope scope = Scope::kOperation) {
  return *Policy::Create({.id = std::move(id), .algorithm = algorithm, .scope = scope});
}

/// login: 5 a minute · api: bucket of 100, 10 a second · daily: 10000 a day over all operations.
inline std::vector<Policy> TestPolicies() {
  using std::chrono::days;
  using std::chrono::minutes;
  using std::chrono::seconds;
  return {MakePolicy("login", FixedWindow{.limit = 5, .window = minutes{1}}),
          MakePolicy("api", TokenBucket{.capacity = 100, .refill = 10, .period = seconds{1}}),
          MakePolicy("daily", SlidingCounter{.limit = 10'000, .window = days{1}}, Scope::kClient)};
}

inline EdgeSettings TestSettings() {
  EdgeSettings settings;
  settings.policies = TestPolicies();
  settings.default_policy = "api";
  const auto add = [&](std::string id, RouteMatch match) -> OperationSettings& {
    OperationSettings& operation = settings.operations.emplace_back();
    operation.id = std::move(id);
    operation.match = std::move(match);
    return operation;
  };
  add("login", {.methods = {"POST"}, .host = "", .path = "/login"}).policies = {"login", "daily"};
  auto& item = add("item", {.methods = {}, .host = "", .path = "/items/{id}"});
  item.policies = {"api", "daily"};
  item.cost = 2;
  auto& files = add("files", {.methods = {}, .host = "cdn.example.com", .path = "/files/**"});
  files.policies = {"api"};
  files.sources = {IdentityKind::kClientIp};
  add("report", {.methods = {"GET"}, .host = "", .path = "/report"}).policies = {"daily"};
  add("health", {.methods = {}, .host = "", .path = "/healthz"}).exempt = true;
  settings.identity.trusted_proxies = {"127.0.0.0/8"};
  return settings;
}

/// Allows everything: each limit of the plan has one unit left, the first one leads.
class AllowingLimiter : public Limiter {
 public:
  void Evaluate(const Evaluation& evaluation, Completion completion) override {
    Evaluated evaluated{.allowed = true, .limits = {}};
    for (const Policy& policy : evaluation.plan->policies()) {
      evaluated.limits.push_back({.policy = policy.id(),
                                  .allowed = true,
                                  .limit = policy.limit(),
                                  .remaining = 1,
                                  .reset_after = Milliseconds{1'500},
                                  .retry_after = Milliseconds{0}});
    }
    completion(std::move(evaluated));
  }
};

/// An edge over `limiter` with a clock that stands still and all that it said of its work.
class EdgeUnderTest {
 public:
  struct Seen {
    std::string operation;
    std::string policy;
    AnswerOutcome outcome;
    std::string category;
    std::string detail;
    bool replayed;
    bool anonymous;
    std::chrono::nanoseconds elapsed;
  };

  explicit EdgeUnderTest(Limiter& limiter, EdgeSettings settings = TestSettings()) {
    auto created = Edge::Create(
        std::move(settings), limiter, pseudonymizer_, clock, [this](const Observation& seen) {
          observations.push_back({std::string{seen.operation}, std::string{seen.policy},
                                  seen.outcome, std::string{seen.category},
                                  std::string{seen.detail}, seen.replayed, seen.anonymous,
                                  seen.elapsed});
        });
    if (!created) {
      ADD_FAILURE() << created.error().front().place << ": " << created.error().front().message;
      std::abort();
    }
    edge = *std::move(created);
  }

  /// Judges a request of the client at `address`.
  Answer Judge(std::string_view method, std::string_view target,
               std::string_view address = "203.0.113.9", std::string_view host = "example.com",
               std::vector<HeaderField> headers = {}) {
    return edge->JudgeAndWait({.method = method,
                               .target = target,
                               .host = host,
                               .identity = edge->Identify(edge->PeerFrom(address), headers)});
  }

  /// Evaluates at once and gives what was reported.
  EvaluateReport Evaluate(EvaluateRequest request) {
    EvaluateReport given;
    int reports = 0;
    edge->Evaluate(std::move(request), [&](EvaluateReport report) {
      given = std::move(report);
      ++reports;
    });
    EXPECT_EQ(reports, 1);
    return given;
  }

  RawIdentity Opaque(std::string_view value) const {
    return *edge->IdentityFrom(IdentityKind::kOpaque, value);
  }

  testing::ManualClock clock;
  std::vector<Seen> observations;
  std::unique_ptr<Edge> edge;

 private:
  Pseudonymizer pseudonymizer_{1, *PseudonymKey::FromBytes(std::string(32, 'k'))};
};

/// The value of an answer's field, or "(absent)". A field that comes twice fails the test.
inline std::string FieldOf(const Answer& answer, std::string_view name) {
  std::string value = "(absent)";
  int found = 0;
  for (const AnswerField& field : answer.headers) {
    if (field.name != name) continue;
    value = field.value;
    ++found;
  }
  EXPECT_LE(found, 1) << name;
  return value;
}

}  // namespace sluice::edge
