//! Sends the requests of a recorded client to a server: the server's messages in, the client's messages out.
//!
//! Sans-IO, like [`crate::replay`]: nothing here waits or reads a clock. The caller passes the time with each
//! message, asks for the [`Driver::deadline`], and calls [`Driver::tick`] when it is reached.
//!
//! A verification may run against a production server, so it must do no harm: unless the user allows writes, a tool
//! is skipped if the recorded or the live server lists it without `readOnlyHint`; redaction markers are never sent;
//! and server requests are answered only as the recorded client answered them.
//!
//! It sends calls in the recorded order, because a call may depend on any earlier one, and starts a later one early
//! only if nothing in it looks like a value from an answer that is still in flight. Requests of our own (a default
//! `initialize`, the tool list, further pages) run alone: nothing else is sent until they are answered.

use super::carry::CarriedValues;
use super::offers::{self, OfferCollector, is_offer, without_secrets};
use super::questions::Questions;
use super::script::{self, LISTEN, Plan, Script, Skip, Writes};
use super::verdict::{Change, Checked, Judge, MessageDiff, Missing, Verdict, Verified, error_text, verdict};
use crate::definitions::{Definitions, ListKind};
use crate::diff::{Ignored, Pace};
use crate::lint::Revision;
use crate::looks::{self, Runs};
use crate::replay::{
    Matching, Payloads, Recorded, Span, Step, StepKind, Tape, id_of, replaced, with_id, with_token,
};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};
use wiretape_trace::protocol::meta_key;
use wiretape_trace::redact::{Redactor, is_redacted};
use wiretape_trace::value::Value;

/// Pages of a list that are requested: a server that returns pages forever is not followed.
const MAX_PAGES: usize = 100;

/// The options of a verification.
#[derive(Debug)]
pub struct Setting {
    /// The paths that are ignored when answers are compared.
    pub ignored: Ignored,
    /// How server requests are matched to recorded ones.
    pub matching: Matching,
    /// The number of calls in flight at a time.
    pub concurrency: usize,
    /// The timeout of an answer, in microseconds.
    pub timeout_us: u64,
    /// When a call counts as slower; `None` never does.
    pub pace: Option<Pace>,
    /// Whether calls that may have side effects are sent.
    pub writes: Writes,
    /// Redacts secrets in what is reported.
    pub redactor: Option<Arc<Redactor>>,
    /// The start of the run, in milliseconds since 1970.
    pub started_ms: i64,
    /// Whether a new trace is written.
    pub keeps: TraceOutput,
}

/// Which messages are kept for a new trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TraceOutput {
    /// No new trace is written.
    #[default]
    Nothing,
    /// All messages of a new trace, by [`Action::Keep`].
    NewTrace,
}

/// What the caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message to the server.
    Send(Vec<u8>),
    /// Close the connection and open another.
    Reconnect,
    /// Add a message to the new trace.
    Keep(Direction, Vec<u8>),
    /// Show a notice to the user.
    Notify(Notice),
    /// A call has its verdict: the last one in [`Driver::checked`].
    Judged,
    /// The verification is complete.
    Done,
}

/// Something that the user should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server sent something that is not a message.
    NotAMessage {
        /// The line that the server wrote, redacted and shortened.
        text: String,
    },
    /// The server sent a request that the recorded one did not.
    NotAsked {
        /// The method of the server's request.
        method: String,
    },
    /// The trace has no handshake; a default one was used.
    MadeUp,
    /// The trace can't be read.
    Unreadable {
        /// The cause, as the system words it.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::NotAMessage { text } => {
                write!(f, "the server sent something that is not a message: {text}")
            }
            Notice::NotAsked { method } => {
                write!(
                    f,
                    "the server sent `{method}`, which the recording does not have here; it was rejected"
                )
            }
            Notice::MadeUp => f.write_str("the trace has no handshake; using a default one"),
            Notice::Unreadable { reason } => write!(f, "can't read the trace: {reason}"),
        }
    }
}

/// Drives a server with the requests of a recorded client.
#[derive(Debug)]
pub struct Driver<P> {
    script: Arc<Script>,
    payloads: P,
    setting: Setting,
    runs: Runs,
    /// The next call of the tape.
    next: u32,
    /// The number of client notifications sent so far.
    notifications_sent: usize,
    /// Requests in flight, by our ids.
    open: BTreeMap<u64, PendingRequest>,
    /// A request of our own in flight, which the recorded client did not send.
    own: Option<(u64, OwnRequest)>,
    pages: usize,
    /// Pages that are still to be requested.
    rest: VecDeque<RemainingPages>,
    ids: u64,
    connection: Connection,
    carried: CarriedValues,
    questions: Questions,
    /// The definitions of the recorded server.
    offered: Definitions,
    /// The live definitions that count for the drift.
    offers: OfferCollector,
    /// Definitions from our own requests: only used to decide which calls are safe.
    probed: OfferCollector,
    checked: Vec<Checked>,
    /// The number of skipped calls so far that may have side effects.
    skipped_writes: u64,
    /// Whether the server has sent something that is not a message; reported once.
    is_polluted: bool,
    is_done: bool,
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// No message was sent yet.
    New,
    /// Calls can be sent.
    Ready,
    /// The server exited, or rejected the handshake.
    Over,
}

