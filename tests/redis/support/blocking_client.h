// A client for tests that waits for each reply: commands, and evaluations through the codec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/outcome.h"

#include "src/redis/resp.h"
#include "src/redis/script.h"

namespace sluice::redis {

/// Throws std::runtime_error where a test cannot go on.
class BlockingClient {
 public:
  /// `address` as RedisServer gives it: "unix:/path".
  explicit BlockingClient(const std::string& address);
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  /// The reply to bytes that hold one command.
  Reply Exchange(std::string_view bytes);
  /// Sends bytes that hold `commands` commands and waits for all replies; an error among them
  /// throws.
  void ExchangeAll(std::string_view bytes, std::size_t commands);
  Reply Command(const std::vector<std::string>& words);
  void LoadScripts();

  /// One call of the scripts. An error reply or one that is not theirs throws.
  std::vector<Outcome> Evaluate(const ScriptOptions& options,
                                std::span<const Gathering::Item> items);
  Outcome EvaluateOne(const ScriptOptions& options, const Evaluation& evaluation,
                      bool is_repeat = false);

 private:
  void Send(std::string_view bytes);
  Reply Receive();

  int fd_ = -1;
  ReplyReader reader_{16 << 20};
};

}  // namespace sluice::redis
