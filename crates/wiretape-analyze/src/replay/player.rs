//! One client's session with a tape: what it sends comes in, what it is to be sent goes out.
//!
//! Nothing here waits or knows a clock. Whoever moves the bytes says what time it is, asks for the [`Player::deadline`], and
//! calls [`Player::tick`] when it has come.

use super::cursor::{Cursor, Found, How, Miss, MissReason, kind};
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
use serde_json::{Value as Json, json};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wiretape_trace::message::{Defect, Envelope, Id, MessageKind, is_batch, payloads};
use wiretape_trace::redact::is_redacted;
use wiretape_trace::value::Value;

/// JSON-RPC's code for errors of an implementation.
const CODE: i64 = -32000;

/// How fast a tape is played.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Speed(f64);

/// A text is not a speed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a speed is 0 (at once), 1 (as recorded), or how many times as fast")]
pub struct SpeedError;

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        let speed = text.parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed >= 0.0);
        speed.map(Speed).ok_or(SpeedError)
    }
}

impl Speed {
    /// Whether everything comes at once.
    pub fn is_at_once(self) -> bool {
        self.0 == 0.0
    }

    fn scaled(self, gap_us: u32) -> u64 {
        if self.is_at_once() { 0 } else { (f64::from(gap_us) / self.0) as u64 }
    }
}

/// What becomes of a request that has no recorded answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenMissed {
    /// It fails.
    #[default]
    Error,
    /// It has an empty result.
    Empty,
    /// A real server is asked.
    PassOn,
}

/// How a tape is played.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    /// How requests are compared.
    pub matching: Matching,
    /// How fast.
    pub speed: Speed,
    /// What becomes of a request that has no recorded answer.
    pub when_missed: WhenMissed,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// So many microseconds a client is given to answer a question; without, as long as it likes.
    pub patience_us: Option<u64>,
}

impl Setting {
    /// Whether a recorded call is played as soon as it is asked for, whatever else was, and as it went.
    fn is_plain(&self) -> bool {
        self.matching.order == Order::Free && self.speed.is_at_once() && self.faults.list.is_empty()
    }
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message to the client.
    Send {
        /// The request during which it is said; `None` if it is said between calls.
        during: Option<u64>,
        /// The message.
        message: Vec<u8>,
    },
    /// Send the answer to a request. Nothing more is said during it.
    Answer {
        /// The request.
        to: u64,
        /// The message.
        message: Vec<u8>,
    },
    /// Send these bytes, which break off, in place of the answer.
    BreakOff {
        /// The request.
        to: u64,
        /// The beginning of the answer.
        message: Vec<u8>,
        /// What is left out, for a client that can ask for it again.
        rest: Vec<u8>,
    },
    /// Close the connection, in place of the answer to a request.
    Disconnect {
        /// The request.
        to: u64,
        /// The answer, for a client that can ask for it again.
        message: Vec<u8>,
    },
    /// Nothing more is said during a request: the client has taken it back.
    Close {
        /// The request.
        request: u64,
    },
    /// Ask a real server.
    PassOn {
        /// The request.
        request: u64,
        /// The message.
        message: Vec<u8>,
        /// Why it has to be asked.
        miss: Box<Miss>,
    },
    /// Tell whoever started the replay.
    Tell(Notice),
}

/// Plays a tape to one client.
#[derive(Debug)]
pub struct Player<P> {
    tape: Arc<Tape>,
    payloads: P,
    setting: Arc<Setting>,
    tally: Arc<Mutex<Tally>>,
    cursor: Cursor,
    /// Requests that are being answered, by number.
    live: HashMap<u64, Live>,
    ids: HashMap<Vec<u8>, u64>,
    /// Questions that wait for the client, by the ids under which they were asked.
    questions: HashMap<u64, (u64, u32)>,
    listeners: HashMap<Vec<u8>, Listener>,
    timers: BTreeSet<(u64, u64)>,
    requests: u64,
    asked: u64,
    handshake: Handshake,
    /// How often each key came, if something goes wrong on purpose.
    times: HashMap<u64, u64>,
    buffer: Vec<u8>,
}

