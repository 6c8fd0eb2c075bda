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
inline constexpr char kRedisInFlight[] = "sluice_redis_in_flight";
inline constexpr char kRedisConnections[] = "sluice_redis_connections";
inline constexpr char kRedisConnects[] = "sluice_redis_connects_total";
inline constexpr char kRedisConnectFailures[] = "sluice_redis_connect_failures_total";
inline constexpr char kRedisDisconnects[] = "sluice_redis_disconnects_total";
inline constexpr char kRedisCalls[] = "sluice_redis_calls_total";
inline constexpr char kRedisEvaluations[] = "sluice_redis_evaluations_total";
inline constexpr char kRedisRepeats[] = "sluice_redis_repeats_total";
inline constexpr char kRedisReloads[] = "sluice_redis_script_reloads_total";
inline constexpr char kRedisErrors[] = "sluice_redis_error_replies_total";
inline constexpr char kRedisRedirects[] = "sluice_redis_redirects_total";
inline constexpr char kRedisMapChanges[] = "sluice_redis_map_changes_total";
inline constexpr char kRedisUnreplicated[] = "sluice_redis_unreplicated_total";
inline constexpr char kRedisRejected[] = "sluice_redis_rejected_total";
inline constexpr char kRedisExpired[] = "sluice_redis_expired_total";
inline constexpr char kRedisClockSkew[] = "sluice_redis_clock_skew_seconds";
inline constexpr char kRedisRoundTrip[] = "sluice_redis_round_trip_seconds";
inline constexpr char kRedisNodeReady[] = "sluice_redis_node_ready";
inline constexpr char kRedisNodeConnections[] = "sluice_redis_node_connections";
inline constexpr char kRedisNodeClockSkew[] = "sluice_redis_node_clock_skew_seconds";
inline constexpr char kRedisNodeRoundTrip[] = "sluice_redis_node_round_trip_seconds";
inline constexpr char kBuild[] = "sluice_build_info";

// Their labels.
inline constexpr char kPolicy[] = "policy";
inline constexpr char kOutcome[] = "outcome";
inline constexpr char kCategory[] = "category";
inline constexpr char kReason[] = "reason";  // of log lines too
inline constexpr char kError[] = "error";
inline constexpr char kNode[] = "node";  // a server's address, as it is configured or found
inline constexpr char kVersion[] = "version";

// Fields of log lines.
inline constexpr char kAddress[] = "address";
inline constexpr char kProvider[] = "provider";
inline constexpr char kLane[] = "lane";
inline constexpr char kSuppressed[] = "suppressed";
inline constexpr char kSignal[] = "signal";
inline constexpr char kWorkers[] = "workers";

}  // namespace sluice::telemetry::names
