// Which server a hash slot is on, now: a state machine that learns from what servers say and from
// errors. Events and `now` go in, questions to ask come out; whoever owns it does the asking.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sluice/clock.h"
#include "sluice/outcome.h"

#include "src/redis/address.h"
#include "src/redis/resp.h"
#include "src/redis/topology/slot_map.h"

namespace sluice::redis {

/// One server, always the same.
struct Standalone {
  Address address{};
};
/// The primary that sentinels name.
struct Sentinels {
  std::string master{};
  std::vector<Address> addresses{};
};
/// The primaries of a cluster, found by asking any of its nodes, at first the seeds.
struct Cluster {
  std::vector<Address> seeds{};
  bool tls = false;
};
using TopologyOptions = std::variant<Standalone, Sentinels, Cluster>;

/// The map of a deployment and when to look at it again. Whatever the deployment, it is a map from
/// slots to primaries: one server has all slots, and so has the primary of sentinels, which moves.
///
/// It is asked for at the start, every ten seconds or so, and soon after something speaks against
/// it: a MOVED, a CLUSTERDOWN, a server that is down. A round asks one candidate after another
/// until one answers. Rounds begin a second apart at least, with sentinels half a second, whatever
/// happens, and so they follow each other while a primary is down. An answer that cannot be used
/// changes nothing.
///
/// Thread safety: none.
class Topology {
 public:
  /// `seed`: of the order in which nodes are asked and of the jitter between rounds.
  Topology(TopologyOptions options, std::uint64_t seed);

  [[nodiscard]] const SlotMap& map() const { return map_; }
  /// Grows whenever the map sends a slot elsewhere or knows another primary.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Why the map serves nothing yet, once a round has failed; none before, and none afterwards.
  [[nodiscard]] const std::optional<Outcome>& WhyUnknown() const { return why_unknown_; }

  /// A server said that the slot has moved to `to`.
  void OnMoved(Slot slot, const Address& to);
  /// Somebody says that something has changed.
  void OnHint() { doubted_ = true; }
  /// A cluster's node does not serve. It may have been cut off from those who do, so it is asked
  /// after all others.
  void OnClusterDown(const Address& node);
  /// Nothing can be sent to this server, or again something can.
  void OnDown(const Address& server);
  void OnUp(const Address& server);
  [[nodiscard]] bool IsDown(const Address& server) const { return down_.contains(server); }

  struct Question {
    Address to{};
    std::vector<std::vector<std::string>> commands{};
  };
  /// What to ask now, or none: not yet, or an answer is still owed.
  [[nodiscard]] std::optional<Question> Ask(SteadyTime now);
  /// The replies to the last question, or why there are none.
  void OnAnswer(const std::expected<std::vector<Reply>, Outcome>& answer);
  /// When to call Ask; none while an answer is owed, or if there is nothing to ask.
  [[nodiscard]] std::optional<SteadyTime> NextTimer() const;

 private:
  [[nodiscard]] std::deque<Address> Candidates();
  [[nodiscard]] std::vector<std::vector<std::string>> Commands() const;
  std::expected<SlotMap, Outcome> Read(const std::vector<Reply>& replies);
  void Accept(SlotMap map);
  [[nodiscard]] bool NamesAPrimaryThatIsDown(const SlotMap& map) const;

  TopologyOptions options_;
  SlotMap map_;
  std::uint64_t version_ = 0;
  std::optional<Outcome> why_unknown_;
  std::set<Address> down_;
  std::set<Address> not_serving_;  // that said so since the last map
  std::mt19937_64 random_;

  bool doubted_ = true;                   // something speaks against the map
  bool has_shards_ = true;                // the cluster knows CLUSTER SHARDS
  std::optional<SteadyTime> last_round_;  // when it began
  SteadyTime regular_round_{};
  std::deque<Address> round_;     // candidates that this round has still to ask
  std::optional<Address> asked_;  // who owes an answer
};

}  // namespace sluice::redis
