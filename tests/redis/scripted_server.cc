#include "tests/redis/scripted_server.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/redis/resp.h"
#include "src/redis/script.h"

namespace sluice::redis {

ScriptedServer::ScriptedServer() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, generic, &size) != 0) {
    throw std::runtime_error("the scripted server cannot listen");
  }
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  for (std::thread& thread : threads_) thread.join();
  for (const int fd : open_) ::close(fd);
  ::close(listener_);
}

std::string ScriptedServer::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}

void ScriptedServer::AnswerNext(std::vector<std::string> replies) {
  const std::lock_guard lock(mutex_);
  next_.assign(replies.begin(), replies.end());
}

ScriptedServer::Seen ScriptedServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ScriptedServer::Accept() {
  while (true) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

// Commands have the form of replies: arrays of bulk strings.
void ScriptedServer::Serve(int fd) {
  ReplyReader reader(std::size_t{1} << 20);
  char buffer[4096];
  while (true) {
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
    if (size <= 0) return;
    reader.Feed(std::string_view(buffer, static_cast<std::size_t>(size)));
    while (auto command = reader.Next().value()) {
      std::vector<std::string> words;
      for (const Reply& element : command->elements) words.push_back(element.text);
      const std::string answer = Answer(words);
      if (::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }
}

std::string ScriptedServer::Answer(const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  const std::string& command = words.front();
  if (command == "HELLO") {
    ++seen_.connections;
    return "*0\r\n";
  }
  if (command == "SCRIPT") {
    ++seen_.loads;
    const auto script =
        std::ranges::find(Scripts(), std::string_view(words.at(2)), &Script::source);
    return fmt::format("${}\r\n{}\r\n", script->sha.size(), script->sha);
  }
  if (command == "TIME") {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds =
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    return fmt::format("*2\r\n${}\r\n{}\r\n$1\r\n0\r\n", seconds.size(), seconds);
  }
  if (command == "CLUSTER") {
    return fmt::format(
        "*1\r\n*4\r\n$5\r\nslots\r\n*2\r\n:0\r\n:16383\r\n$5\r\nnodes\r\n*1\r\n*8\r\n"
        "$4\r\nport\r\n:{}\r\n$8\r\nendpoint\r\n$0\r\n\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        "$6\r\nhealth\r\n$6\r\nonline\r\n",
        port_);
  }
  if (command == "ASKING") ++seen_.askings;
  if (command != "EVALSHA") return "+OK\r\n";
  // Not a call but a connection's look at its permissions.
  if (std::ranges::find(Scripts(), words.at(1), &Script::sha) == Scripts().end()) {
    return "-NOSCRIPT\r\n";
  }
  ++seen_.calls;
  if (!next_.empty()) {
    std::string reply = std::move(next_.front());
    next_.pop_front();
    return reply;
  }
  // As for one evaluation of one limit; the first argument after the key is its `now`.
  const std::string told = "allowed " + words.at(4) + " -";
  return fmt::format("${}\r\n{}\r\n", told.size(), told);
}

}  // namespace sluice::redis
