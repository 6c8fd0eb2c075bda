// A walk over the keys under the prefix: who else writes there?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/app/doctor/asker.h"
#include "src/app/doctor/finding.h"
#include "src/redis/access.h"
#include "src/redis/stream.h"

namespace sluice::app::doctor {

/// Looks at the keys under `prefix` in the first ten thousand keys or so that SCAN shows, as
/// `observer`.
[[nodiscard]] Judgement ExamineKeyspace(Asker& asker, const redis::Address& address,
                                        const redis::Access& observer, std::int64_t database,
                                        const std::string& prefix);

/// A pattern of SCAN, KEYS or an ACL that matches what begins with `text`.
[[nodiscard]] std::string PatternOf(std::string_view text);

}  // namespace sluice::app::doctor
