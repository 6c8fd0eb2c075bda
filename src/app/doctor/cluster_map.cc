#include "src/app/doctor/cluster_map.h"

#include "src/redis/topology/topology.h"

namespace sluice::app::doctor {

std::expected<redis::SlotMap, Outcome> AskForMap(Asker& asker,
                                                 const std::vector<redis::Address>& nodes,
                                                 const redis::Access& access) {
  redis::Topology topology(redis::Cluster{.seeds = nodes, .tls = access.tls != nullptr}, 0);
  const SteadyTime now{};  // one round
  while (const auto question = topology.Ask(now)) {
    topology.OnAnswer(asker.Ask(question->to, access, question->commands).replies);
  }
  if (topology.WhyUnknown()) return std::unexpected(*topology.WhyUnknown());
  return topology.map();
}

}  // namespace sluice::app::doctor
