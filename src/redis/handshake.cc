#include "src/redis/handshake.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "src/redis/reply_error.h"

namespace sluice::redis {
namespace {

constexpr std::size_t kLongestPolicyName = 32;

Question Ask(Command command, std::initializer_list<std::string_view> words,
             std::size_t index = 0) {
  return {.command = command,
          .index = index,
          .bytes = EncodeCommand(std::span(words.begin(), words.size()))};
}

std::string_view NameOf(const SessionOptions& options, Command command, std::size_t index) {
  switch (command) {
    case Command::kAuth:
      return "AUTH";
    case Command::kHello:
      return "HELLO";
    case Command::kSelect:
      return "SELECT";
    case Command::kLoad:
      return "SCRIPT LOAD";
    case Command::kProbe:
      return options.probes[index].name;
    case Command::kMemory:
      return "INFO";
    case Command::kTime:
      return "TIME";
    case Command::kRole:
      return "ROLE";
    case Command::kAsking:
      return "ASKING";
    case Command::kWait:
      return "WAIT";
    case Command::kCall:
      break;
  }
  return "EVALSHA";
}

Outcome WrongServer(std::string detail) {
  return Incompatible{Incompatible::Reason::kServerIncompatible, std::move(detail)};
}

bool IsDenied(const Outcome& outcome) {
  const auto* incompatible = std::get_if<Incompatible>(&outcome);
  return incompatible != nullptr && incompatible->reason == Incompatible::Reason::kPermissionDenied;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "6.2.14" -> 6, 2. What is no version is taken for new enough: the scripts' own SHA will tell.
std::pair<std::int64_t, std::int64_t> VersionOf(std::string_view text) {
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view rest = text.substr(std::min(dot + 1, text.size()));
  return {Number(text.substr(0, dot)).value_or(kOldestServer.first),
          Number(rest.substr(0, rest.find('.'))).value_or(kOldestServer.second)};
}

std::optional<Outcome> ObjectionToServer(Role role, const Reply& hello) {
  for (std::size_t i = 0; i + 1 < hello.elements.size(); i += 2) {
    const std::string_view field = hello.elements[i].text;
    const std::string_view value = hello.elements[i + 1].text;
    if (field == "version" && VersionOf(value) < kOldestServer) {
      return WrongServer(fmt::format("the server's version is {}, required is {}.{} or newer",
                                     value, kOldestServer.first, kOldestServer.second));
    }
    if (field != "mode") continue;
    if (value == "cluster" && role == Role::kStandalone) {
      return WrongServer("cluster-mode server, standalone configured");
    }
    if (value == "cluster" && role == Role::kPrimary) {
      return WrongServer("cluster-mode server, sentinel configured");
    }
    if (value == "standalone" && role == Role::kClusterNode) {
      return WrongServer("standalone server, cluster configured");
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Question> HandshakeOf(const SessionOptions& options) {
  std::vector<Question> questions;
  if (!options.password.empty()) {
    questions.push_back(options.username.empty()
                            ? Ask(Command::kAuth, {"AUTH", options.password})
                            : Ask(Command::kAuth, {"AUTH", options.username, options.password}));
  }
  // Names the client as well: no permission is needed for that, as one is for CLIENT SETNAME.
  questions.push_back(Ask(Command::kHello, {"HELLO", "2", "SETNAME", options.client_name}));
  if (options.role == Role::kPrimary) questions.push_back(Ask(Command::kRole, {"ROLE"}));
  if (options.database != 0) {
    questions.push_back(Ask(Command::kSelect, {"SELECT", fmt::format("{}", options.database)}));
  }
  for (std::size_t script = 0; script < options.scripts.size(); ++script) {
    questions.push_back(LoadOf(options, script));
  }
  for (std::size_t probe = 0; probe < options.probes.size(); ++probe) {
    questions.push_back(
        {.command = Command::kProbe, .index = probe, .bytes = options.probes[probe].bytes});
  }
  questions.push_back(Ask(Command::kMemory, {"INFO", "memory"}));
  if (options.read_clock) questions.push_back(TimeQuestion());
  return questions;
}

Question LoadOf(const SessionOptions& options, std::size_t script) {
  return Ask(Command::kLoad, {"SCRIPT", "LOAD", options.scripts[script].source}, script);
}

Question TimeQuestion() {
  return Ask(Command::kTime, {"TIME"});
}

std::optional<Outcome> Objection(const SessionOptions& options, Command command, std::size_t index,
                                 const Reply& reply) {
  if (reply.kind == Reply::Kind::kError) {
    if (command == Command::kHello || command == Command::kMemory) return std::nullopt;
    if (command == Command::kAsking) return std::nullopt;  // the call's own reply tells
    Outcome outcome = JudgeError(reply.text, NameOf(options, command, index)).outcome;
    if (command == Command::kProbe && !IsDenied(outcome)) return std::nullopt;
    return BeforeSend(std::move(outcome));
  }
  if (command == Command::kHello) return ObjectionToServer(options.role, reply);
  if (command == Command::kRole && (reply.elements.empty() || reply.elements[0].text != "master")) {
    return BeforeSend("the server that the sentinels name is no primary");
  }
  if (command == Command::kLoad && reply.text != options.scripts[index].sha) {
    return WrongServer("SCRIPT LOAD: the server names the script otherwise than by its SHA-1");
  }
  return std::nullopt;
}

Question AskingQuestion() {
  return Ask(Command::kAsking, {"ASKING"});
}

Question WaitFor(int replicas, Milliseconds at_most) {
  return Ask(Command::kWait,
             {"WAIT", fmt::format("{}", replicas), fmt::format("{}", at_most.count())});
}

std::optional<std::chrono::microseconds> ServerTimeOf(const Reply& time) {
  if (time.elements.size() != 2) return std::nullopt;
  const auto seconds = Number(time.elements[0].text);
  const auto micros = Number(time.elements[1].text);
  if (!seconds || !micros) return std::nullopt;
  return std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
}

std::optional<std::string> EvictionPolicyOf(const Reply& memory) {
  constexpr std::string_view kField = "maxmemory_policy:";
  const std::size_t field = memory.text.find(kField);
  if (memory.kind != Reply::Kind::kText || field == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(memory.text).substr(field + kField.size());
  const std::string_view policy = rest.substr(0, rest.find_first_of("\r\n"));
  // It goes to logs, so no text of the server's choice.
  const bool is_name =
      std::ranges::all_of(policy, [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); });
  if (policy.empty() || policy.size() > kLongestPolicyName || !is_name) return std::nullopt;
  return std::string(policy);
}

Outcome BeforeSend(std::string detail) {
  return Unavailable{Unavailable::Category::kUnavailableBeforeSend, std::move(detail)};
}

Outcome BeforeSend(Outcome outcome) {
  if (std::holds_alternative<Incompatible>(outcome)) return outcome;
  if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
    return BeforeSend(std::move(unavailable->detail));
  }
  return BeforeSend(std::move(std::get<Indeterminate>(outcome).detail));
}

}  // namespace sluice::redis
