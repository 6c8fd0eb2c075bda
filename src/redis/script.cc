#include "src/redis/script.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <openssl/sha.h>

#include "src/limiter/replay.h"
#include "src/redis/keys.h"
#include "src/redis/states_text.h"

namespace sluice::redis {
namespace {

// In the order of Algorithm's alternatives: for one evaluation of one limit, then for a batch of
// them; the driver last.
struct Source {
  std::string_view name;
  std::string_view text;
};
constexpr Source kSources[] = {
#include "redis_scripts.inc"
};
constexpr std::size_t kBatches = std::variant_size_v<Algorithm>;
constexpr std::size_t kDriver = 2 * kBatches;
static_assert(std::size(kSources) == kDriver + 1);

// Places for records of evaluations with an id made here, as lua/driver.lua has them.
constexpr std::string_view kPlaceDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kBatchPlaces = 4;
constexpr std::size_t kTagSize = 13;  // characters of a ULID, 65 bits

std::size_t PlaceOf(std::string_view ulid) {
  return kPlaceDigits.find(ulid.back());
}

std::string Sha1Of(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4];
    hex += kHex[byte & 15];
  }
  return hex;
}

// Where an evaluation is recorded and what is written beside it: a place and the id's last 65 bits,
// or for a caller's id a field of its own and what it counts in the ring.
struct RecordField {
  std::string name{};
  std::string tag{};
};
RecordField RecordFieldOf(const Evaluation& evaluation) {
  const Plan& plan = *evaluation.plan;
  if (!plan.dedup().enabled) return {};
  const std::string id = evaluation.id.ToString();
  if (!evaluation.id.is_from_caller()) {
    return {.name = "own" + std::to_string(PlaceOf(id)), .tag = id.substr(id.size() - kTagSize)};
  }
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name = "id:";
  for (int shift = 60; shift >= 0; shift -= 4) name += kHex[plan.hash() >> shift & 15];
  name += ':';
  name += id;
  return {.name = std::move(name),
          .tag = std::to_string(limiter::RecordBytes(id.size(), plan.policies().size()))};
}

// Whether a record's tag is that of an evaluation with an id made here.
bool IsOwnTag(const Evaluation& evaluation, std::string_view tag) {
  return tag.size() == kTagSize && !evaluation.id.is_from_caller() &&
         evaluation.id.ToString().ends_with(tag);
}

std::int64_t NowOf(const Evaluation& evaluation) {
  return evaluation.now.wall.time_since_epoch().count();
}

// How long a key outlives the end of its state: a caller's clock may be behind, the state may still
// be tolerated, records have their own time.
Milliseconds KeepOf(const Policy& policy, const ScriptOptions& options) {
  const Milliseconds records = policy.dedup().enabled ? policy.dedup().ttl : Milliseconds{0};
  return std::max(std::max(policy.cleanup_grace(), records) + policy.maximum_clock_regression(),
                  options.minimum_ttl);
}

struct Numbers {
  std::int64_t limit = 0;
  std::int64_t span = 0;
  std::int64_t refill = 0;
};
Numbers NumbersOf(const Policy& policy) {
  return std::visit(
      [&]<class A>(const A& algorithm) -> Numbers {
        if constexpr (std::is_same_v<A, TokenBucket>) {
          return {algorithm.capacity, algorithm.period.count(), algorithm.refill};
        } else {
          return {algorithm.limit, algorithm.window.count(), 0};
        }
      },
      policy.algorithm());
}

CommandWriter Head(std::size_t script, const ScriptOptions& options, const Evaluation& evaluation) {
  const auto policies = evaluation.plan->policies();
  CommandWriter words;
  words.Add("EVALSHA");
  words.Add(Scripts()[script].sha);
  words.Add(static_cast<std::int64_t>(policies.size()));
  for (const Policy& policy : policies) {
    words.Add(KeyOf(options.prefix, evaluation.subject, policy));
  }
  return words;
}

