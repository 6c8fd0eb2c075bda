#include "src/http/session_pool.h"

#include <utility>

#include <sys/epoll.h>

namespace sluice::http {
namespace {

/// Sessions that are served before timers and the listener get their turn.
constexpr int kBatch = 256;

constexpr std::uint32_t kInputEvents = EPOLLIN | EPOLLRDHUP | EPOLLET;

epoll_event EventFor(Session& session, std::uint32_t events) {
  return {.events = events, .data = {.ptr = &session}};
}

}  // namespace

SessionPool::SessionPool(boost::asio::io_context& context, const ConversationLimits& limits,
                         Milliseconds write_timeout, const Service& service,
                         ConnectionCounts& counts)
    : epoll_(context, ::epoll_create1(EPOLL_CLOEXEC)),
      limits_(limits),
      write_timeout_(write_timeout),
      service_(service),
      counts_(counts) {}

SessionPool::~SessionPool() {
  ForEach([](Session& session) { session.Close(); });
}

template <class Visit>
void SessionPool::ForEach(Visit visit) {
  for (auto next = sessions_.begin(); next != sessions_.end();) {
    Session& session = *(next++)->second;
    visit(session);
  }
}

void SessionPool::Open(Socket socket, bool is_refused) {
  auto owned = std::make_unique<Session>(*this, std::move(socket), is_refused);
  Session& session = *owned;
  sessions_.emplace(&session, std::move(owned));
  epoll_event event = EventFor(session, kInputEvents);
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, session.socket().fd(), &event) != 0) {
    return session.Close();
  }
  session.Continue();
  if (on_empty_) session.Drain();
}

void SessionPool::WatchOutput(Session& session) {
  epoll_event event = EventFor(session, kInputEvents | EPOLLOUT);
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, session.socket().fd(), &event);
}

void SessionPool::Remove(Session& session) {
  auto node = sessions_.extract(&session);
  ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, session.socket().fd(), nullptr);
  --(session.is_refused() ? counts_.refused : counts_.open);
  session.CloseSocket();  // after counting: whoever sees the close finds the place free
  closed_.push_back(std::move(node.mapped()));
  if (sessions_.empty() && on_empty_) on_empty_();
}

void SessionPool::Wait() {
  epoll_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& ec) {
                      if (ec) return;
                      Dispatch();
                      Wait();
                    });
}

void SessionPool::Dispatch() {
  std::array<epoll_event, kBatch> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), kBatch, 0);
  for (int i = 0; i < count; ++i) {
    static_cast<Session*>(events[static_cast<std::size_t>(i)].data.ptr)
        ->OnEvents(events[static_cast<std::size_t>(i)].events);
  }
  closed_.clear();
}

void SessionPool::Sweep(SteadyTime now, std::string date) {
  now_ = now;
  date_ = std::move(date);
  ForEach([now](Session& session) { session.Tick(now); });
  closed_.clear();
}

void SessionPool::Drain(std::function<void()> on_empty) {
  on_empty_ = std::move(on_empty);
  ForEach([](Session& session) { session.Drain(); });
  if (sessions_.empty()) on_empty_();
}

}  // namespace sluice::http
