// TLS before a real server: a relay in front of it speaks TLS with certificates made for the test.
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "tests/redis/counting.h"
#include "tests/redis/deployments.h"
#include "tests/redis/redis_server.h"

namespace sluice::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

// A self-signed certificate for `name` with its key, as PEM files; its own authority.
void MakeCertificate(const std::string& file, const std::string& key_file, const char* name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  const std::string alternative = std::string("DNS:") + name;
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_sign(certificate, key, EVP_sha256());
  FILE* out = std::fopen(file.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_EXTENSION_free(extension);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

// Accepts TLS on a port of its own and passes the bytes on to a unix socket, both ways.
class TlsRelay {
 public:
  TlsRelay(const std::string& server, const std::string& certificate, const std::string& key,
           const std::string& client_authority)
      : server_(server), context_(asio::ssl::context::tls_server) {
    context_.use_certificate_chain_file(certificate);
    context_.use_private_key_file(key, asio::ssl::context::pem);
    if (!client_authority.empty()) {
      context_.load_verify_file(client_authority);
      context_.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
    Accept();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~TlsRelay() {
    loop_.stop();
    thread_.join();
  }
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;

  [[nodiscard]] std::string port() const {
    return std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  struct Pair {
    Pair(tcp::socket socket, asio::ssl::context& context, asio::io_context& loop)
        : client(std::move(socket), context), server(loop) {}
    asio::ssl::stream<tcp::socket> client;
    Local::socket server;
    std::array<char, 4096> up{};
    std::array<char, 4096> down{};
  };

  void Accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (error) return;
      auto pair = std::make_shared<Pair>(std::move(socket), context_, loop_);
      pair->client.async_handshake(asio::ssl::stream_base::server,
                                   [this, pair](const error_code& refused) {
                                     if (refused) return;
                                     pair->server.connect(Local::endpoint(server_));
                                     Pass(pair, pair->client, pair->server, pair->up);
                                     Pass(pair, pair->server, pair->client, pair->down);
                                   });
      Accept();
    });
  }

  static void Pass(std::shared_ptr<Pair> pair, auto& from, auto& to, auto& buffer) {
    from.async_read_some(asio::buffer(buffer), [pair, &from, &to, &buffer](const error_code& error,
                                                                           std::size_t size) {
      if (error) return;
      asio::async_write(to, asio::buffer(buffer, size),
                        [pair, &from, &to, &buffer](const error_code& failed, std::size_t) {
                          if (!failed) Pass(pair, from, to, buffer);
                        });
    });
  }

  const std::string server_;
  asio::io_context loop_{1};
  asio::ssl::context context_;
  tcp::acceptor acceptor_{loop_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::thread thread_;
};

class Tls : public ::testing::Test {
 protected:
  Tls() {
    std::string pattern = std::filesystem::temp_directory_path() / "sluice-tls-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    MakeCertificate(File("server.pem"), File("server.key"), "redis.example.com");
    MakeCertificate(File("client.pem"), File("client.key"), "sluice.example.com");
  }
  ~Tls() override { std::filesystem::remove_all(directory); }

  std::string File(const std::string& name) const { return directory + "/" + name; }
  RedisOptions Options(const TlsRelay& relay, RedisTls tls) const {
    RedisOptions options = TestOptions("127.0.0.1:" + relay.port());
    options.command_timeout = Milliseconds{5'000};
    options.tls = std::move(tls);
    return options;
  }
  static std::string ReasonOfFailure(const RedisLimiter& limiter) {
    EXPECT_TRUE(Eventually([&] { return !limiter.Health().category.empty(); }));
    EXPECT_FALSE(limiter.Health().ready);
    return limiter.Health().reason;
  }

  std::string directory;
  RedisServer server;
  std::string socket = server.address().substr(5);
  Plan plan = CountingPlan(10);
};

TEST_F(Tls, ChecksTheServersNameAndShowsTheClientsCertificate) {
  const TlsRelay relay(socket, File("server.pem"), File("server.key"), File("client.pem"));
  const auto limiter = MakeLimiter(Options(relay, {.ca_file = File("server.pem"),
                                                   .certificate_file = File("client.pem"),
                                                   .key_file = File("client.key"),
                                                   .server_name = "redis.example.com"}));
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "allowed");
  EXPECT_EQ(Charged(server, 1), 1);
}

TEST_F(Tls, RefusesAServerOfAnotherName) {
  const TlsRelay relay(socket, File("server.pem"), File("server.key"), "");
  const auto limiter = MakeLimiter(
      Options(relay, {.ca_file = File("server.pem"), .server_name = "other.example.com"}));
  EXPECT_TRUE(ReasonOfFailure(*limiter).starts_with("the TLS handshake"));
  EXPECT_EQ(Word(AskNow(*limiter, plan)), "unavailable-before-send");
}

TEST_F(Tls, RefusesAServerOfAnotherAuthority) {
  const TlsRelay relay(socket, File("server.pem"), File("server.key"), "");
  const auto limiter = MakeLimiter(
      Options(relay, {.ca_file = File("client.pem"), .server_name = "redis.example.com"}));
  EXPECT_TRUE(ReasonOfFailure(*limiter).starts_with("the TLS handshake"));
}

// Of a cluster's node the map has two ports, and only one of them is of use.
TEST_F(Tls, IsSpokenToTheNodesOfACluster) {
  const std::string tls_port = FreePort();
  const PortServer node = StartOnPort(
      {"--cluster-enabled", "yes", "--cluster-port", FreePort(), "--tls-cluster", "yes",
       "--tls-port", tls_port, "--tls-cert-file", File("server.pem"), "--tls-key-file",
       File("server.key"), "--tls-ca-cert-file", File("server.pem"), "--tls-auth-clients", "no"});
  node.Command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  RedisOptions options = TestOptions("127.0.0.1:1");
  options.command_timeout = Milliseconds{5'000};
  options.topology = RedisTopology::kCluster;
  options.addresses = {"127.0.0.1:" + tls_port};
  options.tls = RedisTls{.ca_file = File("server.pem"), .server_name = "redis.example.com"};
  const auto limiter = MakeLimiter(options);
  EXPECT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));
  EXPECT_EQ(limiter->Health().nodes.at(0).address, "127.0.0.1:" + tls_port);
}

// Sentinels have TLS of their own, or none, whatever the servers have.
TEST_F(Tls, IsSpokenToSentinelsByTheirOwnSettings) {
  const PortServer primary = StartOnPort({});
  const PortServer sentinel =
      StartOnPort({"--sentinel"}, "sentinel monitor edge 127.0.0.1 " + primary.port + " 1\n");
  const TlsRelay relay(sentinel.server->address().substr(5), File("server.pem"), File("server.key"),
                       "");
  RedisOptions options = TestOptions("127.0.0.1:1");
  options.command_timeout = Milliseconds{5'000};
  options.topology = RedisTopology::kSentinel;
  options.sentinel = {
      .master = "edge",
      .addresses = {"127.0.0.1:" + relay.port()},
      .tls = RedisTls{.ca_file = File("server.pem"), .server_name = "redis.example.com"}};
  const auto limiter = MakeLimiter(options);
  EXPECT_TRUE(Eventually([&] { return Word(AskNow(*limiter, plan)) == "allowed"; }));

  options.sentinel.tls->ca_file = File("client.pem");
  const auto mistrusting = MakeLimiter(options);
  EXPECT_EQ(Word(AskNow(*mistrusting, plan)), "unavailable-before-send");
  EXPECT_TRUE(mistrusting->Health().reason.contains("the TLS handshake"))
      << mistrusting->Health().reason;
}

TEST_F(Tls, IsNotSpokenToAPlainServer) {
  RedisOptions options = TestOptions("127.0.0.1:1");
  const TlsRelay relay(socket, File("server.pem"), File("server.key"), "");
  options.address = "127.0.0.1:" + relay.port();
  const auto plain = MakeLimiter(options);  // and the reverse: no TLS to a server that wants it
  EXPECT_NE(ReasonOfFailure(*plain), "");
}

}  // namespace
}  // namespace sluice::redis
