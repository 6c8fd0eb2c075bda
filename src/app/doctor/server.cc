#include "src/app/doctor/server.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <fmt/core.h>

#include "src/app/doctor/keyspace.h"
#include "src/app/doctor/latency.h"
#include "src/app/doctor/probe.h"
#include "src/redis/handshake.h"
#include "src/redis/probes.h"
#include "src/redis/reply_error.h"
#include "src/redis/script.h"

namespace sluice::app::doctor {
namespace {

using redis::Command;
using redis::Reply;
using redis::Words;

bool IsError(const Reply& reply) {
  return reply.kind == Reply::Kind::kError;
}

class ServerExamination {
 public:
  ServerExamination(const Examination& examination, redis::Address address,
                    const Expectation& expected)
      : examination_(examination),
        redis_(examination.redis),
        address_(std::move(address)),
        expected_(expected),
        account_{examination.access.username, redis_.prefix},
        asker_(redis_.command_timeout) {}

  void Run() {
    if (!Resolve() || !Connect() || !LogIn()) return;
    Look();
    RunScripts();
    if (HasPassed(Check::kScriptCache)) {
      Judge(Check::kLatency, MeasureLatency(redis_, probe_, examination_.budget));
    }
  }

  void TellAll(const std::string& subject, const Tell& tell) const {
    for (int i = static_cast<int>(Check::kResolution); i <= static_cast<int>(Check::kKeyspace);
         ++i) {
      const auto check = static_cast<Check>(i);
      const auto made = judgements_.find(check);
      if (made == judgements_.end()) {
        tell({check, subject, {Verdict::kSkipped, "not looked at, because of ✗ above", ""}});
        continue;
      }
      for (const Judgement& judgement : made->second) tell({check, subject, judgement});
    }
  }

 private:
  // One judgement a check: the latest, but a failure stands.
  void Judge(Check check, Judgement judgement) {
    if (!HasFailed(check)) judgements_[check] = {std::move(judgement)};
  }
  void Ok(Check check, std::string found) { Judge(check, {Verdict::kOk, std::move(found), ""}); }
  void Skip(Check check, std::string why) { Judge(check, {Verdict::kSkipped, std::move(why), ""}); }
  void Fail(Check check, std::string found, std::string remedy) {
    Judge(check, {Verdict::kFailed, std::move(found), std::move(remedy)});
  }
  [[nodiscard]] bool HasFailed(Check check) const { return Is(check, Verdict::kFailed); }
  [[nodiscard]] bool HasPassed(Check check) const { return Is(check, Verdict::kOk); }
  [[nodiscard]] bool Is(Check check, Verdict verdict) const {
    const auto made = judgements_.find(check);
    return made != judgements_.end() && made->second.front().verdict == verdict;
  }

  bool Resolve();
  bool Connect();
  bool LogIn();
  void OnGreeting(const std::vector<redis::Question>& questions, const Asker::Answer& answer,
                  const std::vector<Reply>& replies);
  void JudgeTime(const Asker::Answer& answer, const Reply& time);
  void RunScripts();
  void Look();

