#include "src/app/doctor/keyspace.h"

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "src/app/doctor/judgement.h"

namespace sluice::app::doctor {
namespace {

using redis::Reply;

// What SCAN goes through at a time, and how often at most.
constexpr const char* kKeysAtATime = "1000";
constexpr int kMaximumSteps = 10;

}  // namespace

std::string PatternOf(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("*?[]\\").contains(c)) pattern += '\\';
    pattern += c;
  }
  return pattern + '*';
}

Judgement ExamineKeyspace(Asker& asker, const redis::Address& address,
                          const redis::Access& observer, std::int64_t database,
                          const std::string& prefix) {
  // The replies to `commands`, or why there is nothing to see.
  const auto ask =
      [&](std::vector<redis::Words> commands) -> std::expected<std::vector<Reply>, Judgement> {
    if (database != 0) commands.insert(commands.begin(), {"SELECT", std::to_string(database)});
    auto answer = asker.Ask(address, observer, commands);
    if (!answer.replies) {
      return std::unexpected(Judgement{Verdict::kUnknown, "the server did not answer in time", ""});
    }
    for (const Reply& reply : *answer.replies) {
      auto seen = Seen(reply, "+scan +type +pttl", observer.username);
      if (!seen) return std::unexpected(std::move(seen).error());
    }
    return *std::move(answer.replies);
  };

  KeyTally tally;
  std::string cursor = "0";
  for (int step = 0; step < kMaximumSteps; ++step) {
    const auto scanned =
        ask({{"SCAN", cursor, "MATCH", PatternOf(prefix + ':'), "COUNT", kKeysAtATime}});
    if (!scanned) return scanned.error();
    const std::vector<Reply>& page = scanned->back().elements;  // the next cursor, the keys
    if (page.size() != 2) return {Verdict::kUnknown, "SCAN's reply is none", ""};
    cursor = page[0].text;
    std::vector<redis::Words> questions;
    for (const Reply& key : page[1].elements) {
      questions.push_back({"TYPE", key.text});
      questions.push_back({"PTTL", key.text});
    }
    if (!questions.empty()) {
      const auto answers = ask(questions);
      if (!answers) return answers.error();
      for (std::size_t i = answers->size() - questions.size(); i < answers->size(); i += 2) {
        tally.Count((*answers)[i], (*answers)[i + 1]);
      }
    }
    if (cursor == "0") return JudgeKeyspace(tally, prefix);
  }
  tally.is_complete = false;
  return JudgeKeyspace(tally, prefix);
}

}  // namespace sluice::app::doctor