/// Whether the client has said that it is ready.
#[derive(Debug, Default)]
enum Handshake {
    /// Requests that go on when it has.
    Open(Vec<u64>),
    #[default]
    Done,
}

/// A request that is being answered.
#[derive(Debug)]
struct Live {
    /// The bytes of its id.
    id: Vec<u8>,
    /// The bytes of its progress token.
    token: Option<Vec<u8>>,
    call: u32,
    step: usize,
    heard_us: u64,
    /// Questions that the client has answered.
    replied: Vec<u32>,
    /// The question whose answer is waited for, and until when.
    waits: Option<(u32, u64)>,
    is_repeat: bool,
    is_answered: bool,
    fault: Option<FaultKind>,
    /// For `initialize`: the revision that the client asks for.
    initialize: Option<Option<String>>,
}

/// Whether a request is through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Played {
    Through,
    GoesOn,
}

impl<P: Payloads> Player<P> {
    /// At the beginning of a session.
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

    /// When there is something to be done though nothing comes in.
    pub fn deadline(&self) -> Option<u64> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// How many requests are not answered yet.
    pub fn open_requests(&self) -> usize {
        self.live.values().filter(|live| !live.is_answered).count()
    }

    /// Takes a message, or a batch of them. Returns the numbers of the requests in it.
    pub fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) -> Range<u64> {
        let before = self.requests;
        if is_batch(message) {
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

    /// Does what is due.
    pub fn tick(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        while let Some((due, number)) = self.timers.first().copied().filter(|(due, _)| *due <= now_us) {
            self.timers.remove(&(due, number));
            self.go_on(number, now_us, actions);
        }
    }

    /// Whoever sent a request doesn't want the answer any more.
    pub fn cancel(&mut self, number: u64) {
        if let Some(live) = self.live.remove(&number) {
            self.ids.remove(&live.id);
            self.listeners.retain(|_, listener| listener.number != number);
        }
    }

    /// Answers a request that is word for word a recorded one, if nothing is to be said but the answer. That is so for most, and
    /// all else takes several times as long. Returns its number; `None` if it is another, which nothing was done about.
    pub fn answer_at_sight(&mut self, message: &[u8], actions: &mut Vec<Action>) -> Option<u64> {
        if !self.setting.is_plain() {
            return None;
        }
        let request = Glance::at(message)?;
        let tape = Arc::clone(&self.tape);
        let chain = tape.chain_in_words(request.method, request.params)?;
        if !tape.chain(chain).is_plain {
            return None;
        }
        let found = self.cursor.take_or_repeat(&tape, &self.setting.matching, chain, How::Same)?;
        self.requests += 1;
        self.lock_tally().use_call(found.call, &found.how);
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
        // As it is written in the request.
        let id = envelope.id_place.clone().map_or(&b"null"[..], |place| &message[place]).to_vec();
        match envelope.method.as_deref() {
            Some("initialize") => self.initialize(number, id, envelope, now_us, actions),
            Some("server/discover") => self.discover(number, id, envelope, now_us, actions),
            _ => match self.cursor.find(&self.tape, &self.setting.matching, &self.payloads, envelope) {
                Ok(found) if self.has_no_answer(&found) => {
                    let reason = MissReason::NotAnswered;
                    let miss = Miss { kind: kind(envelope), reason, nearest: None, unasked: None };
                    self.missed(number, &id, message, envelope, Box::new(miss), actions);
                }
                Ok(found) => self.found(number, id, envelope, &found, now_us, actions),
                Err(miss) => self.missed(number, &id, message, envelope, miss, actions),
            },
        }
    }

    /// Whether a call was never answered, though it should have been.
    fn has_no_answer(&self, found: &Found) -> bool {
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
            actions.push(Action::Tell(Notice::MadeUp { method: "initialize" }));
            return actions.push(answer(number, &id, &json!({ "result": result })));
        };
        self.handshake = Handshake::Open(Vec::new());
        let is_repeat = self.cursor.is_used(call);
        self.cursor.mark(call);
        self.lock_tally().use_call(call, &How::Same);
        let fault = self.strike(envelope, self.tape.call(call).key(), actions);
        let live = Live::new(id, envelope, call, now_us);
        self.begin(number, Live { is_repeat, fault, initialize: Some(wanted), ..live }, now_us, actions);
    }

    /// A server of the time before knows of no such thing, whatever it said: that is how a client finds out.
    fn discover(
        &mut self,
        number: u64,
        id: Vec<u8>,
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        if !self.tape.is_modern() {
            let probe = self.tape.of_method("server/discover").map(|(call, _)| call);
            if let Some(call) = probe.into_iter().find(|call| !self.cursor.is_used(*call)) {
                self.cursor.mark(call);
                self.lock_tally().use_call(call, &How::Same);
            }
            let error = json!({ "code": METHOD_NOT_FOUND, "message": "Method not found" });
            return actions.push(answer(number, &id, &json!({ "error": error })));
        }
        let key = self.setting.matching.key("server/discover", envelope.params);
        let cursor = &self.cursor;
        let Some(call) = recorded_discover(&self.tape, key, |call| cursor.is_used(call)) else {
            actions.push(Action::Tell(Notice::MadeUp { method: "server/discover" }));
            return actions.push(answer(number, &id, &json!({ "result": made_up_discover(&self.tape) })));
        };
        let found = Found { call, how: How::Same, is_repeat: self.cursor.is_used(call) };
        self.cursor.mark(call);
        self.found(number, id, envelope, &found, now_us, actions);
    }

    fn found(
        &mut self,
        number: u64,
        id: Vec<u8>,
        envelope: &Envelope<'_>,
        found: &Found,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        let tape = Arc::clone(&self.tape);
        let call = tape.call(found.call);
        self.lock_tally().use_call(found.call, &found.how);
        if let Some(notice) = told(&tape, call, &found.how) {
            actions.push(Action::Tell(notice));
        }
        let fault = self.strike(envelope, call.key(), actions);
        if envelope.method.as_deref() == Some(LISTEN) {
            self.listen(number, &id, call.request);
        }
        let live = Live::new(id, envelope, found.call, now_us);
        self.begin(number, Live { is_repeat: found.is_repeat, fault, ..live }, now_us, actions);
    }

    /// News under the recorded request's id is from now on news under this one's.
    fn listen(&mut self, number: u64, id: &[u8], recorded: Span) {
        if self.payloads.read(recorded, &mut self.buffer).is_err() {
            return;
        }
        if let Some(recorded) = edit::id_of(&self.buffer) {
            let listener = Listener { number, id: id.to_vec() };
            self.listeners.insert(edit::bare(recorded).to_vec(), listener);
        }
    }

    fn strike(&mut self, envelope: &Envelope<'_>, key: u64, actions: &mut Vec<Action>) -> Option<FaultKind> {
        if self.setting.faults.list.is_empty() {
            return None;
        }
        let time = self.times.entry(key).or_default();
        *time += 1;
        let method = envelope.method.as_deref().unwrap_or_default();
        let fault = self.setting.faults.strike(method, envelope.tool(), key, *time)?;
        self.lock_tally().strike();
        actions.push(Action::Tell(Notice::Struck { kind: kind(envelope), fault }));
        Some(fault)
    }

    fn missed(
        &mut self,
        number: u64,
        id: &[u8],
        message: &[u8],
        envelope: &Envelope<'_>,
        miss: Box<Miss>,
        actions: &mut Vec<Action>,
    ) {
        if envelope.method.as_deref() == Some("ping") {
            return actions.push(answer(number, id, &json!({ "result": {} })));
        }
        if self.setting.when_missed == WhenMissed::PassOn {
            self.lock_tally().pass_on();
            return actions.push(Action::PassOn { request: number, message: message.to_vec(), miss });
        }
        self.failed(number, id, envelope, miss, actions);
    }

    /// There is no recorded answer, and nobody else to ask.
    fn failed(
        &mut self,
        number: u64,
        id: &[u8],
        envelope: &Envelope<'_>,
        miss: Box<Miss>,
        actions: &mut Vec<Action>,
    ) {
        self.lock_tally().miss(&miss);
        let outcome = match self.setting.when_missed {
            WhenMissed::Empty => {
                json!({ "result": empty_result(envelope.method.as_deref().unwrap_or_default()) })
            }
            WhenMissed::Error | WhenMissed::PassOn => json!({ "error": error_of(&miss) }),
        };
        actions.push(Action::Tell(Notice::Missed(miss)));
        actions.push(answer(number, id, &outcome));
    }

    fn begin(&mut self, number: u64, mut live: Live, now_us: u64, actions: &mut Vec<Action>) {
        if live.fault == Some(FaultKind::Hang)
            || self.play(number, &mut live, now_us, actions) == Played::GoesOn
        {
            self.ids.insert(live.id.clone(), number);
            self.live.insert(number, live);
        }
    }

    fn go_on(&mut self, number: u64, now_us: u64, actions: &mut Vec<Action>) {
        let Some(mut live) = self.live.remove(&number) else { return };
        if self.play(number, &mut live, now_us, actions) == Played::GoesOn {
            self.live.insert(number, live);
        } else {
            self.ids.remove(&live.id);
        }
    }

    /// Says what is next in a call, until it is through or something has to be waited for.
    fn play(&mut self, number: u64, live: &mut Live, now_us: u64, actions: &mut Vec<Action>) -> Played {
        let tape = Arc::clone(&self.tape);
        let call = tape.call(live.call);
        let steps = tape.steps(call);
        while let Some(step) = steps.get(live.step) {
            if live.is_answered && live.is_repeat {
                return Played::Through;
            }
            if self.has_to_wait(number, live, step, now_us) {
                return Played::GoesOn;
            }
            let is_through = match step.kind {
                StepKind::Notification => self.notify(number, live, call, step.span, actions),
                StepKind::Question => self.ask(number, live, call, step, actions),
                StepKind::Reply => self.stop_waiting(live, call, step, actions),
                StepKind::Answer => self.answer(number, live, call, step, actions),
            };
            if is_through == Played::Through {
                return Played::Through;
            }
            live.step += 1;
        }
        if live.is_answered { Played::Through } else { Played::GoesOn }
    }

    /// Whether the next step can't be taken yet; then somebody will be reminded.
    fn has_to_wait(&mut self, number: u64, live: &mut Live, step: &Step, now_us: u64) -> bool {
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
        live.heard_us = if self.setting.speed.is_at_once() { live.heard_us } else { due };
        false
    }

    fn has_to_wait_for_client(&mut self, number: u64, live: &mut Live, question: u32, now_us: u64) -> bool {
        if live.replied.contains(&question) {
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

    /// The client has answered, or has been waited for long enough.
    fn stop_waiting(
        &mut self,
        live: &mut Live,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Played {
        if !live.replied.contains(&step.question) {
            let kind = self.tape.kind(call).clone();
            actions.push(Action::Tell(Notice::NoReply { kind }));
        }
        live.waits = None;
        Played::GoesOn
    }

    fn notify(
        &mut self,
        number: u64,
        live: &Live,
        call: &Recorded,
        span: Span,
        actions: &mut Vec<Action>,
    ) -> Played {
        let Some(message) = self.read(call, span, actions) else { return Played::GoesOn };
        let is_progress = Envelope::scan(&message).progress_token.is_some();
        let message = match &live.token {
            Some(token) if is_progress => edit::with_token(&message, token),
            // Nobody asked to be told.
            None if is_progress => return Played::GoesOn,
            _ => message,
        };
        let (message, listener) = edit::with_subscription(message, &self.listeners);
        let during = listener.or(Some(number).filter(|_| !live.is_answered));
        actions.push(Action::Send { during, message });
        Played::GoesOn
    }

    fn ask(
        &mut self,
        number: u64,
        live: &Live,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Played {
        let Some(message) = self.read(call, step.span, actions) else { return Played::GoesOn };
        self.asked += 1;
        self.questions.insert(self.asked, (number, step.question));
        let message = edit::with_id(&message, self.asked.to_string().as_bytes());
        let during = Some(number).filter(|_| !live.is_answered);
        actions.push(Action::Send { during, message });
        Played::GoesOn
    }

    fn answer(
        &mut self,
        number: u64,
        live: &mut Live,
        call: &Recorded,
        step: &Step,
        actions: &mut Vec<Action>,
    ) -> Played {
        match live.fault {
            Some(FaultKind::Drop) => return Played::Through,
            Some(FaultKind::Error(code)) => {
                let error = json!({ "code": code, "message": "wiretape: failed on purpose" });
                actions.push(answer(number, &live.id, &json!({ "error": error })));
                return Played::Through;
            }
            _ => {}
        }
        let Some(mut message) = self.read_answer(&live.id, call, step, actions) else {
            actions.push(self.unreadable(number, &live.id, call));
            return Played::Through;
        };
        if let Some(wanted) = &live.initialize {
            message = negotiated(message, wanted.as_deref());
        }
        match live.fault {
            Some(FaultKind::Truncate) => {
                let rest = message.split_off(message.len() / 2);
                actions.push(Action::BreakOff { to: number, message, rest });
                Played::Through
            }
            Some(FaultKind::Disconnect) => {
                actions.push(Action::Disconnect { to: number, message });
                Played::Through
            }
            _ => {
                actions.push(Action::Answer { to: number, message });
                live.is_answered = true;
                Played::GoesOn
            }
        }
    }

    /// The trace has lost the answer to a request: that is a miss.
    fn unreadable(&self, number: u64, id: &[u8], call: &Recorded) -> Action {
        let kind = self.tape.kind(call).clone();
        let miss = Miss { kind, reason: MissReason::Unreadable, nearest: None, unasked: None };
        self.lock_tally().miss(&miss);
        answer(number, id, &json!({ "error": error_of(&miss) }))
    }

    /// A recorded answer under the id of a request.
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

    /// A recorded message, with its schemas whole.
    fn read(&self, call: &Recorded, span: Span, actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let recorded = self.read_as_it_is(span, 0, actions)?;
        Some(self.healed(call, &recorded, actions).unwrap_or(recorded))
    }

    /// A recorded message, with room for some more bytes.
    fn read_as_it_is(&self, span: Span, room: usize, actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let mut message = Vec::with_capacity(span.len as usize + room);
        if let Err(error) = self.payloads.read(span, &mut message) {
            let reason = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "it has become shorter".to_owned(),
                _ => error.to_string(),
            };
            actions.push(Action::Tell(Notice::Unreadable { reason }));
            return None;
        }
        Some(message)
    }

    /// A recorded message with its schemas whole, if some are not.
    fn healed(&self, call: &Recorded, message: &[u8], actions: &mut Vec<Action>) -> Option<Vec<u8>> {
        let (healed, places) = Some(message).filter(|message| is_redacted(message)).and_then(healed)?;
        self.lock_tally().heal(places);
        let kind = self.tape.kind(call).clone();
        actions.push(Action::Tell(Notice::Healed { kind, places }));
        Some(healed)
    }

    /// The client answers a question.
    fn reply(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        let Some(Id::Number(id)) = &envelope.id else { return };
        let Some((number, question)) = id.parse().ok().and_then(|id: u64| self.questions.remove(&id)) else {
            return;
        };
        let Some(live) = self.live.get_mut(&number) else { return };
        live.replied.push(question);
        let waits = live.waits.is_some_and(|(waited_for, _)| waited_for == question);
        let tape = Arc::clone(&self.tape);
        let call = tape.call(live.call);
        let is_reply = |step: &&Step| step.kind == StepKind::Reply && step.question == question;
        if let Some(step) = tape.steps(call).iter().find(is_reply) {
            self.compare_reply(call, step.span, envelope, actions);
        }
        if waits {
            self.go_on(number, now_us, actions);
        }
    }

    fn compare_reply(&mut self, call: &Recorded, span: Span, live: &Envelope<'_>, actions: &mut Vec<Action>) {
        let mut recorded = Vec::new();
        if self.payloads.read(span, &mut recorded).is_err() {
            return;
        }
        let departures = reply_departures(&self.setting.matching, &Envelope::scan(&recorded), live);
        if !departures.is_empty() {
            self.lock_tally().other_reply();
            let kind = self.tape.kind(call).clone();
            actions.push(Action::Tell(Notice::OtherReply { kind, departures }));
        }
    }

    fn notification(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        match envelope.method.as_deref() {
            Some("notifications/cancelled") => {
                let params = envelope.params.and_then(|params| Value::parse(params).ok());
                let id = params.and_then(|params| params.get("requestId"));
                if let Some(request) = id.and_then(|id| self.ids.get(id.raw)).copied() {
                    self.cancel(request);
                    actions.push(Action::Close { request });
                }
            }
            Some("notifications/initialized") => {
                if let Handshake::Open(waiting) = std::mem::take(&mut self.handshake) {
                    waiting.into_iter().for_each(|number| self.go_on(number, now_us, actions));
                }
            }
            _ => {}
        }
    }

    fn lock_tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    fn new(id: Vec<u8>, envelope: &Envelope<'_>, call: u32, now_us: u64) -> Self {
        Live {
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

/// Whether having no answer is how a call was answered.
fn stays_silent(tape: &Tape, call: &Recorded) -> bool {
    &*tape.kind(call).method == LISTEN || matches!(call.outcome, Outcome::Cancelled | Outcome::TimedOut)
}

/// What is worth telling of how a call was found.
fn told(tape: &Tape, call: &Recorded, how: &How) -> Option<Notice> {
    let kind = || tape.kind(call).clone();
    match how {
        How::Same | How::Redacted => None,
        How::OtherInput(departures) => {
            Some(Notice::OtherInput { kind: kind(), departures: departures.clone() })
        }
        How::Nearest(departures) => {
            Some(Notice::Nearest { kind: kind(), line: call.line, departures: departures.clone() })
        }
    }
}

/// How a client's answer departs from the recorded one.
fn reply_departures(matching: &Matching, recorded: &Envelope<'_>, live: &Envelope<'_>) -> Vec<Departure> {
    let part = |envelope: &Envelope<'_>| if envelope.error.is_some() { Part::Error } else { Part::Result };
    let (was, is) = (part(recorded), part(live));
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
        _ => json!({ "code": -32600, "message": "wiretape: this is no JSON-RPC message" }),
    };
    let message = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    Action::Send { during: None, message: message.to_string().into_bytes() }
}

/// The answer to a request, with this outcome.
fn answer(to: u64, id: &[u8], outcome: &Json) -> Action {
    let outcome = outcome.to_string();
    // The id's bytes are the caller's own, digits beyond any number type included.
    let message = [br#"{"jsonrpc":"2.0","id":"#, id, b",", &outcome.as_bytes()[1..]].concat();
    Action::Answer { to, message }
}

/// What becomes of a request that was passed on, and that the real server can't be asked: it is missed after all.
pub fn missed_after_all(to: u64, id: &[u8], miss: Box<Miss>, tally: &mut Tally) -> [Action; 2] {
    tally.miss_after_all(&miss);
    let answer = answer(to, id, &json!({ "error": error_of(&miss) }));
    [Action::Tell(Notice::Missed(miss)), answer]
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

/// A result with nothing in it.
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
