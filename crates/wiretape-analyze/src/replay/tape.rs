//! The tape: an index of a trace, with the position of each message and the key of each request.
//!
//! The messages stay in the file: a trace of 1 GB takes 83 MB ("Replay" in docs/benchmarks.md). That is why spans
//! have 32-bit lengths, calls refer to kinds and chains by number, and steps are one flat vector. A server message
//! during a call belongs to that call; one between calls belongs to the call that was answered last, and follows its
//! answer.
//!
//! A tape is immutable once built and shared by all clients; what a client has used is in its
//! [`Cursor`](super::Cursor).

use super::matching::{Matching, words};
use crate::call::{Outcome, PendingCall};
use crate::reading::{Analysis, Closed, LineView, Meaning, Reading, RecordingState, Seen};
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use wiretape_trace::format::{Line, Record, Stamp, parse_line};
use wiretape_trace::message::{Defect, Direction, Envelope};
use wiretape_trace::protocol::{meta_key, method};
use wiretape_trace::redact::is_redacted;

/// Finders are built once: building one takes longer than searching most params.
static INPUT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("inputResponses"));
static STATELESS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(meta_key::PROTOCOL_VERSION));

/// A request that stays open for as long as its client is subscribed (2026-07-28).
pub(super) const LISTEN: &str = method::LISTEN;

/// The position of a payload in a trace file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u32,
}

impl Span {
    /// The position of a payload in the file; `None` if it is not part of the line or longer than 4 GB.
    pub fn of(line: &Line<'_>, payload: &[u8]) -> Option<Self> {
        // Payloads are slices of their line, so their position follows from the addresses, without searching for
        // them.
        let within = (payload.as_ptr() as usize).checked_sub(line.bytes.as_ptr() as usize)?;
        Some(Span { offset: line.offset + within as u64, len: u32::try_from(payload.len()).ok()? })
    }
}

/// Reads payloads of a trace.
pub trait Payloads {
    /// Replaces the content of `into` with the bytes of a payload.
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()>;
}

impl<P: Payloads + ?Sized> Payloads for Arc<P> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        (**self).read(span, into)
    }
}

/// A trace in memory, for tests and small files.
impl Payloads for Vec<u8> {
    fn read(&self, span: Span, into: &mut Vec<u8>) -> io::Result<()> {
        let bytes =
            usize::try_from(span.offset).ok().and_then(|start| self.get(start..start + span.len as usize));
        into.clear();
        into.extend_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// The method and name of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallName {
    /// The JSON-RPC method of the request.
    pub method: Arc<str>,
    /// The name, for `tools/call` and `prompts/get`.
    pub name: Option<Arc<str>>,
}

impl std::fmt::Display for CallName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} {name}", self.method),
            None => f.write_str(&self.method),
        }
    }
}

/// A recorded call of the client.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The line of its request.
    pub line: u64,
    /// The bytes of its request.
    pub request: Span,
    /// Its outcome in the recording.
    pub outcome: Outcome,
    kind: u32,
    key: u64,
    /// The line of its answer; 0 if there is none. Saves 8 bytes per call over an `Option`.
    answer_line: u64,
    /// The chain of calls with its key.
    pub(super) chain: u32,
    /// The next call in that chain.
    next: Option<u32>,
    steps: (u32, u32),
    /// Whether the server rejected the HTTP request itself (status 400).
    is_refused: bool,
}

impl Recorded {
    /// Whether it was answered with a message.
    pub fn is_answered(&self) -> bool {
        self.answer_line > 0
    }

    /// Whether its end can be replayed: an answer, or silence because it was cancelled.
    fn has_end(&self) -> bool {
        self.is_answered() || matches!(self.outcome, Outcome::Cancelled | Outcome::TimedOut)
    }

    /// Whether it is a valid answer to an equal request. A rejected one is not: headers and `_meta` are
    /// checked again for each live request.
    pub(super) fn counts(&self) -> bool {
        self.has_end() && !self.is_refused
    }

