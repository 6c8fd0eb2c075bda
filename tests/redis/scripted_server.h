// A server that shakes hands and then answers script calls as a test tells it to.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::redis {

/// Thread safety: every member may be called from any thread.
class ScriptedServer {
 public:
  ScriptedServer();
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string address() const;

  /// The raw replies to the next EVALSHAs, in order; each other one finds no state and allows.
  void AnswerNext(std::vector<std::string> replies);

  /// Connections accepted, EVALSHA and SCRIPT LOAD commands received.
  struct Seen {
    int connections = 0;
    int calls = 0;
    int loads = 0;
  };
  [[nodiscard]] Seen seen() const;

 private:
  void Accept();
  void Serve(int fd);
  std::string Answer(const std::vector<std::string>& words);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::deque<std::string> next_;
  Seen seen_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace sluice::redis