/// A request in flight.
#[derive(Debug)]
struct PendingRequest {
    call: u32,
    sent_us: u64,
    due_us: u64,
    /// Differences in the server's requests so far.
    found: MessageDiff,
    /// The number of skipped calls before it that may have side effects.
    skipped_writes: u64,
    /// The server's error message, if it answers with an error.
    error: Option<String>,
}

impl PendingRequest {
    fn new(call: u32, sent_us: u64, due_us: u64, skipped_writes: u64) -> Self {
        PendingRequest { call, sent_us, due_us, found: MessageDiff::default(), skipped_writes, error: None }
    }
}

/// A request of our own.
#[derive(Debug)]
enum OwnRequest {
    Initialize,
    Tools,
    /// The next page of a list that had only one page in the recording.
    Pages(RemainingPages),
}

/// A page of a list that the recorded client did not request.
#[derive(Debug)]
struct RemainingPages {
    kind: ListKind,
    cursor: String,
    number: usize,
    /// The call that the list answers, and its verdict so far.
    call: PendingRequest,
    verdict: Verdict,
    answered_us: u64,
}

impl<P: Payloads> Driver<P> {
    /// A driver before its first message.
    pub fn new(script: Arc<Script>, payloads: P, setting: Setting) -> Self {
        // Read in advance: a server may send its requests in another order than in the recording.
        let questions = Questions::read(&script, &payloads, &setting.matching);
        let runs = runs(&script, &payloads, setting.started_ms);
        let offered = OfferCollector::recorded(&script, &payloads, setting.redactor.clone());
        let offers = OfferCollector::new(setting.redactor.clone());
        let probed = OfferCollector::new(setting.redactor.clone());
        Driver {
            script,
            payloads,
            setting,
            runs,
            next: 0,
            notifications_sent: 0,
            open: BTreeMap::new(),
            own: None,
            pages: 0,
            rest: VecDeque::new(),
            ids: 0,
            connection: Connection::New,
            carried: CarriedValues::default(),
            questions,
            offered,
            offers,
            probed,
            checked: Vec::new(),
            skipped_writes: 0,
            is_polluted: false,
            is_done: false,
        }
    }

    /// The calls that have a verdict, in the order of the verdicts.
    pub fn checked(&self) -> &[Checked] {
        &self.checked
    }

    /// The number of recorded calls.
    pub fn len(&self) -> usize {
        self.script.tape().calls().len()
    }

    /// Whether there are no recorded calls.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When [`Driver::tick`] has to be called, in microseconds; `None` if nothing is in flight.
    pub fn deadline(&self) -> Option<u64> {
        // A scan: at most the concurrency limit of requests is open, and listening streams.
        self.open.values().map(|open| open.due_us).min()
    }

    /// Ends the run: the verdict of each call, and the compared definitions.
    pub fn finish(self) -> Verified {
        let mut calls = self.checked;
        // Verdicts come in the order of the answers; the report is in the order of the requests.
        calls.sort_by_key(|checked| checked.call);
        let drift = offers::compare(self.offered, &self.offers.finish());
        Verified { calls, drift }
    }

    /// Sends everything that can be sent now. Call it once to start.
    pub fn advance(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        let now_ms = self.setting.started_ms.saturating_add(i64::try_from(now_us / 1000).unwrap_or(i64::MAX));
        // The live run is up to now, so that timestamps in the next answer are recognized as its own.
        self.runs.live.end = now_ms;
        while !self.is_done && self.own.is_none() && self.step(now_us, actions) {}
        if !self.is_done && self.own.is_none() && self.open.is_empty() && self.is_at_end() {
            self.is_done = true;
            actions.push(Action::Done);
        }
    }

    fn is_at_end(&self) -> bool {
        self.next as usize >= self.len()
    }

