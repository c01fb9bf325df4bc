//! `perfetto`: Chrome trace events for Perfetto and `chrome://tracing`. A call is a slice; the server is a process with a
//! thread per concurrent call.

use super::json::{raw, string};
use super::{ExportAnalysis, ExportFormat, Output, Survey};
use crate::call::Call;
use crate::reading::{Analysis, Closed, LineView, Meaning, Seen};
use std::io::{self, Write};
use wiretape_trace::message::{Direction, Envelope, MessageKind};

pub(super) static PERFETTO: ExportFormat = ExportFormat {
    name: "perfetto",
    about: "a timeline for ui.perfetto.dev and chrome://tracing",
    make: |_, survey| super::exporter(Timeline::new(survey)),
};

struct Timeline {
    label: String,
    source: String,
    /// Which lanes are in use.
    lanes: Vec<bool>,
    start_ms: Option<i64>,
    now_us: u64,
    events: u64,
    out: Output,
}

/// The slice of a pending call.
#[derive(Debug, Default)]
struct Slice {
    /// `None` for a call that can't be answered and has no duration.
    lane: Option<usize>,
    start_us: u64,
}

impl Timeline {
    fn new(survey: &Survey) -> Self {
        let label = survey.meta.as_ref().map(|meta| meta.label.clone()).unwrap_or_default();
        Timeline {
            label,
            source: survey.words(),
            lanes: Vec::new(),
            start_ms: survey.first_ms,
            now_us: 0,
            events: 0,
            out: Output::default(),
        }
    }

    fn free_lane(&mut self) -> usize {
        // The lowest free lane: slices on one thread must not overlap partially, or the viewers draw them wrongly;
        // and a session without concurrency stays on one row.
        let free = self.lanes.iter().position(|taken| !taken).unwrap_or(self.lanes.len());
        if free == self.lanes.len() {
            self.lanes.push(true);
        }
        self.lanes[free] = true;
        free
    }

    fn slice(&mut self, call: &Call, slice: &Slice, answer: Option<&Envelope<'_>>) {
        let Some(lane) = slice.lane else { return };
        self.lanes[lane] = false;
        let name = call.tool.as_deref().unwrap_or(&call.method);
        let duration = call.duration_us.unwrap_or(self.now_us.saturating_sub(slice.start_us));
        let outcome = serde_json::json!({
            "method": call.method,
            "from": side(Some(call.direction)),
            "outcome": call.outcome.name(),
            "requestLine": call.request.line,
            "responseLine": call.response.map(|place| place.line),
            "requestBytes": call.request_bytes,
            "responseBytes": call.response_bytes,
        });
        let error = answer.and_then(|answer| answer.error).map(|error| format!(",\"error\":{}", raw(error)));
        let outcome = outcome.to_string();
        // The error is spliced in as text, because parsing it would change its digits.
        let args = format!("{}{}}}", &outcome[..outcome.len() - 1], error.unwrap_or_default());
        let body = format!(
            "\"name\":{},\"cat\":\"call\",\"ph\":\"X\",\"ts\":{},\"dur\":{duration},\"pid\":1,\"tid\":{},\"args\":{args}",
            string(name),
            slice.start_us,
            lane + 1,
        );
        self.event(&body);
    }

    fn instant(&mut self, seen: &Seen<'_, '_>) {
        let name = string(seen.envelope.method.as_deref().unwrap_or_default());
        let (from, now) = (side(seen.direction), self.now_us);
        let body = format!(
            "\"name\":{name},\"cat\":\"notification\",\"ph\":\"i\",\"s\":\"p\",\"ts\":{now},\"pid\":1,\"tid\":0,\"args\":{{\"from\":\"{from}\"}}"
        );
        self.event(&body);
    }

    fn event(&mut self, body: &str) {
        let comma = if self.events > 0 { "," } else { "" };
        self.events += 1;
        self.out.write(|out| write!(out, "{comma}\n{{{body}}}"));
    }
}

impl Analysis for Timeline {
    type PerCall = Slice;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        // An event without a time gets the time of the previous one.
        let Some(stamp) = view.line.record.stamp() else { return };
        let wall = || {
            stamp.wall_ms().zip(self.start_ms).map(|(ms, start)| (ms - start).max(0).unsigned_abs() * 1000)
        };
        self.now_us = stamp.us.or_else(wall).unwrap_or(self.now_us);
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Slice>) {
        match (seen.meaning, own) {
            (Meaning::Request { .. }, Some(slice)) => {
                *slice = Slice { lane: Some(self.free_lane()), start_us: self.now_us };
            }
            _ if seen.envelope.kind == MessageKind::Notification => self.instant(seen),
            _ => {}
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, slice: Slice) {
        self.slice(closed.call, &slice, closed.answer);
    }
}

impl ExportAnalysis for Timeline {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let source = string(&self.source);
        write!(out, "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"source\":{source}}},\"traceEvents\":[")?;
        let name = string(&self.label);
        self.event(&format!(
            "\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{{\"name\":{name}}}"
        ));
        self.out.flush(out)
    }

    fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    fn finish(&mut self) {
        self.out.write(|out| writeln!(out, "\n]}}"));
    }
}

fn side(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::ClientToServer) => "client",
        Some(Direction::ServerToClient) => "server",
        None => "unknown",
    }
}
