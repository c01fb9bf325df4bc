//! The script: the recorded client messages in order, with a plan for each call.

use crate::call::Outcome;
use crate::definitions::{Collector, Definitions, ListKind};
use crate::diff::Ignored;
use crate::filter::{Filter, Needle, Subject};
use crate::fingerprint::fingerprint_without;
use crate::reading::{Reading, RecordingState};
use crate::replay::{Matching, Payloads, Recorded, Span, StepKind, Tape, TapeBuilder};
use crate::text::TextFinder;
use crate::volatile::Part;
use std::fmt;
use std::ops::Range;
use wiretape_trace::format::{Line, Record};
use wiretape_trace::message::{Direction, Envelope, MessageKind, payloads};
use wiretape_trace::redact::is_redacted;
use wiretape_trace::value::Value;

/// A request that stays open for as long as its client is subscribed (2026-07-28).
pub(super) const LISTEN: &str = "subscriptions/listen";

/// Cancels a request. Cancelled calls are not sent again.
const CANCELLED: &str = "notifications/cancelled";

/// Notifications that the driver sends itself or that belong to other requests.
const NOT_REPEATED: [&str; 2] = ["notifications/initialized", "notifications/progress"];

/// The messages of a recorded client.
#[derive(Debug)]
pub struct Script {
    tape: Tape,
    /// The plan for each call of the tape.
    plans: Vec<Plan>,
    /// The client's notifications, in order.
    pub(super) notifications: Vec<Span>,
    cancellations: Vec<Cancellation>,
    definitions: Definitions,
    pub(super) recorded_ms: Range<i64>,
}

/// A cancellation that the recorded client sent.
#[derive(Debug)]
struct Cancellation {
    /// The id of the cancelled request, as written.
    id: Vec<u8>,
    span: Span,
}

/// What to do with a recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// The call is repeated.
    Send,
    /// The call is skipped.
    Skip(Skip),
}

/// Why a call is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// The user's filter excludes it.
    NotSelected,
    /// It may have side effects: its tool is not annotated with `readOnlyHint`.
    Writes,
    /// Its tool was annotated with `readOnlyHint` in the recording and is not any more.
    WritesNow,
    /// It was cancelled in the recording.
    Cancelled,
    /// It was never answered in the recording.
    NeverAnswered,
    /// It contains a redacted secret that the live server has not sent.
    Redacted,
    /// It repeats a generated value from a call that was skipped or had a different result: the member.
    Depends(&'static str),
    /// The server exited or closed the connection before.
    Gone,
}

impl Skip {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Skip::NotSelected => "not-selected",
            Skip::Writes => "writes",
            Skip::WritesNow => "writes-now",
            Skip::Cancelled => "cancelled",
            Skip::NeverAnswered => "never-answered",
            Skip::Redacted => "redacted",
            Skip::Depends(_) => "depends",
            Skip::Gone => "server-gone",
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skip::NotSelected => f.write_str("not selected"),
            Skip::Writes => f.write_str("not annotated as readOnlyHint"),
            Skip::WritesNow => f.write_str("no longer annotated as readOnlyHint"),
            Skip::Cancelled => f.write_str("was cancelled in the recording"),
            Skip::NeverAnswered => f.write_str("was never answered in the recording"),
            Skip::Redacted => f.write_str("contains a redacted secret"),
            Skip::Depends(what) => {
                write!(f, "its `{what}` comes from a call that was skipped or had a different result")
            }
            Skip::Gone => f.write_str("the server was no longer available"),
        }
    }
}

/// Whether calls that may have side effects are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writes {
    /// Only tools with `readOnlyHint` are called.
    #[default]
    Skip,
    /// All tools are called.
    Allow,
}

impl Script {
    /// The index of the trace.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The definitions of the recorded server.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The calls with their plans, in the order of their requests.
    pub fn entries(&self) -> impl Iterator<Item = (&Recorded, Plan)> {
        self.tape.calls().iter().zip(self.plans.iter().copied())
    }

    /// The plan for a call.
    pub fn plan(&self, call: u32) -> Plan {
        self.plans[call as usize]
    }

