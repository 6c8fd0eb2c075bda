#include "src/redis/probes.h"

#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "src/redis/script.h"

namespace sluice::redis {
namespace {

std::set<std::string> Matches(std::string_view text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::cregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

// A command that a script gains must be tried at the beginning of a connection, else its missing
// permission is found out half-way through a script.
TEST(Probes, TryEachCommandThatTheScriptsRun) {
  std::set<std::string> run{"EVALSHA"};
  for (const Script& script : Scripts()) {
    run.merge(Matches(script.source, R"((?:call\(|\{)'([A-Z]+)')"));
    // There is one other form, and its command stands at the head of a table.
    for (const std::string& other :
         Matches(script.source, R"(\b(?:redis\.p?)?call\(([^'][^)]*\)))")) {
      EXPECT_EQ(other, "unpack(words)");
    }
  }
  std::set<std::string> tried;
  for (const Probe& probe : Probes("sluice")) {
    tried.insert(probe.name.substr(0, probe.name.find(' ')));
    EXPECT_TRUE(probe.name.ends_with(" on sluice:1:{v1:AAAAAAAAAAAAAAAAAAAAAA}:absent"));
    EXPECT_NE(probe.bytes.find("\r\nsluice:1:{v1:AAAAAAAAAAAAAAAAAAAAAA}:absent\r\n"),
              std::string::npos);
  }
  EXPECT_EQ(tried, run);
  EXPECT_GT(run.size(), 5U);  // the scan has found something
}

}  // namespace
}  // namespace sluice::redis