    /// The key of its request; see [`Matching::key`].
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The line of its answer, if there is one.
    pub fn answer_line(&self) -> Option<u64> {
        (self.answer_line > 0).then_some(self.answer_line)
    }
}

/// A message of a call after its request.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    call: u32,
    /// The position of its id in the message.
    pub(super) id: IdPlace,
    /// The kind of message.
    pub kind: StepKind,
    /// The number of the server request, for [`StepKind::Question`] and [`StepKind::Reply`].
    pub question: u32,
    /// The bytes of the message.
    pub span: Span,
    /// Microseconds since the previous step, or since the request.
    pub gap_us: u32,
}

impl Step {
    fn new(kind: StepKind, span: Span) -> Self {
        Step { call: 0, id: IdPlace::default(), kind, question: 0, span, gap_us: 0 }
    }
}

/// The position of the id in a message, so that an answer gets its new id without parsing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IdPlace {
    at: u32,
    /// 0 if the message has to be scanned: it has no id, several, or a very long one.
    len: u16,
}

impl IdPlace {
    fn of(envelope: &Envelope<'_>) -> Self {
        // With two `id` members, both have to be replaced, and a single range can't say that.
        let is_twice = |defect: &Defect| matches!(defect, Defect::DuplicateKey(_));
        let place = envelope.id_place.as_ref().filter(|_| !envelope.defects.iter().any(is_twice));
        place.and_then(Self::new).unwrap_or_default()
    }

    fn new(place: &Range<usize>) -> Option<Self> {
        Some(IdPlace { at: u32::try_from(place.start).ok()?, len: u16::try_from(place.len()).ok()? })
    }

    /// Its byte range; `None` if the message has to be scanned.
    pub(super) fn range(self) -> Option<Range<usize>> {
        let at = self.at as usize;
        (self.len > 0).then_some(at..at + usize::from(self.len))
    }
}

/// The kind of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// A notification from the server.
    Notification,
    /// A request from the server.
    Question,
    /// The client's answer to a server request.
    Reply,
    /// The answer to the call.
    Answer,
}

/// The calls with one key, as a linked list: first and last; `Recorded::next` links them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) first: u32,
    pub(super) last: u32,
    /// Whether each of them is just an answer, so that the fast path applies.
    pub(super) is_plain: bool,
}

/// Chain or call numbers by request key.
type ByKey = HashMap<u64, u32, BuildHasherDefault<KeyHasher>>;

/// The keys are hashes already; hashing them again would only cost time.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("ByKey has u64 keys, which hash by write_u64 alone");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The index of a trace.
#[derive(Debug, Default)]
pub struct Tape {
    calls: Vec<Recorded>,
    steps: Vec<Step>,
    kinds: Vec<CallName>,
    kind_numbers: HashMap<CallName, u32>,
    chains: Vec<Chain>,
    /// Chain numbers by request key.
    by_key: ByKey,
    /// The first call by the hash of its bytes: the fast path.
    by_words: ByKey,
    /// Calls with `inputResponses`, by their key without them.
    with_input: HashMap<u64, Vec<u32>>,
    /// By kind: the first call of each key, and the calls with redacted requests.
    distinct: Vec<Vec<u32>>,
    redacted: Vec<Vec<u32>>,
    is_modern: bool,
    label: String,
}

impl Tape {
    /// The calls of the client, in the order of their requests.
    pub fn calls(&self) -> &[Recorded] {
        &self.calls
    }

    /// The method and name of a call.
    pub fn kind(&self, call: &Recorded) -> &CallName {
        &self.kinds[call.kind as usize]
    }

    /// All kinds, in the order of their first call.
    pub fn kinds(&self) -> &[CallName] {
        &self.kinds
    }

    /// The messages of a call after its request, in order. Those after the answer came before the next call.
    pub fn steps(&self, call: &Recorded) -> &[Step] {
        &self.steps[call.steps.0 as usize..call.steps.1 as usize]
    }

