#include "src/redis/gathering.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::redis {
namespace {

Outcome ResponseLost() {
  return Indeterminate{Indeterminate::Category::kResponseLost,
                       "the connection broke after the evaluation was sent"};
}

Outcome NotInTime(const Gathering::Pending& pending) {
  if (pending.redirects > 0) {
    return Unavailable{Unavailable::Category::kNoMutationConfirmed,
                       "the deadline passed while one server after another sent it elsewhere"};
  }
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend,
                     "the deadline passed before the evaluation could be sent"};
}

// Whether sending it again charges at most once.
bool MayRepeat(const Evaluation& evaluation) {
  return evaluation.mode == Mode::kPeek || evaluation.plan->dedup().enabled;
}

}  // namespace

std::size_t Gathering::KeyHash::operator()(const Key& key) const {
  std::uint64_t bits = 0;  // a digest's bits are well mixed
  std::memcpy(&bits, key.subject.operation.bytes.data(), sizeof bits);
  return bits ^ std::hash<const Plan*>{}(key.plan);
}

void Gathering::Add(Pending pending) {
  const Key key{pending.evaluation.plan, pending.evaluation.subject};
  Group& group = groups_.try_emplace(key, key).first->second;
  const auto entry = group.waiting.insert(group.waiting.end(),
                                          Entry{.pending = std::move(pending), .group = &group});
  // Most deadlines are later than all before them.
  entry->deadline = deadlines_.emplace_hint(deadlines_.end(), entry->pending.deadline, entry);
  ++places_;
  MakeReady(group, false);
}

void Gathering::MakeReady(Group& group, bool first) {
  if (group.out || group.ready || group.waiting.empty()) return;
  group.ready = ready_.insert(first ? ready_.begin() : ready_.end(), &group);
}

void Gathering::DropIfIdle(Group& group) {
  if (!group.waiting.empty()) return;
  if (group.ready) ready_.erase(*std::exchange(group.ready, std::nullopt));
  if (!group.out) groups_.erase(Key(group.key));
}

std::optional<Gathering::Batch> Gathering::Next(std::size_t maximum) {
  if (ready_.empty()) return std::nullopt;
  Group& group = *ready_.front();
  ready_.pop_front();
  group.ready.reset();
  group.out = true;

  Batch batch{.id = next_batch_++};
  Out& out = out_.emplace(batch.id, Out{.group = &group, .entries = {}}).first->second;
  while (!group.waiting.empty() && out.entries.size() < maximum) {
    Entry& entry = group.waiting.front();
    entry.waiting = false;
    batch.asks = batch.asks || entry.pending.asks;
    batch.deadline = std::min(batch.deadline, entry.pending.deadline);
    out.entries.splice(out.entries.end(), group.waiting, group.waiting.begin());
  }
  batch.items = Items(batch.id);
  return batch;
}

std::vector<Gathering::Item> Gathering::Items(std::uint64_t batch) const {
  std::vector<Item> items;
  bool somebody_waits = false;
  for (const Entry& entry : out_.at(batch).entries) {
    const Pending& pending = entry.pending;
    items.push_back({.evaluation = &pending.evaluation, .is_repeat = pending.is_repeat});
    somebody_waits = somebody_waits || pending.completion;
  }
  if (!somebody_waits) items.clear();
  return items;
}

Outcome Gathering::Told(const Pending& pending, Outcome outcome) {
  if (!pending.is_repeat) return outcome;
  auto* evaluated = std::get_if<Evaluated>(&outcome);
  // Whatever became of the repeat, the first try may have charged.
  if (evaluated == nullptr) return ResponseLost();
  // The record that answered can only be that of the first try, so this evaluation was charged.
  if (!pending.evaluation.id.is_from_caller()) evaluated->replayed = false;
  return outcome;
}

Gathering::Answer Gathering::AnswerOf(Pending pending, Outcome outcome) {
  return {std::move(pending.completion), Told(pending, std::move(outcome))};
}

void Gathering::AnswerEntry(Entry& entry, Outcome outcome) {
  Pending& pending = entry.pending;
  if (!pending.completion) return;
  deadlines_.erase(entry.deadline);
  answers_.push_back(
      {std::exchange(pending.completion, nullptr), Told(pending, std::move(outcome))});
}

// For good: the entry's evaluation has gone with it.
Gathering::Pending Gathering::Release(Entry& entry) {
  deadlines_.erase(entry.deadline);
  return std::exchange(entry.pending, {});
}

Gathering::Out Gathering::EndBatch(std::uint64_t batch) {
  Out out = std::move(out_.extract(batch).mapped());
  out.group->out = false;
  return out;
}

void Gathering::Settle(std::uint64_t batch, std::vector<Outcome> outcomes) {
  Out out = EndBatch(batch);
  auto outcome = outcomes.begin();
  for (Entry& entry : out.entries) AnswerEntry(entry, std::move(*outcome++));
  PutBack(out);
}

