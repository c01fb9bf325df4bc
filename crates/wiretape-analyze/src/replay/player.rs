//! Plays a tape to one client: its messages in, the server's messages out.
//!
//! Sans-IO: nothing here waits or reads a clock. The caller passes the time with each message, asks for the
//! [`Player::deadline`], and calls [`Player::tick`] when it is reached. So transcripts test every timing without
//! sleeping.
//!
//! A request either takes the fast path (`answer_at_sight`), or becomes a [`LiveRequest`] that plays the steps of its
//! call one by one and may wait between them: for the recorded delay, for the client's answer to a server request, or
//! for the end of the handshake. Which call is played is decided by [`Cursor`]; transports turn the [`Action`]s into
//! bytes.

use super::cursor::{Cursor, Match, MatchKind, Miss, MissReason, kind};
use super::difference::Departure;
use super::edit::{self, Listener};
use super::fault::{FaultKind, Faults};
use super::glance::Glance;
use super::handshake::{
    METHOD_NOT_FOUND, made_up_discover, made_up_initialize, negotiated, recorded_discover,
    recorded_initialize, wanted_revision,
};
use super::heal::healed;
use super::matching::{Matching, Order};
use super::tally::{Notice, Tally};
use super::tape::{LISTEN, Payloads, Recorded, Span, Step, StepKind, Tape};
use crate::call::Outcome;
use crate::volatile::Part;
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use wiretape_trace::message::{Defect, Envelope, Id, MessageKind, is_batch, payloads};
use wiretape_trace::redact::is_redacted;
use wiretape_trace::value::Value;

/// The error code of a miss, from JSON-RPC's range for implementation-defined server errors.
const CODE: i64 = -32000;

/// How fast a tape is played.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed(f64);

/// The text is not a valid speed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("speed must be 0 (no delays), 1 (as recorded) or a factor")]
pub struct SpeedError;

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        let speed = text.parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed >= 0.0);
        speed.map(Speed).ok_or(SpeedError)
    }
}

impl Speed {
    /// Whether messages are sent without the recorded delays.
    pub fn is_at_once(self) -> bool {
        self.0 == 0.0
    }

    fn scaled(self, gap_us: u32) -> u64 {
        if self.is_at_once() { 0 } else { (f64::from(gap_us) / self.0) as u64 }
    }
}

/// What to do with a request that has no recorded answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenMissed {
    /// The client gets an error.
    #[default]
    Error,
    /// The client gets an empty result.
    Empty,
    /// The request is forwarded to a real server.
    PassOn,
}

/// The options of a replay.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// How requests are compared.
    pub matching: Matching,
    /// How fast recorded pauses pass.
    pub speed: Speed,
    /// What to do with a request that has no recorded answer.
    pub when_missed: WhenMissed,
    /// The faults to inject.
    pub faults: Faults,
    /// Microseconds that a client has to answer a server request; `None` waits forever.
    pub patience_us: Option<u64>,
}

impl Setting {
    /// Whether nothing but the request itself decides its answer, so that the fast path applies.
    fn is_plain(&self) -> bool {
        self.matching.order == Order::Free && self.speed.is_at_once() && self.faults.list.is_empty()
    }
}

/// What the caller has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message to the client.
    Send {
        /// The request that it belongs to; `None` between calls.
        during: Option<u64>,
        /// The JSON of the message.
        message: Vec<u8>,
    },
    /// Send the answer to a request. Nothing follows for it.
    Answer {
        /// The number of the request.
        to: u64,
        /// The JSON of the message.
        message: Vec<u8>,
    },
    /// Send a truncated answer.
    BreakOff {
        /// The number of the request.
        to: u64,
        /// The first half of the answer.
        message: Vec<u8>,
        /// The second half, for a client that resumes the stream.
        rest: Vec<u8>,
    },
    /// Close the connection instead of answering.
    Disconnect {
        /// The number of the request.
        to: u64,
        /// The answer, for a client that resumes the stream.
        message: Vec<u8>,
    },
    /// Stop answering a request: the client cancelled it.
    Close {
        /// The number of the request.
        request: u64,
    },
    /// Forward the request to a real server.
    PassOn {
        /// The number of the request.
        request: u64,
        /// The JSON of the message.
        message: Vec<u8>,
        /// Why the tape has no answer.
        miss: Box<Miss>,
    },
    /// Show a notice to the user.
    Notify(Notice),
}