    /// The file offset of a call's answer, if it has one.
    pub(super) fn answered_at(&self, call: &Recorded) -> Option<u64> {
        let mut steps = self.steps(call).iter();
        steps.find(|step| step.kind == StepKind::Answer).map(|step| step.span.offset)
    }

    /// Whether the trace has stateless requests (since 2026-07-28).
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// The label of the trace.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether a client may leave out a call without a finding: handshake, pings, and calls that were rejected or never
    /// answered.
    pub fn may_be_left_out(&self, call: &Recorded) -> bool {
        self.comes_by_itself(call) || !call.counts()
    }

    /// Whether a call is part of the handshake, a ping, or was rejected by the HTTP layer.
    pub(super) fn comes_by_itself(&self, call: &Recorded) -> bool {
        call.is_refused || matches!(&*self.kind(call).method, "initialize" | "server/discover" | "ping")
    }

    /// The calls of a method.
    pub fn of_method(&self, method: &str) -> impl Iterator<Item = (u32, &Recorded)> {
        let of_method = move |call: &Recorded| &*self.kind(call).method == method;
        (0..).zip(&self.calls).filter(move |(_, call)| of_method(call))
    }

    /// Whether a call is just an answer, so that the fast path applies.
    fn is_plain(&self, call: u32) -> bool {
        let call = self.call(call);
        // These are answered by rules of their own, even if the recording has just an answer.
        let is_more = matches!(&*self.kind(call).method, "initialize" | "server/discover" | LISTEN);
        matches!(self.steps(call), [step] if step.kind == StepKind::Answer) && !is_more
    }

    /// The call of this number.
    pub fn call(&self, number: u32) -> &Recorded {
        &self.calls[number as usize]
    }

    /// The number of the chain of calls that match a request.
    pub(super) fn chain_of(&self, matching: &Matching, method: &str, params: Option<&[u8]>) -> Option<u32> {
        let in_words = self.chain_in_words(method.as_bytes(), params);
        // Bytes first: hashing them is far cheaper than parsing the params for the key.
        in_words.or_else(|| self.by_key.get(&matching.key(method, params)).copied())
    }

    /// The number of the chain that matches, if one of its requests is byte for byte equal.
    pub(super) fn chain_in_words(&self, method: &[u8], params: Option<&[u8]>) -> Option<u32> {
        self.by_words.get(&words(method, params)).map(|call| self.call(*call).chain)
    }

    /// The first and the last call of a chain.
    pub(super) fn chain(&self, number: u32) -> Chain {
        self.chains[number as usize]
    }

    pub(super) fn next_with_same_key(&self, call: u32) -> Option<u32> {
        self.call(call).next
    }

