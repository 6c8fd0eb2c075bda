#include "src/http/router.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "sluice/memory_limiter.h"

#include "src/http/conversation.h"
#include "testing/manual_clock.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;

std::string_view Body(std::string_view response) {
  return response.substr(response.find("\r\n\r\n") + 4);
}
bool Has(std::string_view response, std::string_view text) {
  return response.find(text) != std::string_view::npos;
}

/// Both services over a real edge and the engine in memory, asked without a socket.
class RouterTest : public ::testing::Test {
 protected:
  RouterTest() {
    EdgeSettings settings;
    settings.policies.push_back(*Policy::Create({.id = "login", .algorithm = FixedWindow{2, 60s}}));
    settings.default_policy = "login";
    settings.operations.push_back({.id = "health", .match = {.path = "/healthz"}, .exempt = true});
    settings.identity.trusted_proxies = {"127.0.0.0/8"};
    auto edge = Edge::Create(std::move(settings), *limiter_, pseudonymizer_, clock_);
    EXPECT_TRUE(edge);
    edge_ = *std::move(edge);
    data_ = DataService(*edge_, [this](Rejection rejection) { rejections_.push_back(rejection); });
    admin_ = AdminService({.reasons_not_ready = [this] { return reasons_; },
                           .metrics = [] { return std::string("sluice_up 1\n"); }},
                          {});
  }

  std::string Ask(const Service& service, std::string_view request,
                  std::string_view peer = "127.0.0.1") {
    const auto conversation = std::make_shared<Conversation>(limits_, service, date_,
                                                             service.peer_from(peer), SteadyTime());
    conversation->Receive(request, SteadyTime());
    return std::string(conversation->output());
  }
  std::string Check(std::string_view path, std::string_view fields,
                    std::string_view peer = "127.0.0.1") {
    return Ask(
        data_,
        "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n",
        peer);
  }
  std::string Post(std::string_view path, std::string_view body,
                   std::string_view peer = "127.0.0.1") {
    return Ask(data_,
               "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + std::string(body),
               peer);
  }

  const std::unique_ptr<MemoryLimiter> limiter_ = MakeMemoryLimiter({});
  const Pseudonymizer pseudonymizer_{1, PseudonymKey::Random()};
  const sluice::testing::ManualClock clock_;
  const ConversationLimits limits_;
  const std::string date_;
  std::unique_ptr<Edge> edge_;
  std::vector<Rejection> rejections_;
  std::vector<std::string> reasons_;
  Service data_;
  Service admin_;
};

constexpr std::string_view kJudged = "X-Original-Method: POST\r\nX-Original-URI: /login\r\n";