    /// Performs the next step. Returns whether there was one.
    fn step(&mut self, now_us: u64, actions: &mut Vec<Action>) -> bool {
        // Before the next call: the server may drop a cursor when something else is requested.
        if let Some(rest) = self.rest.pop_front() {
            let (kind, cursor) = (rest.kind, rest.cursor.clone());
            self.request_list(OwnRequest::Pages(rest), kind, Some(&cursor), now_us, actions);
            return true;
        }
        if self.is_at_end() {
            return false;
        }
        let script = Arc::clone(&self.script);
        let call = script.tape().call(self.next);
        let is_initialize = &*script.tape().kind(call).method == "initialize";
        let is_introduction = script::is_introduction(script.tape(), call);
        if self.has_to_wait(call, is_initialize) {
            return false;
        }
        if let Plan::Skip(skip) = script.plan(self.next) {
            self.skip(self.next, skip, actions);
            self.next += 1;
            return true;
        }
        match self.connection {
            // A failed session must not fail the next one.
            Connection::Over if is_introduction => self.begin_session(actions),
            Connection::Over => {
                self.skip(self.next, Skip::Gone, actions);
                self.next += 1;
            }
            // A trace that starts in the middle of a session has no handshake, and a server with sessions needs one.
            Connection::New if !is_introduction && !script.tape().is_modern() => {
                self.send_default_initialize(actions, now_us);
            }
            Connection::Ready if is_initialize => {
                // Notifications at the end of a session belong to its server, so they are sent before the reconnect.
                self.send_notifications(call, actions);
                self.begin_session(actions);
            }
            Connection::New | Connection::Ready if self.needs_tool_list(call) => {
                self.request_tools(None, now_us, actions);
            }
            Connection::New | Connection::Ready => {
                self.send_notifications(call, actions);
                self.call(self.next, now_us, actions);
                self.next += 1;
            }
        }
        true
    }

    fn begin_session(&mut self, actions: &mut Vec<Action>) {
        self.connection = Connection::New;
        actions.push(Action::Reconnect);
    }

    /// Whether the call has to wait for others: for the concurrency limit, the handshake, or a generated value.
    fn has_to_wait(&mut self, call: &Recorded, is_initialize: bool) -> bool {
        let tape = self.script.tape();
        let waiting = self.open.values().filter(|open| &*tape.kind(tape.call(open.call)).method != LISTEN);
        let (mut count, mut is_introducing) = (0, false);
        for open in waiting {
            // Listening streams stay open for the whole session, so they don't count.
            count += 1;
            is_introducing |= script::is_introduction(tape, tape.call(open.call));
        }
        count >= self.setting.concurrency.max(1)
            || is_introducing
            || (count > 0 && (is_initialize || self.is_repeating(call)))
    }

