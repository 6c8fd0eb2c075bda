#include "src/redis/topology/topology.h"

#include <algorithm>
#include <utility>

#include "src/redis/topology/map_reply.h"

namespace sluice::redis {
namespace {

constexpr Milliseconds kBetweenRounds{1'000};
constexpr Milliseconds kBetweenSentinelRounds{500};  // a question to them is cheap
constexpr Milliseconds kRegularly{10'000};  // between 8 and 12 s: nodes are not asked in step

// The failure with the word on whom it comes from.
Outcome From(const Address& server, Outcome failure) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.detail; }) one.detail = ToString(server) + ": " + one.detail;
      },
      failure);
  return failure;
}

}  // namespace

Topology::Topology(TopologyOptions options, std::uint64_t seed)
    : options_(std::move(options)), random_(seed) {
  if (const auto* standalone = std::get_if<Standalone>(&options_)) {
    map_ = SlotMap(standalone->address);
  }
}

void Topology::OnMoved(Slot slot, const Address& to) {
  const Address* known = map_.PrimaryOf(slot);
  doubted_ = true;
  if (known != nullptr && *known == to) return;
  map_.Assign(slot, slot, to);
  ++version_;
}

void Topology::OnClusterDown(const Address& node) {
  not_serving_.insert(node);
  doubted_ = true;
}

void Topology::OnDown(const Address& server) {
  if (down_.insert(server).second) doubted_ = true;
}

void Topology::OnUp(const Address& server) {
  down_.erase(server);
}

std::optional<SteadyTime> Topology::NextTimer() const {
  if (asked_ || std::holds_alternative<Standalone>(options_)) return std::nullopt;
  if (!last_round_ || !round_.empty()) return SteadyTime{};  // at once
  const bool a_primary_is_down = std::ranges::any_of(
      map_.primaries(), [&](const Address& primary) { return down_.contains(primary); });
  const bool soon = doubted_ || a_primary_is_down || map_.Unserved() != 0;
  if (!soon) return regular_round_;
  const bool has_sentinels = std::holds_alternative<Sentinels>(options_);
  const auto between = has_sentinels ? kBetweenSentinelRounds : kBetweenRounds;
  return std::min(*last_round_ + between, regular_round_);
}

std::optional<Topology::Question> Topology::Ask(SteadyTime now) {
  const auto due = NextTimer();
  if (!due || now < *due) return std::nullopt;
  if (round_.empty()) {
    round_ = Candidates();
    last_round_ = now;
    doubted_ = false;
    std::uniform_int_distribution<Milliseconds::rep> jitter(-2'000, 2'000);
    regular_round_ = now + kRegularly + Milliseconds{jitter(random_)};
  }
  asked_ = std::move(round_.front());
  round_.pop_front();
  return Question{.to = *asked_, .commands = Commands()};
}

// Sentinels in the order in which they proved of use. Of a cluster any node, by chance so that no
// node is asked by everybody; at last those that are down, the seeds as configured, where a cluster
// may have come back under other addresses, and those that do not serve.
std::deque<Address> Topology::Candidates() {
  if (const auto* sentinels = std::get_if<Sentinels>(&options_)) {
    return {sentinels->addresses.begin(), sentinels->addresses.end()};
  }
  std::deque<Address> candidates(map_.primaries().begin(), map_.primaries().end());
  candidates.insert(candidates.end(), map_.replicas().begin(), map_.replicas().end());
  std::ranges::shuffle(candidates, random_);
  std::ranges::partition(candidates, [&](const Address& node) { return !down_.contains(node); });
  for (const Address& seed : std::get<Cluster>(options_).seeds) {
    if (std::ranges::find(candidates, seed) == candidates.end()) candidates.push_back(seed);
  }
  for (const Address& node : not_serving_) {
    const auto found = std::ranges::find(candidates, node);
    if (found != candidates.end()) std::rotate(found, found + 1, candidates.end());
  }
  return candidates;
}

std::vector<std::vector<std::string>> Topology::Commands() const {
  if (const auto* sentinels = std::get_if<Sentinels>(&options_)) {
    return {{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels->master}};
  }
  return {{"CLUSTER", has_shards_ ? "SHARDS" : "SLOTS"}};
}

std::expected<SlotMap, Outcome> Topology::Read(const std::vector<Reply>& replies) {
  const Reply& reply = replies.front();
  if (const auto* sentinels = std::get_if<Sentinels>(&options_)) {
    return ReadPrimary(reply, sentinels->master);
  }
  if (!has_shards_) return ReadSlots(reply, *asked_);
  // Servers before 7.0.
  if (reply.kind == Reply::Kind::kError && reply.text.starts_with("ERR") &&
      !reply.text.contains("cluster support disabled")) {
    has_shards_ = false;
    round_.push_front(*asked_);
  }
  return ReadShards(reply, *asked_, std::get<Cluster>(options_).tls);
}

void Topology::OnAnswer(const std::expected<std::vector<Reply>, Outcome>& answer) {
  auto map = answer ? Read(*answer) : std::unexpected(answer.error());
  const Address asked = *std::exchange(asked_, std::nullopt);
  if (map) {
    // A sentinel that still names the old primary is no help; perhaps another knows better.
    const bool keep_asking =
        std::holds_alternative<Sentinels>(options_) && NamesAPrimaryThatIsDown(*map);
    if (!keep_asking || map_.IsEmpty()) Accept(*std::move(map));
    if (keep_asking) return;
    round_.clear();
    // Whoever was of use is asked first the next time.
    if (auto* sentinels = std::get_if<Sentinels>(&options_)) {
      auto& all = sentinels->addresses;
      std::rotate(all.begin(), std::ranges::find(all, asked), std::ranges::find(all, asked) + 1);
    }
    return;
  }
  if (round_.empty() && map_.IsEmpty()) why_unknown_ = From(asked, std::move(map).error());
}

bool Topology::NamesAPrimaryThatIsDown(const SlotMap& map) const {
  return std::ranges::any_of(map.primaries(),
                             [&](const Address& primary) { return down_.contains(primary); });
}

// A slot that a node knows no owner of is changing hands: whoever had it knows best where it went.
void Topology::Accept(SlotMap map) {
  why_unknown_.reset();
  not_serving_.clear();
  if (map.Unserved() != 0) doubted_ = true;
  map.FillGaps(map_);
  const bool same = map_.RoutesAs(map);
  map_ = std::move(map);
  if (same) return;
  ++version_;
  std::erase_if(down_, [&](const Address& server) {
    return std::ranges::find(map_.primaries(), server) == map_.primaries().end();
  });
}

}  // namespace sluice::redis
