// The records by which a repeated evaluation is answered again instead of charged again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sluice/outcome.h"
#include "sluice/policy.h"

namespace sluice::limiter {

/// An allowed evaluation that may be asked for again. Belongs to the state of the plan's first
/// policy.
struct Record {
  std::uint64_t plan_hash = 0;  ///< the ordered list of policies
  std::string id{};
  std::int64_t recorded_at = 0;  ///< the evaluation's `now`, milliseconds
  std::int64_t cost = 0;
  Evaluated answer{};
};

/// What a record counts against `dedup.max_bytes`. A bound of its text form in a store, from the id
/// and the number of limits alone, so that every engine keeps the same records.
[[nodiscard]] std::int64_t RecordBytes(std::size_t id_bytes, std::size_t limits);

/// The newest records of one subject and first policy, oldest first, bounded by entries and bytes.
class ReplayRing {
 public:
  /// The newest record of this plan and id that is alive at `now`, or null.
  [[nodiscard]] const Record* Find(const Plan& plan, std::string_view id, std::int64_t now) const;

  /// Adds a record and drops the oldest ones over the bounds of the plan's dedup.
  void Add(const Plan& plan, Record record);

  /// When the newest record's time is over, milliseconds; 0 if there is none.
  [[nodiscard]] std::int64_t expires() const { return expires_; }
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  std::deque<Record> records_;
  std::int64_t bytes_ = 0;
  std::int64_t expires_ = 0;
};

/// Step 4 for a record that was found: the recorded answer again, or the conflict of costs.
[[nodiscard]] std::variant<Evaluated, Incompatible> Replay(const Plan& plan, const Record& record,
                                                           std::int64_t cost);

}  // namespace sluice::limiter
