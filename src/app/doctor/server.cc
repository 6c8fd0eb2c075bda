#include "src/app/doctor/server.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/app/doctor/asker.h"
#include "src/app/doctor/cluster_map.h"
#include "src/app/doctor/keyspace.h"
#include "src/app/doctor/latency.h"
#include "src/app/doctor/probe.h"
#include "src/app/doctor/reach.h"
#include "src/redis/handshake.h"
#include "src/redis/reply_error.h"
#include "src/redis/topology/slot.h"

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
                    const redis::SlotMap& map, const Expectation& expected)
      : examination_(examination),
        redis_(examination.redis),
        access_(examination.engine.node.lane.access),
        address_(std::move(address)),
        map_(map),
        expected_(expected),
        asker_(redis_.command_timeout) {}

  const Chart& Run() {
    if (!Reach(asker_, address_, access_, chart_) || !LogIn()) return chart_;
    if (expected_.kind == redis::Role::kClusterNode) CompareMaps();
    Look();
    RunScripts();
    return chart_;
  }

 private:
  bool LogIn();
  void OnGreeting(const std::vector<redis::Question>& questions, const Asker::Answer& answer,
                  const std::vector<Reply>& replies);
  void OnGreeting(const redis::Question& question, const Reply& reply);
  void JudgeTime(const Asker::Answer& answer, const Reply& time);
  void CompareMaps();
  void Look();
  void RunScripts();
  void RunScripts(Probe& probe);

  const Examination& examination_;
  const RedisOptions& redis_;
  const redis::Access& access_;
  const redis::Address address_;
  const redis::SlotMap& map_;
  const Expectation expected_;
  Asker asker_;
  Chart chart_;
};

bool ServerExamination::LogIn() {
  const auto password = redis::CurrentPassword(access_);
  if (!password) {
    chart_.Fail(Check::kAuthentication, password.error(), "let this user read it");
    return false;
  }
  redis::SessionOptions session = examination_.engine.node.lane.session;
  session.username = access_.username;
  session.password = *password;
  const auto questions = redis::HandshakeOf(session);
  std::vector<Words> commands;
  commands.reserve(questions.size());
  for (const redis::Question& question : questions) commands.push_back(WordsOf(question.bytes));
  // The questions log in by themselves.
  const auto answer = asker_.Ask(address_, WithoutLogin(access_), commands);
  if (!answer.replies) {
    chart_.Fail(Check::kConnection, "it ended at the login: " + DetailOf(answer.replies.error()),
                "look at the server's log");
    return false;
  }
  OnGreeting(questions, answer, *answer.replies);
  return !chart_.HasFailed(Check::kAuthentication);
}

void ServerExamination::OnGreeting(const std::vector<redis::Question>& questions,
                                   const Asker::Answer& answer, const std::vector<Reply>& replies) {
  for (std::size_t i = 0; i < questions.size(); ++i) {
    OnGreeting(questions[i], replies[i]);
    if (chart_.HasFailed(Check::kAuthentication)) return;
    if (questions[i].command == Command::kTime) JudgeTime(answer, replies[i]);
  }
  chart_.Ok(Check::kAuthentication,
            access_.username.empty() ? "as the default user" : "as user " + access_.username);
  chart_.Ok(Check::kPermission,
            fmt::format("all that is needed, on keys under \"{}:\"", redis_.prefix));
}

void ServerExamination::OnGreeting(const redis::Question& question, const Reply& reply) {
  if (question.command == Command::kMemory) return;  // a courtesy, and looked at elsewhere
  if (question.command == Command::kAuth) {
    if (!IsError(reply)) return;
    // Never the server's own words: they may quote the password.
    return chart_.Fail(Check::kAuthentication,
                       DetailOf(redis::JudgeError(reply.text, "AUTH").outcome),
                       "look at redis.username, redis.password_file, and ACL LIST on the server");
  }
  if (question.command == Command::kHello) {
    if (IsError(reply) && reply.text.starts_with("NOAUTH")) {
      return chart_.Fail(Check::kAuthentication, "the server asks for a login",
                         "set redis.username and redis.password_file");
    }
    chart_.Judge(Check::kVersion, JudgeVersion(reply));
    return chart_.Judge(Check::kTopology, JudgeTopology(FieldsOf(reply), expected_));
  }
  const auto refusal = JudgePermission(WordsOf(question.bytes), reply,
                                       {.user = access_.username, .prefix = redis_.prefix});
  if (refusal) return chart_.Refuse(*refusal);
  if (question.command == Command::kSelect && IsError(reply)) {
    chart_.Fail(Check::kTopology, "the server says " + Quoted(reply.text),
                "look at redis.database");
  }
  const auto& scripts = examination_.engine.node.lane.session.scripts;
  if (question.command == Command::kLoad && !IsError(reply) &&
      reply.text != scripts[question.index].sha) {
    chart_.Fail(Check::kScriptCache, "a script is loaded under another name than its SHA-1",
                "does a proxy stand before the server? let sluice speak to the server itself");
  }
}

