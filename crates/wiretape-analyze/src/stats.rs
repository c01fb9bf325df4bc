//! Calls, failures and latencies, by tool.
//!
//! Calls are counted by outcome, and every sum (errors, calls without a response) is derived from that in one place.
//! The client's calls and the server's requests are counted apart: the latter happen during the former.

use crate::call::{Call, Outcome};
use crate::latency::Latencies;
use crate::operation::{Operation, OperationKind};
use crate::reading::{Analysis, Closed, Meaning, Seen};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use wiretape_trace::message::{Direction, Envelope, MessageKind};

/// The group that calls are counted in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Calls of a tool.
    Tool(Arc<str>),
    /// A method other than a `tools/call` with a name; empty if it was not a string.
    Method(Arc<str>),
}

/// The number of calls by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// The number of calls, whatever their outcome.
    pub calls: u64,
    /// Calls with an `isError` result.
    pub tool_errors: u64,
    /// Calls with a JSON-RPC error.
    pub protocol_errors: u64,
    /// Calls that failed with an HTTP error.
    pub http_errors: u64,
    /// Calls that timed out.
    pub timed_out: u64,
    /// Calls that were cancelled.
    pub cancelled: u64,
    /// Calls whose client disconnected.
    pub disconnected: u64,
    /// Calls that were pending when the server crashed.
    pub crashed: u64,
    /// Calls without an answer at the end of the recording, or without a usable id.
    pub unanswered: u64,
    /// Calls that are in flight while the recording runs.
    pub pending: u64,
}

impl CallCounts {
    /// The number of failed calls, as by [`Outcome::is_error`].
    pub fn errors(&self) -> u64 {
        self.sum(Outcome::is_error)
    }

    /// The number of calls without a response in time, as by [`Outcome::is_unanswered`].
    pub fn without_answer(&self) -> u64 {
        self.sum(Outcome::is_unanswered)
    }

    fn sum(&self, counts: fn(Outcome) -> bool) -> u64 {
        let outcomes = Outcome::ALL.into_iter().filter(|outcome| counts(*outcome));
        outcomes.map(|outcome| self.get(outcome)).sum()
    }

    /// The number of calls with this outcome.
    pub fn get(&self, outcome: Outcome) -> u64 {
        match outcome {
            // Successful calls have no count of their own: they are the rest of the total.
            Outcome::Ok => self.calls - self.sum(|outcome| outcome != Outcome::Ok),
            Outcome::ToolError => self.tool_errors,
            Outcome::ProtocolError => self.protocol_errors,
            Outcome::HttpError => self.http_errors,
            Outcome::TimedOut => self.timed_out,
            Outcome::Cancelled => self.cancelled,
            Outcome::Disconnected => self.disconnected,
            Outcome::Crashed => self.crashed,
            Outcome::Unanswered => self.unanswered,
            Outcome::Pending => self.pending,
        }
    }

    /// Counts a call by its outcome.
    pub fn add(&mut self, outcome: Outcome) {
        self.calls += 1;
        if let Some(count) = self.count_of(outcome) {
            *count += 1;
        }
    }

    /// Takes back a call that was counted with this outcome, because it has another one now.
    pub fn remove(&mut self, outcome: Outcome) {
        self.calls -= 1;
        if let Some(count) = self.count_of(outcome) {
            *count -= 1;
        }
    }

    /// The count of an outcome; `None` for successful calls, which are the rest of the total.
    fn count_of(&mut self, outcome: Outcome) -> Option<&mut u64> {
        Some(match outcome {
            Outcome::Ok => return None,
            Outcome::ToolError => &mut self.tool_errors,
            Outcome::ProtocolError => &mut self.protocol_errors,
            Outcome::HttpError => &mut self.http_errors,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::Cancelled => &mut self.cancelled,
            Outcome::Disconnected => &mut self.disconnected,
            Outcome::Crashed => &mut self.crashed,
            Outcome::Unanswered => &mut self.unanswered,
            Outcome::Pending => &mut self.pending,
        })
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &CallCounts) {
        self.calls += other.calls;
        self.tool_errors += other.tool_errors;
        self.protocol_errors += other.protocol_errors;
        self.http_errors += other.http_errors;
        self.timed_out += other.timed_out;
        self.cancelled += other.cancelled;
        self.disconnected += other.disconnected;
        self.crashed += other.crashed;
        self.unanswered += other.unanswered;
        self.pending += other.pending;
    }
}

/// The statistics of one tool, one method, or all calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallStats {
    /// How many there were.
    pub counts: CallCounts,
    /// The latencies of the answered calls.
    pub latencies: Latencies,
    /// The total size of the requests in bytes.
    pub request_bytes: u64,
    /// The total size of the responses in bytes.
    pub response_bytes: u64,
    /// The tokens of all results, if they are counted.
    pub result_tokens: u64,
}