    pub(super) fn with_input(&self, key: u64) -> &[u32] {
        self.with_input.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn kind_number(&self, kind: &CallName) -> Option<u32> {
        self.kind_numbers.get(kind).copied()
    }

    pub(super) fn redacted(&self, kind: u32) -> &[u32] {
        self.redacted.get(kind as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// The first call of each key of a kind; if the kind is unknown, of all kinds of its method.
    pub(super) fn distinct(&self, kind: &CallName) -> Vec<u32> {
        let of_kind = self.kind_number(kind).map(|kind| self.distinct[kind as usize].clone());
        of_kind.unwrap_or_else(|| {
            let of_method =
                (0..).zip(&self.kinds).filter(|(_, other): &(usize, &CallName)| other.method == kind.method);
            of_method.flat_map(|(number, _)| self.distinct[number].iter().copied()).collect()
        })
    }
}

/// Builds a [`Tape`] from one or more traces.
#[derive(Debug)]
pub struct TapeBuilder<'m> {
    reading: Reading<Taping<'m>>,
}

impl<'m> TapeBuilder<'m> {
    /// A builder for requests that will be compared by `matching`.
    pub fn new(matching: &'m Matching) -> Self {
        TapeBuilder {
            reading: Reading::new(Taping {
                matching,
                tape: Tape::default(),
                open: HashMap::new(),
                questions: HashMap::new(),
                asked: 0,
                last: None,
                names: HashMap::new(),
                span: None,
            }),
        }
    }

    /// Adds the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        self.reading.observe(line);
    }

    /// Continues with another trace. Pending calls of the previous one stay unanswered.
    pub fn next_trace(&mut self) {
        self.reading.end_recording(RecordingState::Over);
        let taping = self.reading.analysis_mut();
        // Numbers of calls start over with the next recording.
        taping.questions.clear();
        taping.last = None;
    }

    /// The index of the traces.
    pub fn finish(self) -> Tape {
        self.reading.finish(RecordingState::Over).finish()
    }
}

/// The tape under construction. Server messages belong to a call by its number, whichever payload they are in, so pending
/// calls and server requests are kept in maps by number.
#[derive(Debug)]
struct Taping<'m> {
    matching: &'m Matching,
    tape: Tape,
    open: HashMap<u64, OpenCall>,
    questions: HashMap<u64, Question>,
    asked: u32,
    /// The call that was answered last.
    last: Option<OpenCall>,
    names: HashMap<Box<str>, Arc<str>>,
    /// The position of the current payload.
    span: Option<Span>,
}

/// A pending call, and the time of its last message.
#[derive(Debug, Clone, Copy)]
struct OpenCall {
    number: u32,
    heard_us: Option<u64>,
}

/// A server request that waits for the client's answer.
#[derive(Debug, Clone, Copy)]
struct Question {
    number: u32,
    call: u32,
    /// The tracker's number of that call, if it was open.
    during: Option<u64>,
}

impl Analysis for Taping<'_> {
    type PerCall = ();

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        if let Record::Meta(meta) = &view.line.record
            && self.tape.label.is_empty()
        {
            self.tape.label.clone_from(&meta.label);
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, _: Option<&mut ()>) {
        // A line that was read leniently may have a payload with trailing bytes; only an exact one can be sent again.
        let raw = if is_json(seen.envelope) { Some(seen.raw) } else { whole(seen.line.line, seen.raw) };
        self.span = raw.and_then(|raw| Span::of(seen.line.line, raw));
        let Some(span) = self.span else { return };
        let is_from_server = seen.direction == Some(Direction::ServerToClient);
        match seen.meaning {
            Meaning::Request { number } if is_from_server => self.question(number, seen, span),
            Meaning::Request { number } => self.request(number, seen, span),
            Meaning::Progress { of } if is_from_server => {
                self.push_step(of.or(seen.during), seen.line, Step::new(StepKind::Notification, span));
            }
            Meaning::Other if is_from_server && seen.envelope.method.is_some() => {
                self.push_step(seen.during, seen.line, Step::new(StepKind::Notification, span));
            }
            // Answers are handled by `closed`. A server's cancellation of its own request and unsolicited client messages
            // can't be replayed.
            _ => {}
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
        let open = self.open.remove(&closed.call.number);
        if let Some(open) = open {
            self.tape.calls[open.number as usize].outcome = closed.call.outcome;
            // Only an answered call can carry the messages after it: nothing would trigger those of an unanswered
            // one.
            if closed.call.response.is_some() {
                self.last = Some(open);
            }
        }
        let (Some(envelope), Some(view), Some(span)) = (closed.answer, closed.line, self.span) else {
            return;
        };
        match closed.call.direction {
            Direction::ClientToServer => {
                let step = Step { id: IdPlace::of(envelope), ..Step::new(StepKind::Answer, span) };
                self.answer(open, view, step);
            }
            Direction::ServerToClient => self.reply(closed.call.number, view, span),
        }
    }
}