  const Examination& examination_;
  const RedisOptions& redis_;
  const redis::Address address_;
  const Expectation expected_;
  const Account account_;
  Asker asker_;
  // A key on this server, whichever.
  Probe probe_{examination_.redis.prefix, [](const std::string&) { return true; }};
  std::map<Check, std::vector<Judgement>> judgements_;
};

bool ServerExamination::Resolve() {
  boost::system::error_code is_name;
  (void)boost::asio::ip::make_address(address_.host, is_name);
  if (!is_name || !address_.unix_path.empty()) {
    Ok(Check::kResolution, "no name");
    return true;
  }
  const auto resolved = asker_.Resolve(address_.host);
  if (!resolved) {
    Fail(Check::kResolution, Quoted(resolved.error()),
         "look at redis.address, /etc/hosts and the DNS of this machine");
    return false;
  }
  std::string addresses;
  for (const std::string& one : *resolved) addresses += (addresses.empty() ? "" : ", ") + one;
  Ok(Check::kResolution, std::move(addresses));
  return true;
}

// Two connections, so that what fails has a name: first without a word, then with one that needs no
// login.
bool ServerExamination::Connect() {
  const redis::Access stranger{.tls = examination_.access.tls,
                               .server_name = examination_.access.server_name};
  const bool has_tls = stranger.tls != nullptr;
  const std::string not_connected = asker_.Connect(address_, {});
  if (!not_connected.empty()) {
    Fail(Check::kConnection, not_connected,
         "is the server up, and does a firewall let us through?");
    return false;
  }
  Ok(Check::kConnection, address_.unix_path.empty() ? "TCP" : "unix socket");

  const auto answer = asker_.Ask(address_, stranger, {{"PING"}});
  if (!answer.replies) {
    const bool is_late = answer.answered.steady - answer.asked.steady >= asker_.timeout();
    const std::string why = DetailOf(answer.replies.error());
    if (has_tls) {
      Fail(Check::kTls, why,
           "look at redis.tls: ca_file, server_name, the client's certificate; does this port "
           "speak TLS at all?");
    } else if (is_late) {
      Fail(Check::kConnection, why, "is the server stopped, or blocked by a slow command?");
    } else {
      Fail(Check::kTls, "not configured, and without it: " + why,
           "if the port expects TLS, set redis.tls");
    }
    return false;
  }
  const Reply& pong = answer.replies->front();
  const bool is_locked = pong.text.starts_with("NOAUTH") || pong.text.starts_with("NOPERM");
  // A server that cannot persist refuses even PING; that is another check's.
  if (IsError(pong) && !is_locked && CheckOfRefusal(pong.text) == Check::kScriptCache) {
    Fail(Check::kConnection, "the server says " + Quoted(pong.text), "");
    return false;
  }
  if (has_tls) {
    const std::string& name = stranger.server_name;
    Ok(Check::kTls, "certificate verified for " + (name.empty() ? address_.host : name));
  } else {
    Skip(Check::kTls, "not configured");
  }
  return true;
}

bool ServerExamination::LogIn() {
  const auto password = redis::CurrentPassword(examination_.access);
  if (!password) {
    Fail(Check::kAuthentication, password.error(), "");
    return false;
  }
  const auto questions = redis::HandshakeOf({.username = account_.user,
                                             .password = *password,
                                             .database = redis_.database,
                                             .scripts = redis::Scripts(),
                                             .probes = redis::Probes(redis_.prefix)});
  std::vector<Words> commands;
  for (const redis::Question& question : questions) commands.push_back(WordsOf(question.bytes));
  // The questions log in by themselves.
  const auto answer = asker_.Ask(
      address_, {.tls = examination_.access.tls, .server_name = examination_.access.server_name},
      commands);
  if (!answer.replies) {
    Fail(Check::kConnection, "it ended at the login: " + DetailOf(answer.replies.error()), "");
    return false;
  }
  OnGreeting(questions, answer, *answer.replies);
  return !HasFailed(Check::kAuthentication);
}

void ServerExamination::OnGreeting(const std::vector<redis::Question>& questions,
                                   const Asker::Answer& answer, const std::vector<Reply>& replies) {
  const std::string who = account_.user.empty() ? "the default user" : "user " + account_.user;
  std::vector<Judgement> refusals;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Reply& reply = replies[i];
    const Command command = questions[i].command;
    if (command == Command::kAuth && IsError(reply)) {
      // Never the server's own words: they may quote the password.
      return Fail(Check::kAuthentication, DetailOf(redis::JudgeError(reply.text, "AUTH").outcome),
                  "look at redis.username, redis.password_file, and ACL LIST on the server");
    }
    if (command == Command::kHello) {
      if (IsError(reply) && reply.text.starts_with("NOAUTH")) {
        return Fail(Check::kAuthentication, "the server asks for a login",
                    "set redis.username and redis.password_file");
      }
      Judge(Check::kVersion, JudgeVersion(reply));
      Judge(Check::kTopology, JudgeTopology(FieldsOf(reply), expected_));
      continue;
    }
    if (command == Command::kAuth || command == Command::kMemory) continue;
    if (auto refusal = JudgePermission(WordsOf(questions[i].bytes), reply, account_)) {
      const bool is_new = std::ranges::find(refusals, *refusal) == refusals.end();
      if (is_new) refusals.push_back(*std::move(refusal));
    } else if (command == Command::kSelect && IsError(reply)) {
      Fail(Check::kTopology, "the server says " + Quoted(reply.text), "look at redis.database");
    } else if (command == Command::kLoad && !IsError(reply) &&
               reply.text != redis::Scripts()[questions[i].index].sha) {
      Fail(Check::kScriptCache, "a script is loaded under another name than its SHA-1",
           "does a proxy stand before the server? let sluice speak to the server itself");
    } else if (command == Command::kTime) {
      JudgeTime(answer, reply);
    }
  }
  Ok(Check::kAuthentication, "as " + who);
  if (refusals.empty()) {
    Ok(Check::kPermission, fmt::format("all that is needed, on keys under \"{}:\"", redis_.prefix));
  } else {
    judgements_[Check::kPermission] = std::move(refusals);
  }
}

void ServerExamination::JudgeTime(const Asker::Answer& answer, const Reply& time) {
  const auto server = redis::ServerTimeOf(time);
  if (!server) {
    return Judge(Check::kClock, {Verdict::kUnknown, "the server does not tell its time", ""});
  }
  // The server's clock was read between asking and answering.
  const auto half =
      std::chrono::ceil<Milliseconds>(answer.answered.steady - answer.asked.steady) / 2;
  const auto skew =
      std::chrono::round<Milliseconds>(*server) - (answer.asked.wall.time_since_epoch() + half);
  const Milliseconds uncertainty = half + Milliseconds{1};  // readings are whole milliseconds
  Judge(Check::kClock, JudgeClock(skew, uncertainty, *redis_.maximum_clock_skew));
}

void ServerExamination::RunScripts() {
  static constexpr Check kNeeded[] = {Check::kVersion, Check::kTopology, Check::kPermission,
                                      Check::kScriptCache};
  if (std::ranges::any_of(kNeeded, [&](Check check) { return HasFailed(check); })) return;
  if (expected_.role == Role::kReplica) return Skip(Check::kScriptCache, "a replica runs none");
  const std::vector<std::string> calls = probe_.Calls(SystemClock().Now());
  std::vector<Words> commands;
  if (redis_.database != 0) commands.push_back({"SELECT", std::to_string(redis_.database)});
  for (const std::string& call : calls) commands.push_back(WordsOf(call));
  const auto answer = asker_.Ask(address_, examination_.access, commands);
  if (!answer.replies) {
    return Fail(Check::kScriptCache, DetailOf(answer.replies.error()),
                "look at the server's log and at SLOWLOG");
  }
  const std::span<const Reply> replies = std::span(*answer.replies).last(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (IsError(replies[i])) {
      const Check check = CheckOfRefusal(replies[i].text);
      Fail(check, "the server refuses to run a script: " + Quoted(replies[i].text), "");
      if (check != Check::kScriptCache) {
        Skip(Check::kScriptCache, fmt::format("refused, see {}", Name(check)));
      }
      return;
    }
    if (auto objection = probe_.Objection(i, replies[i])) {
      return Fail(Check::kScriptCache, *std::move(objection),
                  "does a proxy stand before the server? let sluice speak to the server itself");
    }
  }
  Ok(Check::kScriptCache, fmt::format("{} scripts, loaded and run", calls.size()));
}

void ServerExamination::Look() {
  const redis::Access& observer = examination_.observer;
  const auto answer = asker_.Ask(address_, observer,
                                 {{"INFO", "memory"},
                                  {"INFO", "replication"},
                                  {"INFO", "persistence"},
                                  {"CONFIG", "GET", "min-replicas-to-write"},
                                  {"CONFIG", "GET", "save"},
                                  {"CONFIG", "GET", "appendfsync"}});
  if (!answer.replies) {
    return Fail(Check::kAuthentication,
                fmt::format("user {}: {}", observer.username, DetailOf(answer.replies.error())),
                "look at --redis-user and --redis-password-file");
  }
  const std::vector<Reply>& replies = *answer.replies;
  std::optional<Fields> config;
  if (std::ranges::none_of(replies.begin() + 3, replies.end(), IsError)) {
    config.emplace();
    for (std::size_t i = 3; i < replies.size(); ++i) config->merge(FieldsOf(replies[i]));
  }
  const Fields* const known_config = config ? &*config : nullptr;
  const auto judge = [&](Check check, const Reply& info, auto judgement_of) {
    const auto seen = Seen(info, "+info", observer.username);
    Judge(check, seen ? judgement_of(*seen) : seen.error());
  };
  judge(Check::kMemoryPolicy, replies[0], JudgeMemoryPolicy);
  judge(Check::kPersistence, replies[2],
        [&](const Fields& persistence) { return JudgePersistence(persistence, known_config); });
  // The rest says little of another kind of server than is configured.
  if (HasFailed(Check::kTopology)) return;
  judge(Check::kReplication, replies[1], [&](const Fields& replication) {
    return JudgeReplication(replication, known_config, expected_);
  });
  Judge(Check::kKeyspace,
        ExamineKeyspace(asker_, address_, observer, redis_.database, redis_.prefix));
}

}  // namespace

void ExamineServer(const Examination& examination, const redis::Address& address,
                   const Expectation& expected, const Tell& tell) {
  ServerExamination one(examination, address, expected);
  one.Run();
  one.TellAll(examination.redis.address, tell);
}

}  // namespace sluice::app::doctor