impl CallStats {
    fn add(&mut self, call: &Call) {
        self.counts.add(call.outcome);
        // Calls without an answer would distort the percentiles: their durations measure the client's patience.
        if let Some(us) = call.latency_us() {
            self.latencies.add(us);
        }
        self.request_bytes += call.request_bytes;
        self.response_bytes += call.response_bytes.unwrap_or(0);
    }

    fn merge(&mut self, other: &CallStats) {
        self.counts.merge(&other.counts);
        self.latencies.merge(&other.latencies);
        self.request_bytes += other.request_bytes;
        self.response_bytes += other.response_bytes;
        self.result_tokens += other.result_tokens;
    }
}

/// A row of the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsRow {
    /// The tool or method.
    pub subject: Subject,
    /// The direction of the calls.
    pub direction: Direction,
    /// The statistics of these calls.
    pub stats: CallStats,
}

/// The statistics of one or more recordings.
///
/// ```
/// use wiretape_analyze::reading::{Reading, RecordingState};
/// use wiretape_analyze::stats::ToolStats;
/// use wiretape_trace::format::TraceReader;
///
/// let trace = br#"{"dir":"in","us":5,"raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
/// let mut reading = Reading::new(ToolStats::new());
/// let mut reader = TraceReader::new(&trace[..]);
/// while let Some(line) = reader.next_line().unwrap() {
///     reading.observe(&line);
/// }
/// let stats = reading.finish(RecordingState::Over);
/// assert_eq!(stats.totals().counts.unanswered, 1);
/// assert_eq!(stats.totals().latencies.percentile(50), None);
/// ```
#[derive(Debug, Default)]
pub struct ToolStats {
    rows: BTreeMap<(Subject, Direction), CallStats>,
    operations: BTreeMap<OperationKind, OperationStats>,
    orphans: u64,
    notifications: u64,
    counts_tokens: bool,
}

/// The operations of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationStats {
    /// How many there were.
    pub operations: u64,
    /// The number of their calls.
    pub calls: u64,
    /// The number of their notifications.
    pub news: u64,
    /// The number of completed operations.
    pub ended: u64,
    /// How long the operations lasted, from the first request to the last answer.
    pub durations: Latencies,
    /// Microseconds spent waiting for the user.
    pub person_us: u64,
}

impl OperationStats {
    fn add(&mut self, operation: &Operation) {
        self.operations += 1;
        self.calls += operation.calls;
        self.news += operation.news;
        self.ended += u64::from(operation.ended);
        self.durations.add(operation.duration_us);
        self.person_us += operation.person_us;
    }
}

impl ToolStats {
    /// Statistics before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also counts the tokens of results, which takes far longer than everything else.
    pub fn with_tokens() -> Self {
        ToolStats { counts_tokens: true, ..Self::default() }
    }

    /// The operations of each kind.
    pub fn operations(&self) -> &BTreeMap<OperationKind, OperationStats> {
        &self.operations
    }

    /// The number of responses without a pending request.
    pub fn orphans(&self) -> u64 {
        self.orphans
    }

    /// The number of notifications in both directions.
    pub fn notifications(&self) -> u64 {
        self.notifications
    }

    /// A row for each tool, then for each other method; the most called first.
    pub fn rows(&self) -> Vec<StatsRow> {
        let mut rows: Vec<StatsRow> = self
            .rows
            .iter()
            .map(|((subject, direction), stats)| StatsRow {
                subject: subject.clone(),
                direction: *direction,
                stats: stats.clone(),
            })
            .collect();
        // The sort is stable and the map is ordered by name, so equal counts are sorted by name.
        rows.sort_by_key(|row| {
            (matches!(row.subject, Subject::Method(_)), std::cmp::Reverse(row.stats.counts.calls))
        });
        rows
    }

    /// The totals of the client's calls. Server requests during them are part of them.
    pub fn totals(&self) -> CallStats {
        self.sum(Direction::ClientToServer)
    }

    /// The totals of the server's requests.
    pub fn server_requests(&self) -> CallStats {
        self.sum(Direction::ServerToClient)
    }

    fn sum(&self, direction: Direction) -> CallStats {
        let mut totals = CallStats::default();
        let rows = self.rows.iter().filter(|((_, of), _)| *of == direction);
        rows.for_each(|(_, stats)| totals.merge(stats));
        totals
    }
}

