// `sluice evaluate` for one evaluation.
#include <utility>

#include <fmt/core.h>

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/edge/outcome_json.h"

namespace sluice::app {
namespace {

int ExitStatus(const Outcome& outcome) {
  if (!std::holds_alternative<Evaluated>(outcome)) return kNoAnswer;
  return IsAllowed(outcome) ? kSuccess : kDenied;
}

}  // namespace

int EvaluateOnce(const EvaluateOptions& options) {
  const auto settings = LoadSettings(options.config_file);
  if (!settings) return settings.error();
  const auto engine = MakeEngine(*settings);
  if (!engine) return Complain(engine.error());
  const auto composition = Compose(*settings, **engine);
  if (!composition) return Complain(composition.error());

  auto identity = composition->edge->IdentityFrom(IdentityKind::kOpaque, options.subject);
  if (!identity) return Complain({"--subject: " + identity.error()});
  const EvaluateReport report =
      EvaluateAndWait(*composition->edge, {.policies = options.policies,
                                           .identity = *std::move(identity),
                                           .cost = options.cost,
                                           .budget = options.budget,
                                           .mode = options.peek ? Mode::kPeek : Mode::kEvaluate});
  fmt::print("{}\n", edge::ToJson(report));
  return ExitStatus(report.outcome);
}

}  // namespace sluice::app
