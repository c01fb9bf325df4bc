//! Calls, failures and latencies, by tool.

use crate::call::{Call, CallTracker, Observed, Outcome};
use crate::latency::Latencies;
use crate::operation::{Operation, OperationKind, OperationTracker};
use std::collections::BTreeMap;
use wiretape_trace::format::Record;
use wiretape_trace::message::{Direction, Envelope, MessageKind};

/// What calls are counted under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A tool.
    Tool(String),
    /// A method other than a `tools/call` with a name; empty if it was not a string.
    Method(String),
}

/// How many calls there were, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// All of them.
    pub calls: u64,
    /// Those with a result that says `isError`.
    pub tool_errors: u64,
    /// Those with an error.
    pub protocol_errors: u64,
    /// Those that failed by an HTTP status.
    pub http_errors: u64,
    /// Those that were cancelled, and not answered.
    pub cancelled: u64,
    /// Those that were given up because they took too long.
    pub timed_out: u64,
    /// Those that were answered after they had been cancelled.
    pub late: u64,
    /// Those whose connection broke.
    pub disconnected: u64,
    /// Those without a response when the trace ended.
    pub pending: u64,
    /// Those that can't have a response, for their id was used again or could not be repeated.
    pub abandoned: u64,
}

impl CallCounts {
    /// Those that failed: by the tool's fault, the protocol's or that of HTTP.
    pub fn errors(&self) -> u64 {
        self.tool_errors + self.protocol_errors + self.http_errors
    }

    /// Those without a response.
    pub fn unanswered(&self) -> u64 {
        self.pending + self.abandoned + self.cancelled + self.timed_out + self.disconnected
    }

    /// Adds a call.
    pub fn add(&mut self, outcome: Outcome) {
        self.calls += 1;
        match outcome {
            Outcome::Ok => {}
            Outcome::ToolError => self.tool_errors += 1,
            Outcome::ProtocolError { .. } => self.protocol_errors += 1,
            Outcome::HttpError { .. } => self.http_errors += 1,
            Outcome::Cancelled => self.cancelled += 1,
            Outcome::TimedOut => self.timed_out += 1,
            Outcome::Late => self.late += 1,
            Outcome::Disconnected => self.disconnected += 1,
            Outcome::Pending => self.pending += 1,
            Outcome::Abandoned => self.abandoned += 1,
        }
    }

    fn merge(&mut self, other: &CallCounts) {
        self.calls += other.calls;
        self.tool_errors += other.tool_errors;
        self.protocol_errors += other.protocol_errors;
        self.http_errors += other.http_errors;
        self.cancelled += other.cancelled;
        self.timed_out += other.timed_out;
        self.late += other.late;
        self.disconnected += other.disconnected;
        self.pending += other.pending;
        self.abandoned += other.abandoned;
    }
}

/// The calls of one tool, of one method, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallStats {
    /// How many there were.
    pub counts: CallCounts,
    /// How long they took.
    pub latencies: Latencies,
    /// The size of all requests' payloads.
    pub request_bytes: u64,
    /// The size of all responses' payloads.
    pub response_bytes: u64,
    /// How many tokens all results have, if that was to be counted.
    pub result_tokens: u64,
}

