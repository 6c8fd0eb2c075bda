// The chapter `operations`.
#include <gtest/gtest.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

// `operations` from line 7 on.
std::string With(std::string_view operations) {
  return "policies:\n"
         "  login: {algorithm: fixed-window, limit: 5, window: 1m}\n"
         "  api: {algorithm: fixed-window, limit: 100, window: 1m, maximum_cost: 20}\n"
         "  daily: {algorithm: fixed-window, limit: 1000, window: 1d}\n"
         "default_policy: api\n"
         "operations:\n" +
         std::string(operations);
}

struct Row {
  std::string_view operations;
  Lines errors;
};

void ExpectErrors(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(ErrorsOf(With(row.operations)), row.errors) << row.operations;
  }
}

TEST(Operation, TakesEveryKey) {
  const auto settings = Load(
      With("- {id: a.b-c_1, match: {methods: [GET, M-SEARCH], host: \"*.Example.com\", path: "
           "\"/x/{id}/**\"}, policies: [api, daily], cost: 20, subject: [api-key, client-ip]}\n"),
      "f", {});
  ASSERT_TRUE(settings) << settings.error().front().ToString();
  EXPECT_TRUE(Equal(settings->edge.operations.at(0),
                    OperationSettings{"a.b-c_1",
                                      {{"GET", "M-SEARCH"}, "*.Example.com", "/x/{id}/**"},
                                      {"api", "daily"},
                                      20,
                                      {IdentityKind::kApiKey, IdentityKind::kClientIp},
                                      false}));
}

TEST(Operation, MayMatchEverything) {
  ExpectErrors({{"- {id: rest, match: {}, policies: [api]}\n", {}},
                {"- {id: rest, match: {}, exempt: false, policies: [api]}\n", {}},
                {"- {id: rest, match: {}, exempt: true}\n", {}}});
}

TEST(Operation, RefusesToLackAKey) {
  ExpectErrors({
      {"- {}\n",
       {"f:7:3: operations[0].id: the key is missing",
        "f:7:3: operations[0].match: the key is missing",
        "f:7:3: operations[0].policies: the key is missing"}},
      {"- {id: a, match: {path: /a}, policies: []}\n",
       {"f:7:40: operations[0].policies: the list must not be empty"}},
      {"- {id: a, match: , exempt: true}\n",
       {"f:7:11: operations[0].match: the value is missing; write one, or leave the key out"}},
      {"- a\n", {"f:7:3: operations[0]: \"a\" stands where a map belongs; allowed: key: value"}},
      {"-\n", {"f:7:1: operations[0]: the value is missing; write one, or leave the key out"}},
      {"  id: a\n", {"f:7:3: operations: a map stands where a list belongs; allowed: [a, b]"}},
  });
}

TEST(Operation, RefusesAnIdThatIsTakenOrNone) {
  constexpr std::string_view kNoId =
      ": it is no id; allowed: a letter, then up to 63 of A-Z a-z 0-9 . _ -";
  ExpectErrors({
      {"- {id: a, match: {path: /a}, policies: [api]}\n"
       "- {id: b, match: {path: /b}, policies: [api]}\n"
       "- {id: a, match: {path: /c}, policies: [api]}\n",
       {"f:9:8: operations[2].id: \"a\" is already the id of the operation at f:7:8"}},
      // "*" stands for "no operation" in metrics, so it must not be an id
      {"- {id: \"*\", match: {path: /a}, policies: [api]}\n",
       {"f:7:8: operations[0].id: \"*\"" + std::string(kNoId)}},
      {"- {id: a/b, match: {path: /a}, policies: [api]}\n",
       {"f:7:8: operations[0].id: \"a/b\"" + std::string(kNoId)}},
      {"- {id: 7, match: {path: /a}, policies: [api]}\n",
       {"f:7:8: operations[0].id: \"7\" is a number, not a text (put it in quotes to make it "
        "one)"}},
  });
}

TEST(Operation, RefusesPoliciesThatDoNotExistOrRepeat) {
  ExpectErrors({
      {"- {id: a, match: {path: /a}, policies: [api, logn]}\n",
       {"f:7:46: operations[0].policies[1]: \"logn\": there is no such policy (did you mean "
        "\"login\"?); allowed: api, daily, login"}},
      // ids are case-sensitive
      {"- {id: a, match: {path: /a}, policies: [API]}\n",
       {"f:7:41: operations[0].policies[0]: \"API\": there is no such policy (did you mean "
        "\"api\"?); allowed: api, daily, login"}},
      // old wrong behaviour elsewhere: one request was counted twice
      {"- {id: a, match: {path: /a}, policies: [api, daily, api]}\n",
       {"f:7:53: operations[0].policies[2]: \"api\" is already in the list, at f:7:41"}},
  });
}

TEST(Operation, RefusesMorePoliciesThanAPlanTakes) {
  std::string text = "default_policy: p0\noperations: [{id: a, match: {}, policies: [";
  for (int i = 0; i < 17; ++i) text += "p" + std::to_string(i) + (i < 16 ? "," : "]}]\n");
  text += "policies:\n";
  for (int i = 0; i < 17; ++i) {
    text += "  p" + std::to_string(i) + ": {algorithm: fixed-window, limit: 5, window: 1m}\n";
  }
  EXPECT_EQ(ErrorsOf(text),
            Lines{"f:2:43: operations[0].policies: 17 policies are too many; allowed: 1 to 16"});
}