void Gathering::SettleAll(std::uint64_t batch, const Outcome& outcome) {
  Out out = EndBatch(batch);
  for (Entry& entry : out.entries) AnswerEntry(entry, outcome);
  PutBack(out);
}

void Gathering::Unsend(std::uint64_t batch) {
  Out out = EndBatch(batch);
  PutBack(out);
}

std::vector<Gathering::Pending> Gathering::TakeBatch(std::uint64_t batch) {
  Out out = EndBatch(batch);
  std::vector<Pending> taken;
  for (Entry& entry : out.entries) {
    if (entry.pending.completion) taken.push_back(Release(entry));
  }
  PutBack(out);
  return taken;
}

std::vector<Gathering::Pending> Gathering::TakeWaiting() {
  std::vector<Pending> taken;
  const auto take_from = [&](Group& group) {
    while (!group.waiting.empty()) {
      taken.push_back(Release(group.waiting.front()));
      group.waiting.pop_front();
      --places_;
    }
    DropIfIdle(group);
  };
  while (!ready_.empty()) take_from(*ready_.front());
  // What waits for a batch that is still out.
  for (auto& [batch, out] : out_) take_from(*out.group);
  return taken;
}

std::size_t Gathering::Lose(std::uint64_t batch) {
  Out out = EndBatch(batch);
  std::size_t repeats = 0;
  for (Entry& entry : out.entries) {
    if (!entry.pending.completion) continue;
    if (entry.pending.is_repeat || !MayRepeat(entry.pending.evaluation)) {
      AnswerEntry(entry, ResponseLost());
    } else {
      entry.pending.is_repeat = true;
      KeepWithinRecordsTime(entry);
      ++repeats;
    }
  }
  PutBack(out);
  return repeats;
}

// After its time a record says nothing any more, and a repeat would charge again.
void Gathering::KeepWithinRecordsTime(Entry& entry) {
  Pending& pending = entry.pending;
  const Evaluation& evaluation = pending.evaluation;
  if (evaluation.mode == Mode::kPeek) return;
  const auto first_try = pending.deadline - (evaluation.deadline - evaluation.now.steady);
  const SteadyTime until = first_try + evaluation.plan->dedup().ttl;
  if (until >= pending.deadline) return;
  pending.deadline = until;
  auto node = deadlines_.extract(entry.deadline);
  node.key() = until;
  entry.deadline = deadlines_.insert(std::move(node));
}

// What of an ended batch has no answer waits again in front of what came after it.
void Gathering::PutBack(Out& out) {
  Group& group = *out.group;
  const auto before = group.waiting.begin();
  bool again = false;
  while (!out.entries.empty()) {
    Entry& entry = out.entries.front();
    if (entry.pending.completion) {
      entry.waiting = true;
      again = true;
      group.waiting.splice(before, out.entries, out.entries.begin());
    } else {
      out.entries.pop_front();
      --places_;
    }
  }
  MakeReady(group, again);
  DropIfIdle(group);
}

void Gathering::FailFresh(Group& group, const Outcome& outcome) {
  for (auto entry = group.waiting.begin(); entry != group.waiting.end();) {
    if (entry->pending.is_repeat) {
      ++entry;
      continue;
    }
    AnswerEntry(*entry, outcome);
    entry = group.waiting.erase(entry);
    --places_;
  }
  DropIfIdle(group);
}

void Gathering::FailWaiting(const Outcome& outcome) {
  for (auto next = ready_.begin(); next != ready_.end();) FailFresh(**next++, outcome);
  // What waits for a batch that is still out.
  for (auto& [batch, out] : out_) FailFresh(*out.group, outcome);
}

void Gathering::FailAll(const Outcome& waiting, const Outcome& sent) {
  while (!out_.empty()) SettleAll(out_.begin()->first, sent);
  FailWaiting(waiting);
  Expire(SteadyTime::max());  // the repeats
}

std::size_t Gathering::Expire(SteadyTime now) {
  std::size_t expired = 0;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Entries::iterator entry = deadlines_.begin()->second;
    ++expired;
    if (!entry->waiting) {
      AnswerEntry(*entry, Indeterminate{Indeterminate::Category::kDeadlinePassed,
                                        "the server did not answer before the deadline"});
      continue;
    }
    Group& group = *entry->group;
    AnswerEntry(*entry, NotInTime(entry->pending));
    group.waiting.erase(entry);
    --places_;
    DropIfIdle(group);
  }
  return expired;
}

std::optional<SteadyTime> Gathering::NextDeadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::vector<Gathering::Answer> Gathering::TakeAnswers() {
  return std::exchange(answers_, {});
}

}  // namespace sluice::redis
