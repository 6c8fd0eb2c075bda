// `sluice doctor`: what is wrong between this machine and its counters, and what to do about it.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/app/doctor/finding.h"
#include "src/app/doctor/server.h"
#include "src/identity/key_file.h"
#include "src/redis/access.h"

namespace sluice::app {
namespace {

using doctor::Check;
using doctor::Finding;
using doctor::Verdict;

bool HasColours() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

void ExamineKeyFiles(const config::PseudonymSettings& settings, const doctor::Tell& tell) {
  for (const auto& [version, file] : settings.keys) {
    const auto key = identity::ReadKeyFile(file);
    if (!key) {  // its sentence says what to do as well
      tell({Check::kPseudonymKey, file, {Verdict::kFailed, key.error(), ""}});
      continue;
    }
    const bool is_active = version == settings.active_version;
    tell({Check::kPseudonymKey,
          file,
          {Verdict::kOk, fmt::format("version {}{}", version, is_active ? ", active" : ""), ""}});
  }
}

void ExamineRedis(const config::Settings& settings, const DoctorOptions& options,
                  const doctor::Tell& tell) {
  const RedisOptions& redis = settings.redis;
  auto access = redis::MakeAccess(redis.tls ? &*redis.tls : nullptr, redis.username, redis.password,
                                  redis.password_file);
  if (!access) {
    tell({Check::kTls, redis.address, {Verdict::kFailed, access.error(), "look at redis.tls"}});
    return;
  }
  doctor::Examination examination{
      .redis = redis, .budget = settings.edge.budget, .access = *access, .observer = *access};
  if (!options.redis_user.empty()) {
    examination.observer.username = options.redis_user;
    examination.observer.password.clear();
    examination.observer.password_file = options.redis_password_file;
  }
  const auto address = redis::ParseAddress(redis.address);
  doctor::ExamineServer(examination, address.value(), {}, tell);
}

}  // namespace

int Doctor(const DoctorOptions& options) {
  const auto settings = LoadSettings(options.config_file);
  if (!settings) return settings.error();

  std::vector<Finding> findings;
  doctor::TextReport report(HasColours());
  const doctor::Tell tell = [&](Finding finding) {
    if (!options.json) {
      fmt::print("{}", report.Add(finding));
      std::fflush(stdout);
    }
    findings.push_back(std::move(finding));
  };
  ExamineKeyFiles(settings->pseudonym, tell);
  if (settings->provider == config::Provider::kRedis) {
    ExamineRedis(*settings, options, tell);
  } else {
    tell({Check::kTopology,
          "provider memory",
          {Verdict::kOk, "counters live in the daemon itself: there is no server to ask", ""}});
  }
  fmt::print(
      "{}", options.json ? doctor::ToJson(findings) + '\n' : doctor::TextReport::Summary(findings));
  return doctor::IsHealthy(findings) ? kSuccess : kUnhealthy;
}

}  // namespace sluice::app
