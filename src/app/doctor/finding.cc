#include "src/app/doctor/finding.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace sluice::app::doctor {
namespace {

constexpr std::size_t kLongestQuote = 200;
constexpr std::string_view kMargin = "                      ";  // below what was found

struct Mark {
  std::string_view sign;
  std::string_view colour;
};

Mark MarkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return {"✓", "\x1b[32m"};
    case Verdict::kFailed:
      return {"✗", "\x1b[31m"};
    case Verdict::kUnknown:
      return {"?", "\x1b[33m"};
    case Verdict::kSkipped:
      break;
  }
  return {"-", ""};
}

std::ptrdiff_t Count(std::span<const Finding> findings, Verdict verdict) {
  return std::ranges::count(findings, verdict,
                            [](const Finding& finding) { return finding.judgement.verdict; });
}

}  // namespace

std::string_view Name(Check check) {
  switch (check) {
    case Check::kPseudonymKey:
      return "pseudonym-key";
    case Check::kResolution:
      return "resolution";
    case Check::kConnection:
      return "connection";
    case Check::kTls:
      return "tls";
    case Check::kAuthentication:
      return "authentication";
    case Check::kVersion:
      return "version";
    case Check::kTopology:
      return "topology";
    case Check::kPermission:
      return "permission";
    case Check::kScriptCache:
      return "script-cache";
    case Check::kClock:
      return "clock";
    case Check::kMemoryPolicy:
      return "maxmemory-policy";
    case Check::kReplication:
      return "replication";
    case Check::kPersistence:
      return "persistence";
    case Check::kLatency:
      return "latency";
    case Check::kKeyspace:
      break;
  }
  return "keyspace";
}

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kSkipped:
      break;
  }
  return "skipped";
}

bool IsHealthy(std::span<const Finding> findings) {
  return Count(findings, Verdict::kFailed) == 0;
}

std::string ToJson(std::span<const Finding> findings) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const auto& [check, subject, judgement] : findings) {
    list.push_back({{"check", Name(check)},
                    {"subject", subject},
                    {"verdict", Name(judgement.verdict)},
                    {"found", judgement.found},
                    {"remedy", judgement.remedy.empty() ? Json() : Json(judgement.remedy)}});
  }
  const Json report = {{"healthy", IsHealthy(findings)}, {"findings", std::move(list)}};
  // A subject is a file's name, which need not be UTF-8.
  return report.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TextReport::Add(const Finding& finding) {
  const auto& [check, subject, judgement] = finding;
  std::string text;
  if (subject != std::exchange(subject_, subject)) text += subject + '\n';
  const Mark mark = MarkOf(judgement.verdict);
  const bool is_coloured = has_colours_ && !mark.colour.empty();
  text += fmt::format("  {}{}{} {:<17} {}\n", is_coloured ? mark.colour : "", mark.sign,
                      is_coloured ? "\x1b[0m" : "", Name(check), judgement.found);
  if (!judgement.remedy.empty()) text += fmt::format("{}→ {}\n", kMargin, judgement.remedy);
  return text;
}

std::string TextReport::Summary(std::span<const Finding> findings) {
  return fmt::format("{} ✓  {} ✗  {} ?\n", Count(findings, Verdict::kOk),
                     Count(findings, Verdict::kFailed), Count(findings, Verdict::kUnknown));
}

std::string Quoted(std::string_view text) {
  std::string quoted(text.substr(0, kLongestQuote));
  std::ranges::replace_if(quoted, [](char c) { return c < ' ' || c > '~'; }, '?');
  return quoted;
}

}  // namespace sluice::app::doctor
