#include "src/app/doctor/deployment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "src/app/doctor/asker.h"
#include "src/app/doctor/cluster_map.h"
#include "src/app/doctor/judgement.h"
#include "src/app/doctor/reach.h"
#include "src/redis/topology/map_reply.h"
#include "src/redis/topology/topology.h"

namespace sluice::app::doctor {
namespace {

using redis::Address;
using redis::Reply;

// How many replicas a primary needs where one must be able to take its place.
int ReplicasFor(const Examination& examination) {
  return std::max(1, examination.redis.wait_replicas);
}

// What sentinels say of the servers.
struct Named {
  std::optional<Address> primary;
  std::string by;  // the sentinel that named it first
  std::set<Address> replicas;
};

void ReadReplicas(const Reply& list, Named& named) {
  for (const Reply& replica : list.elements) {
    const Fields fields = FieldsOf(replica);
    const auto host = fields.find("ip");
    const auto port = fields.find("port");
    if (host == fields.end() || port == fields.end()) continue;
    named.replicas.insert({.host = host->second, .port = port->second});
  }
}

// The subscription by which a failover is heard of at once.
const redis::Words kHear{"SUBSCRIBE", "+switch-master"};

// What an account lacks beside the question for the primary: commands that only the doctor asks,
// and the subscription, without which the daemon works all the same.
void ExamineAccount(const std::string& user, const std::vector<Reply>& replies, Chart& chart) {
  for (const Reply* reply : {&replies[1], &replies[2]}) {
    const auto seen = Seen(*reply, "+sentinel|replicas +sentinel|ckquorum", user);
    if (!seen) chart.Judge(Check::kReplication, seen.error());
  }
  auto refusal = JudgePermission(kHear, replies[3], {.user = user});
  if (!refusal) return chart.Ok(Check::kPermission, "all that is needed");
  refusal->found += ", so failovers are noticed late";
  chart.Refuse(*refusal);
}

// Its login and what it says; `named` grows.
void ExamineAnswer(const std::string& sentinel, const redis::Sentinels& sentinels,
                   const std::string& user, const Asker::Answer& answer, Named& named,
                   Chart& chart) {
  const auto map = answer.replies ? redis::ReadPrimary(answer.replies->front(), sentinels.master)
                                  : std::unexpected(answer.replies.error());
  if (!map) {
    const Check check = IsPermissionDenied(map.error()) ? Check::kAuthentication : Check::kTopology;
    return chart.Fail(check, DetailOf(map.error()),
                      "look at redis.sentinel: master, username, password_file; a user needs "
                      "+sentinel|get-master-addr-by-name");
  }
  chart.Ok(Check::kAuthentication, "it answers");
  const Address& primary = map->primaries().front();
  if (!named.primary) {
    named.primary = primary;
    named.by = sentinel;
  }
  if (*named.primary != primary) {
    chart.Fail(Check::kTopology,
               fmt::format("it names {} as the primary, but {} names {}", ToString(primary),
                           named.by, ToString(*named.primary)),
               "wait until a failover has ended; else look at the sentinels' logs");
  }
  ReadReplicas((*answer.replies)[1], named);
  const Reply& quorum = (*answer.replies)[2];
  if (quorum.text.starts_with("NOQUORUM")) {
    chart.Fail(Check::kTopology, Quoted(quorum.text), "start the missing sentinels");
  }
  chart.Ok(Check::kTopology, fmt::format("names {} as the primary", ToString(primary)));
  ExamineAccount(user, *answer.replies, chart);
}

Named ExamineSentinels(const Examination& examination, const redis::Sentinels& sentinels,
                       const Tell& tell) {
  Asker asker(examination.engine.watch.timeout);
  const redis::Access& access = examination.engine.watch.access;
  Named named;
  for (const Address& address : sentinels.addresses) {
    Chart chart;
    if (Reach(asker, address, access, chart)) {
      const auto answer = asker.Ask(address, access,
                                    {{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels.master},
                                     {"SENTINEL", "REPLICAS", sentinels.master},
                                     {"SENTINEL", "CKQUORUM", sentinels.master},
                                     kHear});
      ExamineAnswer(ToString(address), sentinels, access.username, answer, named, chart);
    }
    chart.TellJudged("sentinel " + ToString(address), tell);
  }
  return named;
}

void Examine(const Examination& examination, const redis::Sentinels& sentinels, const Tell& tell) {
  const Named named = ExamineSentinels(examination, sentinels, tell);
  if (!named.primary) return;
  const redis::SlotMap map(*named.primary);
  ExamineServer(examination, *named.primary, map,
                {.kind = redis::Role::kPrimary, .replicas = ReplicasFor(examination)}, tell);
  for (const Address& replica : named.replicas) {
    ExamineServer(examination, replica, map, {.kind = redis::Role::kPrimary, .is_replica = true},
                  tell);
  }
}

void Examine(const Examination& examination, const redis::Cluster& cluster, const Tell& tell) {
  Asker asker(examination.redis.command_timeout);
  const redis::Access& access = examination.engine.node.lane.access;
  const Expectation primary{.kind = redis::Role::kClusterNode,
                            .replicas = ReplicasFor(examination)};
  auto map = AskForMap(asker, cluster.seeds, access);
  if (!map) {  // then each of them has something wrong
    for (const Address& seed : cluster.seeds) ExamineServer(examination, seed, {}, primary, tell);
    return;
  }
  // What the seed says of itself may carry the name it was asked under: let a peer say it.
  if (auto again = AskForMap(asker, {map->primaries().front()}, access)) map = std::move(again);
  for (const Address& seed : cluster.seeds) {
    const auto is_seed = [&](const Address& node) { return node == seed; };
    if (std::ranges::any_of(map->primaries(), is_seed)) continue;
    if (std::ranges::any_of(map->replicas(), is_seed)) continue;
    Chart chart;
    (void)Reach(asker, seed, access, chart);
    chart.TellJudged(ToString(seed), tell);
  }
  for (const Address& node : map->primaries()) {
    ExamineServer(examination, node, *map, primary, tell);
  }
  for (const Address& node : map->replicas()) {
    ExamineServer(examination, node, *map, {.kind = redis::Role::kClusterNode, .is_replica = true},
                  tell);
  }
}

void Examine(const Examination& examination, const redis::Standalone& server, const Tell& tell) {
  ExamineServer(examination, server.address, redis::SlotMap(server.address),
                {.replicas = examination.redis.wait_replicas}, tell);
}

}  // namespace

void ExamineDeployment(const Examination& examination, const Tell& tell) {
  std::visit([&](const auto& topology) { Examine(examination, topology, tell); },
             examination.engine.watch.topology);
}

}  // namespace sluice::app::doctor
