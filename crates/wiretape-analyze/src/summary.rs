//! The key figures of a trace: what `ls`, the library's index and Home show of it, without its calls.
//!
//! One pass, with bounded memory: everything is a counter, except the first introductions and the last lines of
//! standard error. `Crashes` is separate, because `stats`, the page and the store's loader need it without the rest.

use crate::glance::describe_end;
use crate::reading::{Analysis, Closed, LineView, Meaning, Seen};
use crate::stats::CallCounts;
use std::collections::VecDeque;
use wiretape_trace::format::{End, Meta, Record, Stamp};
use wiretape_trace::message::Direction;
use wiretape_trace::protocol::Peer;

/// Lines of standard error that are kept, and characters of each.
const LAST_STDERR: usize = 5;
const LONGEST_STDERR: usize = 500;

/// Lines that are searched for client and server info; they come first.
const INTRODUCTIONS: u64 = 50;

/// How a trace ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With an `end` line.
    End(End),
    /// The recording continues in another file.
    Rotated {
        /// The name of the next file.
        next: String,
    },
    /// Without an `end` line: the recorder is still running or was killed.
    Missing,
}

impl Ending {
    /// Whether the server crashed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Ending::End(end) if end.is_failure())
    }
}

/// The key figures of a trace.
#[derive(Debug)]
pub struct TraceSummary {
    /// The `meta` line, if there is one.
    pub meta: Option<Meta>,
    /// Messages from client to server; a batch counts as its elements.
    pub messages_in: u64,
    /// Messages from server to client.
    pub messages_out: u64,
    /// Messages of an unknown direction.
    pub messages_other: u64,
    /// The client's calls by outcome.
    pub calls: CallCounts,
    /// The server's requests: sampling, elicitation, roots, pings.
    pub server_requests: CallCounts,
    /// Responses without a pending request.
    pub orphans: u64,
    /// Lines from a peer that are not JSON.
    pub text_lines: u64,
    /// SSE events that are not messages: priming events, `endpoint`, other types.
    pub stream_events: u64,
    /// Lines of the server's standard error.
    pub stderr_lines: u64,
    /// Lines that the recorder could not write.
    pub lost: u64,
    /// Lines of a type this version doesn't know.
    pub unknown_lines: u64,
    /// Lines that are not JSON objects.
    pub damaged_lines: u64,
    /// How the trace ends.
    pub ending: Ending,
    /// The client, as it first introduces itself.
    pub client: Option<Peer>,
    /// The server, as it first introduces itself.
    pub server: Option<Peer>,
    /// The server's last lines on standard error, oldest first, each cut to a bounded length.
    pub last_stderr: VecDeque<String>,
    times: Times,
}

#[derive(Debug, Default)]
struct Times {
    first_wall_ms: Option<i64>,
    last_wall_ms: Option<i64>,
    last_us: Option<u64>,
}

impl Default for TraceSummary {
    fn default() -> Self {
        TraceSummary {
            meta: None,
            messages_in: 0,
            messages_out: 0,
            messages_other: 0,
            calls: CallCounts::default(),
            server_requests: CallCounts::default(),
            orphans: 0,
            text_lines: 0,
            stream_events: 0,
            stderr_lines: 0,
            lost: 0,
            unknown_lines: 0,
            damaged_lines: 0,
            ending: Ending::Missing,
            client: None,
            server: None,
            last_stderr: VecDeque::new(),
            times: Times::default(),
        }
    }
}

impl TraceSummary {
    /// A summary before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of messages in all directions.
    pub fn messages(&self) -> u64 {
        self.messages_in + self.messages_out + self.messages_other
    }

    /// The start of the trace in milliseconds since 1970: from its `meta`, otherwise from its first line.
    pub fn started_ms(&self) -> Option<i64> {
        let by_meta = self.meta.as_ref().and_then(started_at);
        by_meta.or(self.times.first_wall_ms)
    }

