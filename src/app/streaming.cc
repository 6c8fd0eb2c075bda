// `sluice evaluate --stream`: how other programs, and the vectors that every engine must pass,
// drive an engine without HTTP.
#include <chrono>
#include <cstdio>
#include <expected>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "src/app/commands.h"
#include "src/app/composition.h"
#include "src/edge/evaluate_json.h"
#include "src/edge/outcome_json.h"

namespace sluice::app {
namespace {

// The bound of a body of /v1, which a line stands for.
constexpr std::size_t kMaximumLine = 64 * 1024;

// A server's own clock runs on while the lines' stands still: a key must outlive the stream.
constexpr std::chrono::minutes kManualTtl{10};

// With a manual clock the lines say what time it is. The steady clock stands still, so that nothing
// runs out physically and no deadline passes: only `now_ms` decides.
class LineClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() const override { return {.wall = wall, .steady = {}}; }
  WallTime wall{};
};

// Lines of a stream, without their newline. A line longer than the bound is cut and marked.
class Lines {
 public:
  explicit Lines(std::FILE* file) : file_(file) {}

  // False at the end. A last line without a newline counts; no bytes after the last newline do not.
  bool Next() {
    text.clear();
    too_long = false;
    int byte = 0;
    bool any = false;
    while ((byte = getc_unlocked(file_)) != EOF) {
      any = true;
      if (byte == '\n') break;
      if (text.size() == kMaximumLine) {
        too_long = true;
      } else {
        text += static_cast<char>(byte);
      }
    }
    number += any;
    return any;
  }

  std::string text;
  bool too_long = false;
  std::int64_t number = 0;

 private:
  std::FILE* file_;
};

// One line's outcome, or why there is none.
std::expected<std::string, std::string> Answer(const Lines& line, Edge& edge, LineClock& clock,
                                               const StreamOptions& options) {
  if (line.too_long) {
    return std::unexpected(fmt::format("the line is longer than {} bytes", kMaximumLine));
  }
  auto parsed = edge::ParseEvaluateRequest(
      line.text, {.takes_mode = true, .takes_now = options.manual_clock}, edge);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  if (parsed->now) clock.wall = *parsed->now;
  if (!parsed->request.budget) parsed->request.budget = options.budget;
  return edge::ToJson(EvaluateAndWait(edge, std::move(parsed->request)));
}

}  // namespace

int EvaluateStream(const StreamOptions& options) {
  auto settings = LoadSettings(options.config_file);
  if (!settings) return settings.error();
  LineClock manual;
  if (options.manual_clock) {
    settings->redis.maximum_clock_skew.reset();
    settings->redis.minimum_ttl = kManualTtl;
  }
  const auto engine = MakeEngine(*settings);
  if (!engine) return Complain(engine.error());
  const auto composition =
      Compose(*settings, **engine, options.manual_clock ? manual : SystemClock());
  if (!composition) return Complain(composition.error());

  int status = kSuccess;
  Lines line(stdin);
  while (line.Next()) {
    const auto answer = Answer(line, *composition->edge, manual, options);
    if (answer) {
      fmt::print("{}\n", *answer);
    } else {
      nlohmann::ordered_json error{{"error", answer.error()}, {"line", line.number}};
      fmt::print("{}\n", error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      status = kUsage;
    }
    std::fflush(stdout);  // whoever waits for this line before it writes the next must get it
  }
  return status;
}

}  // namespace sluice::app
