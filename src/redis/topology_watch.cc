#include "src/redis/topology_watch.h"

#include <random>
#include <utility>

namespace sluice::redis {

TopologyWatch::TopologyWatch(boost::asio::io_context& loop, WatchOptions options,
                             const Clock& clock, std::function<void()> on_answer)
    : loop_(loop),
      access_(std::move(options.access)),
      timeout_(options.timeout),
      clock_(clock),
      on_answer_(std::move(on_answer)),
      topology_(options.topology, std::random_device{}()),
      timer_(loop) {
  if (const auto* sentinels = std::get_if<Sentinels>(&options.topology)) {
    hint_.emplace(loop, sentinels->master, sentinels->addresses, access_, [this] {
      topology_.OnHint();
      Look();
    });
  }
  Look();
}

void TopologyWatch::Look() {
  if (auto question = topology_.Ask(clock_.Now().steady)) {
    enquiry_.emplace(
        loop_,
        EnquiryOptions{.address = std::move(question->to), .access = access_, .timeout = timeout_},
        question->commands, [this](Enquiry::Answer answer) {
          topology_.OnAnswer(answer);
          enquiry_.reset();
          Look();  // another may have to be asked at once
          on_answer_();
        });
  }
  ArmTimer();
}

void TopologyWatch::ArmTimer() {
  const auto next = topology_.NextTimer();
  if (next == armed_) return;
  armed_ = next;
  timer_.cancel();
  if (!next) return;
  timer_.expires_at(*next);
  // A wait that is over cannot be cancelled any more; its handler may find the watch gone.
  timer_.async_wait(
      [this, alive = std::weak_ptr<void>(alive_)](const boost::system::error_code& error) {
        if (error || alive.expired()) return;
        armed_.reset();
        Look();
      });
}

}  // namespace sluice::redis
