// `sluice doctor`: what is wrong between this machine and its counters, and what to do about it.
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/app/doctor/deployment.h"
#include "src/app/doctor/finding.h"
#include "src/identity/key_file.h"
#include "src/redis/options.h"

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
  auto engine = redis::CheckOptions(settings.redis);
  if (!engine) {  // what reading the configuration leaves to be found wrong are the files of TLS
    tell({Check::kTls,
          "redis",
          {Verdict::kFailed, RedisError(settings, engine.error()),
           "let this user read the file; it must be PEM"}});
    return;
  }
  redis::Access observer = engine->node.lane.access;
  if (!options.redis_user.empty()) {
    observer.username = options.redis_user;
    observer.password.clear();
    observer.password_file = options.redis_password_file;
  }
  doctor::ExamineDeployment({.redis = settings.redis,
                             .engine = *std::move(engine),
                             .observer = std::move(observer),
                             .budget = settings.edge.budget},
                            tell);
}

}  // namespace

int Doctor(const DoctorOptions& options) {
  const auto settings = LoadSettings(options.config_file);
  if (!settings) return settings.error();
  if (const auto errors = CheckSettings(*settings); !errors.empty()) return Complain(errors);

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