std::string ToleranceOf(const Policy& policy, const ScriptOptions& options) {
  return std::to_string(policy.maximum_clock_regression().count()) + ' ' +
         std::to_string(KeepOf(policy, options).count());
}

void AddBucket(CommandWriter& words, const Policy& policy) {
  if (!std::holds_alternative<TokenBucket>(policy.algorithm())) return;
  words.Add(NumbersOf(policy).refill);
  words.Add(policy.cleanup_grace().count());
}

// As lua/one_limit.lua takes it.
Call EncodeOne(const ScriptOptions& options, const Evaluation& evaluation) {
  const Policy& policy = evaluation.plan->policies().front();
  const std::size_t script = policy.algorithm().index();
  const Numbers numbers = NumbersOf(policy);
  CommandWriter words = Head(script, options, evaluation);
  words.Add(NowOf(evaluation));
  words.Add(evaluation.cost);
  words.Add(ToleranceOf(policy, options));
  words.Add(numbers.limit);
  words.Add(numbers.span);
  if (evaluation.plan->dedup().enabled || std::holds_alternative<TokenBucket>(policy.algorithm())) {
    RecordField record = RecordFieldOf(evaluation);
    words.Add(record.name);
    words.Add(record.tag);
  }
  AddBucket(words, policy);
  return {.script = script, .bytes = words.Finish()};
}

// As lua/one_limit_batch.lua takes them.
Call EncodeOfOneLimit(const ScriptOptions& options, std::span<const Gathering::Item> items) {
  const Evaluation& first = *items.front().evaluation;
  const Policy& policy = first.plan->policies().front();
  const std::size_t script = kBatches + policy.algorithm().index();
  const Numbers numbers = NumbersOf(policy);
  CommandWriter words = Head(script, options, first);
  words.Add(ToleranceOf(policy, options));
  words.Add(numbers.limit);
  words.Add(numbers.span);
  std::string entries;
  if (first.plan->dedup().enabled) {
    for (const Gathering::Item& item : items) {
      if (!entries.empty()) entries += ',';
      entries += RecordFieldOf(*item.evaluation).tag + ':' +
                 std::to_string(NowOf(*item.evaluation)) + ':' +
                 std::to_string(item.evaluation->cost);
    }
    words.Add("batch" + std::to_string(PlaceOf(first.id.ToString()) % kBatchPlaces));
  } else {
    words.Add("");
  }
  words.Add(entries);
  AddBucket(words, policy);
  for (const Gathering::Item& item : items) {
    words.Add(NowOf(*item.evaluation));
    words.Add(item.evaluation->cost);
  }
  return {.script = script, .bytes = words.Finish()};
}

// A peek charges nothing, so that it may be made anew.
std::string_view ModeOf(const Gathering::Item& item) {
  if (item.evaluation->mode == Mode::kPeek) return "peek";
  return item.is_repeat ? "repeat" : "evaluate";
}

// Any batch, as lua/driver.lua takes it.
Call EncodeBatch(const ScriptOptions& options, std::span<const Gathering::Item> items) {
  const Evaluation& first = *items.front().evaluation;
  const Plan& plan = *first.plan;
  CommandWriter words = Head(kDriver, options, first);
  words.Add(plan.dedup().enabled ? plan.dedup().ttl.count() : 0);
  words.Add(plan.dedup().max_entries);
  words.Add(plan.dedup().max_bytes);
  words.Add(PoliciesText(plan));
  for (const Policy& policy : plan.policies()) {
    const Numbers numbers = NumbersOf(policy);
    words.Add(AlgorithmName(policy.algorithm()));
    words.Add(numbers.limit);
    words.Add(numbers.span);
    words.Add(numbers.refill);
    words.Add(policy.cleanup_grace().count());
    words.Add(policy.maximum_clock_regression().count());
    words.Add(KeepOf(policy, options).count());
  }
  for (const Gathering::Item& item : items) {
    RecordField record = RecordFieldOf(*item.evaluation);
    words.Add(NowOf(*item.evaluation));
    words.Add(item.evaluation->cost);
    words.Add(ModeOf(item));
    words.Add(record.name);
    words.Add(record.tag);
  }
  return {.script = kDriver, .bytes = words.Finish()};
}

