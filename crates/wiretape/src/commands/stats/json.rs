//! What a row of `stats --json` says about its calls, whether they are in traces or in the store.

use crate::commands::outcomes_json::OutcomesJson;
use serde::Serialize;
use wiretape_analyze::latency::Latencies;

/// The calls of a row, or all of them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallsJson {
    pub(super) calls: u64,
    #[serde(flatten)]
    pub(super) outcomes: OutcomesJson,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result_tokens: Option<u64>,
    pub(super) latency_us: LatencyJson,
}

/// Latency percentiles, in microseconds.
#[derive(Serialize)]
pub(super) struct LatencyJson {
    pub(super) measured: u64,
    pub(super) p50: Option<u64>,
    pub(super) p95: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) mean: Option<u64>,
    pub(super) max: Option<u64>,
}

impl LatencyJson {
    pub(super) fn new(latencies: &Latencies) -> Self {
        LatencyJson {
            measured: latencies.measured(),
            p50: latencies.percentile(50),
            p95: latencies.percentile(95),
            p99: latencies.percentile(99),
            mean: latencies.mean(),
            max: latencies.max(),
        }
    }
}
