// The codec between evaluations and the Lua scripts: a batch becomes one EVALSHA, its reply one
// outcome each. What the scripts take and say is written at the head of lua/driver.lua.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/outcome.h"

#include "src/redis/gathering.h"
#include "src/redis/resp.h"
#include "src/redis/session.h"

namespace sluice::redis {

/// Evaluations that one call takes at most: enough that the calls' own cost is small, few enough
/// that the server stays free for others in between.
inline constexpr std::size_t kMaximumBatch = 64;

/// The scripts that calls name by their index. Lives as long as the program.
[[nodiscard]] std::span<const Script> Scripts();

struct ScriptOptions {
  std::string prefix = "sluice";  ///< at most kMaximumPrefixBytes
  Milliseconds minimum_ttl{0};    ///< how long a key is kept at least
};

/// The call that decides these evaluations in their order; its `id` is left open.
///
/// A repeat is an evaluation that was sent before and whose reply was lost. It is answered from the
/// record of its first try; if there is none it is decided now; if the record may have been dropped
/// since, nothing is charged and the outcome is indeterminate. That holds for dedup.ttl after the
/// first try: a later one must not be made.
///
/// Preconditions: 1 to kMaximumBatch items of one plan and subject, no limiter::Refusal for any;
/// repeats only where the plan's dedup is on, or for a peek.
[[nodiscard]] Call EncodeCall(const ScriptOptions& options, std::span<const Gathering::Item> items);

/// One outcome for each of the items that EncodeCall was given; none if the reply, which is not an
/// error reply, is not what the scripts say.
[[nodiscard]] std::optional<std::vector<Outcome>> DecodeReply(
    std::span<const Gathering::Item> items, const Reply& reply);

}  // namespace sluice::redis