    /// The duration of the trace in microseconds: to its `end`, otherwise to its last line. A later part of a rotated recording
    /// counts from its own start, and a trace without `meta` from its first line.
    pub fn duration_us(&self) -> Option<u64> {
        let by_clock = self.by_wall_clock_us();
        let Some(meta) = &self.meta else { return by_clock };
        let by_end = match &self.ending {
            Ending::End(end) => end.duration_us(meta),
            Ending::Rotated { .. } | Ending::Missing => None,
        };
        let began_us = meta.part.as_ref().map_or(0, |part| part.us);
        // Before the wall clock, which may have been set in between.
        let by_offset = || self.times.last_us.map(|us| us.saturating_sub(began_us));
        by_end.or_else(by_offset).or(by_clock)
    }

    fn by_wall_clock_us(&self) -> Option<u64> {
        let ms = self.times.last_wall_ms?.checked_sub(self.started_ms()?)?;
        u64::try_from(ms).ok()?.checked_mul(1000)
    }

    /// Peers introduce themselves in their first messages; parsing all messages for that would slow down `ls`.
    fn introduce(&mut self, seen: &Seen<'_, '_>) {
        if seen.line.line.number > INTRODUCTIONS {
            return;
        }
        if self.client.is_none() && seen.direction == Some(Direction::ClientToServer) {
            self.client = seen.envelope.params.and_then(Peer::client);
        }
        if self.server.is_none() && seen.direction == Some(Direction::ServerToClient) {
            self.server = seen.envelope.result.and_then(Peer::server);
        }
    }

    fn stderr(&mut self, text: &str) {
        self.stderr_lines += 1;
        keep_last(&mut self.last_stderr, text);
    }
}

impl Analysis for TraceSummary {
    type PerCall = ();

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        let record = &view.line.record;
        if let Some(stamp) = record.stamp() {
            self.times.observe(stamp);
        }
        match record {
            Record::Meta(meta) => drop(self.meta.get_or_insert_with(|| (**meta).clone())),
            Record::Text(text) if text.is_stream_event() => self.stream_events += 1,
            Record::Text(_) => self.text_lines += 1,
            Record::Stderr(text) => self.stderr(&text.text),
            Record::Gap(gap) => self.lost = self.lost.saturating_add(gap.lost),
            Record::Rotated { next, .. } => self.ending = Ending::Rotated { next: next.clone() },
            Record::End(end) => {
                // The `end` line has the total, which includes the gaps; the maximum covers recorders that wrote only
                // one of the two.
                self.lost = self.lost.max(end.lost.unwrap_or(0));
                self.ending = Ending::End(end.clone());
            }
            Record::Unknown { .. } => self.unknown_lines += 1,
            Record::Damaged(_) => self.damaged_lines += 1,
            Record::Message(_) | Record::Http(_) => {}
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        let count = match seen.direction {
            Some(Direction::ClientToServer) => &mut self.messages_in,
            Some(Direction::ServerToClient) => &mut self.messages_out,
            None => &mut self.messages_other,
        };
        *count += 1;
        self.introduce(seen);
        self.orphans += u64::from(seen.meaning == Meaning::Orphan);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        match closed.call.direction {
            Direction::ClientToServer => self.calls.add(closed.call.outcome),
            Direction::ServerToClient => self.server_requests.add(closed.call.outcome),
        }
    }
}

impl Times {
    fn observe(&mut self, stamp: &Stamp<'_>) {
        self.last_us = self.last_us.max(stamp.us);
        let wall_ms = stamp.wall_ms();
        self.first_wall_ms = self.first_wall_ms.or(wall_ms);
        self.last_wall_ms = self.last_wall_ms.max(wall_ms);
    }
}

/// The start of a trace in milliseconds since 1970. The format requires a time, so an imported trace without times starts at
/// 1970; that counts as unknown.
pub fn started_at(meta: &Meta) -> Option<i64> {
    wall_ms(&meta.started_at).filter(|ms| *ms != 0 || meta.imported.is_none())
}

