// A server that shakes hands and then answers script calls as a test tells it to. Asked for it, it
// is the one node of a cluster.
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

  [[nodiscard]] std::string port() const { return std::to_string(port_); }

  /// The raw replies to the next EVALSHAs, in order; each other one finds no state and allows.
  void AnswerNext(std::vector<std::string> replies);

  /// Connections that shook hands, EVALSHA, ASKING and SCRIPT LOAD commands received. A
  /// connection's look at its permissions is none of them.
  struct Seen {
    int connections = 0;
    int calls = 0;
    int askings = 0;
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