// What the lean scripts take; they look nothing up.
bool IsForOneLimit(std::span<const Gathering::Item> items) {
  const Plan& plan = *items.front().evaluation->plan;
  return plan.policies().size() == 1 && std::ranges::none_of(items, [&](const auto& item) {
           const bool brought = plan.dedup().enabled && item.evaluation->id.is_from_caller();
           return brought || item.is_repeat || item.evaluation->mode == Mode::kPeek;
         });
}

// A decision that the script has made as well: if the two differ, one of them is not ours.
std::optional<Outcome> Checked(std::optional<Evaluated> evaluated, bool allowed) {
  if (!evaluated || evaluated->allowed != allowed) return std::nullopt;
  return *std::move(evaluated);
}

// `record` as the script that made it wrote it, whatever numbers the policies had then.
std::optional<Outcome> Replayed(const Evaluation& evaluation, std::string_view record) {
  const Plan& plan = *evaluation.plan;
  std::optional<Evaluated> evaluated;
  if (evaluation.id.is_from_caller()) {
    for (int skipped = 0; skipped < 3; ++skipped) (void)NextWord(record);  // number, bytes, cost
    const std::string_view now = NextWord(record);
    const auto then = PlanOfText(plan, NextWord(record));
    if (!then) return std::nullopt;
    evaluated = DecisionOf(*then, evaluation.cost, now, record);
  } else {
    (void)NextWord(record);  // the tag
    const std::string_view now = NextWord(record);
    evaluated = DecisionOf(plan, evaluation.cost, now, record);
  }
  if (!evaluated || !evaluated->allowed) return std::nullopt;
  evaluated->replayed = true;
  for (std::size_t i = 0; i < evaluated->limits.size(); ++i) {
    evaluated->limits[i].policy = plan.policies()[i].id();
  }
  return *std::move(evaluated);
}

// The record of a call that decided several evaluations, this one among them: what it came to then,
// which may have been a denial.
std::optional<Outcome> ReplayedInBatch(const Evaluation& evaluation, std::string_view record) {
  (void)NextWord(record);  // when its last evaluation was
  const std::string_view written = NextWord(record);
  const std::string_view state = NextWord(record);
  const std::string tag = RecordFieldOf(evaluation).tag;
  std::vector<Turn> turns;
  for (bool found = false; !found;) {
    const std::string_view entry_tag = NextPiece(record, ':');
    const auto now = NumberOf(NextPiece(record, ':'));
    const auto cost = NumberOf(NextPiece(record, ','));
    if (!now || !cost) return std::nullopt;
    turns.push_back({*now, *cost});
    found = entry_tag == tag;
  }
  auto outcomes = DecisionsOf(*evaluation.plan, written, state, turns);
  if (!outcomes || turns.back().cost != evaluation.cost) return std::nullopt;
  if (auto* evaluated = std::get_if<Evaluated>(&outcomes->back())) evaluated->replayed = true;
  return std::move(outcomes->back());
}

// The answers of lua/one_limit_batch.lua, which tells where they began and how many were allowed.
std::optional<std::vector<Outcome>> Found(std::span<const Gathering::Item> items,
                                          std::string_view text) {
  const std::string_view written = NextWord(text);
  const std::string_view state = NextWord(text);
  const auto allowed = NumberOf(text);
  std::vector<Turn> turns;
  for (const Gathering::Item& item : items) {
    turns.push_back({NowOf(*item.evaluation), item.evaluation->cost});
  }
  auto outcomes = DecisionsOf(*items.front().evaluation->plan, written, state, turns);
  if (!outcomes || !allowed || std::ranges::count_if(*outcomes, IsAllowed) != *allowed) {
    return std::nullopt;
  }
  return outcomes;
}