    /// Whether a call may repeat a value that the server generated in an answer that is still in flight.
    fn is_repeating(&self, call: &Recorded) -> bool {
        let mut request = Vec::new();
        // Sent too early, the request would still have the recorded value, which the live server does not know.
        self.payloads.read(call.request, &mut request).is_ok()
            && (CarriedValues::is_repeating(&request) || !looks::ids(&request).is_empty())
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Whether the live server's annotations of a tool are unknown: it may have side effects now. The list is requested
    /// once.
    fn needs_tool_list(&self, call: &Recorded) -> bool {
        let tool = script::tool(self.script.tape(), call);
        // Requesting the list is visible to the server, so it is only done where its answer decides something.
        self.setting.writes == Writes::Skip
            && self.pages == 0
            && tool.is_some_and(|tool| self.only_reads(tool).is_none())
    }

    /// Whether the live server annotates a tool with `readOnlyHint`; `None` if it has not listed it.
    fn only_reads(&self, tool: &str) -> Option<bool> {
        // The list that the recorded client requests counts first: it is newer than our own.
        let says = |offered: &OfferCollector| script::only_reads(offered.so_far(), tool);
        says(&self.offers).or_else(|| says(&self.probed))
    }

    fn send_default_initialize(&mut self, actions: &mut Vec<Action>, now_us: u64) {
        actions.push(Action::Notify(Notice::MadeUp));
        let params = json!({
            "protocolVersion": Revision::V2025_11_25.name(),
            // Everything that the recorded client may have had: a server would otherwise not send its requests.
            "capabilities": { "sampling": {}, "elicitation": {}, "roots": {} },
            "clientInfo": { "name": "wiretape", "version": "0" },
        });
        self.send_own(OwnRequest::Initialize, "initialize", &params, now_us, actions);
    }

    fn request_tools(&mut self, cursor: Option<&str>, now_us: u64, actions: &mut Vec<Action>) {
        self.pages += 1;
        self.request_list(OwnRequest::Tools, ListKind::Tools, cursor, now_us, actions);
    }

    fn request_list(
        &mut self,
        own: OwnRequest,
        kind: ListKind,
        cursor: Option<&str>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        let mut params = json!({});
        if let Some(cursor) = cursor {
            params["cursor"] = cursor.into();
        }
        if let Some(meta) = self.modern_meta() {
            params["_meta"] = meta;
        }
        self.send_own(own, kind.method(), &params, now_us, actions);
    }

    /// The remaining pages can't be read, so the list can't be compared.
    fn fail_pages(&mut self, rest: RemainingPages, reason: &str, actions: &mut Vec<Action>) {
        // Not `changed`: entries that could not be read are not known to be missing.
        let verdict = Verdict::Missing(Missing::Rest(reason.to_owned()));
        self.conclude(rest.call, verdict, rest.answered_us, actions);
    }

    /// The recorded client's `_meta` for our own stateless requests (2026-07-28, basic#meta).
    fn modern_meta(&self) -> Option<Json> {
        if !self.script.tape().is_modern() {
            return None;
        }
        let mut request = Vec::new();
        self.script.tape().calls().iter().find_map(|call| {
            self.payloads.read(call.request, &mut request).ok()?;
            let params = Envelope::scan(&request).params?;
            memchr::memmem::find(params, meta_key::PROTOCOL_VERSION.as_bytes())?;
            let mut meta: Json = serde_json::from_slice(Value::parse(params).ok()?.get("_meta")?.raw).ok()?;
            // Only what identifies client and revision: progress tokens and trace contexts belong to the recorded
            // request.
            meta.as_object_mut()?.retain(|name, _| name.starts_with(meta_key::PREFIX));
            Some(meta)
        })
    }

    fn send_own(
        &mut self,
        own: OwnRequest,
        method: &str,
        params: &Json,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        // Ids of our own, because the recorded ones may collide: calls of several sessions share a connection here.
        let id = self.next_id();
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        // Pages belong to a recorded call and so to the new trace; our probes don't.
        if let OwnRequest::Pages(_) = own {
            self.push_keep(Direction::ClientToServer, request.as_bytes(), actions);
        }
        self.collector_of(&own).observe(Direction::ClientToServer, 0, request.as_bytes());
        self.own = Some((id, own));
        let due_us = now_us.saturating_add(self.setting.timeout_us);
        // Also in `open`, so that its timeout is handled like the others. `u32::MAX` is never a call number.
        self.open.insert(id, PendingRequest::new(u32::MAX, now_us, due_us, 0));
        actions.push(Action::Send(request.into_bytes()));
    }

    /// The collector for a request of our own and its answer.
    fn collector_of(&mut self, own: &OwnRequest) -> &mut OfferCollector {
        match own {
            OwnRequest::Initialize | OwnRequest::Tools => &mut self.probed,
            OwnRequest::Pages(_) => &mut self.offers,
        }
    }

    /// Sends the notifications that the client sent before a call. Those before the handshake are dropped: they belong to a
    /// session that failed.
    fn send_notifications(&mut self, call: &Recorded, actions: &mut Vec<Action>) {
        // A session that starts over has no place for what was sent before its handshake.
        let has_receiver =
            self.connection != Connection::New || !script::is_introduction(self.script.tape(), call);
        while let Some(span) = self.script.notifications.get(self.notifications_sent).copied() {
            if span.offset > call.request.offset {
                return;
            }
            // Counted even if it is not sent, so that a later session does not get it.
            self.notifications_sent += 1;
            if let Some(notification) = has_receiver.then(|| self.read(span, actions)).flatten() {
                self.send(notification, actions);
            }
        }
    }

    fn call(&mut self, number: u32, now_us: u64, actions: &mut Vec<Action>) {
        let script = Arc::clone(&self.script);
        let call = script.tape().call(number);
        // The trace was shortened since it was read.
        let Some(recorded) = self.read(call.request, actions) else {
            return self.skip(number, Skip::NeverAnswered, actions);
        };
        if let Some(skip) = self.reason_to_skip(call, &recorded) {
            return self.skip(number, skip, actions);
        }
        let id = self.next_id();
        let request = self.carried.put_into(renumbered(&recorded, id));
        if is_offer(&script.tape().kind(call).method) {
            self.offers.observe(Direction::ClientToServer, call.line, &request);
        }
        // A call that took long in the recording may take long again: three times its time, at least the
        // timeout.
        let took_us = script::recorded_us(script.tape(), call).unwrap_or(0);
        let due_us = now_us.saturating_add(self.setting.timeout_us.max(took_us.saturating_mul(3)));
        self.open.insert(id, PendingRequest::new(number, now_us, due_us, self.skipped_writes));
        self.send(request, actions);
    }

    /// Why a call has to be skipped, by what is known now.
    fn reason_to_skip(&self, call: &Recorded, request: &[u8]) -> Option<Skip> {
        if let Some(what) = self.carried.lacks(request) {
            return Some(Skip::Depends(what));
        }
        // After substitution: a marker whose secret the server returned in this run is not a marker any more.
        if is_redacted(&self.carried.put_into(request.to_vec())) || self.has_redacted_reply(call) {
            return Some(Skip::Redacted);
        }
        let tool = script::tool(self.script.tape(), call).filter(|_| self.setting.writes == Writes::Skip)?;
        let recorded = script::only_reads(self.script.definitions(), tool);
        match self.only_reads(tool).or(recorded) {
            Some(true) => None,
            Some(false) if recorded == Some(true) => Some(Skip::WritesNow),
            _ => Some(Skip::Writes),
        }
    }

    /// Whether an answer of the recorded client during a call was redacted.
    fn has_redacted_reply(&self, call: &Recorded) -> bool {
        let mut reply = Vec::new();
        let replies = self.script.tape().steps(call).iter().filter(|step| step.kind == StepKind::Reply);
        replies.into_iter().any(|step| {
            self.payloads.read(step.span, &mut reply).is_ok()
                && is_redacted(&self.carried.put_into(reply.clone()))
        })
    }

    fn skip(&mut self, number: u32, skip: Skip, actions: &mut Vec<Action>) {
        let script = Arc::clone(&self.script);
        let call = script.tape().call(number);
        if let Some(recorded) = script::answer(script.tape(), call).and_then(|span| self.read(span, actions))
        {
            self.carried.learn(&self.runs, &script.tape().kind(call).method, &recorded, None);
        }
        self.keep_as_recorded(call, actions);
        if self.may_write(call, skip) {
            self.skipped_writes += 1;
        }
        let recorded_us = script::recorded_us(script.tape(), call);
        self.push_verdict(
            Checked {
                call: number,
                verdict: Verdict::Skipped(skip),
                changes: Vec::new(),
                more: false,
                error: None,
                took_us: None,
                recorded_us,
            },
            actions,
        );
    }

    /// Whether a skipped call may have had side effects in the recording.
    fn may_write(&self, call: &Recorded, skip: Skip) -> bool {
        match skip {
            Skip::Writes | Skip::WritesNow => true,
            Skip::Cancelled | Skip::Gone => false,
            Skip::NotSelected | Skip::NeverAnswered | Skip::Redacted | Skip::Depends(_) => {
                let tool = script::tool(self.script.tape(), call);
                tool.is_some_and(|tool| script::only_reads(self.script.definitions(), tool) != Some(true))
            }
        }
    }

    /// Copies a skipped call to the new trace as recorded.
    fn keep_as_recorded(&mut self, call: &Recorded, actions: &mut Vec<Action>) {
        if self.setting.keeps == TraceOutput::Nothing {
            return;
        }
        let script = Arc::clone(&self.script);
        let id = self.next_id();
        let Some(request) = self.read(call.request, actions) else { return };
        actions.push(Action::Keep(Direction::ClientToServer, renumbered(&request, id)));
        let id = id.to_string();
        let steps = script.tape().steps(call);
        let cancellation = id_of(&request).and_then(|id| script.cancellation(call, id));
        let steps_before = |span: Span| steps.partition_point(|step| step.span.offset < span.offset);
        let (before, after) = steps.split_at(cancellation.map_or(steps.len(), steps_before));
        self.keep_steps(before, id.as_bytes(), actions);
        if let Some(message) = cancellation.and_then(|span| self.read(span, actions)) {
            let message = replaced(&message, &["params", "requestId"], id.as_bytes());
            actions.push(Action::Keep(Direction::ClientToServer, message));
        }
        self.keep_steps(after, id.as_bytes(), actions);
    }

    fn keep_steps(&self, steps: &[Step], id: &[u8], actions: &mut Vec<Action>) {
        for step in steps {
            let Some(message) = self.read(step.span, actions) else { continue };
            let (direction, message) = match step.kind {
                StepKind::Reply => (Direction::ClientToServer, message),
                StepKind::Answer => (Direction::ServerToClient, with_id(&message, id)),
                StepKind::Notification => (Direction::ServerToClient, with_token(&message, id)),
                StepKind::Question => (Direction::ServerToClient, message),
            };
            actions.push(Action::Keep(direction, message));
        }
    }

    fn read(&self, span: Span, actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.payloads.read(span, &mut bytes) {
            Ok(()) => Some(bytes),
            Err(error) => {
                actions.push(Action::Notify(Notice::Unreadable { reason: error.to_string() }));
                None
            }
        }
    }

    /// Handles a message of the server.
    pub fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) {
        for payload in payloads(message) {
            let envelope = Envelope::scan(payload);
            match envelope.kind {
                MessageKind::Response => self.response(payload, &envelope, now_us, actions),
                MessageKind::Request => self.question(payload, &envelope, actions),
                MessageKind::Notification => {
                    self.notification(&envelope, now_us, actions);
                    self.push_keep(Direction::ServerToClient, payload, actions);
                }
                MessageKind::Batch | MessageKind::NotJsonRpc => self.not_a_message(payload, actions),
            }
        }
        self.advance(now_us, actions);
    }