void ServerExamination::JudgeTime(const Asker::Answer& answer, const Reply& time) {
  const auto server = redis::ServerTimeOf(time);
  if (!server) {
    return chart_.Judge(Check::kClock, {Verdict::kUnknown, "the server does not tell it", ""});
  }
  // The server's clock was read between asking and answering.
  const auto half =
      std::chrono::ceil<Milliseconds>(answer.answered.steady - answer.asked.steady) / 2;
  const auto skew =
      std::chrono::round<Milliseconds>(*server) - (answer.asked.wall.time_since_epoch() + half);
  const Milliseconds uncertainty = half + Milliseconds{1};  // readings are whole milliseconds
  chart_.Judge(Check::kClock, JudgeClock(skew, uncertainty, *redis_.maximum_clock_skew));
}

// Tells of the cluster what everybody says alike.
void ServerExamination::CompareMaps() {
  const auto map = AskForMap(asker_, {address_}, access_);
  if (!map) {
    if (IsPermissionDenied(map.error())) {
      return chart_.Refuse({Verdict::kFailed, DetailOf(map.error()),
                            fmt::format("ACL SETUSER {} +cluster|shards +cluster|slots",
                                        access_.username.empty() ? "default" : access_.username)});
    }
    return chart_.Fail(Check::kTopology, DetailOf(map.error()), "redis-cli --cluster check");
  }
  if (map->Unserved() > 0) {
    chart_.Fail(Check::kTopology, fmt::format("{} slots are served by nobody", map->Unserved()),
                "redis-cli --cluster check, then fix");
  } else if (!map->RoutesAs(map_)) {
    chart_.Fail(Check::kTopology, "this node sends slots elsewhere than its peers do",
                "wait until a resharding or failover has ended; else look at CLUSTER NODES");
  }
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
    const std::string why = DetailOf(answer.replies.error());
    if (!IsPermissionDenied(answer.replies.error())) {
      return chart_.Fail(Check::kConnection, why, "look at the server's log");
    }
    return chart_.Fail(Check::kAuthentication, fmt::format("user {}: {}", observer.username, why),
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
    chart_.Judge(check, seen ? judgement_of(*seen) : seen.error());
  };
  judge(Check::kMemoryPolicy, replies[0], JudgeMemoryPolicy);
  judge(Check::kPersistence, replies[2],
        [&](const Fields& persistence) { return JudgePersistence(persistence, known_config); });
  // The rest says little of another kind of server than is configured.
  if (chart_.HasFailed(Check::kTopology)) return;
  judge(Check::kReplication, replies[1], [&](const Fields& replication) {
    return JudgeReplication(replication, known_config, expected_);
  });
  if (expected_.is_replica) return chart_.Skip(Check::kKeyspace, "see its primary");
  chart_.Judge(Check::kKeyspace,
               ExamineKeyspace(asker_, address_, observer, redis_.database, redis_.prefix));
}

void ServerExamination::RunScripts() {
  static constexpr Check kNeeded[] = {Check::kVersion, Check::kTopology, Check::kPermission,
                                      Check::kScriptCache};
  if (std::ranges::any_of(kNeeded, [&](Check check) { return chart_.HasFailed(check); })) return;
  if (expected_.is_replica || !map_.HasSlots(ToString(address_))) {
    const std::string why = expected_.is_replica ? "a replica runs none" : "it serves no slot";
    chart_.Skip(Check::kScriptCache, why);
    return chart_.Skip(Check::kLatency, why);
  }
  Probe probe(redis_.prefix, [&](const std::string& key) {
    const redis::Address* primary = map_.PrimaryOf(redis::SlotOf(key));
    return primary != nullptr && *primary == address_;
  });
  RunScripts(probe);
  if (chart_.HasPassed(Check::kScriptCache)) {
    chart_.Judge(Check::kLatency, MeasureLatency(redis_, probe, examination_.budget));
  }
}

void ServerExamination::RunScripts(Probe& probe) {
  const std::vector<std::string> calls = probe.Calls(SystemClock().Now());
  std::vector<Words> commands;
  if (redis_.database != 0) commands.push_back({"SELECT", std::to_string(redis_.database)});
  for (const std::string& call : calls) commands.push_back(WordsOf(call));
  const auto answer = asker_.Ask(address_, access_, commands);
  if (!answer.replies) {
    return chart_.Fail(Check::kScriptCache, DetailOf(answer.replies.error()),
                       "look at the server's log and at SLOWLOG");
  }
  const std::span<const Reply> replies = std::span(*answer.replies).last(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (IsError(replies[i])) {
      auto [check, judgement] = JudgeRefusal(replies[i].text);
      chart_.Judge(check, std::move(judgement));
      return chart_.Skip(Check::kScriptCache, fmt::format("refused, see {}", Name(check)));
    }
    if (auto objection = probe.Objection(i, replies[i])) {
      return chart_.Fail(
          Check::kScriptCache, *std::move(objection),
          "does a proxy stand before the server? let sluice speak to the server itself");
    }
  }
  chart_.Ok(Check::kScriptCache, fmt::format("{} scripts, loaded and run", calls.size()));
}

}  // namespace

void ExamineServer(const Examination& examination, const redis::Address& address,
                   const redis::SlotMap& map, const Expectation& expected, const Tell& tell) {
  ServerExamination(examination, address, map, expected).Run().TellAll(ToString(address), tell);
}

}  // namespace sluice::app::doctor
