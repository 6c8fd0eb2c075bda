#include "src/http/listen.h"

#include <filesystem>
#include <fstream>

#include <boost/asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::http {
namespace {

namespace fs = std::filesystem;

TEST(ListenAddress, IsTakenApart) {
  const auto v4 = ParseListenAddress("127.0.0.1:8080");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 8080);
  const auto v6 = ParseListenAddress("[::1]:0");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
  const auto unix_socket = ParseListenAddress("unix:/run/sluice.sock");
  ASSERT_TRUE(unix_socket);
  EXPECT_EQ(unix_socket->path, "/run/sluice.sock");
  EXPECT_TRUE(unix_socket->host.empty());
}

TEST(ListenAddress, RefusesWhatIsNone) {
  const std::string cases[] = {
      "",                                // nothing
      "127.0.0.1",                       // no port
      "127.0.0.1:",                      // an empty port
      "127.0.0.1:65536",                 // beyond a port
      "127.0.0.1:80x",                   // not only a number
      "127.0.0.1:-1",                    // a sign
      "::1:80",                          // brackets are missing
      ":80",                             // no host
      "unix:run/sluice.sock",            // a relative path
      "unix:/" + std::string(200, 'x'),  // longer than an address can be
  };
  for (const std::string& text : cases) EXPECT_FALSE(ParseListenAddress(text)) << text;
}

class UnixSocketTest : public ::testing::Test {
 protected:
  UnixSocketTest() {
    std::string name = (fs::temp_directory_path() / "sluice-listen-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
  }
  ~UnixSocketTest() override { fs::remove_all(directory_); }

  std::expected<Listener, std::string> ListenHere() {
    return Listen(context_, {.host = {}, .port = 0, .path = path()});
  }
  [[nodiscard]] std::string path() const { return directory_ / "socket"; }

  boost::asio::io_context context_;
  fs::path directory_;
};

TEST_F(UnixSocketTest, FileGoesWithTheListener) {
  {
    const auto listener = ListenHere();
    ASSERT_TRUE(listener) << listener.error();
    EXPECT_TRUE(fs::is_socket(path()));
  }
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(UnixSocketTest, IsNotTakenFromALivingServer) {
  const auto first = ListenHere();
  ASSERT_TRUE(first);
  EXPECT_FALSE(ListenHere());
  EXPECT_TRUE(fs::is_socket(path()));
}

// The old wrong behaviour: after a crash the file stays, and the service does not start again.
TEST_F(UnixSocketTest, StaleFileIsReplaced) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const boost::asio::local::stream_protocol::endpoint endpoint(path());
  ASSERT_EQ(::bind(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size())), 0);
  ::close(fd);
  ASSERT_TRUE(fs::is_socket(path()));
  EXPECT_TRUE(ListenHere());
}

TEST_F(UnixSocketTest, AFileThatIsNoSocketStays) {
  std::ofstream(path()) << "precious";
  EXPECT_FALSE(ListenHere());
  EXPECT_TRUE(fs::is_regular_file(path()));
}

TEST_F(UnixSocketTest, ASuccessorsFileStays) {
  auto first = ListenHere();
  ASSERT_TRUE(first);
  fs::remove(path());
  const auto second = ListenHere();
  ASSERT_TRUE(second);
  first = std::unexpected("gone");
  EXPECT_TRUE(fs::is_socket(path()));
}

}  // namespace
}  // namespace sluice::http
