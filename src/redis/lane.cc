#include "src/redis/lane.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "src/redis/health.h"

namespace sluice::redis {
namespace {

constexpr Milliseconds kFirstBackoff{50};
constexpr Milliseconds kLastBackoff{5'000};
// Somebody who is refused waits no longer than this for the next attempt.
constexpr Milliseconds kHurriedBackoff{1'500};

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

std::string_view LabelOf(Redirect::Kind kind) {
  switch (kind) {
    case Redirect::Kind::kMoved:
      return "MOVED";
    case Redirect::Kind::kAsk:
      return "ASK";
    case Redirect::Kind::kTryAgain:
      break;
  }
  return "TRYAGAIN";
}

}  // namespace

Milliseconds BackoffCeiling(unsigned failures) {
  return std::min(kLastBackoff, kFirstBackoff * (1 << std::min(failures, 10U)));
}

Lane::Lane(boost::asio::io_context& loop, LaneOptions options, const Clock& clock, Status& status,
           LaneListener listener)
    : loop_(loop),
      options_(std::move(options)),
      clock_(clock),
      status_(status),
      listener_(std::move(listener)),
      why_down_(Unavailable{Unavailable::Category::kUnavailableBeforeSend, "not connected yet"}) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    places_.push_back(std::make_unique<Place>(loop_));
    // From the loop: nothing is told before the owner is complete.
    WaitForAttempt(*places_.back(), Milliseconds{0});
  }
}

Lane::~Lane() {
  for (const auto& place : places_) {
    if (place->connection) place->connection->Shutdown();
  }
}

void Lane::Attempt(Place& place) {
  if (place.connection != nullptr) return;
  auto password = CurrentPassword(options_.access);
  if (!password) {
    OnClosed(place, Incompatible{Incompatible::Reason::kPermissionDenied, password.error()});
    listener_.on_change();
    return;
  }
  SessionOptions session = options_.session;
  session.username = options_.access.username;
  session.password = *std::move(password);
  place.connection = std::make_shared<Connection>(
      loop_, std::make_shared<Stream>(loop_, options_.access.tls, options_.access.server_name),
      clock_, session,
      [this, &place](std::vector<Action> actions) { OnActions(place, std::move(actions)); });
  place.connection->Open(options_.address);
}

void Lane::WaitForAttempt(Place& place, Milliseconds ceiling) {
  std::uniform_int_distribution<Milliseconds::rep> wait(ceiling.count() / 2, ceiling.count());
  place.backoff.expires_after(Milliseconds{wait(random_)});
  // A wait that is over cannot be cancelled any more; its handler may find the lane gone.
  place.backoff.async_wait(
      [this, &place, alive = std::weak_ptr<void>(alive_)](const boost::system::error_code& error) {
        if (!error && !alive.expired()) Attempt(place);
      });
}

void Lane::Hurry() {
  const SteadyTime soon = clock_.Now().steady + kHurriedBackoff;
  for (const auto& place : places_) {
    const bool waits = place->connection == nullptr;
    if (waits && place->backoff.expiry() > soon) WaitForAttempt(*place, kHurriedBackoff);
  }
}

void Lane::OnActions(Place& place, std::vector<Action> actions) {
  bool give_up = false;
  for (Action& action : actions) {
    std::visit(Overloaded{
                   [&](const Opened&) {
                     place.open = true;
                     was_open_ = true;
                     ++status_.connects;
                     listener_.on_health();
                   },
                   [&](Replied& replied) {
                     const bool value = replied.reply.has_value();
                     if (!value) status_.CountErrorReply(replied.error);
                     if (!listener_.on_reply(std::move(replied))) give_up = true;
                     if (value && !give_up) place.served = true;
                   },
                   [&](const Redirected& redirected) {
                     status_.CountErrorReply(LabelOf(redirected.redirect.kind));
                     place.served = true;
                     if (!listener_.on_redirected(redirected)) give_up = true;
                   },
                   [&](const Dropped& dropped) { listener_.on_drop(dropped); },
                   [&](const ClockReading& reading) {
                     place.served = place.served || place.open;  // it lived for a while
                     OnClock(reading);
                   },
                   [&](EvictionPolicy& policy) { eviction_policy_ = std::move(policy.name); },
                   [&](const Reloaded&) { ++status_.reloads; },
                   [&](const CloseSocket&) {},
                   [&](Closed& closed) { OnClosed(place, std::move(closed.why)); },
               },
               action);
  }
  if (give_up && place.connection) place.connection->Abandon("a reply was of no use");
  listener_.on_change();
}

void Lane::OnClosed(Place& place, Outcome why) {
  why_down_ = std::move(why);
  place.connection.reset();
  ++(place.open ? status_.disconnects : status_.connect_failures);
  // After a connection that was of use the first attempt is made soon, and those who wait may hope
  // for it. One that opens and serves nobody, such as a replica's, is as good as none.
  place.failures = place.served ? 0 : place.failures + 1;
  place.open = false;
  place.served = false;
  WaitForAttempt(place, BackoffCeiling(place.failures));
  listener_.on_health();
}

void Lane::OnClock(const ClockReading& reading) {
  clock_skew_ = reading.skew;
  round_trip_ = reading.round_trip;
  const Milliseconds apart = std::chrono::abs(reading.skew);
  const Milliseconds bound = options_.maximum_clock_skew.value_or(Milliseconds::max());
  // A slow answer says little; in doubt what was known before holds.
  if (apart - reading.uncertainty > bound) clock_safe_ = false;
  if (apart <= bound) clock_safe_ = true;
  listener_.on_health();
}

bool Lane::IsDown() const {
  return std::ranges::all_of(places_,
                             [](const auto& place) { return !place->open && place->failures > 0; });
}

std::optional<Outcome> Lane::Refusal() const {
  if (IsDown()) return why_down_;
  if (!clock_safe_) {
    return Unavailable{
        Unavailable::Category::kClockUnsafe,
        fmt::format("the server's clock and this machine's are {} ms apart", clock_skew_->count())};
  }
  return std::nullopt;
}

std::int64_t Lane::OpenConnections() const {
  return std::ranges::count_if(places_, [](const auto& place) { return place->open; });
}

bool Lane::IsLost() const {
  return OpenConnections() == 0 && (was_open_ || IsDown());
}

RedisNode Lane::Health() const {
  const std::int64_t open = OpenConnections();
  const auto refusal = Refusal();
  return {.ready = open > 0 && !refusal,
          .reason = refusal    ? DetailOf(*refusal)
                    : open > 0 ? std::string()
                               : "connecting",
          .category = refusal ? CategoryOf(*refusal) : std::string(),
          .connections = open,
          .clock_skew = clock_skew_,
          .round_trip = round_trip_,
          .eviction_policy = eviction_policy_};
}

Connection* Lane::Best(SteadyTime now) const {
  Connection* best = nullptr;
  for (const auto& place : places_) {
    Connection* connection = place->connection.get();
    if (!place->open || connection == nullptr || !connection->CanSend(now)) continue;
    if (best == nullptr || connection->calls_under_way() < best->calls_under_way()) {
      best = connection;
    }
  }
  return best;
}

void Lane::Send(Call call, Instant now) {
  Best(now.steady)->Send(std::move(call), now);
}

void Lane::Flush() {
  for (const auto& place : places_) {
    if (place->open && place->connection) place->connection->Flush();
  }
}

}  // namespace sluice::redis
