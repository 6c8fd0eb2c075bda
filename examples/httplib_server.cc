// A limiter in front of a server that blocks: cpp-httplib, one thread a request.
//
//   httplib_server [--port N]      0, the default, takes a free port; the port is printed
//
// Each client address has five requests, and five new ones after a minute.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <httplib.h>

#include <sluice/edge.h>
#include <sluice/memory_limiter.h>

namespace {

sluice::Answer Judge(sluice::Edge& edge, const httplib::Request& request) {
  std::vector<sluice::HeaderField> headers;
  for (const auto& [name, value] : request.headers) headers.push_back({name, value});
  const sluice::Peer peer = edge.PeerFrom(request.remote_addr);
  const std::string host = request.get_header_value("Host");
  return edge.JudgeAndWait({.method = request.method,
                            .target = request.target,
                            .host = host,
                            .identity = edge.Identify(peer, headers)});
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_port = argc == 3 && std::string_view(argv[1]) == "--port";
  int port = has_port ? std::atoi(argv[2]) : 0;

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

  httplib::Server server;
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("Hello\n", "text/plain");
  });
  // Before any handler; its fields stay on the handler's response.
  server.set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
    sluice::Answer answer = Judge(**edge, request);
    for (const auto& [name, value] : answer.headers) {
      response.set_header(std::string(name), value);
    }
    if (answer.status == 200) return httplib::Server::HandlerResponse::Unhandled;
    response.status = answer.status;
    response.body = std::move(answer.body);
    return httplib::Server::HandlerResponse::Handled;
  });

  if (port == 0) {
    port = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port = -1;
  }
  if (port < 0) return EXIT_FAILURE;
  std::printf("listening on port %d\n", port);
  std::fflush(stdout);
  return server.listen_after_bind() ? EXIT_SUCCESS : EXIT_FAILURE;
}
