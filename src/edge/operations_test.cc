#include "src/edge/operations.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "src/edge/edge_fixture.h"

namespace sluice::edge {
namespace {

Operations Compile(const EdgeSettings& settings) {
  std::vector<EdgeError> errors;
  const PolicyBook book(settings.policies, errors);
  Operations operations(settings, book, errors);
  EXPECT_TRUE(errors.empty()) << errors.front().place << ": " << errors.front().message;
  return operations;
}

TEST(Operations, FirstMatchWins) {
  const Operations operations = Compile(TestSettings());
  const struct {
    std::string_view method;
    std::string_view host;
    std::string_view path;
    std::string_view operation;
  } rows[] = {
      {"POST", "example.com", "/login", "login"},
      {"GET", "example.com", "/login", "*"},          // the method does not match
      {"post", "example.com", "/login", "*"},         // methods are case-sensitive
      {"DELETE", "example.com", "/items/7", "item"},  // no methods: every method
      {"GET", "cdn.example.com", "/files/a/b", "files"},
      {"GET", "CDN.Example.com:443", "/files", "files"},
      {"GET", "example.com", "/files/a", "*"},  // the host does not match
      {"GET", "", "/files/a", "*"},             // nor does a missing one
      {"GET", "example.com", "/report", "report"},
      {"HEAD", "example.com", "/report", "report"},  // GET covers HEAD
      {"POST", "example.com", "/report", "*"},
      {"GET", "example.com", "/healthz", "health"},
      {"OPTIONS", "example.com", "*", "*"},
      {"GET", "example.com", "/", "*"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(operations.Match(row.method, row.host, row.path).id, row.operation)
        << row.method << " " << row.host << " " << row.path;
  }
}

TEST(Operations, AnEarlierWiderRouteHidesALaterOne) {
  EdgeSettings settings = TestSettings();
  OperationSettings all;
  all.id = "all";
  all.match.path = "/**";
  all.policies = {"api"};
  settings.operations.insert(settings.operations.begin() + 1, all);
  const Operations operations = Compile(settings);
  EXPECT_EQ(operations.Match("POST", "", "/login").id, "login");
  EXPECT_EQ(operations.Match("GET", "", "/items/7").id, "all");
  EXPECT_EQ(operations.Match("OPTIONS", "", "*").id, "*");
}

TEST(Operations, CarryWhatARequestNeeds) {
  const Operations operations = Compile(TestSettings());
  const Operation& item = *operations.Find("item");
  EXPECT_EQ(item.cost, 2);
  EXPECT_FALSE(item.exempt);
  ASSERT_EQ(item.plan->policies().size(), 2U);
  EXPECT_EQ(item.plan->policies()[0].id(), "api");
  EXPECT_EQ(item.policy_items, PolicyItemsOf(*item.plan));
  EXPECT_EQ(item.sources, IdentitySettings{}.sources);
  EXPECT_EQ(operations.Find("files")->sources, std::vector{IdentityKind::kClientIp});
  EXPECT_TRUE(operations.Find("health")->exempt);
  EXPECT_EQ(operations.Find("health")->plan, nullptr);
  EXPECT_EQ(operations.Find("nope"), nullptr);
  const Operation& unmatched = *operations.Find("*");
  ASSERT_EQ(unmatched.plan->policies().size(), 1U);
  EXPECT_EQ(unmatched.plan->policies()[0].id(), "api");
}

TEST(Operations, MethodsAreTokens) {
  EXPECT_TRUE(IsMethod("GET"));
  EXPECT_TRUE(IsMethod("M-SEARCH"));
  EXPECT_FALSE(IsMethod(""));
  EXPECT_FALSE(IsMethod("GET "));
  EXPECT_FALSE(IsMethod("GE\x01T"));
  EXPECT_FALSE(IsMethod("G(T"));
}

}  // namespace
}  // namespace sluice::edge
