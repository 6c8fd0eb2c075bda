// A real server for tests: it listens on a unix socket in a directory of its own, on no TCP port
// unless it is told one, and ends with the test.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "src/redis/resp.h"

namespace sluice::redis {

/// Throws std::runtime_error where a test cannot go on.
class RedisServer {
 public:
  /// `arguments` as on the server's command line: {"--maxmemory", "1mb"}. `configuration`: the text
  /// of a file that the server may rewrite, if not empty.
  explicit RedisServer(std::vector<std::string> arguments = {},
                       const std::string& configuration = {});
  /// Kills the server if it runs, and removes its directory.
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// "unix:/…", as an address of the engine's.
  [[nodiscard]] std::string address() const { return "unix:" + socket_; }

  void Start();  ///< returns when it answers
  void Kill();   ///< SIGKILL, and waits for its end
  void Signal(int signal) const;

  /// One command on a connection of its own.
  Reply Command(const std::vector<std::string>& words) const;
  std::int64_t Integer(const std::vector<std::string>& words) const;
  /// Sends a command and does not wait for its reply; returns the connection's descriptor.
  [[nodiscard]] int Send(const std::vector<std::string>& words) const;
  /// Ends an EVAL that was sent over this connection, begun or not, and closes it.
  void EndScript(int fd) const;

 private:
  int Connect() const;

  std::vector<std::string> arguments_;
  std::string directory_;
  std::string configuration_;  // the file's path, if there is one
  std::string socket_;
  int pid_ = -1;
};

}  // namespace sluice::redis