/// Plays a tape to one client.
#[derive(Debug)]
pub struct Player<P> {
    tape: Arc<Tape>,
    payloads: P,
    setting: Arc<Setting>,
    tally: Arc<Mutex<Tally>>,
    cursor: Cursor,
    /// Requests in flight, by number.
    live: HashMap<u64, LiveRequest>,
    ids: HashMap<Vec<u8>, u64>,
    /// Server requests that wait for the client's answer, by their ids: the client's request and the recorded question.
    questions: HashMap<u64, (u64, u32)>,
    listeners: HashMap<Vec<u8>, Listener>,
    timers: BTreeSet<(u64, u64)>,
    requests: u64,
    asked: u64,
    handshake: Handshake,
    /// How often each key came. Counted only if faults are injected.
    times: HashMap<u64, u64>,
    buffer: Vec<u8>,
}

/// Whether the client has sent `notifications/initialized`.
#[derive(Debug, Default)]
enum Handshake {
    /// Not yet; these requests continue when it has.
    Open(Vec<u64>),
    #[default]
    Done,
}

/// A request in flight.
#[derive(Debug)]
struct LiveRequest {
    /// The bytes of its id.
    id: Vec<u8>,
    /// The bytes of its progress token.
    token: Option<Vec<u8>>,
    call: u32,
    step: usize,
    heard_us: u64,
    /// The server requests that the client has answered.
    replied: Vec<u32>,
    /// The server request whose answer is awaited, and the deadline in microseconds.
    waits: Option<(u32, u64)>,
    is_repeat: bool,
    is_answered: bool,
    fault: Option<FaultKind>,
    /// For `initialize`: the revision that the client requests.
    initialize: Option<Option<String>>,
}

/// Whether a request is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Done,
    Pending,
}

impl<P: Payloads> Player<P> {
    /// A player at the start of a session.
    pub fn new(tape: Arc<Tape>, payloads: P, setting: Arc<Setting>, tally: Arc<Mutex<Tally>>) -> Self {
        Player {
            tape,
            payloads,
            setting,
            tally,
            cursor: Cursor::new(),
            live: HashMap::new(),
            ids: HashMap::new(),
            questions: HashMap::new(),
            listeners: HashMap::new(),
            timers: BTreeSet::new(),
            requests: 0,
            asked: 0,
            handshake: Handshake::default(),
            times: HashMap::new(),
            buffer: Vec::new(),
        }
    }

    /// When [`Player::tick`] has to be called, in microseconds; `None` if nothing is scheduled.
    pub fn deadline(&self) -> Option<u64> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// The number of requests without an answer so far.
    pub fn open_requests(&self) -> usize {
        // A request stays live after its response while later messages of its call are still to be played.
        self.live.values().filter(|live| !live.is_answered).count()
    }

