// What `sluice doctor` found, as data, and how it is told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::app::doctor {

/// What is looked at, in the order of the report.
enum class Check : std::uint8_t {
  kPseudonymKey,
  kResolution,
  kConnection,
  kTls,
  kAuthentication,
  kVersion,
  kTopology,
  kPermission,
  kScriptCache,
  kClock,
  kMemoryPolicy,
  kReplication,
  kPersistence,
  kLatency,
  kKeyspace,
};

enum class Verdict : std::uint8_t {
  kOk,
  kFailed,
  kUnknown,  ///< the account may not look, or the server does not tell
  kSkipped,  ///< says nothing while something else is wrong, or is not asked for
};

/// What a check came to. Never holds a secret or an identity.
struct Judgement {
  Verdict verdict = Verdict::kOk;
  std::string found{};
  std::string remedy{};  ///< what to do; empty if there is nothing to do
  friend bool operator==(const Judgement&, const Judgement&) = default;
};

/// A check made on one subject: a server's address, a file.
struct Finding {
  Check check{};
  std::string subject{};
  Judgement judgement{};
};

/// The words of the report: "script-cache", "failed", …
[[nodiscard]] std::string_view Name(Check check);
[[nodiscard]] std::string_view Name(Verdict verdict);

/// Whether nothing has failed. What could not be looked at is no failure.
[[nodiscard]] bool IsHealthy(std::span<const Finding> findings);

/// {"healthy":…,"findings":[{"check":…,"subject":…,"verdict":…,"found":…,"remedy":…},…]}; a remedy
/// that there is not is null.
[[nodiscard]] std::string ToJson(std::span<const Finding> findings);

/// The report for people: a line a finding under its subject, ✓, ✗, ? or - first, and the remedy
/// below it.
class TextReport {
 public:
  explicit TextReport(bool has_colours) : has_colours_(has_colours) {}

  /// The next lines of the report.
  [[nodiscard]] std::string Add(const Finding& finding);
  /// Its last line: how many findings there were of which kind.
  [[nodiscard]] static std::string Summary(std::span<const Finding> findings);

 private:
  bool has_colours_;
  std::string subject_;
};

/// A server's words fit to be shown: one line of printable ASCII, not endless.
[[nodiscard]] std::string Quoted(std::string_view text);

}  // namespace sluice::app::doctor
