#include "sluice/interceptor.h"

#include <memory>
#include <optional>

#include <boost/beast/http.hpp>
#include <gtest/gtest.h>

#include "sluice/memory_limiter.h"

#include "testing/limiters.h"
#include "testing/manual_clock.h"

namespace sluice {
namespace {

namespace http = boost::beast::http;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using namespace std::chrono_literals;

class InterceptorTest : public ::testing::Test {
 protected:
  InterceptorTest() { SetLimiter(*memory_); }

  void SetLimiter(Limiter& limiter) {
    EdgeSettings settings;
    settings.policies.push_back(*Policy::Create({.id = "once", .algorithm = FixedWindow{1, 60s}}));
    settings.default_policy = "once";
    settings.identity.trusted_proxies = {"10.0.0.0/8"};
    auto edge = Edge::Create(std::move(settings), limiter, pseudonymizer_, clock_);
    ASSERT_TRUE(edge);
    edge_ = *std::move(edge);
  }
  void Ask(Request request, std::string_view peer = "203.0.113.9") {
    sent_.reset();
    Intercept(
        *edge_, edge_->PeerFrom(peer), std::move(request),
        [this](const Request& asked) {
          ++handled_;
          Response response(http::status::created, asked.version());
          response.set(http::field::cache_control, "max-age=5");
          response.body() = std::string(asked.target());
          response.prepare_payload();
          return response;
        },
        [this](Response response) { sent_ = std::move(response); });
  }

  const std::unique_ptr<MemoryLimiter> memory_ = MakeMemoryLimiter({});
  const Pseudonymizer pseudonymizer_{1, PseudonymKey::Random()};
  const testing::ManualClock clock_;
  std::unique_ptr<Edge> edge_;
  int handled_ = 0;
  std::optional<Response> sent_;
};

TEST_F(InterceptorTest, AnAllowedRequestGetsTheHandlersResponseAndTheLimits) {
  Ask({http::verb::get, "/a", 11});
  ASSERT_TRUE(sent_);
  EXPECT_EQ(sent_->result(), http::status::created);
  EXPECT_EQ(sent_->body(), "/a");
  EXPECT_EQ((*sent_)["RateLimit"], "\"once\";r=0;t=60");
  EXPECT_EQ((*sent_)["Cache-Control"], "max-age=5");  // the handler knows best
}

TEST_F(InterceptorTest, ADeniedRequestNeverReachesTheHandler) {
  Ask({http::verb::get, "/a", 11});
  Ask({http::verb::get, "/b", 11});
  ASSERT_TRUE(sent_);
  EXPECT_EQ(handled_, 1);
  EXPECT_EQ(sent_->result_int(), 429U);
  EXPECT_EQ((*sent_)["Retry-After"], "60");
  EXPECT_EQ((*sent_)["Content-Type"], "application/problem+json");
  EXPECT_EQ((*sent_)["Content-Length"], std::to_string(sent_->body().size()));
  EXPECT_FALSE(sent_->body().empty());
  EXPECT_TRUE(sent_->keep_alive());
}

TEST_F(InterceptorTest, ARefusalOfHeadHasALengthAndNoBody) {
  Ask({http::verb::get, "/a", 11});
  Ask({http::verb::head, "/a", 11});
  ASSERT_TRUE(sent_);
  EXPECT_EQ(sent_->result_int(), 429U);
  EXPECT_TRUE(sent_->body().empty());
  EXPECT_NE((*sent_)["Content-Length"], "0");
}

// E1: only a trusted peer names another client.
TEST_F(InterceptorTest, ClientsAreToldApartByWhatATrustedPeerSays) {
  const auto from = [](std::string_view client) {
    Request request(http::verb::get, "/a", 11);
    request.set("X-Forwarded-For", client);
    return request;
  };
  for (const std::string_view client : {"198.51.100.1", "198.51.100.2"}) {
    Ask(from(client), "10.0.0.1");
    EXPECT_EQ(sent_->result_int(), 201U);
    Ask(from(client));
  }
  EXPECT_EQ(sent_->result_int(), 429U);  // both times the peer itself
}

TEST_F(InterceptorTest, AFailingLimiterLetsNothingPass) {
  testing::FailingLimiter failing(
      Indeterminate{.category = Indeterminate::Category::kResponseLost});
  SetLimiter(failing);
  Ask({http::verb::get, "/a", 11});
  ASSERT_TRUE(sent_);
  EXPECT_EQ(handled_, 0);
  EXPECT_EQ(sent_->result_int(), 503U);
}

TEST_F(InterceptorTest, AnEngineThatWaitsIsAnsweredLater) {
  testing::DelayingLimiter delaying(*memory_);
  SetLimiter(delaying);
  Ask({http::verb::get, "/a", 11});
  EXPECT_FALSE(sent_);
  delaying.Release();
  ASSERT_TRUE(sent_);
  EXPECT_EQ(sent_->body(), "/a");
}

}  // namespace
}  // namespace sluice