    /// Skips the calls that don't match a filter, except the handshake. Returns whether any call matches.
    pub fn select(&mut self, filter: &Filter, payloads: &impl Payloads) -> bool {
        let finders: Vec<TextFinder> =
            filter.needles().map(|needle| TextFinder::literal(&needle.text)).collect();
        let needles: Vec<_> = filter.needles().collect();
        let mut lets_through = false;
        for (call, plan) in self.tape.calls().iter().zip(&mut self.plans) {
            let has = |needle: &Needle| {
                let at = needles.iter().position(|other| *other == needle);
                at.is_some_and(|at| is_in_call(&self.tape, call, &finders[at], payloads))
            };
            let is_match = filter.matches(&subject(&self.tape, call), has);
            lets_through |= is_match;
            // Without the handshake no other call would work.
            if *plan == Plan::Send && !is_match && !is_introduction(&self.tape, call) {
                *plan = Plan::Skip(Skip::NotSelected);
            }
        }
        lets_through
    }

    /// Skips the calls of tools that the trace lists without `readOnlyHint`. Tools that the trace doesn't list are decided by
    /// the live server's annotations.
    pub fn skip_writes(&mut self) {
        for (call, plan) in self.tape.calls().iter().zip(&mut self.plans) {
            let tool = tool(&self.tape, call);
            // Unknown is not the same as unannotated: `tools/list` may be missing because the recording starts later.
            let is_known = tool.is_some_and(|tool| listed(&self.definitions, tool).is_some());
            let reads = tool.is_none_or(|tool| only_reads(&self.definitions, tool) == Some(true));
            if *plan == Plan::Send && is_known && !reads {
                *plan = Plan::Skip(Skip::Writes);
            }
        }
    }

    /// Runs the ignore patterns over the recorded messages, so that a pattern that matches nothing can be reported.
    pub fn compare_with_itself(&self, ignored: &Ignored, payloads: &impl Payloads) {
        let look = |method: &str, part: Part, json: Option<&[u8]>| {
            let paths = ignored.of(method, part);
            json.map(|json| fingerprint_without(json, paths, &paths.start()))
        };
        let mut bytes = Vec::new();
        for call in self.tape.calls() {
            let method = &self.tape.kind(call).method;
            for span in
                std::iter::once(call.request).chain(self.tape.steps(call).iter().map(|step| step.span))
            {
                if payloads.read(span, &mut bytes).is_ok() {
                    let message = Envelope::scan(&bytes);
                    look(method, Part::Params, message.params);
                    look(method, Part::Result, message.result);
                    look(method, Part::Error, message.error);
                }
            }
        }
    }

    /// The recorded cancellation of a call.
    pub(super) fn cancellation(&self, call: &Recorded, id: &[u8]) -> Option<Span> {
        if !matches!(call.outcome, Outcome::Cancelled | Outcome::TimedOut) {
            return None;
        }
        // Ids may be reused, so only cancellations after the request count.
        let later =
            self.cancellations.partition_point(|cancellation| cancellation.span.offset < call.request.offset);
        let found = self.cancellations[later..].iter().find(|cancellation| cancellation.id == id);
        found.map(|cancellation| cancellation.span)
    }

    /// Tools that will be called although the trace doesn't list them.
    pub fn unknown_tools(&self) -> impl Iterator<Item = &str> {
        let sent = self.entries().filter(|(_, plan)| *plan == Plan::Send);
        let tools = sent.filter_map(|(call, _)| tool(&self.tape, call));
        tools.filter(|tool| listed(&self.definitions, tool).is_none())
    }
}

/// The tool that a call names.
pub(super) fn tool<'t>(tape: &'t Tape, call: &Recorded) -> Option<&'t str> {
    let kind = tape.kind(call);
    kind.name.as_deref().filter(|_| &*kind.method == "tools/call")
}

/// Whether a call is part of the handshake.
pub(super) fn is_introduction(tape: &Tape, call: &Recorded) -> bool {
    matches!(&*tape.kind(call).method, "initialize" | "server/discover")
}

/// The definition of a tool.
pub(super) fn listed<'d>(definitions: &'d Definitions, tool: &str) -> Option<&'d [u8]> {
    let listing = definitions.lists.get(&ListKind::Tools)?;
    listing.entries.get(tool).map(|definition| definition.raw.as_slice())
}

/// Whether a tool has `readOnlyHint`; `None` if it was not listed.
pub(super) fn only_reads(definitions: &Definitions, tool: &str) -> Option<bool> {
    let definition = Value::parse(listed(definitions, tool)?).ok()?;
    let hint = definition.at_path(&["annotations", "readOnlyHint"]);
    Some(hint.is_some_and(|hint| hint.raw == b"true"))
}