    /// Handles a message or a batch. Returns the numbers of the requests in it.
    pub fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) -> Range<u64> {
        let before = self.requests;
        if is_batch(message) {
            // Batches are accepted in every revision: replay imitates the server, it doesn't lint the client.
            payloads(message).into_iter().for_each(|payload| self.payload(payload, now_us, actions));
        } else {
            self.payload(message, now_us, actions);
        }
        before + 1..self.requests + 1
    }

    fn payload(&mut self, payload: &[u8], now_us: u64, actions: &mut Vec<Action>) {
        if self.answer_at_sight(payload, actions).is_some() {
            return;
        }
        let envelope = Envelope::scan(payload);
        match envelope.kind {
            MessageKind::Request => self.request(payload, &envelope, now_us, actions),
            MessageKind::Response => self.reply(&envelope, now_us, actions),
            MessageKind::Notification => self.notification(&envelope, now_us, actions),
            MessageKind::Batch | MessageKind::NotJsonRpc => actions.push(not_a_message(&envelope)),
        }
    }

    /// Performs what is due.
    pub fn tick(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        while let Some((due, number)) = self.timers.first().copied().filter(|(due, _)| *due <= now_us) {
            // A request may be gone by now, cancelled or resumed by the client's answer; `resume` ignores it then.
            self.timers.remove(&(due, number));
            self.resume(number, now_us, actions);
        }
    }

    /// Cancels a request: its answer is not sent.
    pub fn cancel(&mut self, number: u64) {
        if let Some(live) = self.live.remove(&number) {
            self.ids.remove(&live.id);
            self.listeners.retain(|_, listener| listener.number != number);
        }
    }

    /// The fast path: answers a request that is byte for byte a recorded one whose call is just an answer. Most are, and the
    /// full path takes about five times as long ("Replay" in docs/benchmarks.md). Returns the request's number; `None` if the
    /// request needs the full path, in which case nothing has changed.
    pub fn answer_at_sight(&mut self, message: &[u8], actions: &mut Vec<Action>) -> Option<u64> {
        if !self.setting.is_plain() {
            return None;
        }
        let request = Glance::at(message)?;
        // A clone of the pointer, so that the tape stays borrowed while `self` changes.
        let tape = Arc::clone(&self.tape);
        let chain = tape.chain_in_words(request.method, request.params)?;
        if !tape.chain(chain).is_plain {
            return None;
        }
        let found = self.cursor.take_or_repeat(&tape, &self.setting.matching, chain, MatchKind::Same)?;
        // Numbered only now: a request that needs the full path must not be counted twice.
        self.requests += 1;
        self.tally.lock().use_call(found.call, &found.how);
        let (call, id) = (tape.call(found.call), &message[request.id]);
        let step = tape.steps(call).first()?;
        let message = self.read_answer(id, call, step, actions);
        let answer = |message| Action::Answer { to: self.requests, message };
        actions.push(message.map_or_else(|| self.unreadable(self.requests, id, call), answer));
        Some(self.requests)
    }

    fn request(&mut self, message: &[u8], envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        self.requests += 1;
        let number = self.requests;
        // The bytes as written: a number may have more digits than any numeric type.
        let id = envelope.id_place.clone().map_or(&b"null"[..], |place| &message[place]).to_vec();
        match envelope.method.as_deref() {
            // Matched by other rules than calls: their params name the client, which is another one than the
            // recorded.
            Some("initialize") => self.initialize(number, id, envelope, now_us, actions),
            Some("server/discover") => self.discover(number, id, envelope, now_us, actions),
            _ => match self.cursor.find(&self.tape, &self.setting.matching, &self.payloads, envelope) {
                Ok(found) if self.has_no_answer(&found) => {
                    let reason = MissReason::NotAnswered;
                    let miss = Miss { kind: kind(envelope), reason, nearest: None, unasked: None };
                    self.handle_miss(number, &id, message, envelope, Box::new(miss), actions);
                }
                Ok(found) => self.play_match(number, id, envelope, &found, now_us, actions),
                Err(miss) => self.handle_miss(number, &id, message, envelope, miss, actions),
            },
        }
    }

    /// Whether a call has no answer although it should have one.
    fn has_no_answer(&self, found: &Match) -> bool {
        let call = self.tape.call(found.call);
        !call.is_answered() && !stays_silent(&self.tape, call)
    }

    fn initialize(
        &mut self,
        number: u64,
        id: Vec<u8>,
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        let wanted = wanted_revision(envelope.params);
        let cursor = &self.cursor;
        let recorded =
            recorded_initialize(&self.tape, &self.payloads, wanted.as_deref(), |call| cursor.is_used(call));
        let Some(call) = recorded else {
            let result = made_up_initialize(&self.tape, wanted.as_deref());
            actions.push(Action::Notify(Notice::MadeUp { method: "initialize" }));
            return actions.push(answer(number, &id, &json!({ "result": result })));
        };
        // The recorded messages after this answer (list changes, pings) came after `notifications/initialized`; a
        // client that gets them earlier may reject them (2024-11-05 to 2025-11-25, lifecycle).
        self.handshake = Handshake::Open(Vec::new());
        // A client may reconnect; the handshake is answered each time, whatever was used before.
        let is_repeat = self.cursor.is_used(call);
        self.cursor.mark(call);
        self.tally.lock().use_call(call, &MatchKind::Same);
        let fault = self.inject_fault(envelope, self.tape.call(call).key(), actions);
        let live = LiveRequest::new(id, envelope, call, now_us);
        self.start(
            number,
            LiveRequest { is_repeat, fault, initialize: Some(wanted), ..live },
            now_us,
            actions,
        );
    }

    /// A server with sessions must answer "method not found", whatever was recorded: that is how a client detects it
    /// (since 2026-07-28).
    fn discover(
        &mut self,
        number: u64,
        id: Vec<u8>,
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        if !self.tape.is_modern() {
            // The recorded probe counts as used, or it would be reported as a call that the client left out.
            let probe = self.tape.of_method("server/discover").map(|(call, _)| call);
            if let Some(call) = probe.into_iter().find(|call| !self.cursor.is_used(*call)) {
                self.cursor.mark(call);
                self.tally.lock().use_call(call, &MatchKind::Same);
            }
            let error = json!({ "code": METHOD_NOT_FOUND, "message": "Method not found" });
            return actions.push(answer(number, &id, &json!({ "error": error })));
        }
        // A server may answer differently by the client's revisions, so the same params are preferred.
        let key = self.setting.matching.key("server/discover", envelope.params);
        let cursor = &self.cursor;
        let Some(call) = recorded_discover(&self.tape, key, |call| cursor.is_used(call)) else {
            actions.push(Action::Notify(Notice::MadeUp { method: "server/discover" }));
            return actions.push(answer(number, &id, &json!({ "result": made_up_discover(&self.tape) })));
        };
        let found = Match { call, how: MatchKind::Same, is_repeat: self.cursor.is_used(call) };
        self.cursor.mark(call);
        self.play_match(number, id, envelope, &found, now_us, actions);
    }

    fn play_match(
        &mut self,
        number: u64,
        id: Vec<u8>,
        envelope: &Envelope<'_>,
        found: &Match,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        let tape = Arc::clone(&self.tape);
        let call = tape.call(found.call);
        self.tally.lock().use_call(found.call, &found.how);
        if let Some(notice) = match_notice(&tape, call, &found.how) {
            actions.push(Action::Notify(notice));
        }
        let fault = self.inject_fault(envelope, call.key(), actions);
        if envelope.method.as_deref() == Some(LISTEN) {
            self.listen(number, &id, call.request);
        }
        let live = LiveRequest::new(id, envelope, found.call, now_us);
        self.start(number, LiveRequest { is_repeat: found.is_repeat, fault, ..live }, now_us, actions);
    }

    /// Maps the recorded subscription id to the live request's id, for notifications.
    fn listen(&mut self, number: u64, id: &[u8], recorded: Span) {
        if self.payloads.read(recorded, &mut self.buffer).is_err() {
            return;
        }
        if let Some(recorded) = edit::id_of(&self.buffer) {
            let listener = Listener { number, id: id.to_vec() };
            self.listeners.insert(edit::bare(recorded).to_vec(), listener);
        }
    }

    fn inject_fault(
        &mut self,
        envelope: &Envelope<'_>,
        key: u64,
        actions: &mut Vec<Action>,
    ) -> Option<FaultKind> {
        if self.setting.faults.list.is_empty() {
            return None;
        }
        // Decided by the call and how often it came, not by the order of all requests: concurrent clients must not
        // change which calls fail.
        let time = self.times.entry(key).or_default();
        *time += 1;
        let method = envelope.method.as_deref().unwrap_or_default();
        let fault = self.setting.faults.fault_for(method, envelope.tool(), key, *time)?;
        self.tally.lock().count_fault();
        actions.push(Action::Notify(Notice::Struck { kind: kind(envelope), fault }));
        Some(fault)
    }

    fn handle_miss(
        &mut self,
        number: u64,
        id: &[u8],
        message: &[u8],
        envelope: &Envelope<'_>,
        miss: Box<Miss>,
        actions: &mut Vec<Action>,
    ) {
        // Keep-alive pings are answered even if none was recorded: a client would drop the connection.
        if envelope.method.as_deref() == Some("ping") {
            return actions.push(answer(number, id, &json!({ "result": {} })));
        }
        if self.setting.when_missed == WhenMissed::PassOn {
            self.tally.lock().pass_on();
            return actions.push(Action::PassOn { request: number, message: message.to_vec(), miss });
        }
        self.answer_miss(number, id, envelope, miss, actions);
    }

    /// Answers a request that has no recorded answer and is not forwarded.
    fn answer_miss(
        &mut self,
        number: u64,
        id: &[u8],
        envelope: &Envelope<'_>,
        miss: Box<Miss>,
        actions: &mut Vec<Action>,
    ) {
        self.tally.lock().miss(&miss);
        // A request that can't be passed on any more is an error too: an invented result would hide that the server
        // is gone.
        let outcome = match self.setting.when_missed {
            WhenMissed::Empty => {
                json!({ "result": empty_result(envelope.method.as_deref().unwrap_or_default()) })
            }
            WhenMissed::Error | WhenMissed::PassOn => json!({ "error": error_of(&miss) }),
        };
        actions.push(Action::Notify(Notice::Missed(miss)));
        actions.push(answer(number, id, &outcome));
    }

    fn start(&mut self, number: u64, mut live: LiveRequest, now_us: u64, actions: &mut Vec<Action>) {
        // A hanging request stays live without ever being played, so that it can still be cancelled.
        if live.fault == Some(FaultKind::Hang)
            || self.play(number, &mut live, now_us, actions) == Progress::Pending
        {
            self.ids.insert(live.id.clone(), number);
            self.live.insert(number, live);
        }
    }

    fn resume(&mut self, number: u64, now_us: u64, actions: &mut Vec<Action>) {
        // Taken out of the map while it plays, because playing needs all of `self`.
        let Some(mut live) = self.live.remove(&number) else { return };
        if self.play(number, &mut live, now_us, actions) == Progress::Pending {
            self.live.insert(number, live);
        } else {
            self.ids.remove(&live.id);
        }
    }

    /// Plays the steps of a call until it is complete or has to wait.
    fn play(
        &mut self,
        number: u64,
        live: &mut LiveRequest,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) -> Progress {
        let tape = Arc::clone(&self.tape);
        let call = tape.call(live.call);
        let steps = tape.steps(call);
        while let Some(step) = steps.get(live.step) {
            // Messages after the answer are sent once; repeating them would, for example, announce list
            // changes again.
            if live.is_answered && live.is_repeat {
                return Progress::Done;
            }
            if self.has_to_wait(number, live, step, now_us) {
                return Progress::Pending;
            }
            let is_through = match step.kind {
                StepKind::Notification => self.notify(number, live, call, step.span, actions),
                StepKind::Question => self.send_question(number, live, call, step, actions),
                StepKind::Reply => self.stop_waiting(live, call, step, actions),
                StepKind::Answer => self.answer(number, live, call, step, actions),
            };
            if is_through == Progress::Done {
                return Progress::Done;
            }
            live.step += 1;
        }
        if live.is_answered { Progress::Done } else { Progress::Pending }
    }

    /// Whether the next step has to wait. If so, a timer or the client's next message resumes it.
    fn has_to_wait(&mut self, number: u64, live: &mut LiveRequest, step: &Step, now_us: u64) -> bool {
        if live.is_answered
            && live.initialize.is_some()
            && let Handshake::Open(waiting) = &mut self.handshake
        {
            waiting.push(number);
            return true;
        }
        if step.kind == StepKind::Reply {
            return self.has_to_wait_for_client(number, live, step.question, now_us);
        }
        let mut due = live.heard_us.saturating_add(self.setting.speed.scaled(step.gap_us));
        if let (StepKind::Answer, Some(FaultKind::Delay(us))) = (step.kind, live.fault) {
            due = due.saturating_add(us);
        }
        if due > now_us {
            self.timers.insert((due, number));
            return true;
        }
        // Counted from when the step was due, not from now: late timers must not add up over the steps of a call.
        live.heard_us = if self.setting.speed.is_at_once() { live.heard_us } else { due };
        false
    }

    fn has_to_wait_for_client(
        &mut self,
        number: u64,
        live: &mut LiveRequest,
        question: u32,
        now_us: u64,
    ) -> bool {
        if live.replied.contains(&question) {
            // The server's delays count from the client's real answer, however long the client took.
            live.heard_us = now_us;
            return false;
        }
        let patience = self.setting.patience_us;
        let until = match live.waits {
            Some((waited_for, until)) if waited_for == question => until,
            _ => patience.map_or(u64::MAX, |patience| now_us.saturating_add(patience)),
        };
        live.waits = Some((question, until));
        if until <= now_us {
            return false;
        }
        if patience.is_some() {
            self.timers.insert((until, number));
        }
        true
    }

    /// Ends the wait for the client's answer: it came, or the patience ran out.
    fn stop_waiting(
        &mut self,
        live: &mut LiveRequest,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Progress {
        if !live.replied.contains(&step.question) {
            // The call continues after this: a client that does not answer would otherwise block the replay for good.
            let kind = self.tape.kind(call).clone();
            actions.push(Action::Notify(Notice::NoReply { kind }));
        }
        live.waits = None;
        Progress::Pending
    }

    fn notify(
        &mut self,
        number: u64,
        live: &LiveRequest,
        call: &Recorded,
        span: Span,
        actions: &mut Vec<Action>,
    ) -> Progress {
        let Some(message) = self.read(call, span, actions) else { return Progress::Pending };
        let is_progress = Envelope::scan(&message).progress_token.is_some();
        let message = match &live.token {
            Some(token) if is_progress => edit::with_token(&message, token),
            // This client sent no progress token.
            None if is_progress => return Progress::Pending,
            _ => message,
        };
        let (message, listener) = edit::with_subscription(message, &self.listeners);
        let during = listener.or(Some(number).filter(|_| !live.is_answered));
        actions.push(Action::Send { during, message });
        Progress::Pending
    }

    fn send_question(
        &mut self,
        number: u64,
        live: &LiveRequest,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Progress {
        let Some(message) = self.read(call, step.span, actions) else { return Progress::Pending };
        self.asked += 1;
        self.questions.insert(self.asked, (number, step.question));
        // Ids of our own: recorded ones may collide when one call is played to two requests at once.
        let message = edit::with_id(&message, self.asked.to_string().as_bytes());
        let during = Some(number).filter(|_| !live.is_answered);
        actions.push(Action::Send { during, message });
        Progress::Pending
    }

    fn answer(
        &mut self,
        number: u64,
        live: &mut LiveRequest,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Progress {
        match live.fault {
            // Done, so that the id may be used again; the client waits for a response that never comes.
            Some(FaultKind::Drop) => return Progress::Done,
            Some(FaultKind::Error(code)) => {
                let error = json!({ "code": code, "message": "wiretape: injected fault" });
                actions.push(answer(number, &live.id, &json!({ "error": error })));
                return Progress::Done;
            }
            _ => {}
        }
        let Some(mut message) = self.read_answer(&live.id, call, step, actions) else {
            actions.push(self.unreadable(number, &live.id, call));
            return Progress::Done;
        };
        if let Some(wanted) = &live.initialize {
            message = negotiated(message, wanted.as_deref());
        }
        match live.fault {
            Some(FaultKind::Truncate) => {
                // In the middle of the JSON, and of a UTF-8 character if need be: that is what a broken connection
                // does.
                let rest = message.split_off(message.len() / 2);
                actions.push(Action::BreakOff { to: number, message, rest });
                Progress::Done
            }
            Some(FaultKind::Disconnect) => {
                actions.push(Action::Disconnect { to: number, message });
                Progress::Done
            }
            _ => {
                // Not complete yet: messages that followed the answer in the recording are played after it.
                actions.push(Action::Answer { to: number, message });
                live.is_answered = true;
                Progress::Pending
            }
        }
    }

    /// Answers with a miss, because the recorded answer can't be read.
    fn unreadable(&self, number: u64, id: &[u8], call: &Recorded) -> Action {
        let kind = self.tape.kind(call).clone();
        let miss = Miss { kind, reason: MissReason::Unreadable, nearest: None, unasked: None };
        self.tally.lock().miss(&miss);
        answer(number, id, &json!({ "error": error_of(&miss) }))
    }

    /// A recorded answer with the id of the live request.
    fn read_answer(
        &self,
        id: &[u8],
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Option<Vec<u8>> {
        let recorded = self.read_as_it_is(step.span, id.len(), actions)?;
        let answer = match (self.healed(call, &recorded, actions), step.id.range()) {
            (Some(healed), _) => edit::with_id(&healed, id),
            (None, Some(place)) => edit::with_id_at(recorded, place, id),
            (None, None) => edit::with_id(&recorded, id),
        };
        Some(edit::with_subscription(answer, &self.listeners).0)
    }

    /// A recorded message, with damaged schemas repaired.
    fn read(&self, call: &Recorded, span: Span, actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let recorded = self.read_as_it_is(span, 0, actions)?;
        Some(self.healed(call, &recorded, actions).unwrap_or(recorded))
    }

    /// A recorded message as is. `room` is spare capacity for a longer id, which saves a reallocation per answer.
    fn read_as_it_is(&self, span: Span, room: usize, actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let mut message = Vec::with_capacity(span.len as usize + room);
        if let Err(error) = self.payloads.read(span, &mut message) {
            // A trace may be rotated away or truncated while it is replayed; the rest of it can still be played.
            let reason = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "the file was truncated".to_owned(),
                _ => error.to_string(),
            };
            actions.push(Action::Notify(Notice::Unreadable { reason }));
            return None;
        }
        Some(message)
    }

    /// The message with repaired schemas; `None` if none is damaged.
    fn healed(&self, call: &Recorded, message: &[u8], actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let (healed, places) = Some(message).filter(|message| is_redacted(message)).and_then(healed)?;
        self.tally.lock().count_repairs(places);
        let kind = self.tape.kind(call).clone();
        actions.push(Action::Notify(Notice::Healed { kind, places }));
        Some(healed)
    }

    /// Handles the client's answer to a server request.
    fn reply(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        // Our ids are numbers; anything else answers no request of ours.
        let Some(Id::Number(id)) = &envelope.id else { return };
        let Some((number, question)) = id.parse().ok().and_then(|id: u64| self.questions.remove(&id)) else {
            return;
        };
        // The request was cancelled while the client was answering; there is nothing left to continue.
        let Some(live) = self.live.get_mut(&number) else { return };
        // Remembered even if the call does not wait yet: a client may answer faster than the recorded one did.
        live.replied.push(question);
        let waits = live.waits.is_some_and(|(waited_for, _)| waited_for == question);
        let tape = Arc::clone(&self.tape);
        let call = tape.call(live.call);
        let is_reply = |step: &&Step| step.kind == StepKind::Reply && step.question == question;
        if let Some(step) = tape.steps(call).iter().find(is_reply) {
            self.compare_reply(call, step.span, envelope, actions);
        }
        if waits {
            self.resume(number, now_us, actions);
        }
    }

    fn compare_reply(&mut self, call: &Recorded, span: Span, live: &Envelope<'_>, actions: &mut Vec<Action>) {
        let mut recorded = Vec::new();
        // Without the recorded reply there is nothing to compare; that the file can't be read is reported elsewhere.
        if self.payloads.read(span, &mut recorded).is_err() {
            return;
        }
        let departures = reply_departures(&self.setting.matching, &Envelope::scan(&recorded), live);
        if !departures.is_empty() {
            self.tally.lock().other_reply();
            let kind = self.tape.kind(call).clone();
            actions.push(Action::Notify(Notice::OtherReply { kind, departures }));
        }
    }

    fn notification(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        match envelope.method.as_deref() {
            Some("notifications/cancelled") => {
                let params = envelope.params.and_then(|params| Value::parse(params).ok());
                let id = params.and_then(|params| params.get("requestId"));
                // By the bytes of the id, as the client sent it in its request: a client repeats its own spelling.
                if let Some(request) = id.and_then(|id| self.ids.get(id.raw)).copied() {
                    self.cancel(request);
                    actions.push(Action::Close { request });
                }
            }
            Some("notifications/initialized") => {
                if let Handshake::Open(waiting) = std::mem::take(&mut self.handshake) {
                    waiting.into_iter().for_each(|number| self.resume(number, now_us, actions));
                }
            }
            _ => {}
        }
    }
}

impl LiveRequest {
    fn new(id: Vec<u8>, envelope: &Envelope<'_>, call: u32, now_us: u64) -> Self {
        LiveRequest {
            id,
            token: envelope.progress_token.as_ref().map(id_bytes),
            call,
            step: 0,
            heard_us: now_us,
            replied: Vec::new(),
            waits: None,
            is_repeat: false,
            is_answered: false,
            fault: None,
            initialize: None,
        }
    }
}

fn id_bytes(id: &Id<'_>) -> Vec<u8> {
    match id {
        Id::Number(digits) => digits.as_bytes().to_vec(),
        Id::String(text) => Json::from(&**text).to_string().into_bytes(),
    }
}

/// Whether the recorded behavior is to never answer: a subscription, or a cancelled call.
fn stays_silent(tape: &Tape, call: &Recorded) -> bool {
    &*tape.kind(call).method == LISTEN || matches!(call.outcome, Outcome::Cancelled | Outcome::TimedOut)
}

/// The notice for an inexact match.
fn match_notice(tape: &Tape, call: &Recorded, how: &MatchKind) -> Option<Notice> {
    let kind = || tape.kind(call).clone();
    match how {
        MatchKind::Same | MatchKind::Redacted => None,
        MatchKind::OtherInput(departures) => {
            Some(Notice::OtherInput { kind: kind(), departures: departures.clone() })
        }
        MatchKind::Nearest(departures) => {
            Some(Notice::Nearest { kind: kind(), line: call.line, departures: departures.clone() })
        }
    }
}

/// The differences between a client's answer and the recorded one.
fn reply_departures(matching: &Matching, recorded: &Envelope<'_>, live: &Envelope<'_>) -> Vec<Departure> {
    let part = |envelope: &Envelope<'_>| if envelope.error.is_some() { Part::Error } else { Part::Result };
    let (was, is) = (part(recorded), part(live));
    // A result and an error have no members in common, so a comparison of values would only be noise.
    if was != is {
        let shown =
            |part: Part| Some(format!("{} {}", if part == Part::Error { "an" } else { "a" }, part.name()));
        return vec![Departure { path: "the answer".to_owned(), recorded: shown(was), asked: shown(is) }];
    }
    let (recorded, live) = (recorded.error.or(recorded.result), live.error.or(live.result));
    recorded
        .zip(live)
        .map_or_else(Vec::new, |(recorded, live)| matching.departures_of_answer(is, recorded, live))
}

fn not_a_message(envelope: &Envelope<'_>) -> Action {
    let error = match envelope.defects.first() {
        Some(defect @ Defect::NotJson(_)) => {
            json!({ "code": -32700, "message": format!("wiretape: {defect}") })
        }
        _ => json!({ "code": -32600, "message": "wiretape: not a JSON-RPC message" }),
    };
    // JSON-RPC 2.0, section 5: `null` if the id could not be detected.
    let message = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    Action::Send { during: None, message: message.to_string().into_bytes() }
}

/// An answer with the given result or error.
fn answer(to: u64, id: &[u8], outcome: &Json) -> Action {
    let outcome = outcome.to_string();
    // The id is spliced in as bytes: as a JSON number it could lose digits.
    let message = [br#"{"jsonrpc":"2.0","id":"#, id, b",", &outcome.as_bytes()[1..]].concat();
    Action::Answer { to, message }
}

/// Turns a forwarded request into a miss, because the real server is not available.
pub fn missed_after_all(to: u64, id: &[u8], miss: Box<Miss>, tally: &mut Tally) -> [Action; 2] {
    tally.miss_after_all(&miss);
    let answer = answer(to, id, &json!({ "error": error_of(&miss) }));
    [Action::Notify(Notice::Missed(miss)), answer]
}

fn error_of(miss: &Miss) -> Json {
    let nearest = miss.nearest.as_ref().map(|nearest| {
        let differences: Vec<String> = nearest.departures.iter().map(ToString::to_string).collect();
        json!({ "line": nearest.line, "call": nearest.kind.to_string(), "differences": differences })
    });
    json!({
        "code": CODE,
        "message": format!("wiretape replay: {miss}"),
        "data": { "source": "wiretape", "reason": miss.reason.name(), "nearest": nearest },
    })
}

/// An empty result that is valid for a method.
fn empty_result(method: &str) -> Json {
    match method {
        "tools/call" => json!({ "content": [] }),
        "tools/list" => json!({ "tools": [] }),
        "prompts/list" => json!({ "prompts": [] }),
        "prompts/get" => json!({ "messages": [] }),
        "resources/list" => json!({ "resources": [] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "resources/read" => json!({ "contents": [] }),
        "completion/complete" => json!({ "completion": { "values": [] } }),
        _ => json!({}),
    }
}
