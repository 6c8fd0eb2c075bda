// One server examined: as the daemon uses it, and as far as somebody may look at it.
#pragma once

#include <functional>
#include <string>

#include "sluice/redis_limiter.h"

#include "src/app/doctor/asker.h"
#include "src/app/doctor/finding.h"
#include "src/app/doctor/judgement.h"
#include "src/redis/access.h"
#include "src/redis/stream.h"

namespace sluice::app::doctor {

/// Who asks whom.
struct Examination {
  RedisOptions redis{};
  Milliseconds budget{};     ///< of an evaluation
  redis::Access access{};    ///< the daemon's
  redis::Access observer{};  ///< of whoever looks at INFO, CONFIG and the keys
};

using Tell = std::function<void(Finding finding)>;

/// Makes every check from kResolution on and tells what each came to, in order; kPermission perhaps
/// several times. A check that says nothing while another has failed is kSkipped. Takes a few
/// seconds, each answer at most redis.command_timeout.
void ExamineServer(const Examination& examination, const redis::Address& address,
                   const Expectation& expected, const Tell& tell);

}  // namespace sluice::app::doctor