impl Taping<'_> {
    fn request(&mut self, number: u64, seen: &Seen<'_, '_>, request: Span) {
        let envelope = seen.envelope;
        let method = envelope.method.as_deref().unwrap_or_default();
        let params = envelope.params;
        let kind = self.kind(method, envelope.name.as_deref());
        let call = u32::try_from(self.tape.calls.len()).unwrap_or(u32::MAX);
        let has = |finder: &Finder<'_>| params.is_some_and(|params| finder.find(params).is_some());
        if has(&INPUT) {
            let key = self.matching.key_without_input(method, params);
            self.tape.with_input.entry(key).or_default().push(call);
        }
        if params.is_some_and(is_redacted) {
            self.tape.redacted[kind as usize].push(call);
        }
        // A `server/discover` alone doesn't make the trace stateless: clients probe older servers with it.
        self.tape.is_modern |= has(&STATELESS) && method != "server/discover";
        // The first call, whose chain all equal calls join.
        self.tape.by_words.entry(words(method.as_bytes(), params)).or_insert(call);
        self.tape.calls.push(Recorded {
            line: seen.line.line.number,
            request,
            outcome: Outcome::Pending,
            kind,
            key: self.matching.key(method, params),
            answer_line: 0,
            chain: 0,
            next: None,
            steps: (0, 0),
            is_refused: false,
        });
        self.open.insert(number, OpenCall { number: call, heard_us: time_us(seen.line) });
    }

    fn question(&mut self, number: u64, seen: &Seen<'_, '_>, span: Span) {
        // Pings are not replayed: they depend on timing.
        if seen.envelope.method.as_deref() == Some(method::PING) {
            return;
        }
        let during = seen.pending.and_then(PendingCall::parent).or(seen.during);
        self.asked += 1;
        let step = Step { question: self.asked, ..Step::new(StepKind::Question, span) };
        if let Some(call) = self.push_step(during, seen.line, step) {
            self.questions.insert(number, Question { number: self.asked, call, during });
        }
    }

    fn reply(&mut self, number: u64, view: &LineView<'_, '_>, span: Span) {
        let Some(question) = self.questions.remove(&number) else { return };
        let call = question.call;
        let step = Step::new(StepKind::Reply, span);
        self.tape.steps.push(Step { call, question: question.number, ..step });
        // The client's thinking time must not count towards the server's delays.
        let open = question.during.and_then(|number| self.open.get_mut(&number));
        if let Some(open) = open.or(self.last.as_mut()).filter(|open| open.number == call) {
            open.heard_us = time_us(view);
        }
    }

    fn answer(&mut self, closed: Option<OpenCall>, view: &LineView<'_, '_>, step: Step) {
        let Some(closed) = closed else { return };
        let call = &mut self.tape.calls[closed.number as usize];
        call.answer_line = view.line.number;
        call.is_refused = call.outcome == Outcome::ProtocolError && is_bad_request(view);
        // The call is in `last` now, so the step is added there.
        self.push_step(None, view, step);
    }

    /// Adds a server message to a pending call, or else after the call that was answered last.
    fn push_step(&mut self, during: Option<u64>, view: &LineView<'_, '_>, step: Step) -> Option<u32> {
        let during = during.filter(|number| !self.only_listens(*number));
        let open = during.and_then(|number| self.open.get_mut(&number)).or(self.last.as_mut())?;
        let now = time_us(view);
        let gap = open.heard_us.zip(now).map_or(0, |(before, now)| now.saturating_sub(before));
        open.heard_us = now.or(open.heard_us);
        // 32 bits of microseconds are 71 minutes: longer delays are cut, and a step stays small.
        let gap_us = u32::try_from(gap).unwrap_or(u32::MAX);
        let call = open.number;
        self.tape.steps.push(Step { call, gap_us, ..step });
        Some(call)
    }

    /// Whether a pending call is a subscription with later calls beside it: then messages belong to those.
    fn only_listens(&self, number: u64) -> bool {
        let (Some(open), Some(last)) = (self.open.get(&number), self.last) else { return false };
        let kind = self.tape.kind(self.tape.call(open.number));
        &*kind.method == LISTEN && last.number > open.number
    }

    fn kind(&mut self, method: &str, name: Option<&str>) -> u32 {
        // Resources have too many URIs to be kinds of their own.
        let is_named = matches!(method, "tools/call" | "prompts/get");
        let method = self.intern(method);
        let name = name.filter(|_| is_named).map(|name| self.intern(name));
        let kind = CallName { method, name };
        if let Some(known) = self.tape.kind_numbers.get(&kind) {
            return *known;
        }
        let number = u32::try_from(self.tape.kinds.len()).unwrap_or(u32::MAX);
        self.tape.kinds.push(kind.clone());
        self.tape.redacted.push(Vec::new());
        self.tape.kind_numbers.insert(kind, number);
        number
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        self.names.insert(name.into(), Arc::clone(&shared));
        shared
    }

    fn finish(self) -> Tape {
        let mut tape = self.tape;
        // The sort is stable, so the messages of a call stay in order.
        tape.steps.sort_by_key(|step| step.call);
        let mut at = 0;
        while let Some(step) = tape.steps.get(at) {
            let call = step.call;
            let end = at + tape.steps[at..].iter().take_while(|step| step.call == call).count();
            tape.calls[call as usize].steps = (index(at), index(end));
            at = end;
        }
        chain(&mut tape);
        // A server that answered the probe is stateless, even if nothing else was recorded.
        let is_discovered = tape.of_method("server/discover").any(|(_, call)| call.outcome == Outcome::Ok);
        tape.is_modern |= is_discovered;
        tape
    }
}

