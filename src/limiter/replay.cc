#include "src/limiter/replay.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace sluice::limiter {

std::int64_t RecordBytes(std::size_t id_bytes, std::size_t limits) {
  constexpr std::size_t kHead = 64;   // plan, cost, time, leading limit
  constexpr std::size_t kLimit = 48;  // limit, remaining, reset
  return static_cast<std::int64_t>(id_bytes + kHead + kLimit * limits);
}

const Record* ReplayRing::Find(const Plan& plan, std::string_view id, std::int64_t now) const {
  const std::int64_t ttl = plan.dedup().ttl.count();
  for (const Record& record : records_ | std::views::reverse) {
    if (record.plan_hash == plan.hash() && record.id == id) {
      return now < record.recorded_at + ttl ? &record : nullptr;
    }
  }
  return nullptr;
}

void ReplayRing::Add(const Plan& plan, Record record) {
  const auto bytes = [](const Record& r) {
    return RecordBytes(r.id.size(), r.answer.limits.size());
  };
  expires_ = std::max(expires_, record.recorded_at + plan.dedup().ttl.count());
  bytes_ += bytes(record);
  records_.push_back(std::move(record));
  while (std::cmp_greater(records_.size(), plan.dedup().max_entries) ||
         (bytes_ > plan.dedup().max_bytes && records_.size() > 1)) {
    bytes_ -= bytes(records_.front());
    records_.pop_front();
  }
}

std::variant<Evaluated, Incompatible> Replay(const Plan& plan, const Record& record,
                                             std::int64_t cost) {
  if (record.cost != cost) {
    return Incompatible{Incompatible::Reason::kEvaluationIdConflict,
                        "this evaluation_id was answered for cost " + std::to_string(record.cost) +
                            " and is now asked for cost " + std::to_string(cost)};
  }
  Evaluated answer = record.answer;
  answer.replayed = true;
  // The views of the recorded answer belong to a plan that may be gone.
  for (std::size_t i = 0; i < answer.limits.size(); ++i) {
    answer.limits[i].policy = plan.policies()[i].id();
  }
  return answer;
}

}  // namespace sluice::limiter
