#include "src/app/doctor/chart.h"

#include <algorithm>
#include <utility>

namespace sluice::app::doctor {

void Chart::Judge(Check check, Judgement judgement) {
  if (!HasFailed(check)) judgements_[check] = {std::move(judgement)};
}

void Chart::Refuse(const Judgement& refusal) {
  auto& refusals = judgements_[Check::kPermission];
  if (!HasFailed(Check::kPermission)) refusals.clear();
  if (std::ranges::find(refusals, refusal) == refusals.end()) refusals.push_back(refusal);
}

bool Chart::Is(Check check, Verdict verdict) const {
  const auto made = judgements_.find(check);
  return made != judgements_.end() && !made->second.empty() &&
         made->second.front().verdict == verdict;
}

void Chart::TellJudged(const std::string& subject, const Tell& tell) const {
  for (const auto& [check, judgements] : judgements_) {
    for (const Judgement& judgement : judgements) tell({check, subject, judgement});
  }
}

void Chart::TellAll(const std::string& subject, const Tell& tell) const {
  Chart all = *this;
  for (auto check = static_cast<int>(Check::kResolution);
       check <= static_cast<int>(Check::kKeyspace); ++check) {
    if (judgements_.contains(static_cast<Check>(check))) continue;
    all.Skip(static_cast<Check>(check), "not looked at, because of ✗ above");
  }
  all.TellJudged(subject, tell);
}

}  // namespace sluice::app::doctor
