#include "src/http/server.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/http/test_client.h"

namespace sluice::http {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::Response;

std::string Get(std::string_view target, std::string_view fields = {}) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

/// A server whose service echoes the target; "/late…" waits until somebody asks for "/release".
class ServerTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options) {
    if (options.listen.empty()) options.listen = "127.0.0.1:0";
    if (options.workers == 0) options.workers = 1;
    auto server = Server::Start(options, service_);
    ASSERT_TRUE(server) << server.error();
    server_ = *std::move(server);
  }
  Client Connect() const { return Client(server_->port()); }

  void Handle(const Request& request, Reply reply) {
    if (request.target == "/release") {
      for (auto& [late, target] : std::exchange(late_, {})) late(Echo(target));
    } else if (request.target.starts_with("/late")) {
      late_.emplace_back(std::move(reply), request.target);
      ++late_count_;
      late_count_.notify_all();
      return;
    }
    reply(Echo(request.target));
  }
  static Answer Echo(std::string_view body) {
    return {.status = 200,
            .outcome = AnswerOutcome::kAllowed,
            .headers = {},
            .body = std::string(body)};
  }
  void AwaitLate(int count) {
    for (int now = late_count_; now < count; now = late_count_) late_count_.wait(now);
  }

  std::deque<std::pair<Reply, std::string>> late_;  // on the only worker's thread
  std::atomic<int> late_count_ = 0;
  std::atomic<int> refusals_ = 0;
  std::mutex mutex_;
  std::vector<std::string> addresses_;
  const Service service_{
      .handle = [this](const Request& request, Reply reply) { Handle(request, std::move(reply)); },
      .peer_from =
          [this](std::string_view address) {
            const std::lock_guard lock(mutex_);
            addresses_.emplace_back(address);
            return Peer();
          },
      .on_reject =
          [this](Rejection rejection) { refusals_ += rejection == Rejection::kConnectionLimit; }};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, KeepsAConnectionForManyRequests) {
  Start({});
  Client client = Connect();
  for (int i = 0; i < 50; ++i) {
    const auto response = client.Ask(Get("/" + std::to_string(i)));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "/" + std::to_string(i));
    EXPECT_FALSE(response->Field("Date").empty());
  }
  EXPECT_EQ(server_->connections(), 1);
  EXPECT_EQ(addresses_, std::vector<std::string>{"127.0.0.1"});
}

TEST_F(ServerTest, AnswersAHundredPipelinedRequestsInOrder) {
  Start({});
  Client client = Connect();
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += Get("/" + std::to_string(i));
  client.Send(requests);
  for (int i = 0; i < 100; ++i) {
    const auto response = client.Receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "/" + std::to_string(i));
  }
}

TEST_F(ServerTest, TakesARequestByteByByte) {
  Start({});
  Client client = Connect();
  for (const char byte : Get("/slow")) client.Send({&byte, 1});
  EXPECT_EQ(client.Receive().value_or(Response()).body, "/slow");
}

// More pipelined requests and answers than socket buffers hold, all under way at once.
TEST_F(ServerTest, NothingIsLostWhenBuffersFill) {
  Start({});
  Client client = Connect();
  const std::string target = "/" + std::string(8'000, 'x');
  constexpr int kRequests = 3'000;
  std::thread sender([&] {
    for (int i = 0; i < kRequests; ++i) client.Send(Get(target + std::to_string(i)));
    client.EndSending();
  });
  int answered = 0;
  while (const auto response = client.Receive()) {
    EXPECT_EQ(response->body, target + std::to_string(answered));
    ++answered;
  }
  EXPECT_EQ(answered, kRequests);
  sender.join();
}

TEST_F(ServerTest, LateAnswersReachTheirOwnRequests) {
  Start({});
  Client first = Connect();
  Client second = Connect();
  first.Send(Get("/late-a") + Get("/b") + Get("/late-c"));
  second.Send(Get("/late-d"));
  AwaitLate(2);
  Client releaser = Connect();
  ASSERT_TRUE(releaser.Ask(Get("/release")));
  EXPECT_EQ(first.Receive().value_or(Response()).body, "/late-a");
  EXPECT_EQ(first.Receive().value_or(Response()).body, "/b");
  EXPECT_EQ(second.Receive().value_or(Response()).body, "/late-d");
  AwaitLate(3);
  ASSERT_TRUE(releaser.Ask(Get("/release")));
  EXPECT_EQ(first.Receive().value_or(Response()).body, "/late-c");
}

TEST_F(ServerTest, AnAnswerForAClientThatLeftIsDropped) {
  Start({});
  {
    const Client client = Connect();
    client.Send(Get("/late"));
    AwaitLate(1);
  }
  Client other = Connect();
  EXPECT_TRUE(other.Ask(Get("/release")));
  EXPECT_EQ(other.Ask(Get("/next")).value_or(Response()).body, "/next");
}

TEST_F(ServerTest, HeadHasNoBody) {
  Start({});
  Client client = Connect();
  client.Send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n" + Get("/y"));
  const auto head = client.Receive(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->Field("Content-Length"), "2");
  EXPECT_EQ(client.Receive().value_or(Response()).body, "/y");
}

// The old wrong behaviour: the connection is reset while the client still sends its body, and the
// client sees a broken pipe instead of 413.
TEST_F(ServerTest, TooLargeABodyIsAnsweredBeforeTheConnectionCloses) {
  Start({});
  Client client = Connect();
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  client.Send(std::string(1'000'000, 'x'));
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 413);
  EXPECT_EQ(client.ReceiveAll(), "");
}

