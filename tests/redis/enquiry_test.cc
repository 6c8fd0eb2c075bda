// Enquiries before a real server.
#include "src/redis/enquiry.h"

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "tests/redis/counting.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

class Enquiries : public ::testing::Test {
 protected:
  EnquiryOptions Options() const {
    return {.address = ParseAddress(server.address()).value(), .timeout = Milliseconds{20'000}};
  }
  /// Asks and runs the loop until it has nothing left to do.
  Enquiry::Answer Ask(const EnquiryOptions& options, const std::vector<Words>& commands) {
    std::optional<Enquiry::Answer> answer;
    int calls = 0;
    const Enquiry enquiry(loop, options, commands, [&](Enquiry::Answer given) {
      answer = std::move(given);
      ++calls;
    });
    EXPECT_EQ(calls, 0);  // never from inside the constructor
    loop.restart();
    loop.run();
    EXPECT_EQ(calls, 1);
    return *std::move(answer);
  }
  std::string WordOf(const EnquiryOptions& options) {
    const auto answer = Ask(options, {{"PING"}});
    return answer ? "answered" : Word(answer.error());
  }

  RedisServer server;
  boost::asio::io_context loop;
};

TEST_F(Enquiries, BringAReplyForEachCommandInOrder) {
  const auto answer =
      Ask(Options(), {{"SET", "a", "1"}, {"GET", "a"}, {"FROBNICATE"}, {"ECHO", "last"}});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->size(), 4U);
  EXPECT_EQ((*answer)[1].text, "1");
  EXPECT_EQ((*answer)[2].kind, Reply::Kind::kError);
  EXPECT_EQ((*answer)[3].text, "last");
}

TEST_F(Enquiries, ReadALargeReply) {
  const std::string large(1'000'000, 'x');
  const auto answer = Ask(Options(), {{"ECHO", large}, {"PING"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ((*answer)[0].text, large);
}

TEST_F(Enquiries, LogIn) {
  server.Command({"ACL", "SETUSER", "asker", "on", ">secret", "+ping", "+acl|whoami"});
  server.Command({"ACL", "SETUSER", "default", ">hidden", "resetpass", ">hidden"});
  EnquiryOptions options = Options();
  options.access.username = "asker";
  options.access.password = "secret";
  const auto answer = Ask(options, {{"ACL", "WHOAMI"}});
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->size(), 1U);
  EXPECT_EQ((*answer)[0].text, "asker");
  options.access.password = "wrong";
  EXPECT_EQ(WordOf(options), "permission-denied");
  options.access.password_file = "/nowhere/at/all";
  EXPECT_EQ(WordOf(options), "permission-denied");
}

TEST_F(Enquiries, FailWhereNobodyListens) {
  server.Kill();
  EXPECT_EQ(WordOf(Options()), "unavailable-before-send");
}

TEST_F(Enquiries, EndInTimeBeforeAServerThatHangs) {
  server.Signal(SIGSTOP);
  EnquiryOptions options = Options();
  options.timeout = Milliseconds{50};
  EXPECT_EQ(WordOf(options), "unavailable-before-send");
  server.Signal(SIGCONT);
}

TEST_F(Enquiries, ThatWereCalledOffSayNothing) {
  bool told = false;
  auto enquiry = std::make_unique<Enquiry>(loop, Options(), std::vector<Words>{{"PING"}},
                                           [&](const Enquiry::Answer&) { told = true; });
  loop.poll();
  enquiry.reset();
  loop.restart();
  loop.run();  // ends, so nothing is left under way
  EXPECT_FALSE(told);
}

TEST_F(Enquiries, MayBeDestroyedByTheirOwnHandler) {
  std::unique_ptr<Enquiry> enquiry;
  bool told = false;
  enquiry = std::make_unique<Enquiry>(loop, Options(), std::vector<Words>{{"PING"}},
                                      [&](const Enquiry::Answer& answer) {
                                        told = answer.has_value();
                                        enquiry.reset();
                                      });
  loop.run();
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace sluice::redis