TEST(Operation, RefusesACostThatCanNeverPass) {
  ExpectErrors({
      {"- {id: a, match: {path: /a}, policies: [api], cost: 0}\n",
       {"f:7:53: operations[0].cost: \"0\" is out of bounds; allowed: 1 to 9007199254740991"}},
      // a negative cost would give budget away
      {"- {id: a, match: {path: /a}, policies: [api], cost: -5}\n",
       {"f:7:53: operations[0].cost: \"-5\" is out of bounds; allowed: 1 to 9007199254740991"}},
      {"- {id: a, match: {path: /a}, policies: [api], cost: 9007199254740992}\n",
       {"f:7:53: operations[0].cost: \"9007199254740992\" is out of bounds; allowed: 1 to "
        "9007199254740991"}},
      {"- {id: a, match: {path: /a}, policies: [daily, api], cost: 21}\n",
       {"f:7:60: operations[0].cost: the cost exceeds the maximum_cost of policy api; allowed: 1 "
        "to "
        "20"}},
      {"- {id: a, match: {path: /a}, policies: [daily, login, api], cost: 6}\n",
       {"f:7:67: operations[0].cost: the cost exceeds the maximum_cost of policy login; allowed: 1 "
        "to "
        "5"}},
  });
}

TEST(Operation, RefusesToChargeWhenExempt) {
  constexpr std::string_view kWhy = "an exempt operation counts nothing, so it takes no such key";
  ExpectErrors({
      {"- {id: a, match: {path: /a}, exempt: true, policies: [api], cost: 2, subject: [api-key]}\n",
       {"f:7:44: operations[0].policies: " + std::string(kWhy),
        "f:7:61: operations[0].cost: " + std::string(kWhy),
        "f:7:70: operations[0].subject: " + std::string(kWhy)}},
      {"- {id: a, match: {path: /a}, exempt: false}\n",
       {"f:7:3: operations[0].policies: the key is missing"}},
  });
}

TEST(Operation, RefusesAMatchOfAnEarlierOne) {
  constexpr std::string_view kWhy = " matches the same requests, so this one never does";
  ExpectErrors({
      {"- {id: a, match: {path: /a}, policies: [api]}\n"
       "- {id: b, match: {path: /a}, policies: [daily]}\n",
       {"f:8:18: operations[1].match: the operation at f:7:18" + std::string(kWhy)}},
      // the order of methods, the case of the host and one trailing slash do not count
      {"- {id: a, match: {methods: [GET, PUT], host: a.Example, path: /a}, policies: [api]}\n"
       "- {id: b, match: {host: A.example, path: /a/, methods: [PUT, GET]}, exempt: true}\n",
       {"f:8:18: operations[1].match: the operation at f:7:18" + std::string(kWhy)}},
      {"- {id: a, match: {}, policies: [api]}\n"
       "- {id: b, match: {}, policies: [api]}\n",
       {"f:8:18: operations[1].match: the operation at f:7:18" + std::string(kWhy)}},
      // paths keep their case; a narrower match is another one
      {"- {id: a, match: {path: /a}, policies: [api]}\n"
       "- {id: b, match: {path: /A}, policies: [api]}\n"
       "- {id: c, match: {path: /a, methods: [GET]}, policies: [api]}\n",
       {}},
      // two that cannot be read are not compared
      {"- {id: a, match: {path: a}, policies: [api]}\n"
       "- {id: b, match: {path: b}, policies: [api]}\n",
       {"f:7:25: operations[0].match.path: \"a\": a path begins with /",
        "f:8:25: operations[1].match.path: \"b\": a path begins with /"}},
  });
}

TEST(Operation, RefusesWhatMatchesNoRequest) {
  ExpectErrors({
      {"- {id: a, match: {methods: [get]}, policies: [api]}\n",
       {"f:7:29: operations[0].match.methods[0]: \"get\": methods are case-sensitive; write it in "
        "capitals"}},
      {"- {id: a, match: {methods: [\"G T\"]}, policies: [api]}\n",
       {"f:7:29: operations[0].match.methods[0]: \"G T\": it is no method; allowed: a token such "
        "as "
        "GET"}},
      {"- {id: a, match: {methods: []}, policies: [api]}\n",
       {"f:7:28: operations[0].match.methods: the list must not be empty"}},
      {"- {id: a, match: {host: \"a.example:80\"}, policies: [api]}\n",
       {"f:7:25: operations[0].match.host: \"a.example:80\": a port never matches: leave it out"}},
      {"- {id: a, match: {path: \"/a?b\"}, policies: [api]}\n",
       {"f:7:25: operations[0].match.path: \"/a?b\": a query or fragment never matches: paths are "
        "compared without it"}},
      {"- {id: a, match: {pth: /a}, policies: [api]}\n",
       {"f:7:19: operations[0].match.pth: the key is not known (did you mean \"path\"?); allowed: "
        "methods, host, path"}},
      {"- {id: a, match: {path: /a}, policies: [api], subject: [cookie]}\n",
       {"f:7:57: operations[0].subject[0]: \"cookie\" is not known; allowed: principal, api-key, "
        "client-ip"}},
  });
}

TEST(Operation, NamingAPolicyWithErrorsIsNoFurtherError) {
  EXPECT_EQ(ErrorsOf("policies:\n"
                     "  p: {algorithm: fixed-window, limit: 5, window: 0s}\n"
                     "default_policy: p\n"
                     "operations: [{id: a, match: {}, policies: [p], cost: 9}]\n"),
            Lines{"f:2:50: policies.p.window: 0 ms is out of bounds; allowed: 1ms to 366d"});
}

}  // namespace
}  // namespace sluice::config