/// An ISO 8601 time as milliseconds since 1970.
pub fn wall_ms(text: &str) -> Option<i64> {
    Stamp { t: Some(text.into()), ..Stamp::default() }.wall_ms()
}

/// A recording whose server crashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    /// The label of the trace.
    pub label: String,
    /// How the server ended.
    pub end: End,
    /// Its last lines on standard error, oldest first.
    pub last_stderr: Vec<String>,
}

impl Crash {
    /// How the server ended, and its last line on standard error: `exit 1: out of memory`.
    pub fn cause(&self) -> String {
        let end = describe_end(&self.end);
        match self.last_stderr.last().map(|line| line.trim()).filter(|line| !line.is_empty()) {
            Some(line) => format!("{end}: {line}"),
            None => end,
        }
    }
}

/// Finds crashed servers in one or more recordings.
#[derive(Debug, Default)]
pub struct Crashes {
    label: String,
    last_stderr: VecDeque<String>,
    found: Vec<Crash>,
}

impl Crashes {
    /// The crashes, in the order of the recordings.
    pub fn found(&self) -> &[Crash] {
        &self.found
    }
}

impl Analysis for Crashes {
    type PerCall = ();

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        match &view.line.record {
            Record::Meta(meta) => {
                self.label.clone_from(&meta.label);
                // A later part of a rotated recording belongs to the same server.
                if meta.part.is_none() {
                    self.last_stderr.clear();
                }
            }
            Record::Stderr(text) => keep_last(&mut self.last_stderr, &text.text),
            Record::End(end) if end.is_failure() => self.found.push(Crash {
                label: self.label.clone(),
                end: end.clone(),
                last_stderr: self.last_stderr.iter().cloned().collect(),
            }),
            _ => {}
        }
    }

    fn closed(&mut self, _: &Closed<'_, '_>, (): ()) {}
}

