#include "src/redis/probes.h"

#include <string>

#include "src/redis/keys.h"
#include "src/redis/resp.h"

namespace sluice::redis {

std::vector<Probe> Probes(std::string_view prefix) {
  const std::string key = AbsentKey(prefix);
  const std::string no_script(40, '0');
  // A server looks at the number of words, then at permissions, and only then runs the command:
  // these have as many words as it takes to be looked at. HSET lacks a value, so it writes nothing.
  const std::vector<std::string_view> commands[] = {
      {"EVALSHA", no_script, "1", key},
      {"HMGET", key, "written"},
      {"HGET", key, "written"},
      {"HGETALL", key},
      {"EXISTS", key},
      {"HSET", key, "written", "0", "count"},
      {"PEXPIRE", key, "1"},
      {"HDEL", key, "written"},
  };
  std::vector<Probe> probes;
  for (const auto& words : commands) {
    probes.push_back(
        {.name = std::string(words.front()) + " on " + key, .bytes = EncodeCommand(words)});
  }
  return probes;
}

Probe AskingProbe() {
  const std::string_view words[] = {"ASKING"};
  return {.name = "ASKING", .bytes = EncodeCommand(words)};
}

Probe WaitProbe() {
  const std::string_view words[] = {"WAIT", "0", "1"};  // for no replica: answered at once
  return {.name = "WAIT", .bytes = EncodeCommand(words)};
}

}  // namespace sluice::redis
