//! What a recorded client said, to be said again: which calls, in which order, and which of them better not.

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

/// A request that is open for as long as its client wants news.
pub(super) const LISTEN: &str = "subscriptions/listen";

/// By this a client takes a request back. What was taken back is not asked for.
const CANCELLED: &str = "notifications/cancelled";

/// What is not repeated: that the client is ready is said after the handshake.
const SAID_ANYWAY: [&str; 2] = ["notifications/initialized", "notifications/progress"];

/// What a recorded client said.
#[derive(Debug)]
pub struct Script {
    tape: Tape,
    /// What becomes of each call of the tape.
    plans: Vec<Plan>,
    /// What the client said unasked, in order.
    pub(super) remarks: Vec<Span>,
    cancellations: Vec<Cancellation>,
    definitions: Definitions,
    pub(super) recorded_ms: Range<i64>,
}

/// That the client doesn't want an answer any more.
#[derive(Debug)]
struct Cancellation {
    /// The id of the request, as it is written.
    id: Vec<u8>,
    span: Span,
}

/// What is to become of a recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// It is made again.
    Send,
    /// It is not.
    Skip(Skip),
}

/// Why a call is not made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// It was not asked for.
    NotSelected,
    /// It may change something: its tool doesn't say that it only reads.
    Writes,
    /// Its tool said that it only reads when it was recorded, and doesn't any more.
    WritesNow,
    /// It was cancelled when it was recorded.
    Cancelled,
    /// It was never answered when it was recorded.
    NeverAnswered,
    /// Something was taken out of it, and nothing has brought it back.
    Redacted,
    /// It repeats what the server made up in a call that was not made, or that went otherwise.
    Depends(&'static str),
    /// The server was gone.
    Gone,
}

impl Skip {
    /// Its name, for other programs.
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
            Skip::Cancelled => f.write_str("was cancelled when it was recorded"),
            Skip::NeverAnswered => f.write_str("was never answered when it was recorded"),
            Skip::Redacted => f.write_str("a secret was taken out of it"),
            Skip::Depends(what) => {
                write!(f, "its `{what}` comes from a call that was skipped, or that went otherwise")
            }
            Skip::Gone => f.write_str("the server was gone"),
        }
    }
}

/// Whether calls that may change something are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writes {
    /// Only tools are called that say that they only read.
    #[default]
    Skip,
    /// All are.
    Allow,
}

impl Script {
    /// The index of the trace.
    pub fn tape(&self) -> &Tape {
        &self.tape
    }

    /// What the recorded server offered.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The calls with what is to become of them, in the order of their requests.
    pub fn entries(&self) -> impl Iterator<Item = (&Recorded, Plan)> {
        self.tape.calls().iter().zip(self.plans.iter().copied())
    }

    /// What is to become of a call.
    pub fn plan(&self, call: u32) -> Plan {
        self.plans[call as usize]
    }

    /// Skips the calls that a filter doesn't let through. The handshake is always made. Whether the filter lets anything through.
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
            let is_meant = filter.matches(&subject(&self.tape, call), has);
            lets_through |= is_meant;
            if *plan == Plan::Send && !is_meant && !is_introduction(&self.tape, call) {
                *plan = Plan::Skip(Skip::NotSelected);
            }
        }
        lets_through
    }

    /// Skips the calls that may change something, as far as the trace tells. What it doesn't tell of is left to the server's word
    /// when it runs.
    pub fn skip_writes(&mut self) {
        for (call, plan) in self.tape.calls().iter().zip(&mut self.plans) {
            let tool = tool(&self.tape, call);
            let is_known = tool.is_some_and(|tool| listed(&self.definitions, tool).is_some());
            let reads = tool.is_none_or(|tool| only_reads(&self.definitions, tool) == Some(true));
            if *plan == Plan::Send && is_known && !reads {
                *plan = Plan::Skip(Skip::Writes);
            }
        }
    }

    /// Looks at the recorded messages as if they were compared, so that patterns know whether they match anything in them.
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

    /// Where the client takes back a call, whose request has this id.
    pub(super) fn cancellation(&self, call: &Recorded, id: &[u8]) -> Option<Span> {
        if !matches!(call.outcome, Outcome::Cancelled | Outcome::TimedOut) {
            return None;
        }
        let later = self.cancellations.partition_point(|said| said.span.offset < call.request.offset);
        let meant = self.cancellations[later..].iter().find(|said| said.id == id);
        meant.map(|said| said.span)
    }

    /// Tools that are going to be called though the trace doesn't say what they do.
    pub fn unknown_tools(&self) -> impl Iterator<Item = &str> {
        let sent = self.entries().filter(|(_, plan)| *plan == Plan::Send);
        let tools = sent.filter_map(|(call, _)| tool(&self.tape, call));
        tools.filter(|tool| listed(&self.definitions, tool).is_none())
    }
}

