// A whole service on Boost.Beast with a limiter around its handler: no daemon, counters in memory.
//
//   beast_server [--port N]      0, the default, takes a free port; the port is printed
//
// Each client address has five requests, and five new ones after a minute.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <sluice/interceptor.h>
#include <sluice/memory_limiter.h>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

/// The service's own handler. It knows nothing of limits.
Response Greet(const Request& request) {
  Response response(http::status::ok, request.version());
  response.keep_alive(request.keep_alive());
  response.set(http::field::content_type, "text/plain");
  response.body() = "Hello\n";
  response.prepare_payload();
  return response;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, sluice::Edge& edge)
      : peer_(edge.PeerFrom(socket.remote_endpoint().address().to_string())),
        stream_(std::move(socket)),
        edge_(edge) {}

  void Read() {
    request_ = {};
    stream_.expires_after(std::chrono::seconds(30));
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](const error_code& ec, std::size_t) {
                       if (!ec) self->Judge();
                     });
  }

 private:
  void Judge() {
    sluice::Intercept(
        edge_, peer_, std::move(request_), Greet,
        [self = shared_from_this()](Response response) { self->Write(std::move(response)); });
  }

  void Write(Response response) {
    response_ = std::move(response);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const error_code& ec, std::size_t) {
                        if (!ec && self->response_.keep_alive()) self->Read();
                      });
  }

  const sluice::Peer peer_;
  beast::tcp_stream stream_;
  sluice::Edge& edge_;
  beast::flat_buffer buffer_;
  Request request_;
  Response response_;
};

void Accept(tcp::acceptor& acceptor, sluice::Edge& edge) {
  acceptor.async_accept([&](const error_code& ec, tcp::socket socket) {
    error_code gone;
    socket.remote_endpoint(gone);
    if (!ec && !gone) std::make_shared<Session>(std::move(socket), edge)->Read();
    Accept(acceptor, edge);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_port = argc == 3 && std::string_view(argv[1]) == "--port";
  const auto port = static_cast<unsigned short>(has_port ? std::atoi(argv[2]) : 0);

  const auto policy = sluice::Policy::Create(
      {.id = "requests", .algorithm = sluice::TokenBucket{5, 5, std::chrono::minutes(1)}});
  if (!policy) return EXIT_FAILURE;
  sluice::EdgeSettings settings;
  settings.policies = {*policy};
  settings.default_policy = "requests";

  const auto limiter = sluice::MakeMemoryLimiter({});
  const sluice::Pseudonymizer pseudonymizer(1, sluice::PseudonymKey::Random());
  const auto edge = sluice::Edge::Create(std::move(settings), *limiter, pseudonymizer);
  if (!edge) return EXIT_FAILURE;

  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  Accept(acceptor, **edge);
  context.run();
}
