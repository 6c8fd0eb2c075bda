#include "tests/redis/support/blocking_client.h"

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::redis {

BlockingClient::BlockingClient(const std::string& address) {
  const std::string path = address.substr(std::string_view("unix:").size());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path)
    throw std::runtime_error("the socket's path is too long");
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    throw std::runtime_error("cannot connect to " + address);
  }
}

BlockingClient::~BlockingClient() {
  close(fd_);
}

Reply BlockingClient::Exchange(std::string_view bytes) {
  Send(bytes);
  return Receive();
}

void BlockingClient::ExchangeAll(std::string_view bytes, std::size_t commands) {
  Send(bytes);
  for (; commands > 0; --commands) {
    const Reply reply = Receive();
    if (reply.kind == Reply::Kind::kError) throw std::runtime_error(reply.text);
  }
}

void BlockingClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) throw std::runtime_error("the server is gone");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Reply BlockingClient::Receive() {
  while (true) {
    auto reply = reader_.Next();
    if (!reply) throw std::runtime_error(reply.error());
    if (*reply) return **std::move(reply);
    std::array<char, 65536> buffer;
    const ssize_t received = recv(fd_, buffer.data(), buffer.size(), 0);
    if (received <= 0) throw std::runtime_error("the server is gone");
    reader_.Feed({buffer.data(), static_cast<std::size_t>(received)});
  }
}

Reply BlockingClient::Command(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return Exchange(EncodeCommand(views));
}

void BlockingClient::LoadScripts() {
  for (const Script& script : Scripts()) {
    const Reply reply = Command({"SCRIPT", "LOAD", std::string(script.source)});
    if (reply.text != script.sha) throw std::runtime_error("SCRIPT LOAD: " + reply.text);
  }
}

std::vector<Outcome> BlockingClient::Evaluate(const ScriptOptions& options,
                                              std::span<const Gathering::Item> items) {
  const Reply reply = Exchange(EncodeCall(options, items).bytes);
  if (reply.kind == Reply::Kind::kError) throw std::runtime_error(reply.text);
  auto outcomes = DecodeReply(items, reply);
  if (!outcomes) throw std::runtime_error("not a script's reply: " + reply.text);
  return *std::move(outcomes);
}

Outcome BlockingClient::EvaluateOne(const ScriptOptions& options, const Evaluation& evaluation,
                                    bool is_repeat) {
  const Gathering::Item item{.evaluation = &evaluation, .is_repeat = is_repeat};
  return Evaluate(options, std::span(&item, 1)).front();
}

}  // namespace sluice::redis
