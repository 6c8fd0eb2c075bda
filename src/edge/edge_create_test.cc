// What Edge::Create refuses: everything that is wrong, at once and with its place.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/edge/edge_fixture.h"

namespace sluice::edge {
namespace {

using namespace std::chrono_literals;

std::vector<EdgeError> ErrorsOf(EdgeSettings settings) {
  static const Pseudonymizer pseudonymizer(1, PseudonymKey::Random());
  AllowingLimiter limiter;
  auto created = Edge::Create(std::move(settings), limiter, pseudonymizer);
  return created ? std::vector<EdgeError>{} : std::move(created).error();
}

TEST(EdgeCreate, TakesGoodSettings) {
  EXPECT_TRUE(ErrorsOf(TestSettings()).empty());
}

TEST(EdgeCreate, NamesThePlaceOfEachMistake) {
  using Change = std::function<void(EdgeSettings&)>;
  const struct {
    Change change;
    std::string place;
    std::string message;
  } rows[] = {
      {[](EdgeSettings& s) { s.default_policy = ""; }, "default_policy",
       "there is no policy of such a name"},
      {[](EdgeSettings& s) { s.default_policy = "nope"; }, "default_policy",
       "there is no policy \"nope\""},
      {[](EdgeSettings& s) { s.policies.push_back(s.policies[1]); }, "policies[3].id",
       "a policy before it has the id \"api\" too"},
      {[](EdgeSettings& s) { s.operations[1].policies[1] = "nope"; }, "operations[1].policies[1]",
       "there is no policy \"nope\""},
      {[](EdgeSettings& s) { s.operations[1].policies = {"api", "api"}; }, "operations[1].policies",
       ""},
      {[](EdgeSettings& s) { s.operations[1].policies.clear(); }, "operations[1].policies",
       "an operation has a policy, unless it is exempt"},
      {[](EdgeSettings& s) { s.operations[4].policies = {"api"}; }, "operations[4].policies",
       "an exempt operation counts nothing: leave its policies out"},
      {[](EdgeSettings& s) { s.operations[2].id = "item"; }, "operations[2].id",
       "operations[1] has this id too"},
      {[](EdgeSettings& s) { s.operations[2].id = "*"; }, "operations[2].id",
       "an id is a letter and then up to 63 letters, digits and . _ -"},
      {[](EdgeSettings& s) { s.operations[1].match.path = "items"; }, "operations[1].match.path",
       "a path begins with /"},
      {[](EdgeSettings& s) { s.operations[2].match.host = "a:80"; }, "operations[2].match.host",
       "a port never matches: leave it out"},
      {[](EdgeSettings& s) { s.operations[0].match.methods = {"POST", "post"}; },
       "operations[0].match.methods[1]", "methods are case-sensitive: write POST"},
      {[](EdgeSettings& s) { s.operations[0].match.methods = {"PO ST"}; },
       "operations[0].match.methods[0]", "a method is one word, such as GET"},
      {[](EdgeSettings& s) { s.operations[0].cost = 0; }, "operations[0].cost",
       "0 is out of bounds; allowed: 1 to 5, the smallest maximum_cost of its policies"},
      {[](EdgeSettings& s) { s.operations[0].cost = 6; }, "operations[0].cost",
       "6 is out of bounds; allowed: 1 to 5, the smallest maximum_cost of its policies"},
      {[](EdgeSettings& s) { s.operations[0].sources = {IdentityKind::kOpaque}; },
       "operations[0].subject[0]", "a request names its client by principal, api-key or client-ip"},
      {[](EdgeSettings& s) { s.identity.sources.push_back(IdentityKind::kApiKey); },
       "identity.sources[3]", "\"api-key\" comes twice"},
      {[](EdgeSettings& s) { s.identity.sources.clear(); }, "identity.sources",
       "names at least one source"},
      {[](EdgeSettings& s) { s.budget = 0ms; }, "budget", "is at least 1 ms"},
      {[](EdgeSettings& s) { s.failure_retry_after = 0ms; }, "failure_retry_after",
       "is at least 1 ms"},
      {[](EdgeSettings& s) { s.identity.trusted_proxies = {"10.0.0.0/33"}; },
       "identity.trusted_proxies[0]", ""},
      // Old wrong behaviour elsewhere: a duplicate rule was taken and never applied, or every
      // request was counted by both. The same route in other words is a duplicate too.
      {[](EdgeSettings& s) {
         s.operations[2].match = {.methods = {}, .host = "", .path = "//items/{other}/"};
       },
       "operations[2].match", "never applies: operations[1] matches the same requests"},
      {[](EdgeSettings& s) {
         s.operations[4].match = {.methods = {"HEAD", "GET"}, .host = "", .path = "/report"};
       },
       "operations[4].match", "never applies: operations[3] matches the same requests"},
  };
  for (const auto& row : rows) {
    EdgeSettings settings = TestSettings();
    row.change(settings);
    const std::vector<EdgeError> errors = ErrorsOf(std::move(settings));
    ASSERT_EQ(errors.size(), 1U) << row.place;
    EXPECT_EQ(errors.front().place, row.place);
    if (row.message.empty()) {
      EXPECT_NE(errors.front().message, "") << row.place;
    } else {
      EXPECT_EQ(errors.front().message, row.message) << row.place;
    }
  }
}

TEST(EdgeCreate, ReportsAllMistakesAtOnce) {
  EdgeSettings settings = TestSettings();
  settings.default_policy = "nope";
  settings.operations[0].match.path = "login";
  settings.operations[1].match.host = "*";
  settings.operations[2].policies = {"nope", "neither"};
  settings.operations[4].match.path = "healthz";  // and not "the same route as operations[0]"
  settings.operations[0].match.methods.clear();
  settings.identity.ipv6_prefix = 0;
  settings.budget = -1ms;
  std::vector<std::string> places;
  for (const EdgeError& error : ErrorsOf(std::move(settings))) places.push_back(error.place);
  std::ranges::sort(places);
  EXPECT_EQ(places,
            (std::vector<std::string>{"budget", "default_policy", "identity.ipv6_prefix",
                                      "operations[0].match.path", "operations[1].match.host",
                                      "operations[2].policies[0]", "operations[2].policies[1]",
                                      "operations[4].match.path"}));
}

}  // namespace
}  // namespace sluice::edge
