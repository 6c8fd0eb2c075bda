// One server examined: as the daemon uses it, and as far as somebody may look at it.
#pragma once

#include "sluice/clock.h"
#include "sluice/redis_limiter.h"

#include "src/app/doctor/chart.h"
#include "src/app/doctor/judgement.h"
#include "src/redis/access.h"
#include "src/redis/address.h"
#include "src/redis/options.h"
#include "src/redis/topology/slot_map.h"

namespace sluice::app::doctor {

/// Who asks, and for what.
struct Examination {
  RedisOptions redis{};
  redis::EngineOptions engine{};  ///< what the daemon makes of them
  redis::Access observer{};       ///< of whoever looks at INFO, CONFIG and the keys
  Milliseconds budget{};          ///< of an evaluation
};

/// Makes every check from kResolution on and tells what each came to, in order. A check that says
/// nothing while another has failed is kSkipped. Takes a few seconds, each answer at most
/// redis.command_timeout. `map`: who has which slots, as others say it.
void ExamineServer(const Examination& examination, const redis::Address& address,
                   const redis::SlotMap& map, const Expectation& expected, const Tell& tell);

}  // namespace sluice::app::doctor
