#include "tests/redis/redis_server.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::redis {
namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

RedisServer::RedisServer(std::vector<std::string> arguments, const std::string& configuration)
    : arguments_(std::move(arguments)) {
  std::string pattern = std::filesystem::temp_directory_path() / "sluice-redis-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory for a server");
  directory_ = pattern;
  socket_ = directory_ + "/socket";
  if (!configuration.empty()) {
    configuration_ = directory_ + "/conf";
    std::ofstream(configuration_) << configuration;
  }
  Start();
}

RedisServer::~RedisServer() {
  Kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void RedisServer::Start() {
  std::vector<std::string> words{"redis-server"};
  if (!configuration_.empty()) words.push_back(configuration_);
  for (const char* word : {"--port", "0", "--save", "", "--appendonly", "no"}) {
    words.emplace_back(word);
  }
  for (const std::string& word : {std::string("--unixsocket"), socket_, std::string("--dir"),
                                  directory_, std::string("--logfile"), directory_ + "/log"}) {
    words.push_back(word);
  }
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no server behind
    ::execvp("redis-server", argv.data());
    ::_exit(127);
  }
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    const int fd = Connect();
    if (fd >= 0) {
      ::close(fd);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  throw std::runtime_error("redis-server does not start");
}

void RedisServer::Kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::Signal(int signal) const {
  ::kill(pid_, signal);
}

int RedisServer::Connect() const {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

int RedisServer::Send(const std::vector<std::string>& words) const {
  const int fd = Connect();
  if (fd < 0) throw std::runtime_error("the server is gone");
  const std::vector<std::string_view> views(words.begin(), words.end());
  const std::string bytes = EncodeCommand(views);
  if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != std::ssize(bytes)) {
    throw std::runtime_error("the server takes no command");
  }
  return fd;
}

void RedisServer::EndScript(int fd) const {
  // Again and again: a server that does not run it yet has nothing to kill, and a command that was
  // paused together with the script waits for its end.
  pollfd ended{.fd = fd, .events = POLLIN, .revents = 0};
  int ready = 0;
  while (ready == 0) {
    const int killer = Send({"SCRIPT", "KILL"});
    ready = ::poll(&ended, 1, 10);
    ::close(killer);
  }
  ::close(fd);
}

Reply RedisServer::Command(const std::vector<std::string>& words) const {
  const int fd = Send(words);
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ReplyReader reader(std::size_t{1} << 26);
  char buffer[16 * 1024];
  while (true) {
    auto reply = reader.Next().value();
    if (reply) {
      ::close(fd);
      return *std::move(reply);
    }
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
    if (size <= 0) {
      ::close(fd);
      throw std::runtime_error("the server does not answer " + words.front());
    }
    reader.Feed(std::string_view(buffer, static_cast<std::size_t>(size)));
  }
}

std::int64_t RedisServer::Integer(const std::vector<std::string>& words) const {
  const Reply reply = Command(words);
  if (reply.kind == Reply::Kind::kInteger) return reply.integer;
  return reply.text.empty() ? 0 : std::stoll(reply.text);
}

}  // namespace sluice::redis