std::optional<Outcome> Conflict(const Evaluation& evaluation, std::string_view recorded_cost) {
  const auto cost = NumberOf(recorded_cost);
  if (!cost || *cost == evaluation.cost) return std::nullopt;
  const limiter::Record record{.cost = *cost};
  return std::get<Incompatible>(limiter::Replay(*evaluation.plan, record, evaluation.cost));
}

std::optional<Outcome> OutcomeOf(const Evaluation& evaluation, std::string_view text) {
  const std::string_view word = NextWord(text);
  if (word == "clock-unsafe") return ClockUnsafe();
  if (word == "ambiguous") {
    return Indeterminate{Indeterminate::Category::kResponseLost,
                         "the first reply was lost, and its record may have made room since"};
  }
  if (word == "replayed") return Replayed(evaluation, text);
  if (word == "in-batch") return ReplayedInBatch(evaluation, text);
  if (word == "conflict") return Conflict(evaluation, text);
  const bool allowed = word == "allowed" || IsOwnTag(evaluation, word);
  if (!allowed && word != "denied") return std::nullopt;
  const std::string_view now = NextWord(text);
  return Checked(DecisionOf(*evaluation.plan, evaluation.cost, now, text), allowed);
}

// A key of the plan that holds something else, if that is what a call's only reply says.
std::optional<Outcome> Unreadable(const Plan& plan, std::string_view text) {
  if (NextWord(text) != "unreadable") return std::nullopt;
  const auto limit = NumberOf(text);
  if (!limit || *limit < 1 || std::cmp_greater(*limit, plan.policies().size())) return std::nullopt;
  const Policy& policy = plan.policies()[static_cast<std::size_t>(*limit - 1)];
  return Incompatible{Incompatible::Reason::kStateUnreadable,
                      "the key of policy \"" + policy.id() +
                          "\" holds no state of it; a new algorithm needs a new revision"};
}

}  // namespace

std::span<const Script> Scripts() {
  static const auto kScripts = [] {
    static std::array<std::string, std::size(kSources)> shas;
    std::array<Script, std::size(kSources)> scripts;
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      shas[i] = Sha1Of(kSources[i].text);
      scripts[i] = {.sha = shas[i], .source = kSources[i].text};
    }
    return scripts;
  }();
  return kScripts;
}

Call EncodeCall(const ScriptOptions& options, std::span<const Gathering::Item> items) {
  if (!IsForOneLimit(items)) return EncodeBatch(options, items);
  return items.size() == 1 ? EncodeOne(options, *items.front().evaluation)
                           : EncodeOfOneLimit(options, items);
}

std::optional<std::vector<Outcome>> DecodeReply(std::span<const Gathering::Item> items,
                                                const Reply& reply) {
  const Plan& plan = *items.front().evaluation->plan;
  const std::span<const Reply> texts = reply.kind == Reply::Kind::kArray
                                           ? std::span<const Reply>(reply.elements)
                                           : std::span<const Reply>(&reply, 1);
  if (reply.kind == Reply::Kind::kText) {
    if (auto unreadable = Unreadable(plan, reply.text)) {
      return std::vector<Outcome>(items.size(), *unreadable);
    }
    if (IsForOneLimit(items) && items.size() > 1) {
      std::string_view text = reply.text;
      if (NextWord(text) != "found") return std::nullopt;
      return Found(items, text);
    }
  }
  if (texts.size() != items.size()) return std::nullopt;
  std::vector<Outcome> outcomes;
  outcomes.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (texts[i].kind != Reply::Kind::kText) return std::nullopt;
    auto outcome = OutcomeOf(*items[i].evaluation, texts[i].text);
    if (!outcome) return std::nullopt;
    outcomes.push_back(*std::move(outcome));
  }
  return outcomes;
}

}  // namespace sluice::redis
