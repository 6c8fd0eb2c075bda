// A session with a scripted server at its other end, for tests: no socket and a clock that stands
// still.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/redis/session.h"
#include "testing/manual_clock.h"

namespace sluice::redis {

/// A server that does not tell its memory's policy.
inline constexpr char kNoMemory[] = "-NOPERM no\r\n";

inline constexpr Script kTestScripts[] = {{.sha = "aaaa", .source = "return 1"},
                                          {.sha = "bbbb", .source = "return 2"}};

class SessionTest : public ::testing::Test {
 protected:
  explicit SessionTest(SessionOptions options = {.scripts = kTestScripts}) : session(options) {}

  /// All that the session wants to write now, as if the socket took it.
  std::string Written() {
    std::string all;
    for (std::string_view bytes = session.BeginWrite(); !bytes.empty();
         bytes = session.BeginWrite()) {
      all += bytes;
      session.OnWritten(bytes.size());
    }
    return all;
  }

  std::string TimeReply(Milliseconds ahead = Milliseconds{0}) const {
    const auto micros =
        std::chrono::microseconds(clock.Now().wall.time_since_epoch() + ahead).count();
    const std::string seconds = std::to_string(micros / 1'000'000);
    const std::string rest = std::to_string(micros % 1'000'000);
    return "*2\r\n$" + std::to_string(seconds.size()) + "\r\n" + seconds + "\r\n$" +
           std::to_string(rest.size()) + "\r\n" + rest + "\r\n";
  }

  void Receive(std::string_view bytes) { session.OnBytes(bytes, clock.Now()); }

  /// Connects and answers the whole handshake.
  void OpenSession() {
    session.OnConnected(clock.Now());
    Written();
    Receive("-ERR unknown command 'HELLO'\r\n$4\r\naaaa\r\n$4\r\nbbbb\r\n");
    Receive(kNoMemory + TimeReply());
    const auto actions = session.TakeActions();
    ASSERT_TRUE(std::ranges::any_of(
        actions, [](const Action& action) { return std::holds_alternative<Opened>(action); }));
  }

  void SendCall(std::uint64_t id) {
    ASSERT_TRUE(session.CanSend(clock.Now().steady));
    session.Send({.id = id, .script = 0, .bytes = "CALL" + std::to_string(id) + ";"}, clock.Now());
  }

  /// The actions of one kind since the last look; all others are dropped.
  template <class Kind>
  std::vector<Kind> Take() {
    std::vector<Kind> kept;
    for (Action& action : session.TakeActions()) {
      if (auto* one = std::get_if<Kind>(&action)) kept.push_back(std::move(*one));
    }
    return kept;
  }

  testing::ManualClock clock;
  Session session;
};

template <class Failure>
const Failure& As(const Outcome& outcome) {
  return std::get<Failure>(outcome);
}

}  // namespace sluice::redis
