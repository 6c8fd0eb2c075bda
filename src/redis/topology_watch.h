// Asks the questions of a topology, so that its map stays true.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sluice/clock.h"

#include "src/redis/access.h"
#include "src/redis/enquiry.h"
#include "src/redis/switch_hint.h"
#include "src/redis/topology/topology.h"

namespace sluice::redis {

struct WatchOptions {
  TopologyOptions topology{};
  Access access{};         ///< of those who are asked
  Milliseconds timeout{};  ///< for each of them; the next one is asked then
};

/// Thread safety: none; used on the thread of its event loop.
class TopologyWatch {
 public:
  /// `on_answer` is called from the loop after each answer, whether it brought news or not.
  TopologyWatch(boost::asio::io_context& loop, WatchOptions options, const Clock& clock,
                std::function<void()> on_answer);

  [[nodiscard]] Topology& topology() { return topology_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  /// Asks what is to be asked now, and comes back by itself for what is to be asked later. To be
  /// called after the topology was told something.
  void Look();

 private:
  void ArmTimer();

  boost::asio::io_context& loop_;
  const Access access_;
  const Milliseconds timeout_;
  const Clock& clock_;
  const std::function<void()> on_answer_;
  Topology topology_;
  std::optional<Enquiry> enquiry_;  // whose answer is owed
  std::optional<SwitchHint> hint_;  // with sentinels
  boost::asio::steady_timer timer_;
  std::optional<SteadyTime> armed_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace sluice::redis