TEST_F(ServerTest, TooLargeAHeaderIs431) {
  Start({});
  Client client = Connect();
  const auto response = client.Ask(Get("/", "X: " + std::string(20'000, 'x') + "\r\n"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 431);
  EXPECT_EQ(response->Field("Connection"), "close");
  EXPECT_EQ(response->Field("Content-Type"), "application/problem+json");
}

TEST_F(ServerTest, ASlowRequestIsAnswered408AndClosed) {
  Start({.header_timeout = 5ms, .tick = 1ms});
  Client client = Connect();
  client.Send("GET / HTTP/1.1\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 408);
  EXPECT_EQ(client.ReceiveAll(), "");
}

TEST_F(ServerTest, AnIdleConnectionIsClosed) {
  Start({.idle_timeout = 5ms, .tick = 1ms});
  Client client = Connect();
  EXPECT_EQ(client.ReceiveAll(), "");
}

TEST_F(ServerTest, AClientThatDoesNotReadIsDropped) {
  Start({.write_timeout = 5ms, .tick = 1ms});
  Client client = Connect();
  const std::string request = Get("/" + std::string(16'000, 'x'));
  while (client.Send(request)) {  // until the server has had enough
  }
  EXPECT_TRUE(Connect().Ask(Get("/next")));
}

TEST_F(ServerTest, OneConnectionTooManyIsAnswered503) {
  Start({.maximum_connections = 2});
  Client first = Connect();
  ASSERT_TRUE(first.Ask(Get("/1")));
  {
    Client second = Connect();
    ASSERT_TRUE(second.Ask(Get("/2")));
    Client third = Connect();
    const auto response = third.Ask(Get("/3"));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 503);
    EXPECT_EQ(response->Field("Retry-After"), "1");
    EXPECT_EQ(third.ReceiveAll(), "");
    EXPECT_EQ(refusals_, 1);
    EXPECT_TRUE(first.Ask(Get("/4")));  // those that are open go on
    second.EndSending();
    EXPECT_EQ(second.ReceiveAll(), "");
  }
  EXPECT_TRUE(Connect().Ask(Get("/5")));  // a place is free again
}

TEST_F(ServerTest, StopFinishesWhatIsUnderWay) {
  Start({});
  Client busy = Connect();
  busy.Send(Get("/late"));
  AwaitLate(1);
  Client releaser = Connect();
  ASSERT_TRUE(releaser.Ask(Get("/1")));
  releaser.Send("GET /release HTTP/1.1\r\n");  // has begun, so it is answered too
  Client idle = Connect();
  ASSERT_TRUE(idle.Ask(Get("/2")));  // what was sent before is received by now
  server_->Stop(60s);
  EXPECT_EQ(idle.ReceiveAll(), "");
  EXPECT_THROW(Connect(), std::runtime_error);
  releaser.Send("Host: a\r\n\r\n");
  const auto late = busy.Receive();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->body, "/late");
  EXPECT_EQ(late->Field("Connection"), "close");
  busy.EndSending();
  releaser.EndSending();
  server_->Join();
  EXPECT_EQ(server_->connections(), 0);
}

TEST_F(ServerTest, ASecondStopEndsAtOnce) {
  Start({});
  Client busy = Connect();
  busy.Send(Get("/late"));
  AwaitLate(1);
  server_->Stop(1h);
  server_->Stop(0ms);
  server_->Join();
}

TEST_F(ServerTest, AnswersAfterTheServersEndAreDropped) {
  Start({});
  const Client busy = Connect();
  busy.Send(Get("/late"));
  AwaitLate(1);
  server_.reset();
  for (auto& [late, target] : std::exchange(late_, {})) late(Echo(target));
}

TEST_F(ServerTest, AnAddressInUseIsNamed) {
  Start({});
  const std::string address = "127.0.0.1:" + std::to_string(server_->port());
  const auto second = Server::Start({.listen = address, .workers = 1}, service_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find(address), std::string::npos);
  EXPECT_NE(second.error().find("in use"), std::string::npos);
}

TEST_F(ServerTest, ServesAUnixSocketAndRemovesItsFile) {
  std::string name = (std::filesystem::temp_directory_path() / "sluice-http-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(name.data());
  const std::string path = directory / "socket";
  Start({.listen = "unix:" + path});
  EXPECT_EQ(Client(path).Ask(Get("/x")).value_or(Response()).body, "/x");
  EXPECT_EQ(addresses_, std::vector<std::string>{"unix:"});
  server_->Stop(60s);
  server_->Join();
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::remove_all(directory);
}

TEST_F(ServerTest, ListensOnIpv6) {
  auto server = Server::Start({.listen = "[::1]:0", .workers = 1}, service_);
  ASSERT_TRUE(server) << server.error();
  EXPECT_NE((*server)->port(), 0);
}

TEST_F(ServerTest, ManyWorkersShareAUnixSocket) {
  const std::string path = ::testing::TempDir() + "shared-" + std::to_string(::getpid());
  auto server = Server::Start({.listen = "unix:" + path, .workers = 3}, service_);
  ASSERT_TRUE(server) << server.error();
  auto second = Server::Start({.listen = "unix:" + path, .workers = 1}, service_);
  EXPECT_FALSE(second);
}

TEST_F(ServerTest, ManyWorkersShareTheConnections) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  auto counting = Server::Start({.listen = "127.0.0.1:0", .workers = 3},
                                {.handle =
                                     [&](const Request& request, Reply reply) {
                                       const std::lock_guard lock(mutex);
                                       threads.insert(std::this_thread::get_id());
                                       reply(Echo(request.target));
                                     },
                                 .peer_from = [](std::string_view) { return Peer(); },
                                 .on_reject = {}});
  ASSERT_TRUE(counting);
  // The kernel deals by a hash of the addresses: with so many connections each worker gets some.
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(Client((*counting)->port()).Ask(Get("/")));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(threads.size(), 3U);
}

// What a worker owns: answers in its destructor what the server's end found unanswered.
struct Part {
  std::deque<std::pair<Reply, std::string>> late;
  std::thread::id made_on = std::this_thread::get_id();
  std::vector<std::thread::id>& gone_on;
  explicit Part(std::vector<std::thread::id>& gone) : gone_on(gone) {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    for (auto& [reply, body] : late) reply({.status = 503, .headers = {}, .body = body});
    gone_on.push_back(std::this_thread::get_id());
  }
};

TEST_F(ServerTest, AWorkersPartLivesOnItsThread) {
  Part* part = nullptr;
  std::vector<std::thread::id> gone_on;
  std::thread::id made_on;
  std::thread::id served_on;
  auto server = Server::Start({.listen = "127.0.0.1:0",
                               .workers = 1,
                               .make_worker_part =
                                   [&](auto&) {
                                     auto made = std::make_shared<Part>(gone_on);
                                     part = made.get();
                                     made_on = made->made_on;
                                     return made;
                                   }},
                              {.handle =
                                   [&](const Request& request, Reply reply) {
                                     served_on = std::this_thread::get_id();
                                     part->late.emplace_back(std::move(reply), request.target);
                                     ++late_count_;
                                     late_count_.notify_all();
                                   },
                               .peer_from = [](std::string_view) { return Peer(); },
                               .on_reject = {}});
  ASSERT_TRUE(server);
  ASSERT_NE(part, nullptr);  // it is there when Start returns
  Client busy((*server)->port());
  busy.Send(Get("/left-over"));
  AwaitLate(1);
  (*server)->Stop(0ms);
  (*server)->Join();
  EXPECT_EQ(made_on, served_on);
  EXPECT_NE(made_on, std::this_thread::get_id());
  EXPECT_EQ(gone_on, std::vector{made_on});
  const auto response = busy.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "/left-over");
}

}  // namespace
}  // namespace sluice::http
