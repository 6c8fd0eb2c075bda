// How long an answer takes, asked through the engine itself.
#pragma once

#include "sluice/clock.h"
#include "sluice/redis_limiter.h"

#include "src/app/doctor/finding.h"
#include "src/app/doctor/probe.h"

namespace sluice::app::doctor {

/// Makes an engine with these options and asks it 200 times, one after another, or fewer if it is
/// clear before that the answers take too long. Writes nothing.
[[nodiscard]] Judgement MeasureLatency(const RedisOptions& options, const Probe& probe,
                                       Milliseconds budget);

}  // namespace sluice::app::doctor
