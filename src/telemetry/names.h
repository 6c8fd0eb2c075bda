// Every name that operators build dashboards and alerts on. Labels have few values, none of which a
// client can choose.
#pragma once

namespace sluice::telemetry::names {

// Metrics. Counters end in _total, times are in seconds (the Prometheus naming practices).
inline constexpr char kEvaluations[] = "sluice_evaluations_total";
inline constexpr char kReplays[] = "sluice_replays_total";
inline constexpr char kFailures[] = "sluice_failures_total";
inline constexpr char kAnonymous[] = "sluice_anonymous_total";
inline constexpr char kDuration[] = "sluice_evaluation_duration_seconds";
inline constexpr char kRejections[] = "sluice_http_rejections_total";
inline constexpr char kConnections[] = "sluice_http_connections";
inline constexpr char kMemoryStates[] = "sluice_memory_states";
inline constexpr char kMemoryRecords[] = "sluice_memory_records";
inline constexpr char kMemoryExpired[] = "sluice_memory_expired_total";
inline constexpr char kMemoryEvicted[] = "sluice_memory_evicted_total";
inline constexpr char kMemoryRejected[] = "sluice_memory_rejected_total";
inline constexpr char kBuild[] = "sluice_build_info";

// Their labels.
inline constexpr char kPolicy[] = "policy";
inline constexpr char kOutcome[] = "outcome";
inline constexpr char kCategory[] = "category";
inline constexpr char kReason[] = "reason";
inline constexpr char kVersion[] = "version";

// Fields of log lines.
inline constexpr char kAddress[] = "address";
inline constexpr char kProvider[] = "provider";
inline constexpr char kSuppressed[] = "suppressed";
inline constexpr char kSignal[] = "signal";

}  // namespace sluice::telemetry::names
