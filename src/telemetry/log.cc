#include "src/telemetry/log.h"

#include <array>
#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <unistd.h>

namespace sluice::telemetry {
namespace {

// Both name the time in UTC; the JSON object is completed by what Render makes.
constexpr char kTextPattern[] = "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v";
constexpr char kJsonPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

spdlog::level::level_enum SpdlogLevel(Level level) {
  constexpr std::array kLevels = {spdlog::level::trace, spdlog::level::debug, spdlog::level::info,
                                  spdlog::level::warn, spdlog::level::err};
  return kLevels.at(static_cast<std::size_t>(level));
}

bool WantsColour() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

std::string Render(bool json, std::string_view message, std::initializer_list<Field> fields) {
  if (!json) {
    std::string line(message);
    for (const Field& field : fields)
      line.append(" ").append(field.name).append("=") += field.value;
    // One event is one line, whatever a value holds.
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return line;
  }
  nlohmann::ordered_json object{{"message", message}};
  for (const Field& field : fields) object[std::string(field.name)] = field.value;
  const std::string text = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.substr(1, text.size() - 2);
}

class Log::Sink {
 public:
  explicit Sink(const LogOptions& options)
      : json_(options.json), logger_("sluice", MakeSink(options.json)) {
    logger_.set_formatter(std::make_unique<spdlog::pattern_formatter>(
        json_ ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc));
    logger_.set_level(SpdlogLevel(options.level));
    logger_.flush_on(spdlog::level::trace);
  }

  void Write(Level level, std::string_view message, std::initializer_list<Field> fields) {
    const auto severity = SpdlogLevel(level);
    if (!logger_.should_log(severity)) return;
    const std::string line = Render(json_, message, fields);
    logger_.log(severity, spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  static spdlog::sink_ptr MakeSink(bool json) {
    const auto colour =
        !json && WantsColour() ? spdlog::color_mode::always : spdlog::color_mode::never;
    return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(colour);
  }

  bool json_;
  spdlog::logger logger_;
};

Log::Log(const LogOptions& options) : sink_(std::make_unique<Sink>(options)) {}
Log::~Log() = default;

void Log::Write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  sink_->Write(level, message, fields);
}

std::optional<std::int64_t> Throttle::Admit(std::string_view cause, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  const auto found = causes_.find(cause);
  if (found == causes_.end()) {
    causes_.emplace(cause, Cause{.next = now + kInterval});
    return 0;
  }
  if (now < found->second.next) {
    ++found->second.suppressed;
    return std::nullopt;
  }
  found->second.next = now + kInterval;
  return std::exchange(found->second.suppressed, 0);
}

}  // namespace sluice::telemetry