/// Links calls with the same key. A call that was rejected or never answered is used only if there is no other; a cancelled
/// one counts, because silence is its answer.
fn chain(tape: &mut Tape) {
    tape.distinct = vec![Vec::new(); tape.kinds.len()];
    let numbers = || 0..index(tape.calls.len());
    // Usable calls first, so that a chain starts with an unusable one only if it has no other.
    let order: Vec<u32> = numbers()
        .filter(|number| tape.call(*number).counts())
        .chain(numbers().filter(|number| !tape.call(*number).counts()))
        .collect();
    for number in order {
        let (key, kind) = (tape.call(number).key, tape.call(number).kind as usize);
        let (counts, is_plain) = (tape.call(number).counts(), tape.is_plain(number));
        let chain = *tape.by_key.entry(key).or_insert(index(tape.chains.len()));
        tape.calls[number as usize].chain = chain;
        match tape.chains.get_mut(chain as usize) {
            None => {
                tape.chains.push(Chain { first: number, last: number, is_plain });
                tape.distinct[kind].push(number);
            }
            Some(chain) if counts => {
                chain.is_plain &= is_plain;
                let before = std::mem::replace(&mut chain.last, number);
                tape.calls[before as usize].next = Some(number);
            }
            // An unusable call beside usable ones is not linked, so that it never answers anything.
            Some(_) => {}
        }
    }
}

/// Whether the HTTP status is 400.
fn is_bad_request(view: &LineView<'_, '_>) -> bool {
    let response = view.http().and_then(|http| http.response.as_ref());
    response.is_some_and(|response| response.status == 400)
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn is_json(envelope: &Envelope<'_>) -> bool {
    !matches!(envelope.defects.last(), Some(Defect::NotJson(_)))
}

/// The exact bytes of a payload that was not parsed when its line was read and may have trailing bytes.
fn whole<'l>(line: &Line<'l>, raw: &[u8]) -> Option<&'l [u8]> {
    let Record::Message(message) = parse_line(line.bytes) else { return None };
    (message.raw.as_ptr() == raw.as_ptr()).then_some(message.raw)
}

/// When a line was observed, in microseconds, on the finest clock that it has.
fn time_us(view: &LineView<'_, '_>) -> Option<u64> {
    let stamp: &Stamp<'_> = view.line.record.stamp()?;
    let wall = || u64::try_from(stamp.wall_ms()?).ok()?.checked_mul(1000);
    stamp.us.or_else(wall)
}