/// The tool that a call is for.
pub(super) fn tool<'t>(tape: &'t Tape, call: &Recorded) -> Option<&'t str> {
    let kind = tape.kind(call);
    kind.name.as_deref().filter(|_| &*kind.method == "tools/call")
}

/// Whether a call is part of the handshake.
pub(super) fn is_introduction(tape: &Tape, call: &Recorded) -> bool {
    matches!(&*tape.kind(call).method, "initialize" | "server/discover")
}

/// What a tool says of itself.
pub(super) fn listed<'d>(definitions: &'d Definitions, tool: &str) -> Option<&'d [u8]> {
    let listing = definitions.lists.get(&ListKind::Tools)?;
    listing.entries.get(tool).map(|definition| definition.raw.as_slice())
}

/// Whether a tool says that it changes nothing; `None` if it was not listed.
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

/// Where the answer to a call stands.
pub(super) fn answer(tape: &Tape, call: &Recorded) -> Option<Span> {
    let mut steps = tape.steps(call).iter();
    steps.find(|step| step.kind == StepKind::Answer).map(|step| step.span)
}

/// Microseconds that the recorded server took for a call itself: without those that it waited for the client.
pub(super) fn recorded_us(tape: &Tape, call: &Recorded) -> Option<u64> {
    let steps = tape.steps(call);
    let answer = steps.iter().position(|step| step.kind == StepKind::Answer)?;
    Some(steps[..=answer].iter().map(|step| u64::from(step.gap_us)).sum())
}

/// Makes a [`Script`] of a trace.
#[derive(Debug)]
pub struct ScriptBuilder<'m> {
    tape: TapeBuilder<'m>,
    definitions: Reading<Collector>,
    remarks: Vec<Span>,
    cancellations: Vec<Cancellation>,
    recorded_ms: Option<Range<i64>>,
}

impl<'m> ScriptBuilder<'m> {
    /// At the start of a trace, whose questions to the client are going to be compared so.
    pub fn new(matching: &'m Matching) -> Self {
        ScriptBuilder {
            tape: TapeBuilder::new(matching),
            definitions: Reading::default(),
            remarks: Vec::new(),
            cancellations: Vec::new(),
            recorded_ms: None,
        }
    }

    /// Takes the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        self.tape.observe(line);
        self.definitions.observe(line);
        let Record::Message(message) = &line.record else { return };
        if let Some(ms) = message.stamp.wall_ms() {
            let run = self.recorded_ms.get_or_insert(ms..ms);
            *run = run.start.min(ms)..run.end.max(ms);
        }
        if message.dir.known() == Some(Direction::ClientToServer) {
            payloads(message.raw).into_iter().for_each(|payload| self.heard(line, payload));
        }
    }

    /// Notes what the client says unasked.
    fn heard(&mut self, line: &Line<'_>, payload: &[u8]) {
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
        } else if !SAID_ANYWAY.contains(&method) && !is_redacted(payload) {
            self.remarks.push(span);
        }
    }

    /// Goes on with another trace.
    pub fn next_trace(&mut self) {
        self.tape.next_trace();
    }

    /// What the client said.
    pub fn finish(self) -> Script {
        let tape = self.tape.finish();
        let plans = tape.calls().iter().map(|call| first_plan(&tape, call)).collect();
        Script {
            tape,
            plans,
            remarks: self.remarks,
            cancellations: self.cancellations,
            definitions: self.definitions.finish(RecordingState::Over).finish(),
            recorded_ms: self.recorded_ms.unwrap_or(0..0),
        }
    }
}

fn first_plan(tape: &Tape, call: &Recorded) -> Plan {
    match call.outcome {
        _ if call.is_answered() || &*tape.kind(call).method == LISTEN => Plan::Send,
        Outcome::Cancelled | Outcome::TimedOut => Plan::Skip(Skip::Cancelled),
        _ => Plan::Skip(Skip::NeverAnswered),
    }
}