TEST_F(RouterTest, CheckAllowsThenDenies) {
  for (int i = 1; i >= 0; --i) {
    const std::string allowed = Check("/check", kJudged);
    EXPECT_TRUE(allowed.starts_with("HTTP/1.1 200 OK\r\n")) << allowed;
    EXPECT_TRUE(Has(allowed, "RateLimit: \"login\";r=" + std::to_string(i)));
    EXPECT_TRUE(Has(allowed, "X-Sluice-Outcome: allowed\r\n"));
    EXPECT_TRUE(allowed.ends_with("Content-Length: 0\r\n\r\n"));
  }
  const std::string denied = Check("/check", kJudged);
  EXPECT_TRUE(denied.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
  EXPECT_TRUE(Has(denied, "Retry-After: 60\r\n"));
  EXPECT_TRUE(Has(denied, "X-Sluice-Outcome: denied\r\n"));
  EXPECT_TRUE(Has(denied, "Content-Type: application/problem+json\r\n"));

  const std::string for_nginx = Check("/check?deny=403", kJudged);
  EXPECT_TRUE(for_nginx.starts_with("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_TRUE(Has(for_nginx, "X-Sluice-Status: 429\r\n"));
  EXPECT_TRUE(Has(for_nginx, "Retry-After: 60\r\n"));
  EXPECT_TRUE(rejections_.empty());
}

TEST_F(RouterTest, CheckTakesAnyMethod) {
  for (const std::string method : {"GET", "POST", "OPTIONS", "PROPFIND", "x-y"}) {
    const std::string response =
        Ask(data_, method + " /check HTTP/1.1\r\nHost: a\r\nX-Forwarded-Method: GET\r\n" +
                       "X-Forwarded-Uri: /healthz\r\n\r\n");
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << method;
    EXPECT_TRUE(Has(response, "X-Sluice-Outcome: exempt\r\n"));
  }
}

TEST_F(RouterTest, CheckWithoutAForwardedRequestIs400AndCounted) {
  EXPECT_TRUE(Check("/check", "").starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(rejections_, std::vector{Rejection::kForwardedRequest});
}

TEST_F(RouterTest, CheckBelievesTrustedPeersOnly) {
  const std::string response = Check("/check", kJudged, "203.0.113.9");
  EXPECT_TRUE(response.starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Has(response, "trusted"));
  EXPECT_EQ(rejections_, std::vector{Rejection::kUntrustedPeer});
  EXPECT_TRUE(Check("/check", kJudged, "unix:").starts_with("HTTP/1.1 200 "));
}

TEST_F(RouterTest, UnknownParametersAreRefused) {
  for (const std::string query :
       {"deny=429", "deny=", "deny", "allow=1", "deny=403&x", "DENY=403"}) {
    EXPECT_TRUE(Check("/check?" + query, kJudged).starts_with("HTTP/1.1 400 ")) << query;
  }
  EXPECT_TRUE(Post("/v1/peek?x", "{}").starts_with("HTTP/1.1 400 "));
}

TEST_F(RouterTest, EvaluateChargesAndPeekDoesNot) {
  const std::string_view body = R"({"policies":["login"],"subject":"alice"})";
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Has(Body(Post("/v1/peek", body)), R"("remaining":1)"));
  }
  for (int i = 0; i < 2; ++i) {
    const std::string response = Post("/v1/evaluate", body);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_TRUE(Has(response, "Content-Type: application/json\r\n"));
    EXPECT_TRUE(Has(Body(response), R"("outcome":"evaluated","allowed":true)"));
  }
  EXPECT_TRUE(Post("/v1/evaluate", body).starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(
      Post("/v1/evaluate", R"({"policies":["none"],"subject":"a"})").starts_with("HTTP/1.1 422 "));
}

TEST_F(RouterTest, EvaluateIsForTrustedPeers) {
  EXPECT_TRUE(Post("/v1/evaluate", "{}", "203.0.113.9").starts_with("HTTP/1.1 403 "));
  EXPECT_EQ(rejections_, std::vector{Rejection::kUntrustedPeer});
}

TEST_F(RouterTest, MalformedJsonIs400WithThePosition) {
  const std::string response = Post("/v1/evaluate", R"({"policies":])");
  EXPECT_TRUE(response.starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(Has(response, "byte 13")) << response;
  EXPECT_TRUE(Post("/v1/evaluate", "").starts_with("HTTP/1.1 400 "));
}

// F4: a path that answers 200 by accident would allow everything.
TEST_F(RouterTest, UnknownPathsAndMethods) {
  for (const std::string path : {"/", "/check/", "/Check", "/checks", "//check", "/v1", "/livez",
                                 "/ext-authz/", "/%63heck"}) {
    EXPECT_TRUE(Check(path, kJudged).starts_with("HTTP/1.1 404 ")) << path;
  }
  const std::string response = Check("/v1/evaluate", "");
  EXPECT_TRUE(response.starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(Has(response, "Allow: POST\r\n"));
}

TEST_F(RouterTest, AbsoluteTargetsAreRouted) {
  EXPECT_TRUE(Check("http://sluice/check?deny=403", kJudged).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(Check("http://sluice", kJudged).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(Check("http://sluice?/check", kJudged).starts_with("HTTP/1.1 404 "));
}

TEST_F(RouterTest, AdminSaysLiveReadyAndMetrics) {
  const auto get = [&](std::string_view path) {
    return Ask(admin_, "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  };
  EXPECT_EQ(Body(get("/livez")), "alive\n");
  EXPECT_EQ(Body(get("/readyz")), "ready\n");
  reasons_ = {"draining", "redis: not connected"};
  EXPECT_TRUE(get("/livez").starts_with("HTTP/1.1 200 "));  // I9: alive says nothing of Redis
  EXPECT_TRUE(get("/readyz").starts_with("HTTP/1.1 503 "));
  EXPECT_EQ(Body(get("/readyz")), "draining\nredis: not connected\n");
  EXPECT_TRUE(Has(get("/metrics"), "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_EQ(Body(get("/metrics")), "sluice_up 1\n");
  EXPECT_EQ(Body(Ask(admin_, "HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n")), "");
  EXPECT_TRUE(get("/check").starts_with("HTTP/1.1 404 "));
  const std::string wrong = Ask(admin_, "POST /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wrong.starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(Has(wrong, "Allow: GET, HEAD\r\n"));
}

}  // namespace
}  // namespace sluice::http
