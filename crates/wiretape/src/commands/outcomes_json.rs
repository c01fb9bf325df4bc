//! Failed calls and the outcomes they had, as `ls --json` and `stats --json` have them.

use serde::Serialize;
use wiretape_analyze::stats::CallCounts;

/// The number of failed calls, and of calls with each outcome but `ok`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutcomesJson {
    errors: u64,
    tool_errors: u64,
    protocol_errors: u64,
    http_errors: u64,
    timed_out: u64,
    cancelled: u64,
    disconnected: u64,
    crashed: u64,
    unanswered: u64,
    pending: u64,
}

impl OutcomesJson {
    pub(super) fn new(counts: &CallCounts) -> Self {
        OutcomesJson {
            errors: counts.errors(),
            tool_errors: counts.tool_errors,
            protocol_errors: counts.protocol_errors,
            http_errors: counts.http_errors,
            timed_out: counts.timed_out,
            cancelled: counts.cancelled,
            disconnected: counts.disconnected,
            crashed: counts.crashed,
            unanswered: counts.unanswered,
            pending: counts.pending,
        }
    }
}
