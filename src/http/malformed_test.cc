// Bytes that are no HTTP against a real server whose handler lets everything pass: whatever gets a
// 200 here was taken for a request.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "src/http/malformed_requests.h"
#include "src/http/server.h"
#include "src/http/test_client.h"

namespace sluice::http::testing {
namespace {

constexpr int kRequests = 10'000;

class MalformedHttp : public ::testing::Test {
 protected:
  MalformedHttp() {
    std::string name = (std::filesystem::temp_directory_path() / "sluice-http-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    path_ = directory_ / "socket";
    auto server = Server::Start(
        {.listen = "unix:" + path_, .workers = 2},
        {.handle =
             [](const Request&, Reply reply) {
               reply(
                   {.status = 200, .outcome = AnswerOutcome::kAllowed, .headers = {}, .body = {}});
             },
         .peer_from = [](std::string_view) { return Peer(); },
         .on_reject = {}});
    EXPECT_TRUE(server) << server.error();
    server_ = *std::move(server);
  }
  ~MalformedHttp() override { std::filesystem::remove_all(directory_); }

  /// Everything that the server says to `bytes` and the end behind them.
  std::string Say(const std::string& bytes) {
    Client client(path_);
    client.Send(bytes);
    client.EndSending();
    return client.ReceiveAll();
  }

  std::filesystem::path directory_;
  std::string path_;
  std::unique_ptr<Server> server_;
};

constexpr std::string_view kGood = "GET /check HTTP/1.1\r\nHost: a\r\n\r\n";

/// The first byte of a status code; ' ' if the connection closed without an answer.
char ClassOf(const std::string& answer) {
  return answer.size() > 9 ? answer[9] : ' ';
}

/// How a failure shows the bytes.
std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 1'000)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) {
      text += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
      text += escaped;
    }
  }
  return text;
}

std::string Unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'r':
        bytes += '\r';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 't':
        bytes += '\t';
        break;
      case 'x':
        bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default:
        bytes += text[i];
        break;
    }
  }
  return bytes;
}

TEST_F(MalformedHttp, HandWrittenRequestsGetTheirStatus) {
  std::ifstream corpus(SLUICE_CORPUS);
  int count = 0;
  for (std::string line; std::getline(corpus, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    ++count;
    const std::size_t space = line.find(' ');
    const std::string status = line.substr(0, space);
    const std::string answer = Say(Unescaped(line.substr(space + 1)));
    if (status == "-") {
      EXPECT_NE(ClassOf(answer), '2') << line;
    } else {
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + status + " ")) << line << "\n" << answer;
    }
    EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos) << line;
  }
  EXPECT_GT(count, 100);
  EXPECT_EQ(ClassOf(Say(std::string(kGood))), '2');
}

TEST_F(MalformedHttp, GeneratedRequestsAreNeverServed) {
  const char* const given = std::getenv("SLUICE_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20'260'101;
  std::printf("SLUICE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < kRequests; ++i) {
    const std::string request = i % 8 == 0 ? CutOffRequest(random) : BrokenRequest(random);
    const std::string answer = Say(request);
    const char answer_class = ClassOf(answer);
    ASSERT_TRUE(answer_class == '4' || answer_class == '5' || answer.empty())
        << "request " << i << ": " << Printable(request) << "\n"
        << answer;
    if (i % 100 == 0) {
      ASSERT_EQ(ClassOf(Say(std::string(kGood))), '2') << "after request " << i;
    }
  }
  EXPECT_EQ(ClassOf(Say(std::string(kGood))), '2');
}

// Without this, a generator that breaks nothing but its own syntax would prove nothing.
TEST_F(MalformedHttp, WhatIsNotBrokenIsServed) {
  std::mt19937_64 random(20'260'101);
  for (int i = 0; i < 500; ++i) {
    const std::string request = ValidRequest(random);
    ASSERT_EQ(ClassOf(Say(request)), '2') << Printable(request);
  }
}

TEST_F(MalformedHttp, NothingBehindABrokenRequestIsServed) {
  std::mt19937_64 random(20'260'102);
  for (int i = 0; i < 500; ++i) {
    const std::string request = BrokenRequest(random);
    const std::string answer = Say(std::string(kGood) + request + std::string(kGood));
    ASSERT_EQ(ClassOf(answer), '2');
    ASSERT_EQ(answer.find("HTTP/1.1 2", 1), std::string::npos) << Printable(request);
  }
}

}  // namespace
}  // namespace sluice::http::testing
