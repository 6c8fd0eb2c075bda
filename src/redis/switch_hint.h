// Hears from a sentinel that a primary was switched, as soon as it was.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "src/redis/access.h"
#include "src/redis/address.h"

namespace sluice::redis {

/// Stays subscribed to `+switch-master` at one of the sentinels; when that one goes, at the next, a
/// second later. What is heard is a hint to ask again and nothing more: a message may be old, or be
/// missed.
///
/// Thread safety: none; used on the thread of its event loop.
class SwitchHint {
 public:
  /// `on_switch` is called from the loop, for a switch of `master`. It must not destroy this.
  SwitchHint(boost::asio::io_context& loop, std::string master, std::vector<Address> sentinels,
             Access access, std::function<void()> on_switch);
  ~SwitchHint();
  SwitchHint(const SwitchHint&) = delete;
  SwitchHint& operator=(const SwitchHint&) = delete;

 private:
  class Subscription;
  std::shared_ptr<Subscription> subscription_;
};

}  // namespace sluice::redis