/// Keeps the last lines of standard error, each cut to a bounded length.
fn keep_last(lines: &mut VecDeque<String>, text: &str) {
    if lines.len() == LAST_STDERR {
        lines.pop_front();
    }
    lines.push_back(text.chars().take(LONGEST_STDERR).collect());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{message, read};
    use proptest::prelude::*;

    fn summary(lines: &[String]) -> TraceSummary {
        read(TraceSummary::new(), lines)
    }

    fn check(lines: &[&str], expected: &str) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let summary = summary(&lines);
        let told = format!(
            "{}+{}+{} messages, {} calls, {} errors, {} open, {} orphans, {} text, {} stderr, {} lost, {} unknown, {} damaged, start {:?}, took {:?}, {}",
            summary.messages_in,
            summary.messages_out,
            summary.messages_other,
            summary.calls.calls,
            summary.calls.errors(),
            summary.calls.without_answer(),
            summary.orphans,
            summary.text_lines,
            summary.stderr_lines,
            summary.lost,
            summary.unknown_lines,
            summary.damaged_lines,
            summary.started_ms(),
            summary.duration_us(),
            match &summary.ending {
                Ending::End(end) => format!("end {:?} {:?}", end.exit_code, end.reason),
                Ending::Rotated { next } => format!("rotated to {next}"),
                Ending::Missing => "no end".to_owned(),
            }
        );
        assert_eq!(told, expected);
    }

    const META: &str =
        r#"{"v":1,"type":"meta","startedAt":"1970-01-01T00:00:01.000Z","label":"x","command":[]}"#;

    #[test]
    fn a_whole_trace() {
        check(
            &[
                META,
                r#"{"dir":"in","us":5,"raw":[{"id":1,"method":"ping"},{"id":2,"method":"ping"}]}"#,
                r#"{"type":"text","dir":"out","us":6,"text":"hello"}"#,
                r#"{"type":"stderr","us":7,"text":"hello"}"#,
                r#"{"dir":"out","us":9,"raw":{"id":1,"error":{"code":1}}}"#,
                r#"{"dir":"out","us":9,"raw":{"id":1,"error":{"code":1}}}"#,
                r#"{"type":"gap","lost":3}"#,
                r#"{"type":"end","exitCode":1,"durationMs":40,"lost":5}"#,
            ],
            "2+2+0 messages, 2 calls, 2 errors, 1 open, 1 orphans, 1 text, 1 stderr, 5 lost, 0 unknown, 0 damaged, start Some(1000), took Some(40000), end Some(1) None",
        );
    }

    #[test]
    fn without_meta_and_end_the_lines_tell_the_times() {
        check(
            &[
                r#"{"t":"1970-01-01T00:00:02.000Z","dir":"event","raw":{}}"#,
                r#"{"t":"1970-01-01T00:00:02.500Z","type":"turn"}"#,
                "noise",
            ],
            "0+0+1 messages, 0 calls, 0 errors, 0 open, 0 orphans, 0 text, 0 stderr, 0 lost, 1 unknown, 1 damaged, start Some(2000), took Some(500000), no end",
        );
        check(
            &[
                r#"{"t":"1970-01-01T00:00:02.000Z","us":9000000,"type":"stderr","text":""}"#,
                r#"{"t":"1970-01-01T00:00:03.000Z","type":"end","exitCode":0,"durationMs":10000}"#,
            ],
            "0+0+0 messages, 0 calls, 0 errors, 0 open, 0 orphans, 0 text, 1 stderr, 0 lost, 0 unknown, 0 damaged, start Some(2000), took Some(1000000), end Some(0) None",
        );
        check(
            &[],
            "0+0+0 messages, 0 calls, 0 errors, 0 open, 0 orphans, 0 text, 0 stderr, 0 lost, 0 unknown, 0 damaged, start None, took None, no end",
        );
    }

    #[test]
    fn a_part_counts_from_its_own_beginning() {
        check(
            &[
                r#"{"v":1,"type":"meta","startedAt":"1970-01-01T00:00:01.000Z","part":{"index":2,"of":"i","previous":"p","us":1000}}"#,
                r#"{"type":"stderr","us":1700,"text":""}"#,
                r#"{"type":"rotated","next":"b.jsonl"}"#,
            ],
            "0+0+0 messages, 0 calls, 0 errors, 0 open, 0 orphans, 0 text, 1 stderr, 0 lost, 0 unknown, 0 damaged, start Some(1000), took Some(700), rotated to b.jsonl",
        );
    }

    #[test]
    fn a_last_part_takes_the_same_time_whatever_its_end_counts_from() {
        let meta = r#"{"v":1,"type":"meta","startedAt":"1970-01-01T00:00:01.000Z","part":{"index":2,"of":"i","previous":"p","us":1000000}}"#;
        // From this part's beginning, and as older recorders counted, from that of the recording.
        for duration_ms in [383, 1383] {
            let end =
                format!(r#"{{"type":"end","seq":9,"us":1383000,"exitCode":0,"durationMs":{duration_ms}}}"#);
            let summary = summary(&[meta.to_owned(), end]);
            assert_eq!(summary.duration_us(), Some(383_000));
        }
        let elsewhere = r#"{"type":"end","exitCode":0,"durationMs":383}"#;
        assert_eq!(summary(&[meta.to_owned(), elsewhere.to_owned()]).duration_us(), Some(383_000));
    }

    proptest! {
        #[test]
        fn nothing_panics(lines in proptest::collection::vec(
            r#"\{"type":"(meta|end|gap|rotated|text|stderr|x)","(us|t|lost|durationMs|startedAt|text)":([0-9]{1,20}|"[0-9TZ:-]{0,24}"),"us":[0-9]{1,20}\}"#, 0..20)) {
            let summary = summary(&lines);
            summary.started_ms();
            summary.duration_us();
        }

        #[test]
        fn messages_are_counted(n in 0usize..30) {
            let lines = vec![message("in", 1, r#"{"method":"notifications/x"}"#); n];
            prop_assert_eq!(summary(&lines).messages(), n as u64);
        }
    }
}