impl Analysis for ToolStats {
    type PerCall = ();

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        let is_notification = seen.envelope.kind == MessageKind::Notification && seen.direction.is_some();
        self.notifications += u64::from(is_notification);
        self.orphans += u64::from(seen.meaning == Meaning::Orphan);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        let tokens =
            closed.answer.filter(|_| self.counts_tokens).map_or(0, |it| result_tokens(closed.call, it));
        add(&mut self.rows, closed.call, tokens);
    }

    fn operation_closed(&mut self, operation: &Operation) {
        self.operations.entry(operation.kind).or_default().add(operation);
    }
}

fn add(rows: &mut BTreeMap<(Subject, Direction), CallStats>, call: &Call, tokens: u64) {
    let subject = match &call.tool {
        Some(tool) => Subject::Tool(Arc::clone(tool)),
        None => Subject::Method(Arc::clone(&call.method)),
    };
    let stats = rows.entry((subject, call.direction)).or_default();
    stats.add(call);
    stats.result_tokens += tokens;
}

/// The tokens of a result in the context of the client's model.
fn result_tokens(call: &Call, answer: &Envelope<'_>) -> u64 {
    let result = answer.result.filter(|_| call.direction == Direction::ClientToServer);
    result.map_or(0, crate::tokens::of_result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Reading, RecordingState};
    use crate::testing::{for_each_line, message};
    use proptest::prelude::*;

    fn stats(recordings: &[&[String]]) -> ToolStats {
        let mut reading = Reading::new(ToolStats::new());
        for lines in recordings {
            for_each_line(lines, |line| reading.observe(line));
            reading.end_recording(RecordingState::Over);
        }
        reading.finish(RecordingState::Over)
    }

    fn check(recordings: &[&[String]], expected: &[&str]) {
        let stats = stats(recordings);
        let mut told: Vec<String> = stats
            .rows()
            .iter()
            .map(|row| format!("{:?} {:?} {}", row.subject, row.direction, describe(&row.stats)))
            .collect();
        told.push(format!("total {}", describe(&stats.totals())));
        assert_eq!(told, expected);
    }

    fn describe(stats: &CallStats) -> String {
        let CallCounts { calls, tool_errors, protocol_errors, unanswered, .. } = stats.counts;
        format!(
            "{calls} calls {tool_errors}+{protocol_errors} errors {unanswered} unanswered p50 {:?} {}/{} B",
            stats.latencies.percentile(50),
            stats.request_bytes,
            stats.response_bytes
        )
    }

    fn call(id: u32, tool: &str) -> String {
        let raw = format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
        message("in", 100, &raw)
    }

    fn answer(id: u32, us: u64, result: &str) -> String {
        message("out", us, &format!(r#"{{"id":{id},{result}}}"#))
    }

    #[test]
    fn calls_are_counted_by_tool_and_by_method() {
        let lines = [
            message("in", 0, r#"{"id":0,"method":"ping"}"#),
            message("out", 1, r#"{"id":0,"method":"ping"}"#),
            call(1, "b"),
            call(2, "a"),
            call(3, "a"),
            answer(2, 150, r#""result":{"isError":true}"#),
            answer(1, 300, r#""result":{}"#),
            answer(0, 999, r#""error":{"code":1}"#),
            answer(7, 999, r#""result":{}"#),
        ];
        check(
            &[&lines],
            &[
                "Tool(\"a\") ClientToServer 2 calls 1+0 errors 1 unanswered p50 Some(50) 104/34 B",
                "Tool(\"b\") ClientToServer 1 calls 0+0 errors 0 unanswered p50 Some(200) 52/20 B",
                "Method(\"ping\") ClientToServer 1 calls 0+1 errors 0 unanswered p50 Some(999) 24/27 B",
                "Method(\"ping\") ServerToClient 1 calls 0+0 errors 1 unanswered p50 None 24/0 B",
                "total 4 calls 1+1 errors 1 unanswered p50 Some(200) 180/81 B",
            ],
        );
        assert_eq!(stats(&[&lines]).orphans(), 1);
    }

    #[test]
    fn recordings_add_up_and_do_not_answer_each_other() {
        check(
            &[&[call(1, "a")], &[answer(1, 200, r#""result":{}"#), call(1, "a"), call(1, "a")]],
            &[
                "Tool(\"a\") ClientToServer 3 calls 0+0 errors 3 unanswered p50 None 156/0 B",
                "total 3 calls 0+0 errors 3 unanswered p50 None 156/0 B",
            ],
        );
    }

    #[test]
    fn nothing_is_no_rows() {
        check(&[], &["total 0 calls 0+0 errors 0 unanswered p50 None 0/0 B"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(lines in proptest::collection::vec(
            r#"\{"dir":"(in|out)","us":[0-9]{1,20},"raw":(\{|\[|\]|,|:|"(id|method|tools/call|params|name|result|isError)"|[0-9]|true|\}){0,12}\}"#, 0..20)) {
            stats(&[&lines]).totals();
        }
    }
}
