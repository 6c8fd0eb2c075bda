#include "src/http/conversation.h"

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours{1}};

Answer Echo(const Request& request) {
  return {.status = 200,
          .outcome = AnswerOutcome::kAllowed,
          .headers = {},
          .body = std::string(request.target) + " " + std::string(request.body)};
}

std::string Get(std::string_view target, std::string_view fields = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

std::string Ok(std::string_view body, std::string_view fields = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(fields) + "\r\n" + std::string(body);
}

/// A conversation whose handler echoes, at once or, for targets that start with "/late", when told.
class ConversationTest : public ::testing::Test {
 protected:
  void Receive(std::string_view bytes) { conversation_->Receive(bytes, now_); }
  std::string Take() {
    std::string output(conversation_->output());
    conversation_->Sent(output.size());
    return output;
  }
  void AnswerLate() {
    auto [reply, answer] = std::move(late_.front());
    late_.pop_front();
    reply(answer);
  }
  void TickAfter(Milliseconds time) {
    now_ += time;
    conversation_->Tick(now_);
  }

  SteadyTime now_ = kStart;
  std::deque<std::pair<Reply, Answer>> late_;
  std::vector<Rejection> rejections_;
  int answers_told_ = 0;
  const std::string date_;
  const ConversationLimits limits_;
  const Service service_{
      .handle =
          [this](const Request& request, Reply reply) {
            if (!request.target.starts_with("/late")) return reply(Echo(request));
            late_.emplace_back(std::move(reply), Echo(request));
          },
      .peer_from = {},
      .on_reject = [this](Rejection rejection) { rejections_.push_back(rejection); }};
  std::shared_ptr<Conversation> conversation_ =
      std::make_shared<Conversation>(limits_, service_, date_, Peer(), kStart);
};

TEST_F(ConversationTest, AnswersOneRequestAfterAnother) {
  Receive(Get("/1"));
  EXPECT_EQ(Take(), Ok("/1 "));
  Receive(Get("/2"));
  EXPECT_EQ(Take(), Ok("/2 "));
  EXPECT_FALSE(conversation_->is_over());
}

TEST_F(ConversationTest, PipelinedRequestsAreAnsweredTogetherAndInOrder) {
  std::string requests, answers;
  for (int i = 0; i < 100; ++i) {
    requests += Get("/" + std::to_string(i));
    answers += Ok("/" + std::to_string(i) + " ");
  }
  Receive(requests);
  EXPECT_EQ(Take(), answers);
}

TEST_F(ConversationTest, SplitAnywhereTheAnswersAreTheSame) {
  const std::string requests = Get("/1") +
                               "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" +
                               Get("/3", "Connection: close\r\n");
  for (std::size_t at = 0; at <= requests.size(); ++at) {
    conversation_ = std::make_shared<Conversation>(limits_, service_, date_, Peer(), kStart);
    Receive(std::string_view(requests).substr(0, at));
    Receive(std::string_view(requests).substr(at));
    EXPECT_EQ(Take(), Ok("/1 ") + Ok("/2 abc") + Ok("/3 ", "Connection: close\r\n")) << at;
    EXPECT_TRUE(conversation_->is_over());
  }
}

// The old wrong behaviour: an answer that came later was written behind the answer of the next
// request, and each client of the proxy in front got the other's decision.
TEST_F(ConversationTest, LateAnswersKeepTheirPlace) {
  Receive(Get("/late1") + Get("/2") + Get("/late3"));
  Receive(Get("/4"));
  EXPECT_EQ(Take(), "");
  EXPECT_TRUE(conversation_->is_waiting());
  conversation_->on_answer = [this] { ++answers_told_; };
  AnswerLate();
  EXPECT_EQ(answers_told_, 1);
  EXPECT_EQ(Take(), Ok("/late1 ") + Ok("/2 "));
  EXPECT_TRUE(conversation_->is_waiting());
  conversation_->on_answer = [this] { ++answers_told_; };
  AnswerLate();
  EXPECT_EQ(answers_told_, 2);
  EXPECT_EQ(Take(), Ok("/late3 ") + Ok("/4 "));
  EXPECT_FALSE(conversation_->is_waiting());
}

TEST_F(ConversationTest, WaitingForAnAnswerIsNoTimeout) {
  Receive(Get("/late"));
  TickAfter(seconds{1'000});
  EXPECT_FALSE(conversation_->is_over());
  AnswerLate();
  EXPECT_EQ(Take(), Ok("/late "));
  TickAfter(seconds{74});  // the idle time counts from the answer
  EXPECT_FALSE(conversation_->is_over());
}

TEST_F(ConversationTest, AnAnswerAfterTheEndIsDropped) {
  Receive(Get("/late"));
  conversation_->on_answer = [this] { ++answers_told_; };
  conversation_->Abandon();
  AnswerLate();
  EXPECT_EQ(answers_told_, 0);
  EXPECT_EQ(Take(), "");
}

TEST_F(ConversationTest, AReplyThatIsDroppedAnswers500) {
  Receive(Get("/late"));
  late_.clear();
  EXPECT_TRUE(Take().starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST_F(ConversationTest, HeadHasLengthButNoBody) {
  Receive("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(Take(), "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
}

TEST_F(ConversationTest, Http10ClosesUnlessAskedToStay) {
  Receive("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(Take(), Ok("/1 ", "Connection: keep-alive\r\n"));
  Receive("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(Take(), Ok("/2 ", "Connection: close\r\n"));
  EXPECT_TRUE(conversation_->is_over());
}

TEST_F(ConversationTest, ContinueIsSentOnceAndOnlyIfTheBodyIsAwaited) {
  const std::string head =
      "POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  Receive(head);
  EXPECT_EQ(Take(), "HTTP/1.1 100 Continue\r\n\r\n");
  Receive("a");
  EXPECT_EQ(Take(), "");
  Receive("b");
  EXPECT_EQ(Take(), Ok("/x ab"));
  Receive(head + "ab");  // the client did not wait
  EXPECT_EQ(Take(), Ok("/x ab"));
}

TEST_F(ConversationTest, AWebSocketHandshakeIsARequestLikeAnyOther) {
  Receive(Get("/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"));
  EXPECT_EQ(Take(), Ok("/ws "));
  EXPECT_FALSE(conversation_->is_over());
}

TEST_F(ConversationTest, AMalformedRequestIsAnsweredAfterThoseBeforeItAndEndsAll) {
  Receive(Get("/1") + "GET nonsense HTTP/1.1\r\n\r\n" + Get("/3"));
  const std::string output = Take();
  ASSERT_TRUE(output.starts_with(Ok("/1 ") + "HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_NE(output.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(output.find("Content-Type: application/problem+json\r\n"), std::string::npos);
  EXPECT_NE(output.find("X-Sluice-Outcome: incompatible\r\n"), std::string::npos);
  EXPECT_EQ(output.find("/3"), std::string::npos);
  EXPECT_TRUE(conversation_->is_over());
  EXPECT_EQ(rejections_, std::vector{Rejection::kMalformed});
}

TEST_F(ConversationTest, ASlowHeadIsAnswered408) {
  Receive("GET / HT");
  TickAfter(Milliseconds{9'999});
  EXPECT_FALSE(conversation_->is_over());
  Receive("TP/1.1\r\n");  // a byte now and then does not win more time
  TickAfter(Milliseconds{1});
  EXPECT_TRUE(Take().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_TRUE(conversation_->is_over());
  EXPECT_EQ(rejections_, std::vector{Rejection::kTimeout});
}

TEST_F(ConversationTest, ABodyHasItsOwnTime) {
  Receive("POST / HT");
  TickAfter(seconds{9});
  Receive("TP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
  TickAfter(seconds{9});
  Receive("a");
  EXPECT_FALSE(conversation_->is_over());
  TickAfter(seconds{1});
  EXPECT_TRUE(Take().starts_with("HTTP/1.1 408 "));
}

TEST_F(ConversationTest, AnIdleConnectionEndsSilently) {
  Receive(Get("/1"));
  Take();
  TickAfter(Milliseconds{74'999});
  Receive("\r\n");  // an empty line is no request
  EXPECT_FALSE(conversation_->is_over());
  conversation_ = std::make_shared<Conversation>(limits_, service_, date_, Peer(), now_);
  TickAfter(seconds{75});
  EXPECT_TRUE(conversation_->is_over());
  EXPECT_EQ(Take(), "");
  EXPECT_TRUE(rejections_.empty());
}

TEST_F(ConversationTest, TheEndOfInputLeavesAnswersToBeGiven) {
  Receive(Get("/late") + Get("/2"));
  conversation_->ReceiveEnd();
  EXPECT_FALSE(conversation_->is_over());
  AnswerLate();
  EXPECT_EQ(Take(), Ok("/late ") + Ok("/2 "));
  EXPECT_TRUE(conversation_->is_over());
}

TEST_F(ConversationTest, TheEndOfInputWithinARequestIs400) {
  Receive("GET / HT");
  conversation_->ReceiveEnd();
  EXPECT_TRUE(Take().starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(conversation_->is_over());
}

TEST_F(ConversationTest, DrainEndsAnIdleConnectionAtOnce) {
  Receive(Get("/1"));
  Take();
  conversation_->Drain();
  EXPECT_TRUE(conversation_->is_over());
}

TEST_F(ConversationTest, DrainLetsWhatIsUnderWayFinish) {
  Receive(Get("/late") + Get("/never"));
  conversation_->Drain();
  EXPECT_FALSE(conversation_->is_over());
  AnswerLate();
  EXPECT_EQ(Take(), Ok("/late ", "Connection: close\r\n"));
  EXPECT_TRUE(conversation_->is_over());
}

TEST_F(ConversationTest, DrainWaitsForARequestThatHasBegun) {
  Receive("GET /1 HTTP/1.1\r\n");
  conversation_->Drain();
  EXPECT_FALSE(conversation_->is_over());
  Receive("Host: a\r\n\r\n");
  EXPECT_EQ(Take(), Ok("/1 ", "Connection: close\r\n"));
}

TEST_F(ConversationTest, OneTooManyIsToldSo) {
  conversation_->Refuse();
  const std::string output = Take();
  EXPECT_TRUE(output.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_NE(output.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(output.find("X-Sluice-Outcome: unavailable\r\n"), std::string::npos);
  EXPECT_TRUE(conversation_->is_over());
  EXPECT_EQ(rejections_, std::vector{Rejection::kConnectionLimit});
}

}  // namespace
}  // namespace sluice::http