fn subject<'t>(tape: &'t Tape, call: &Recorded) -> Subject<'t> {
    Subject {
        method: Some(&tape.kind(call).method),
        tool: tool(tape, call),
        outcome: Some(call.outcome),
        direction: Some(Direction::ClientToServer),
        server: Some(tape.label()),
        latency_us: recorded_us(tape, call),
        request_bytes: Some(u64::from(call.request.len)),
        response_bytes: answer(tape, call).map(|answer| u64::from(answer.len)),
        ..Subject::default()
    }
}

fn is_in_call(tape: &Tape, call: &Recorded, finder: &TextFinder, payloads: &impl Payloads) -> bool {
    let mut bytes = Vec::new();
    let mut is_in = |span| payloads.read(span, &mut bytes).is_ok() && finder.is_in(&bytes);
    is_in(call.request) || answer(tape, call).is_some_and(is_in)
}

/// The position of a call's answer.
pub(super) fn answer(tape: &Tape, call: &Recorded) -> Option<Span> {
    let mut steps = tape.steps(call).iter();
    steps.find(|step| step.kind == StepKind::Answer).map(|step| step.span)
}

/// The recorded server's own time for a call in microseconds, without the time it waited for the client.
pub(super) fn recorded_us(tape: &Tape, call: &Recorded) -> Option<u64> {
    let steps = tape.steps(call);
    let answer = steps.iter().position(|step| step.kind == StepKind::Answer)?;
    Some(steps[..=answer].iter().map(|step| u64::from(step.gap_us)).sum())
}

/// Builds a [`Script`] from a trace.
#[derive(Debug)]
pub struct ScriptBuilder<'m> {
    tape: TapeBuilder<'m>,
    definitions: Reading<Collector>,
    notifications: Vec<Span>,
    cancellations: Vec<Cancellation>,
    recorded_ms: Option<Range<i64>>,
}

impl<'m> ScriptBuilder<'m> {
    /// A builder for server requests that will be compared by `matching`.
    pub fn new(matching: &'m Matching) -> Self {
        ScriptBuilder {
            tape: TapeBuilder::new(matching),
            definitions: Reading::default(),
            notifications: Vec::new(),
            cancellations: Vec::new(),
            recorded_ms: None,
        }
    }

    /// Adds the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        self.tape.observe(line);
        self.definitions.observe(line);
        let Record::Message(message) = &line.record else { return };
        if let Some(ms) = message.stamp.wall_ms() {
            let run = self.recorded_ms.get_or_insert(ms..ms);
            *run = run.start.min(ms)..run.end.max(ms);
        }
        if message.dir.known() == Some(Direction::ClientToServer) {
            payloads(message.raw).into_iter().for_each(|payload| self.record_notification(line, payload));
        }
    }

    /// Records a notification of the client.
    fn record_notification(&mut self, line: &Line<'_>, payload: &[u8]) {
        let envelope = Envelope::scan(payload);
        let Some(method) = envelope.method.as_deref().filter(|_| envelope.kind == MessageKind::Notification)
        else {
            return;
        };
        let Some(span) = Span::of(line, payload) else { return };
        if method == CANCELLED {
            let params = envelope.params.and_then(|params| Value::parse(params).ok());
            let id = params.and_then(|params| params.get("requestId"));
            self.cancellations.extend(id.map(|id| Cancellation { id: id.raw.to_vec(), span }));
        // A redaction marker is never sent to a server.
        } else if !NOT_REPEATED.contains(&method) && !is_redacted(payload) {
            self.notifications.push(span);
        }
    }

    /// Continues with another trace.
    pub fn next_trace(&mut self) {
        self.tape.next_trace();
    }

    /// The script of all lines.
    pub fn finish(self) -> Script {
        let tape = self.tape.finish();
        let plans = tape.calls().iter().map(|call| first_plan(&tape, call)).collect();
        Script {
            tape,
            plans,
            notifications: self.notifications,
            cancellations: self.cancellations,
            definitions: self.definitions.finish(RecordingState::Over).finish(),
            recorded_ms: self.recorded_ms.unwrap_or(0..0),
        }
    }
}

fn first_plan(tape: &Tape, call: &Recorded) -> Plan {
    match call.outcome {
        // A subscription has no answer while it is open; its acknowledgement counts instead.
        _ if call.is_answered() || &*tape.kind(call).method == LISTEN => Plan::Send,
        Outcome::Cancelled | Outcome::TimedOut => Plan::Skip(Skip::Cancelled),
        _ => Plan::Skip(Skip::NeverAnswered),
    }
}
