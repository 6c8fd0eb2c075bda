#include "src/edge/bridge.h"

#include <algorithm>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "src/edge/answer.h"
#include "src/edge/evaluation_id.h"
#include "src/edge/path.h"

namespace sluice {
namespace {

using edge::Core;
using edge::Operation;
using edge::Operations;

// What is known of a call before it is decided, and told to the observer after.
struct Call {
  Instant now;
  std::string_view operation;
  bool anonymous = false;
};

void Observe(const Core& core, const Call& call, Observation observation) {
  observation.operation = call.operation;
  observation.anonymous = call.anonymous;
  observation.elapsed = core.clock.Now().steady - call.now.steady;
  core.observer(observation);
}

void ObserveOutcome(const Core& core, const Call& call, const Plan* plan, const Outcome& outcome) {
  if (!core.observer) return;
  Observation observation;
  observation.outcome = edge::KindOf(outcome);
  observation.category = edge::CategoryOf(outcome);
  observation.detail = edge::DetailOf(outcome);
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    observation.policy = evaluated->LeadingLimit().policy;
    observation.replayed = evaluated->replayed;
  } else if (plan != nullptr) {
    observation.policy = plan->policies().front().id();
  }
  Observe(core, call, observation);
}

// Gives an answer that needed no evaluation.
void Finish(const Core& core, const Call& call, std::string_view category, Answer answer,
            AnswerHandler& handler) {
  if (core.observer) {
    Observation observation;
    observation.outcome = answer.outcome;
    observation.category = category;
    Observe(core, call, observation);
  }
  handler(std::move(answer));
}

std::expected<edge::Target, std::string_view> TargetOf(const JudgedRequest& request,
                                                       std::string& scratch) {
  // Where CONNECT names a server, it asks for no path. An extended CONNECT (RFC 8441) has one.
  if (request.method == "CONNECT" && edge::IsAuthorityForm(request.target)) {
    return edge::Target{.path = "*", .authority = request.target};
  }
  return edge::NormaliseTarget(request.target, scratch);
}

Subject SubjectOf(const Core& core, RawIdentity identity, IdentityKind kind, const Plan& plan,
                  std::string_view operation) {
  return core.pseudonymizer.SubjectOf(std::move(identity), kind,
                                      plan.needs_operation() ? operation : std::string_view{});
}

}  // namespace

void Edge::Bridge::Judge(JudgedRequest request, AnswerHandler handler) const {
  const Core& core = *core_;
  Call call{.now = core.clock.Now(), .operation = Operations::kUnmatched};
  std::string scratch;
  const auto malformed = [&](std::string_view detail) {
    Finish(core, call, "malformed-request", edge::ProblemAnswer(400, "Bad Request", detail),
           handler);
  };
  if (!edge::IsMethod(request.method)) return malformed("the method is not one word");
  const auto target = TargetOf(request, scratch);
  if (!target) return malformed(target.error());

  const Operation& operation = core.operations.Match(
      request.method, target->authority.empty() ? request.host : target->authority, target->path);
  call.operation = operation.id;
  if (operation.exempt) return Finish(core, call, {}, edge::ExemptAnswer(), handler);

  const auto source = std::ranges::find_if(
      operation.sources, [&](IdentityKind kind) { return request.identity.Has(kind); });
  call.anonymous = source == operation.sources.end();
  if (call.anonymous && core.anonymous == Anonymous::kDeny) {
    return Finish(core, call, "unidentified", edge::UnidentifiedAnswer(), handler);
  }

  const Evaluation evaluation{
      .plan = operation.plan.get(),
      .subject = SubjectOf(core, std::move(request.identity),
                           call.anonymous ? IdentityKind::kAnonymous : *source, *operation.plan,
                           operation.id),
      .cost = operation.cost,
      .id = edge::NewEvaluationId(call.now.wall),
      .now = call.now,
      .deadline = call.now.steady + core.budget};
  core.limiter.Evaluate(evaluation, [core = core_, call, &operation,
                                     handler = std::move(handler)](const Outcome& outcome) mutable {
    Answer answer = edge::AnswerFor(outcome, operation.policy_items, core->failure_retry_after);
    ObserveOutcome(*core, call, operation.plan.get(), outcome);
    handler(std::move(answer));
  });
}

void Edge::Bridge::Evaluate(EvaluateRequest request,
                            std::move_only_function<void(EvaluateReport)> handler) const {
  const Core& core = *core_;
  Call call{.now = core.clock.Now(), .operation = {}};
  EvaluateReport report{.plan = nullptr,
                        .outcome = Incompatible{},
                        .id = edge::NewEvaluationId(call.now.wall),
                        .failure_retry_after = core.failure_retry_after};
  const auto refuse = [&](Incompatible::Reason reason, std::string detail) {
    report.outcome = Incompatible{.reason = reason, .detail = std::move(detail)};
    ObserveOutcome(core, call, report.plan.get(), report.outcome);
    handler(std::move(report));
  };

  if (request.evaluation_id) {
    auto id = edge::EvaluationIdFromCaller(*request.evaluation_id);
    if (!id) return refuse(Incompatible::Reason::kEvaluationIdConflict, std::move(id).error());
    report.id = *std::move(id);
  }
  if (request.policies.empty() == request.operation.empty()) {
    return refuse(Incompatible::Reason::kUnknownPolicy,
                  "an evaluation names either policies or an operation");
  }
  std::int64_t cost = 1;
  if (!request.operation.empty()) {
    const Operation* operation = core.operations.Find(request.operation);
    if (operation == nullptr) {
      return refuse(Incompatible::Reason::kUnknownPolicy,
                    "there is no operation " + edge::QuotedId(request.operation));
    }
    call.operation = operation->id;
    if (operation->exempt) {
      return refuse(Incompatible::Reason::kUnknownPolicy,
                    "the operation " + edge::QuotedId(operation->id) +
                        " is exempt: it has no policy to evaluate");
    }
    report.plan = operation->plan;
    cost = operation->cost;
  } else {
    auto plan = core.policies.PlanOf(request.policies);
    if (!plan) return refuse(Incompatible::Reason::kUnknownPolicy, std::move(plan).error());
    report.plan = *std::move(plan);
  }

  call.anonymous = !request.identity.Has(request.kind);
  const Evaluation evaluation{
      .plan = report.plan.get(),
      .subject = SubjectOf(core, std::move(request.identity),
                           call.anonymous ? IdentityKind::kAnonymous : request.kind, *report.plan,
                           call.operation),
      .cost = request.cost.value_or(cost),
      .id = report.id,
      .mode = request.mode,
      .now = call.now,
      .deadline = call.now.steady + request.budget.value_or(core.budget)};
  core.limiter.Evaluate(evaluation, [core = core_, call, report = std::move(report),
                                     handler = std::move(handler)](Outcome outcome) mutable {
    report.outcome = std::move(outcome);
    ObserveOutcome(*core, call, report.plan.get(), report.outcome);
    handler(std::move(report));
  });
}

}  // namespace sluice