    fn response(&mut self, payload: &[u8], envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        let Some(Id::Number(id)) = &envelope.id else { return };
        // A late answer: its call has a verdict already.
        let Some(id) = id.parse::<u64>().ok().filter(|id| self.open.contains_key(id)) else { return };
        let Some(open) = self.open.remove(&id) else { return };
        if let Some((_, own)) = self.own.take_if(|(own, _)| *own == id) {
            return self.handle_own_response(own, payload, envelope, now_us, actions);
        }
        let call = self.script.tape().call(open.call);
        if is_offer(&self.script.tape().kind(call).method) {
            self.offers.observe(Direction::ServerToClient, call.line, payload);
        }
        self.push_keep(Direction::ServerToClient, payload, actions);
        self.handle_answer(open, payload, envelope, now_us, actions);
    }

    /// Handles the answer to a request of our own.
    fn handle_own_response(
        &mut self,
        own: OwnRequest,
        payload: &[u8],
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        self.collector_of(&own).observe(Direction::ServerToClient, 0, payload);
        match own {
            OwnRequest::Initialize if envelope.error.is_some() => self.connection = Connection::Over,
            OwnRequest::Initialize => self.send_initialized(actions),
            OwnRequest::Tools => match next_cursor(envelope).filter(|_| self.pages < MAX_PAGES) {
                Some(cursor) => self.request_tools(Some(&cursor), now_us, actions),
                None => self.connection = Connection::Ready,
            },
            OwnRequest::Pages(rest) => {
                self.push_keep(Direction::ServerToClient, payload, actions);
                self.handle_page(rest, envelope, actions);
            }
        }
    }

