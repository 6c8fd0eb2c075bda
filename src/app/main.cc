// The command line: what is asked for, and which file does it.
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "sluice/version.h"

#include "src/app/commands.h"
#include "src/config/scalars.h"

namespace sluice::app {
namespace {

// A duration as in the configuration ("750ms").
std::string CheckBudget(const std::string& text) {
  const auto budget = config::ParseDuration(text);
  if (budget && *budget >= Milliseconds{1} && *budget <= std::chrono::minutes{1}) return "";
  return "'" + text + "' is no budget; allowed: a duration from 1ms to 1m, such as 750ms";
}

void AddConfig(CLI::App& command, std::string& file) {
  command.add_option("-c,--config", file, "the configuration file (YAML)")
      ->required()
      ->type_name("FILE");
}

int Run(int argc, char** argv) {
  CLI::App cli("Sluice decides, for every request at an edge, whether its sender still has budget.",
               "sluice");
  cli.require_subcommand(1);
  cli.set_version_flag("--version", std::string("sluice ") + kVersion);
  int status = kSuccess;

  std::string config_file;
  auto* serve = cli.add_subcommand("serve", "answer /check and /v1 over HTTP until SIGTERM");
  AddConfig(*serve, config_file);
  serve->callback([&] { status = Serve(config_file); });

  auto* check = cli.add_subcommand("check-config", "print the effective configuration");
  check->add_option("FILE", config_file, "the configuration file (YAML)")->required();
  check->callback([&] { status = CheckConfig(config_file); });

  EvaluateOptions once;
  std::string budget = "750ms";
  bool stream = false;
  bool manual_clock = false;
  auto* evaluate = cli.add_subcommand("evaluate", "evaluate once, or one JSON request a line");
  AddConfig(*evaluate, once.config_file);
  auto* policy = evaluate->add_option("--policy", once.policies, "the policies, in order");
  auto* subject = evaluate->add_option("--subject", once.subject, "whose budget it is");
  auto* cost = evaluate->add_option("--cost", once.cost, "units it takes")->default_val(1);
  auto* peek = evaluate->add_flag("--peek", once.peek, "decide without charging");
  evaluate->add_option("--budget", budget, "how long an answer may take")
      ->check(CheckBudget)
      ->default_val(budget);
  auto* stream_flag =
      evaluate->add_flag("--stream", stream, "requests on stdin, outcomes on stdout");
  stream_flag->excludes(policy)->excludes(subject)->excludes(cost)->excludes(peek);
  evaluate->add_flag("--manual-clock", manual_clock, "each request says the time in now_ms")
      ->needs(stream_flag);
  evaluate->callback([&] {
    once.budget = *config::ParseDuration(budget);
    if (stream) {
      status = EvaluateStream({once.config_file, once.budget, manual_clock});
      return;
    }
    if (once.policies.empty()) throw CLI::RequiredError("--policy");
    if (once.subject.empty()) throw CLI::RequiredError("--subject");
    status = EvaluateOnce(once);
  });

  DoctorOptions examined;
  auto* doctor = cli.add_subcommand("doctor", "examine key files and servers, and say what to do");
  AddConfig(*doctor, examined.config_file);
  doctor->add_flag("--json", examined.json, "the report as JSON");
  auto* user = doctor->add_option("--redis-user", examined.redis_user,
                                  "looks where the daemon's user may not");
  auto* user_password = doctor->add_option("--redis-password-file", examined.redis_password_file,
                                           "holds that user's password");
  user->needs(user_password);
  user_password->needs(user);
  doctor->callback([&] { status = Doctor(examined); });

  std::string key_file;
  auto* keygen = cli.add_subcommand("keygen", "make a new pseudonym key file");
  keygen->add_option("FILE", key_file, "must not exist yet")->required();
  keygen->callback([&] { status = Keygen(key_file); });

  cli.add_subcommand("version", "print the version")->callback([] {
    fmt::print("sluice {}\n", kVersion);
  });

  try {
    cli.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return cli.exit(asked);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "sluice: {} (sluice --help shows the usage)\n", error.what());
    return kUsage;
  }
  return status;
}

}  // namespace
}  // namespace sluice::app

int main(int argc, char** argv) {
  try {
    return sluice::app::Run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sluice: {}\n", error.what());
    return sluice::app::kUsage;
  }
}
