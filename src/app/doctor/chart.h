// What is known of one subject so far.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/app/doctor/finding.h"

namespace sluice::app::doctor {

using Tell = std::function<void(Finding finding)>;

/// One judgement a check: the latest, but a failure stands. Missing permissions are several.
class Chart {
 public:
  void Judge(Check check, Judgement judgement);
  void Ok(Check check, std::string found) { Judge(check, {Verdict::kOk, std::move(found), ""}); }
  void Skip(Check check, std::string why) { Judge(check, {Verdict::kSkipped, std::move(why), ""}); }
  void Fail(Check check, std::string found, std::string remedy) {
    Judge(check, {Verdict::kFailed, std::move(found), std::move(remedy)});
  }
  /// Each a failure of kPermission of its own, none twice.
  void Refuse(const Judgement& refusal);

  [[nodiscard]] bool HasFailed(Check check) const { return Is(check, Verdict::kFailed); }
  [[nodiscard]] bool HasPassed(Check check) const { return Is(check, Verdict::kOk); }

  /// Tells what was judged of the checks from kResolution on, in order.
  void TellJudged(const std::string& subject, const Tell& tell) const;
  /// The same with every check: what was not judged is skipped.
  void TellAll(const std::string& subject, const Tell& tell) const;

 private:
  [[nodiscard]] bool Is(Check check, Verdict verdict) const;

  std::map<Check, std::vector<Judgement>> judgements_;
};

}  // namespace sluice::app::doctor