    fn handle_page(&mut self, rest: RemainingPages, envelope: &Envelope<'_>, actions: &mut Vec<Action>) {
        match next_cursor(envelope) {
            _ if envelope.error.is_some() => {
                self.fail_pages(rest, "the server answered with an error", actions);
            }
            Some(_) if rest.number >= MAX_PAGES => self.fail_pages(rest, "too many pages", actions),
            Some(cursor) => self.rest.push_front(RemainingPages { cursor, number: rest.number + 1, ..rest }),
            None => self.conclude(rest.call, rest.verdict, rest.answered_us, actions),
        }
    }

    fn send_initialized(&mut self, actions: &mut Vec<Action>) {
        self.connection = Connection::Ready;
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec(), actions);
    }

    /// Handles the answer to a recorded call.
    fn handle_answer(
        &mut self,
        open: PendingRequest,
        payload: &[u8],
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        let script = Arc::clone(&self.script);
        let tape = script.tape();
        let call = tape.call(open.call);
        let method = &tape.kind(call).method;
        match (&**method, envelope.error.is_some()) {
            ("initialize", true) => self.connection = Connection::Over,
            ("initialize", false) => self.send_initialized(actions),
            // A probe: an older server answers with an error, and the client continues with `initialize`.
            ("server/discover", true) => {}
            // A stateless server is ready with its first answer; there is no handshake to wait for.
            _ if self.connection == Connection::New => self.connection = Connection::Ready,
            _ => {}
        }
        let Some(recorded) = script::answer(tape, call).and_then(|span| self.read(span, actions)) else {
            // A subscription has no recorded answer; its end is not compared.
            return self.conclude(open, Verdict::Same, now_us, actions);
        };
        // Before redaction, which would hide the values that later requests have to repeat.
        self.carried.learn(&self.runs, method, &recorded, Some(payload));
        let (recorded, live) = (self.clean(&recorded), self.clean(payload));
        let mut found = self.judge().answers(method, &recorded, &live);
        // With several calls in flight, a server request may be attributed to another call, so this is
        // checked only in sequence.
        let unasked = self.questions.unasked(open.call);
        let unasked = unasked.filter(|_| self.setting.concurrency <= 1).map(|question| Change {
            place: "asked".to_owned(),
            before: Some(json!(question.method).to_string().into_bytes()),
            after: None,
        });
        // The server's requests came before its answer, so their differences are listed first.
        found.changes.splice(0..0, open.found.changes.iter().cloned().chain(unasked));
        found.more |= open.found.more;
        let verdict = verdict(&recorded, &live, &found);
        let error = (verdict == Verdict::NewError).then(|| error_text(&live)).flatten();
        let call = PendingRequest { found, error, ..open };
        // A list that had one page may have several now. Without the others, moved entries would count as removed.
        let was_whole = next_cursor(&Envelope::scan(&recorded)).is_none();
        let more = ListKind::of_method(method).zip(next_cursor(envelope)).filter(|_| was_whole);
        match more {
            Some((kind, cursor)) => {
                self.rest.push_back(RemainingPages {
                    kind,
                    cursor,
                    number: 2,
                    call,
                    verdict,
                    answered_us: now_us,
                });
            }
            None => self.conclude(call, verdict, now_us, actions),
        }
    }

    fn conclude(&mut self, open: PendingRequest, verdict: Verdict, now_us: u64, actions: &mut Vec<Action>) {
        let tape = self.script.tape();
        let call = tape.call(open.call);
        let recorded_us = script::recorded_us(tape, call);
        let took_us = now_us.saturating_sub(open.sent_us);
        let is_slower = || {
            // The handshake includes the start of the server, which varies.
            let pace = self.setting.pace.filter(|_| !script::is_introduction(tape, call)).zip(recorded_us);
            pace.is_some_and(|(pace, recorded_us)| pace.is_slower(recorded_us, took_us))
        };
        let verdict = match verdict {
            Verdict::Same if is_slower() => Verdict::Slower,
            // Without the skipped writes, the server can't have the data that the recording read back.
            Verdict::Changed | Verdict::NewError if open.skipped_writes > 0 && reads_state(tape, call) => {
                Verdict::Inconclusive { skipped_writes: open.skipped_writes }
            }
            verdict => verdict,
        };
        let (MessageDiff { changes, more }, error) = (open.found, open.error);
        let checked =
            Checked { call: open.call, verdict, changes, more, error, took_us: Some(took_us), recorded_us };
        self.push_verdict(checked, actions);
    }

    fn push_verdict(&mut self, checked: Checked, actions: &mut Vec<Action>) {
        self.checked.push(checked);
        actions.push(Action::Judged);
    }

    fn judge(&self) -> Judge<'_> {
        Judge { ignored: &self.setting.ignored, runs: &self.runs }
    }

    /// The message as it may be reported: redacted like the recording.
    fn clean<'m>(&self, message: &'m [u8]) -> Cow<'m, [u8]> {
        let redactor = self.setting.redactor.as_ref();
        redactor.map_or(Cow::Borrowed(message), |redactor| without_secrets(redactor, message))
    }

    /// Reports only the first one: a server that logs to standard output sends many.
    fn not_a_message(&mut self, payload: &[u8], actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.is_polluted, true) {
            let text = self.shown(payload);
            actions.push(Action::Notify(Notice::NotAMessage { text }));
        }
    }

    fn shown(&self, text: &[u8]) -> String {
        /// Characters that are shown.
        const LONG: usize = 200;
        let text = self.setting.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.text(text));
        let text = String::from_utf8_lossy(&text);
        let shown: String = text.chars().take(LONG).collect();
        if shown.len() < text.len() { format!("{shown}…") } else { shown }
    }

    /// Handles a request of the server.
    fn question(&mut self, payload: &[u8], envelope: &Envelope<'_>, actions: &mut Vec<Action>) {
        let Some(id) = id_of(payload) else { return };
        let method = envelope.method.as_deref().unwrap_or_default();
        if method == "ping" {
            // Pings depend on timing, so they are neither compared nor written to the new trace.
            let pong = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":{}}"#].concat();
            return actions.push(Action::Send(pong));
        }
        self.push_keep(Direction::ServerToClient, payload, actions);
        let open: Vec<u32> = self.open.values().map(|open| open.call).collect();
        let Some(reply) = self.questions.find(&self.setting.matching, envelope, &open) else {
            return self.reject_request(id, method, actions);
        };
        self.compare_question(reply.question, payload, actions);
        // The recorded client did not answer, so we don't either.
        let Some(message) = reply.span.and_then(|span| self.read(span, actions)) else { return };
        let message = self.carried.put_into(message);
        if is_redacted(&message) {
            // A redaction marker is never sent: the server could store or show it as a real value.
            let error = br#","error":{"code":-32603,"message":"wiretape: the recorded response contains a redacted secret"}}"#;
            return self.send([br#"{"jsonrpc":"2.0","id":"#, id, error].concat(), actions);
        }
        self.send(with_id(&message, id), actions);
    }

    fn reject_request(&mut self, id: &[u8], method: &str, actions: &mut Vec<Action>) {
        actions.push(Action::Notify(Notice::NotAsked { method: method.to_owned() }));
        let error =
            br#","error":{"code":-32601,"message":"wiretape: the recording has no such request here"}}"#;
        self.send([br#"{"jsonrpc":"2.0","id":"#, id, error].concat(), actions);
        let asked = Change {
            place: "asked".to_owned(),
            before: None,
            after: Some(json!(method).to_string().into_bytes()),
        };
        // A request doesn't say which call it belongs to; the newest is the best guess, as in `call::tracker`.
        if let Some(open) = self.open.values_mut().last() {
            open.found.changes.push(asked);
        }
    }

    fn compare_question(&mut self, question: usize, live: &[u8], actions: &mut Vec<Action>) {
        let question = self.questions.get(question);
        let (call, span) = (question.call, question.request);
        let Some(recorded) = self.read(span, actions) else { return };
        let method = &question.method;
        let found = self.judge().questions(method, &self.clean(&recorded), &self.clean(live));
        if let Some(open) = self.open.values_mut().find(|open| open.call == call) {
            open.found.changes.extend(found.changes);
            open.found.more |= found.more;
        }
    }

    /// A subscription counts as answered when it is acknowledged.
    fn notification(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        if envelope.method.as_deref() != Some("notifications/subscriptions/acknowledged") {
            return;
        }
        let params = envelope.params.and_then(|params| Value::parse(params).ok());
        let id = params
            .and_then(|params| params.at_path(&["_meta", meta_key::SUBSCRIPTION_ID]))
            .and_then(|id| String::from_utf8_lossy(id.raw).trim_matches('"').parse::<u64>().ok());
        if let Some(open) = id.and_then(|id| self.open.remove(&id)) {
            self.conclude(open, Verdict::Same, now_us, actions);
        }
    }

    /// Ends the calls whose time is up at `now_us`.
    pub fn tick(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        let late: Vec<u64> =
            self.open.iter().filter(|(_, open)| open.due_us <= now_us).map(|(id, _)| *id).collect();
        for id in late {
            let Some(open) = self.open.remove(&id) else { continue };
            match self.own.take_if(|(own, _)| *own == id) {
                Some((_, OwnRequest::Initialize)) => self.connection = Connection::Over,
                // Without the list, calls are decided by the recorded annotations alone.
                Some((_, OwnRequest::Tools)) => self.connection = Connection::Ready,
                Some((_, OwnRequest::Pages(rest))) => self.fail_pages(rest, "timed out", actions),
                None => self.conclude_missing(open, Missing::TimedOut, actions),
            }
        }
        self.advance(now_us, actions);
    }

    /// The server exited or closed the connection.
    pub fn server_gone(&mut self, reason: &str, now_us: u64, actions: &mut Vec<Action>) {
        self.connection = Connection::Over;
        // A list whose remaining pages were pending has no verdict yet.
        let under_way =
            if let Some((_, OwnRequest::Pages(rest))) = self.own.take() { Some(rest) } else { None };
        for rest in under_way.into_iter().chain(std::mem::take(&mut self.rest)) {
            self.fail_pages(rest, reason, actions);
        }
        for open in std::mem::take(&mut self.open).into_values() {
            self.conclude_missing(open, Missing::Gone(reason.to_owned()), actions);
        }
        self.advance(now_us, actions);
    }

    fn conclude_missing(&mut self, open: PendingRequest, missing: Missing, actions: &mut Vec<Action>) {
        let script = Arc::clone(&self.script);
        let tape = script.tape();
        // A request of our own has no call and no verdict.
        let Some(call) = tape.calls().get(open.call as usize) else { return };
        if script::is_introduction(tape, call) {
            self.connection = Connection::Over;
        }
        if let Some(recorded) = script::answer(tape, call).and_then(|span| self.read(span, actions)) {
            self.carried.learn(&self.runs, &tape.kind(call).method, &recorded, None);
        }
        let recorded_us = script::recorded_us(tape, call);
        let MessageDiff { changes, more } = open.found;
        let verdict = Verdict::Missing(missing);
        let checked =
            Checked { call: open.call, verdict, changes, more, error: None, took_us: None, recorded_us };
        self.push_verdict(checked, actions);
    }

    /// Sends a message and keeps it for the new trace.
    fn send(&self, message: Vec<u8>, actions: &mut Vec<Action>) {
        self.push_keep(Direction::ClientToServer, &message, actions);
        actions.push(Action::Send(message));
    }

    fn push_keep(&self, direction: Direction, message: &[u8], actions: &mut Vec<Action>) {
        if self.setting.keeps == TraceOutput::NewTrace {
            actions.push(Action::Keep(direction, message.to_vec()));
        }
    }
}

/// Whether an answer may depend on earlier writes. The server's definitions of itself, its tools and prompts don't.
fn reads_state(tape: &Tape, call: &Recorded) -> bool {
    let method = &*tape.kind(call).method;
    !script::is_introduction(tape, call) && !matches!(method, "tools/list" | "prompts/list" | "ping")
}

/// The time ranges of both runs, and the possible ids in the recorded requests.
fn runs(script: &Script, payloads: &impl Payloads, started_ms: i64) -> Runs {
    let recorded = script.recorded_ms.clone();
    let mut runs = Runs { recorded, live: started_ms..started_ms, ..Runs::default() };
    let mut request = Vec::new();
    for (call, _) in script.entries().filter(|(_, plan)| *plan == Plan::Send) {
        if payloads.read(call.request, &mut request).is_ok() {
            runs.remember_request(&request);
        }
    }
    runs
}

/// The cursor of the next page.
fn next_cursor(answer: &Envelope<'_>) -> Option<String> {
    let result = Value::parse(answer.result?).ok()?;
    result.get("nextCursor")?.string().map(Cow::into_owned)
}

/// A request with a new id, which is also its progress token.
fn renumbered(request: &[u8], id: u64) -> Vec<u8> {
    let id = id.to_string();
    replaced(&with_id(request, id.as_bytes()), &["params", "_meta", "progressToken"], id.as_bytes())
}
