#include "src/redis/topology/redirect.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using Kind = Redirect::Kind;

TEST(ReadRedirect, ReadsWhatNodesSay) {
  struct Row {
    std::string_view error;
    Redirect redirect;
  };
  const Row rows[] = {
      {"MOVED 3999 127.0.0.1:6381", {Kind::kMoved, 3999, {"127.0.0.1", "6381"}}},
      {"ASK 16383 node.example.com:7000", {Kind::kAsk, 16'383, {"node.example.com", "7000"}}},
      {"MOVED 0 2001:db8::1:6381", {Kind::kMoved, 0, {"2001:db8::1", "6381"}}},  // no brackets
      {"MOVED 3999 :6381", {Kind::kMoved, 3999, {"", "6381"}}},  // the node's own host
      {"TRYAGAIN Multiple keys request during rehashing of slot", {}},
      // of no use yet
      {"MOVED 3999 ?:6381", {}},
      {"MOVED 3999 127.0.0.1:0", {}},
      {"MOVED 3999 127.0.0.1", {}},
      {"MOVED 16384 127.0.0.1:1", {}},
      {"MOVED -1 127.0.0.1:1", {}},
      {"MOVED", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(ReadRedirect(row.error), row.redirect) << row.error;
}

TEST(ReadRedirect, LeavesOtherErrorsAlone) {
  for (const char* error : {"", "ERR MOVED", "CLUSTERDOWN The cluster is down", "ASKING",
                            "MOVEDX 1 a:1", "READONLY You can't write"}) {
    EXPECT_FALSE(ReadRedirect(error)) << error;
  }
}

}  // namespace
}  // namespace sluice::redis