impl CallStats {
    fn add(&mut self, call: &Call) {
        self.counts.add(call.outcome);
        if let Some(us) = call.latency_us.filter(|_| call.outcome.is_measured()) {
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

/// A line of the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsRow {
    /// What was called.
    pub subject: Subject,
    /// Who called.
    pub direction: Direction,
    /// What came of it.
    pub stats: CallStats,
}

/// The statistics of one or more recordings.
///
/// ```
/// use wiretape_analyze::stats::ToolStats;
/// use wiretape_trace::format::parse_line;
///
/// let mut stats = ToolStats::new();
/// stats.observe(1, &parse_line(br#"{"dir":"in","us":5,"raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#));
/// stats.end_recording();
/// assert_eq!(stats.totals().counts.pending, 1);
/// assert_eq!(stats.totals().latencies.percentile(50), None);
/// ```
#[derive(Debug, Default)]
pub struct ToolStats {
    rows: BTreeMap<(Subject, Direction), CallStats>,
    tracker: CallTracker,
    operations: OperationTracker,
    ended: BTreeMap<OperationKind, OperationStats>,
    orphans: u64,
    notifications: u64,
    counts_tokens: bool,
}

/// The operations of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationStats {
    /// How many there were.
    pub operations: u64,
    /// How many calls they have.
    pub calls: u64,
    /// How many notifications told of them.
    pub news: u64,
    /// How many came to an end.
    pub ended: u64,
    /// How long they took.
    pub durations: Latencies,
    /// Microseconds during which a person was waited for.
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
    /// Statistics of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also counts the tokens of results, which takes far longer than all the rest.
    pub fn with_tokens() -> Self {
        ToolStats { counts_tokens: true, ..Self::default() }
    }

    /// Takes the next record of a recording.
    pub fn observe(&mut self, line: u64, record: &Record<'_>) {
        let mut seen = Vec::new();
        let failed = self
            .tracker
            .observe_record(line, record, |_, envelope, observed| seen.push((envelope, observed)));
        if let Record::Message(message) = record {
            for (envelope, observed) in seen {
                self.operations.observe(&self.tracker, &message.stamp, &envelope, &observed);
                let known = message.dir.known().is_some();
                self.notifications += u64::from(known && envelope.kind == MessageKind::Notification);
                self.orphans += u64::from(observed == Observed::Orphan);
                if let Some(call) = observed.closed() {
                    let tokens = if self.counts_tokens { result_tokens(call, &envelope) } else { 0 };
                    add(&mut self.rows, call, tokens);
                }
            }
            self.settle_operations();
        }
        failed.iter().for_each(|call| add(&mut self.rows, call, 0));
    }

    fn settle_operations(&mut self) {
        for operation in self.operations.take_ended() {
            self.ended.entry(operation.kind).or_default().add(&operation);
        }
    }

    /// The operations of each kind.
    pub fn operations(&self) -> &BTreeMap<OperationKind, OperationStats> {
        &self.ended
    }

    /// Ends a recording: what is open stays unanswered, and the ids that follow are another's.
    pub fn end_recording(&mut self) {
        for call in std::mem::take(&mut self.tracker).finish() {
            add(&mut self.rows, &call, 0);
        }
        for operation in std::mem::take(&mut self.operations).finish() {
            self.ended.entry(operation.kind).or_default().add(&operation);
        }
    }

    /// How many responses nobody waited for.
    pub fn orphans(&self) -> u64 {
        self.orphans
    }

    /// How many notifications were sent, both ways.
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
        // The sort is stable, and the map is in the order of names.
        rows.sort_by_key(|row| {
            (matches!(row.subject, Subject::Method(_)), std::cmp::Reverse(row.stats.counts.calls))
        });
        rows
    }

    /// All calls together.
    pub fn totals(&self) -> CallStats {
        let mut totals = CallStats::default();
        self.rows.values().for_each(|stats| totals.merge(stats));
        totals
    }
}

fn add(rows: &mut BTreeMap<(Subject, Direction), CallStats>, call: &Call, tokens: u64) {
    let subject = match &call.tool {
        Some(tool) => Subject::Tool(tool.clone()),
        None => Subject::Method(call.method.clone()),
    };
    let stats = rows.entry((subject, call.direction)).or_default();
    stats.add(call);
    stats.result_tokens += tokens;
}

/// What a result costs in the context of the client's model.
fn result_tokens(call: &Call, answer: &Envelope<'_>) -> u64 {
    let result = answer.result.filter(|_| call.direction == Direction::ClientToServer);
    result.map_or(0, crate::tokens::of_result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{for_each_record, message};
    use proptest::prelude::*;

    fn stats(recordings: &[&[String]]) -> ToolStats {
        let mut stats = ToolStats::new();
        for lines in recordings {
            for_each_record(lines, |line, record| stats.observe(line, record));
            stats.end_recording();
        }
        stats
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
        let CallCounts { calls, tool_errors, protocol_errors, pending, abandoned, .. } = stats.counts;
        format!(
            "{calls} calls {tool_errors}+{protocol_errors} errors {pending}+{abandoned} open p50 {:?} {}/{} B",
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
                "Tool(\"a\") ClientToServer 2 calls 1+0 errors 1+0 open p50 Some(50) 104/34 B",
                "Tool(\"b\") ClientToServer 1 calls 0+0 errors 0+0 open p50 Some(200) 52/20 B",
                "Method(\"ping\") ClientToServer 1 calls 0+1 errors 0+0 open p50 Some(999) 24/27 B",
                "Method(\"ping\") ServerToClient 1 calls 0+0 errors 1+0 open p50 None 24/0 B",
                "total 5 calls 1+1 errors 2+0 open p50 Some(200) 204/81 B",
            ],
        );
        assert_eq!(stats(&[&lines]).orphans(), 1);
    }

    #[test]
    fn recordings_add_up_and_do_not_answer_each_other() {
        check(
            &[&[call(1, "a")], &[answer(1, 200, r#""result":{}"#), call(1, "a"), call(1, "a")]],
            &[
                "Tool(\"a\") ClientToServer 3 calls 0+0 errors 2+1 open p50 None 156/0 B",
                "total 3 calls 0+0 errors 2+1 open p50 None 156/0 B",
            ],
        );
    }

    #[test]
    fn nothing_is_no_rows() {
        check(&[], &["total 0 calls 0+0 errors 0+0 open p50 None 0/0 B"]);
    }

    proptest! {
        #[test]
        fn nothing_panics(lines in proptest::collection::vec(
            r#"\{"dir":"(in|out)","us":[0-9]{1,20},"raw":(\{|\[|\]|,|:|"(id|method|tools/call|params|name|result|isError)"|[0-9]|true|\}){0,12}\}"#, 0..20)) {
            stats(&[&lines]).totals();
        }
    }
}
