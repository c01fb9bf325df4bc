//! `perfetto`: Chrome's trace events, for Perfetto and `chrome://tracing`. A call is a slice; the server is a process, whose
//! threads are lanes, as many as calls went on at the same time.

use super::json::{raw, string};
use super::{ExportFormat, Exporter, Survey};
use crate::call::{Call, CallTracker, Observed};
use std::collections::HashMap;
use std::io::{self, Write};
use wiretape_trace::format::{Line, Message, Record, Stamp};
use wiretape_trace::message::{Direction, Envelope, MessageKind};

pub(super) static PERFETTO: ExportFormat = ExportFormat {
    name: "perfetto",
    about: "a timeline for ui.perfetto.dev and chrome://tracing",
    make: |_, survey| Box::new(Timeline::new(survey)),
};

struct Timeline {
    label: String,
    source: String,
    tracker: CallTracker,
    /// Which lanes are taken.
    lanes: Vec<bool>,
    /// The calls that go on, by the line of their request and where they stand on it.
    open: HashMap<u64, Slice>,
    start_ms: Option<i64>,
    now_us: u64,
    events: u64,
}

struct Slice {
    lane: usize,
    start_us: u64,
}

impl Timeline {
    fn new(survey: &Survey) -> Self {
        let label = survey.meta.as_ref().map(|meta| meta.label.clone()).unwrap_or_default();
        Timeline {
            label,
            source: survey.words(),
            tracker: CallTracker::new(),
            lanes: Vec::new(),
            open: HashMap::new(),
            start_ms: survey.first_ms,
            now_us: 0,
            events: 0,
        }
    }

    /// Microseconds since the beginning. What has no time happens with what was before it.
    fn time(&mut self, stamp: &Stamp<'_>) -> u64 {
        let wall = || {
            stamp.wall_ms().zip(self.start_ms).map(|(ms, start)| (ms - start).max(0).unsigned_abs() * 1000)
        };
        self.now_us = stamp.us.or_else(wall).unwrap_or(self.now_us);
        self.now_us
    }

    fn message(&mut self, line: u64, message: &Message<'_>, out: &mut dyn Write) -> io::Result<()> {
        let now = self.time(&message.stamp);
        let mut observed = Vec::new();
        self.tracker.observe_message(line, message, |_, envelope, what| observed.push((envelope, what)));
        for (envelope, what) in observed {
            if let Some(call) = what.closed() {
                self.slice(call, now, &envelope, out)?;
            }
            match what {
                Observed::Request { .. } if envelope.id.is_some() => self.begin_slice(line, now),
                _ if envelope.kind == MessageKind::Notification => {
                    self.instant(message.dir.known(), now, &envelope, out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin_slice(&mut self, line: u64, start_us: u64) {
        let free = self.lanes.iter().position(|taken| !taken).unwrap_or(self.lanes.len());
        if free == self.lanes.len() {
            self.lanes.push(true);
        }
        self.lanes[free] = true;
        self.open.insert(line, Slice { lane: free, start_us });
    }

    fn slice(&mut self, call: &Call, now: u64, answer: &Envelope<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(slice) = self.open.remove(&call.request.line) else { return Ok(()) };
        self.lanes[slice.lane] = false;
        let name = call.tool.as_deref().unwrap_or(&call.method);
        let duration = call.latency_us.unwrap_or(now.saturating_sub(slice.start_us));
        let outcome = serde_json::json!({
            "method": call.method,
            "from": side(Some(call.direction)),
            "outcome": call.outcome.name(),
            "requestLine": call.request.line,
            "responseLine": call.response.map(|place| place.line),
        });
        let error = answer
            .error
            .filter(|_| call.response.is_some())
            .map(|error| format!(",\"error\":{}", raw(error)));
        let outcome = outcome.to_string();
        let args = format!("{}{}}}", &outcome[..outcome.len() - 1], error.unwrap_or_default());
        let body = format!(
            "\"name\":{},\"cat\":\"call\",\"ph\":\"X\",\"ts\":{},\"dur\":{duration},\"pid\":1,\"tid\":{},\"args\":{args}",
            string(name),
            slice.start_us,
            slice.lane + 1,
        );
        self.event(&body, out)
    }

    fn instant(
        &mut self,
        from: Option<Direction>,
        now: u64,
        envelope: &Envelope<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let name = string(envelope.method.as_deref().unwrap_or_default());
        let from = side(from);
        let body = format!(
            "\"name\":{name},\"cat\":\"notification\",\"ph\":\"i\",\"s\":\"p\",\"ts\":{now},\"pid\":1,\"tid\":0,\"args\":{{\"from\":\"{from}\"}}"
        );
        self.event(&body, out)
    }

    fn event(&mut self, body: &str, out: &mut dyn Write) -> io::Result<()> {
        let comma = if self.events > 0 { "," } else { "" };
        self.events += 1;
        write!(out, "{comma}\n{{{body}}}")
    }
}

fn side(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::ClientToServer) => "client",
        Some(Direction::ServerToClient) => "server",
        None => "unknown",
    }
}

impl Exporter for Timeline {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(
            out,
            "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"source\":{}}},\"traceEvents\":[",
            string(&self.source)
        )?;
        let name = string(&self.label);
        self.event(
            &format!(
                "\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{{\"name\":{name}}}"
            ),
            out,
        )
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &line.record {
            Record::Meta(meta) => self.tracker.observe_meta(meta),
            Record::Message(message) => self.message(line.number, message, out)?,
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let now = self.now_us;
        for call in std::mem::take(&mut self.tracker).finish() {
            self.slice(&call, now, &Envelope::scan(b"{}"), out)?;
        }
        writeln!(out, "\n]}}")
    }
}
