// Evaluations between admission and answer: what waits for the same plan and subject goes out as
// one script call. Without a clock or a socket: `now` is an argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sluice/limiter.h"

namespace sluice::redis {

/// Life of an evaluation: waiting → in a batch → answered. While a batch of a plan and subject is
/// out, further evaluations of the same pair wait and make up the next batch together, in order; so
/// a hot subject costs a call a round trip, however many ask. Each evaluation is answered exactly
/// once, by its own deadline at the latest; one that is over while it waits is never sent.
///
/// A place is taken from Add until the answer, and in a batch until the batch's end: what a server
/// still owes a reply to takes room.
///
/// Completions are not called from inside: TakeAnswers hands them over, so they may do as they
/// like.
/// Thread safety: none.
class Gathering {
 public:
  /// An evaluation without its answer, with all that it takes along from one gathering to another.
  struct Pending {
    Evaluation evaluation;
    Completion completion;
    SteadyTime deadline{};  ///< on the clock of Expire, which need not be the evaluation's
    bool is_repeat = false;
    /// A server said that this call must be preceded by ASKING.
    bool asks = false;
    unsigned redirects = 0;  ///< servers that sent it elsewhere so far
  };
  struct Item {
    const Evaluation* evaluation = nullptr;
    /// It was sent before, with the same `now`, and its reply was lost: it may have been charged.
    bool is_repeat = false;
  };
  struct Batch {
    std::uint64_t id = 0;
    std::vector<Item> items{};  ///< one plan, one subject, in the order of Add; never empty
    bool asks = false;          ///< Pending::asks of any of them
    SteadyTime deadline = SteadyTime::max();  ///< the first of theirs
  };
  struct Answer {
    Completion completion;
    Outcome outcome;
    void Deliver() { completion(std::move(outcome)); }
  };

  Gathering() = default;
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  void Add(Pending pending);

  /// The longest waiting pair's next batch of at most `maximum` evaluations, or none.
  [[nodiscard]] std::optional<Batch> Next(std::size_t maximum);
  /// How many batches Next would give now.
  [[nodiscard]] std::size_t ready() const { return ready_.size(); }

  /// The evaluations of a batch, as Next gave it; none if all of them are answered already, and
  /// then their plan may be gone.
  [[nodiscard]] std::vector<Item> Items(std::uint64_t batch) const;

  /// Ends a batch with an outcome for each of its items, or the same one for all.
  void Settle(std::uint64_t batch, std::vector<Outcome> outcomes);
  void SettleAll(std::uint64_t batch, const Outcome& outcome);
  /// Ends a batch that certainly was not run: its evaluations wait again, before all others.
  void Unsend(std::uint64_t batch);
  /// The same for a batch that another gathering takes: gives its evaluations that have no answer.
  [[nodiscard]] std::vector<Pending> TakeBatch(std::uint64_t batch);
  /// Takes everything that waits.
  [[nodiscard]] std::vector<Pending> TakeWaiting();
  /// Ends a batch whose reply is lost. Evaluations that the server would recognise (dedup is on) or
  /// that write nothing wait again, once, as repeats, as long as a record lasts; the others are
  /// answered response-lost.
  /// Returns how many wait again.
  std::size_t Lose(std::uint64_t batch);

  /// The answer of one that no gathering holds: of a repeat, what may be said after its first try.
  [[nodiscard]] static Answer AnswerOf(Pending pending, Outcome outcome);

  /// Answers everything that waits with `outcome`, except repeats: only the server can say what
  /// became of them, so they wait for it until their deadline.
  void FailWaiting(const Outcome& outcome);
  /// Answers everything, at the end of the engine.
  void FailAll(const Outcome& waiting, const Outcome& sent);
  /// Answers what is over at `now`; returns how many. Sent: deadline-passed. Waiting:
  /// unavailable-before-send.
  std::size_t Expire(SteadyTime now);
  [[nodiscard]] std::optional<SteadyTime> NextDeadline() const;

  /// Places taken.
  [[nodiscard]] std::size_t size() const { return places_; }

  /// The answers since the last call, in order.
  [[nodiscard]] std::vector<Answer> TakeAnswers();

 private:
  struct Group;
  struct Entry;
  using Entries = std::list<Entry>;
  using Deadlines = std::multimap<SteadyTime, Entries::iterator>;

  // Which evaluations may share a call. A plan lives while something of it waits, so its address
  // names it; an address used again only makes an evaluation wait for the reply of a stranger.
  struct Key {
    const Plan* plan;
    Subject subject;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Pending pending;  // its completion is empty once answered
    Group* group = nullptr;
    bool waiting = true;
    Deadlines::iterator deadline{};
  };
  struct Group {
    Key key;
    Entries waiting{};
    bool out = false;                                    // a batch of it is out
    std::optional<std::list<Group*>::iterator> ready{};  // its place in ready_
  };
  struct Out {
    Group* group;
    Entries entries;
  };

  void MakeReady(Group& group, bool first);
  void DropIfIdle(Group& group);
  void AnswerEntry(Entry& entry, Outcome outcome);
  static Outcome Told(const Pending& pending, Outcome outcome);
  Pending Release(Entry& entry);
  Out EndBatch(std::uint64_t batch);
  void PutBack(Out& out);
  void KeepWithinRecordsTime(Entry& entry);
  void FailFresh(Group& group, const Outcome& outcome);

  std::unordered_map<Key, Group, KeyHash> groups_;
  std::list<Group*> ready_;  // groups with something to send, the longest waiting first
  std::unordered_map<std::uint64_t, Out> out_;
  Deadlines deadlines_;
  std::vector<Answer> answers_;
  std::uint64_t next_batch_ = 1;
  std::size_t places_ = 0;
};

}  // namespace sluice::redis
