//! Makes the calls of a recorded client again: what the server says comes in, what it is to be sent goes out.
//!
//! Nothing here waits or knows a clock. Whoever moves the bytes says what time it is, asks for the [`Driver::deadline`], and
//! calls [`Driver::tick`] when it has come.

use super::carry::Carried;
use super::offers::{self, Offered, is_offer, without_secrets};
use super::questions::Questions;
use super::script::{self, LISTEN, Plan, Script, Skip, Writes};
use super::verdict::{Change, Checked, Found, Judge, Missing, Verdict, Verified, error_text, verdict};
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

/// More pages of a list are not asked for.
const MAX_PAGES: usize = 100;

/// How a server is driven, and by what it is judged.
#[derive(Debug)]
pub struct Setting {
    /// What doesn't count.
    pub ignored: Ignored,
    /// How the server's questions are compared.
    pub matching: Matching,
    /// So many calls are open at a time.
    pub concurrency: usize,
    /// So many microseconds an answer may take.
    pub timeout_us: u64,
    /// What is too slow; without, nothing is.
    pub pace: Option<Pace>,
    /// Whether calls are made that may change something.
    pub writes: Writes,
    /// Takes secrets out of what is told.
    pub redactor: Option<Arc<Redactor>>,
    /// Milliseconds since 1970 at the beginning.
    pub started_ms: i64,
    /// Whether what is said now is wanted.
    pub keeps: Keeps,
}

/// What is kept of what is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing.
    #[default]
    Nothing,
    /// All that makes a new trace: [`Action::Keep`] tells of it.
    NewTrace,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message to the server.
    Send(Vec<u8>),
    /// End the connection, and begin another.
    Reconnect,
    /// This belongs to a trace of what is said now.
    Keep(Direction, Vec<u8>),
    /// Tell whoever started this.
    Tell(Notice),
    /// A call has its verdict: the last one of what [`Driver::checked`] has.
    Judged,
    /// There is nothing more to be done.
    Done,
}

/// Something that whoever started this should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server says something that is no message.
    NotAMessage {
        /// What it says, without secrets.
        text: String,
    },
    /// The server asks for something that the recorded one did not.
    NotAsked {
        /// The method.
        method: String,
    },
    /// The trace has no handshake; one was made up.
    MadeUp,
    /// The trace can't be read any more.
    Unreadable {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::NotAMessage { text } => write!(f, "the server said something that is no message: {text}"),
            Notice::NotAsked { method } => {
                write!(
                    f,
                    "the server asks for `{method}`, which it did not there when it was recorded; it was refused"
                )
            }
            Notice::MadeUp => f.write_str("the trace has no handshake; one was made up"),
            Notice::Unreadable { reason } => write!(f, "can't read the trace any more: {reason}"),
        }
    }
}

/// Makes the calls of a recorded client again.
#[derive(Debug)]
pub struct Driver<P> {
    script: Arc<Script>,
    payloads: P,
    setting: Setting,
    runs: Runs,
    /// The next call of the tape.
    next: u32,
    /// How many of the client's remarks were made.
    remarked: usize,
    /// Calls that wait for their answers, by our ids.
    open: BTreeMap<u64, Open>,
    /// A request of our own, which no client made.
    own: Option<(u64, Own)>,
    pages: usize,
    /// Pages that are still to be asked for.
    rest: VecDeque<Rest>,
    ids: u64,
    connection: Connection,
    carried: Carried,
    questions: Questions,
    /// What the recorded server offered.
    offered: Definitions,
    /// What the server offers now.
    offers: Offered,
    /// What it says when we ask of our own accord: only for us to know.
    told: Offered,
    checked: Vec<Checked>,
    /// How many calls were skipped until now that may change something.
    skipped_writes: u64,
    /// Whether the server has said something that is no message.
    is_polluted: bool,
    is_done: bool,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// Nothing was said.
    New,
    /// Calls can be made.
    Ready,
    /// The server has gone, or doesn't want to talk.
    Over,
}

/// A call that waits for its answer.
#[derive(Debug)]
struct Open {
    call: u32,
    sent_us: u64,
    due_us: u64,
    /// What the server asked otherwise.
    found: Found,
    /// How many calls before it were skipped that may change something.
    skipped_writes: u64,
    /// What the server says in words, if it answers with an error.
    error: Option<String>,
}

impl Open {
    fn new(call: u32, sent_us: u64, due_us: u64, skipped_writes: u64) -> Self {
        Open { call, sent_us, due_us, found: Found::default(), skipped_writes, error: None }
    }
}

/// What we ask of our own accord.
#[derive(Debug)]
enum Own {
    Initialize,
    Tools,
    /// The rest of a list that had no more pages when it was recorded.
    Rest(Rest),
}

/// A page of a list that the recorded client had no reason to ask for.
#[derive(Debug)]
struct Rest {
    kind: ListKind,
    cursor: String,
    number: usize,
    /// The call that the list is the answer to, and what is to be said of it when the rest is there.
    call: Open,
    verdict: Verdict,
    answered_us: u64,
}

impl<P: Payloads> Driver<P> {
    /// At the beginning.
    pub fn new(script: Arc<Script>, payloads: P, setting: Setting) -> Self {
        let questions = Questions::read(&script, &payloads, &setting.matching);
        let runs = runs(&script, &payloads, setting.started_ms);
        let offered = Offered::recorded(&script, &payloads, setting.redactor.clone());
        let offers = Offered::new(setting.redactor.clone());
        let told = Offered::new(setting.redactor.clone());
        Driver {
            script,
            payloads,
            setting,
            runs,
            next: 0,
            remarked: 0,
            open: BTreeMap::new(),
            own: None,
            pages: 0,
            rest: VecDeque::new(),
            ids: 0,
            connection: Connection::New,
            carried: Carried::default(),
            questions,
            offered,
            offers,
            told,
            checked: Vec::new(),
            skipped_writes: 0,
            is_polluted: false,
            is_done: false,
        }
    }

    /// The calls that have their verdict, in the order in which they got it.
    pub fn checked(&self) -> &[Checked] {
        &self.checked
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.script.tape().calls().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When there is something to be done though nothing comes in.
    pub fn deadline(&self) -> Option<u64> {
        self.open.values().map(|open| open.due_us).min()
    }

    /// All that came of it.
    pub fn finish(self) -> Verified {
        let mut calls = self.checked;
        calls.sort_by_key(|checked| checked.call);
        let drift = offers::compare(self.offered, &self.offers.finish());
        Verified { calls, drift }
    }

    /// Begins, or goes on.
    pub fn go_on(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        let now_ms = self.setting.started_ms.saturating_add(i64::try_from(now_us / 1000).unwrap_or(i64::MAX));
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

    /// Does the next thing; whether there was one that can be done now.
    fn step(&mut self, now_us: u64, actions: &mut Vec<Action>) -> bool {
        if let Some(rest) = self.rest.pop_front() {
            let (kind, cursor) = (rest.kind, rest.cursor.clone());
            self.ask_for_list(Own::Rest(rest), kind, Some(&cursor), now_us, actions);
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
            // What became of one session is nothing to the next.
            Connection::Over if is_introduction => self.begin_session(actions),
            Connection::Over => {
                self.skip(self.next, Skip::Gone, actions);
                self.next += 1;
            }
            Connection::New if !is_introduction && !script.tape().is_modern() => {
                self.introduce_ourselves(actions, now_us);
            }
            Connection::Ready if is_initialize => {
                // The client's last words in a session are for the server that it had.
                self.remark(call, actions);
                self.begin_session(actions);
            }
            Connection::New | Connection::Ready if self.has_to_ask_about(call) => {
                self.ask_for_tools(None, now_us, actions);
            }
            Connection::New | Connection::Ready => {
                self.remark(call, actions);
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

    /// Whether others must be answered first.
    fn has_to_wait(&mut self, call: &Recorded, is_initialize: bool) -> bool {
        let tape = self.script.tape();
        let waiting = self.open.values().filter(|open| &*tape.kind(tape.call(open.call)).method != LISTEN);
        let (mut count, mut is_introducing) = (0, false);
        for open in waiting {
            count += 1;
            is_introducing |= script::is_introduction(tape, tape.call(open.call));
        }
        count >= self.setting.concurrency.max(1)
            || is_introducing
            || (count > 0 && (is_initialize || self.is_repeating(call)))
    }

    /// Whether a call may repeat something that the server made up.
    fn is_repeating(&self, call: &Recorded) -> bool {
        let mut request = Vec::new();
        self.payloads.read(call.request, &mut request).is_ok()
            && (Carried::is_repeating(&request) || !looks::ids(&request).is_empty())
    }

    fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Whether the server has not said yet what the tool does that is to be called: it may do something else than when it was
    /// recorded. It is asked once.
    fn has_to_ask_about(&self, call: &Recorded) -> bool {
        let tool = script::tool(self.script.tape(), call);
        self.setting.writes == Writes::Skip
            && self.pages == 0
            && tool.is_some_and(|tool| self.only_reads(tool).is_none())
    }

    /// Whether a tool says now that it changes nothing; `None` if the server has not said.
    fn only_reads(&self, tool: &str) -> Option<bool> {
        let says = |offered: &Offered| script::only_reads(offered.so_far(), tool);
        says(&self.offers).or_else(|| says(&self.told))
    }

    fn introduce_ourselves(&mut self, actions: &mut Vec<Action>, now_us: u64) {
        actions.push(Action::Tell(Notice::MadeUp));
        let params = json!({
            "protocolVersion": Revision::V2025_11_25.name(),
            "capabilities": { "sampling": {}, "elicitation": {}, "roots": {} },
            "clientInfo": { "name": "wiretape", "version": "0" },
        });
        self.ask(Own::Initialize, "initialize", &params, now_us, actions);
    }

    fn ask_for_tools(&mut self, cursor: Option<&str>, now_us: u64, actions: &mut Vec<Action>) {
        self.pages += 1;
        self.ask_for_list(Own::Tools, ListKind::Tools, cursor, now_us, actions);
    }

    fn ask_for_list(
        &mut self,
        own: Own,
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
        self.ask(own, kind.method(), &params, now_us, actions);
    }

    /// The rest of a list could not be read: nobody knows what is on it.
    fn rest_failed(&mut self, rest: Rest, reason: &str, actions: &mut Vec<Action>) {
        let verdict = Verdict::Missing(Missing::Rest(reason.to_owned()));
        self.heard(rest.call, verdict, rest.answered_us, actions);
    }

    /// What a client of the stateless era says of itself with each request.
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
            meta.as_object_mut()?.retain(|name, _| name.starts_with(meta_key::PREFIX));
            Some(meta)
        })
    }

    fn ask(&mut self, own: Own, method: &str, params: &Json, now_us: u64, actions: &mut Vec<Action>) {
        let id = self.next_id();
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        if let Own::Rest(_) = own {
            self.keep(Direction::ClientToServer, request.as_bytes(), actions);
        }
        self.hears(&own).hear(Direction::ClientToServer, 0, request.as_bytes());
        self.own = Some((id, own));
        let due_us = now_us.saturating_add(self.setting.timeout_us);
        // It has a place among the others for its deadline's sake.
        self.open.insert(id, Open::new(u32::MAX, now_us, due_us, 0));
        actions.push(Action::Send(request.into_bytes()));
    }

    /// Whom a request of our own, and its answer, are for.
    fn hears(&mut self, own: &Own) -> &mut Offered {
        match own {
            Own::Initialize | Own::Tools => &mut self.told,
            Own::Rest(_) => &mut self.offers,
        }
    }

    /// Says what the client said unasked before a call. Before the handshake nobody listens: what was said before that belongs to
    /// a session that has failed.
    fn remark(&mut self, call: &Recorded, actions: &mut Vec<Action>) {
        let is_heard =
            self.connection != Connection::New || !script::is_introduction(self.script.tape(), call);
        while let Some(span) = self.script.remarks.get(self.remarked).copied() {
            if span.offset > call.request.offset {
                return;
            }
            self.remarked += 1;
            if let Some(remark) = is_heard.then(|| self.read(span, actions)).flatten() {
                self.send(remark, actions);
            }
        }
    }

    fn call(&mut self, number: u32, now_us: u64, actions: &mut Vec<Action>) {
        let script = Arc::clone(&self.script);
        let call = script.tape().call(number);
        let Some(recorded) = self.read(call.request, actions) else {
            return self.skip(number, Skip::NeverAnswered, actions);
        };
        if let Some(skip) = self.reason_to_skip(call, &recorded) {
            return self.skip(number, skip, actions);
        }
        let id = self.next_id();
        let request = self.carried.put_into(renumbered(&recorded, id));
        if is_offer(&script.tape().kind(call).method) {
            self.offers.hear(Direction::ClientToServer, call.line, &request);
        }
        let took_us = script::recorded_us(script.tape(), call).unwrap_or(0);
        let due_us = now_us.saturating_add(self.setting.timeout_us.max(took_us.saturating_mul(3)));
        self.open.insert(id, Open::new(number, now_us, due_us, self.skipped_writes));
        self.send(request, actions);
    }

    /// Why a call is better not made, after all that is known now.
    fn reason_to_skip(&self, call: &Recorded, request: &[u8]) -> Option<Skip> {
        if let Some(what) = self.carried.lacks(request) {
            return Some(Skip::Depends(what));
        }
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

    /// Whether something was taken out of what the client answered to a question during a call.
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
        self.judged(
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

    /// Whether a call that is skipped may have changed something when it was recorded.
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

    /// What was not asked now stays in a new trace as it was.
    fn keep_as_recorded(&mut self, call: &Recorded, actions: &mut Vec<Action>) {
        if self.setting.keeps == Keeps::Nothing {
            return;
        }
        let script = Arc::clone(&self.script);
        let id = self.next_id();
        let Some(request) = self.read(call.request, actions) else { return };
        actions.push(Action::Keep(Direction::ClientToServer, renumbered(&request, id)));
        let id = id.to_string();
        let steps = script.tape().steps(call);
        let cancellation = id_of(&request).and_then(|id| script.cancellation(call, id));
        let said_before = |span: Span| steps.partition_point(|step| step.span.offset < span.offset);
        let (before, after) = steps.split_at(cancellation.map_or(steps.len(), said_before));
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
                actions.push(Action::Tell(Notice::Unreadable { reason: error.to_string() }));
                None
            }
        }
    }

    /// Takes what the server says.
    pub fn receive(&mut self, message: &[u8], now_us: u64, actions: &mut Vec<Action>) {
        for payload in payloads(message) {
            let envelope = Envelope::scan(payload);
            match envelope.kind {
                MessageKind::Response => self.response(payload, &envelope, now_us, actions),
                MessageKind::Request => self.question(payload, &envelope, actions),
                MessageKind::Notification => {
                    self.notification(&envelope, now_us, actions);
                    self.keep(Direction::ServerToClient, payload, actions);
                }
                MessageKind::Batch | MessageKind::NotJsonRpc => self.not_a_message(payload, actions),
            }
        }
        self.go_on(now_us, actions);
    }

    fn response(&mut self, payload: &[u8], envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        let Some(Id::Number(id)) = &envelope.id else { return };
        // What comes too late was missed already.
        let Some(id) = id.parse::<u64>().ok().filter(|id| self.open.contains_key(id)) else { return };
        let Some(open) = self.open.remove(&id) else { return };
        if let Some((_, own)) = self.own.take_if(|(own, _)| *own == id) {
            return self.answered_ourselves(own, payload, envelope, now_us, actions);
        }
        let call = self.script.tape().call(open.call);
        if is_offer(&self.script.tape().kind(call).method) {
            self.offers.hear(Direction::ServerToClient, call.line, payload);
        }
        self.keep(Direction::ServerToClient, payload, actions);
        self.answered(open, payload, envelope, now_us, actions);
    }

    /// A request of our own is answered.
    fn answered_ourselves(
        &mut self,
        own: Own,
        payload: &[u8],
        envelope: &Envelope<'_>,
        now_us: u64,
        actions: &mut Vec<Action>,
    ) {
        self.hears(&own).hear(Direction::ServerToClient, 0, payload);
        match own {
            Own::Initialize if envelope.error.is_some() => self.connection = Connection::Over,
            Own::Initialize => self.greeted(actions),
            Own::Tools => match next_cursor(envelope).filter(|_| self.pages < MAX_PAGES) {
                Some(cursor) => self.ask_for_tools(Some(&cursor), now_us, actions),
                None => self.connection = Connection::Ready,
            },
            Own::Rest(rest) => {
                self.keep(Direction::ServerToClient, payload, actions);
                self.rest_answered(rest, envelope, actions);
            }
        }
    }

    fn rest_answered(&mut self, rest: Rest, envelope: &Envelope<'_>, actions: &mut Vec<Action>) {
        match next_cursor(envelope) {
            _ if envelope.error.is_some() => self.rest_failed(rest, "it is answered with an error", actions),
            Some(_) if rest.number >= MAX_PAGES => self.rest_failed(rest, "it has too many pages", actions),
            Some(cursor) => self.rest.push_front(Rest { cursor, number: rest.number + 1, ..rest }),
            None => self.heard(rest.call, rest.verdict, rest.answered_us, actions),
        }
    }

    fn greeted(&mut self, actions: &mut Vec<Action>) {
        self.connection = Connection::Ready;
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec(), actions);
    }

    /// A call is answered.
    fn answered(
        &mut self,
        open: Open,
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
            ("initialize", false) => self.greeted(actions),
            // A client asks so which era it is, and goes on with the other if the server doesn't know.
            ("server/discover", true) => {}
            _ if self.connection == Connection::New => self.connection = Connection::Ready,
            _ => {}
        }
        let Some(recorded) = script::answer(tape, call).and_then(|span| self.read(span, actions)) else {
            // One that listens was told that nothing more comes.
            return self.heard(open, Verdict::Same, now_us, actions);
        };
        self.carried.learn(&self.runs, method, &recorded, Some(payload));
        let (recorded, live) = (self.clean(&recorded), self.clean(payload));
        let mut found = self.judge().answers(method, &recorded, &live);
        let unasked = self.questions.unasked(open.call);
        let unasked = unasked.filter(|_| self.setting.concurrency <= 1).map(|question| Change {
            place: "asked".to_owned(),
            before: Some(json!(question.method).to_string().into_bytes()),
            after: None,
        });
        found.changes.splice(0..0, open.found.changes.iter().cloned().chain(unasked));
        found.more |= open.found.more;
        let verdict = verdict(&recorded, &live, &found);
        let error = (verdict == Verdict::NewError).then(|| error_text(&live)).flatten();
        let call = Open { found, error, ..open };
        // A list that was whole may have more pages now: what is missing from the first may stand on another.
        let was_whole = next_cursor(&Envelope::scan(&recorded)).is_none();
        let more = ListKind::of_method(method).zip(next_cursor(envelope)).filter(|_| was_whole);
        match more {
            Some((kind, cursor)) => {
                self.rest.push_back(Rest { kind, cursor, number: 2, call, verdict, answered_us: now_us });
            }
            None => self.heard(call, verdict, now_us, actions),
        }
    }

    fn heard(&mut self, open: Open, verdict: Verdict, now_us: u64, actions: &mut Vec<Action>) {
        let tape = self.script.tape();
        let call = tape.call(open.call);
        let recorded_us = script::recorded_us(tape, call);
        let took_us = now_us.saturating_sub(open.sent_us);
        let is_slower = || {
            // How long a server takes to start is nothing that it does.
            let pace = self.setting.pace.filter(|_| !script::is_introduction(tape, call)).zip(recorded_us);
            pace.is_some_and(|(pace, recorded_us)| pace.is_slower(recorded_us, took_us))
        };
        let verdict = match verdict {
            Verdict::Same if is_slower() => Verdict::Slower,
            // A server that was not told to write can't have what was read back.
            Verdict::Changed | Verdict::NewError if open.skipped_writes > 0 && reads_state(tape, call) => {
                Verdict::Inconclusive { skipped_writes: open.skipped_writes }
            }
            verdict => verdict,
        };
        let (Found { changes, more }, error) = (open.found, open.error);
        let checked =
            Checked { call: open.call, verdict, changes, more, error, took_us: Some(took_us), recorded_us };
        self.judged(checked, actions);
    }

    fn judged(&mut self, checked: Checked, actions: &mut Vec<Action>) {
        self.checked.push(checked);
        actions.push(Action::Judged);
    }

    fn judge(&self) -> Judge<'_> {
        Judge { ignored: &self.setting.ignored, runs: &self.runs }
    }

    /// A message without secrets.
    fn clean<'m>(&self, message: &'m [u8]) -> Cow<'m, [u8]> {
        let redactor = self.setting.redactor.as_ref();
        redactor.map_or(Cow::Borrowed(message), |redactor| without_secrets(redactor, message))
    }

    /// Tells of the first of them: a server that writes its log there has many.
    fn not_a_message(&mut self, payload: &[u8], actions: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.is_polluted, true) {
            let text = self.shown(payload);
            actions.push(Action::Tell(Notice::NotAMessage { text }));
        }
    }

    fn shown(&self, text: &[u8]) -> String {
        /// More is not shown.
        const LONG: usize = 200;
        let text = self.setting.redactor.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.text(text));
        let text = String::from_utf8_lossy(&text);
        let shown: String = text.chars().take(LONG).collect();
        if shown.len() < text.len() { format!("{shown}…") } else { shown }
    }

    /// The server asks something.
    fn question(&mut self, payload: &[u8], envelope: &Envelope<'_>, actions: &mut Vec<Action>) {
        let Some(id) = id_of(payload) else { return };
        let method = envelope.method.as_deref().unwrap_or_default();
        if method == "ping" {
            let pong = [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":{}}"#].concat();
            return actions.push(Action::Send(pong));
        }
        self.keep(Direction::ServerToClient, payload, actions);
        let open: Vec<u32> = self.open.values().map(|open| open.call).collect();
        let Some(reply) = self.questions.find(&self.setting.matching, envelope, &open) else {
            return self.refuse(id, method, actions);
        };
        self.compare_question(reply.question, payload, actions);
        // What the recorded client left open stays so.
        let Some(message) = reply.span.and_then(|span| self.read(span, actions)) else { return };
        let message = self.carried.put_into(message);
        if is_redacted(&message) {
            // Nobody ever answers with what stands for a secret.
            let error = br#","error":{"code":-32603,"message":"wiretape: a secret was taken out of the recorded answer"}}"#;
            return self.send([br#"{"jsonrpc":"2.0","id":"#, id, error].concat(), actions);
        }
        self.send(with_id(&message, id), actions);
    }

    fn refuse(&mut self, id: &[u8], method: &str, actions: &mut Vec<Action>) {
        actions.push(Action::Tell(Notice::NotAsked { method: method.to_owned() }));
        let error =
            br#","error":{"code":-32601,"message":"wiretape: this was not asked when it was recorded"}}"#;
        self.send([br#"{"jsonrpc":"2.0","id":"#, id, error].concat(), actions);
        let asked = Change {
            place: "asked".to_owned(),
            before: None,
            after: Some(json!(method).to_string().into_bytes()),
        };
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

    /// A call that listens is through when it is told that the server has understood.
    fn notification(&mut self, envelope: &Envelope<'_>, now_us: u64, actions: &mut Vec<Action>) {
        if envelope.method.as_deref() != Some("notifications/subscriptions/acknowledged") {
            return;
        }
        let params = envelope.params.and_then(|params| Value::parse(params).ok());
        let id = params
            .and_then(|params| params.at_path(&["_meta", meta_key::SUBSCRIPTION_ID]))
            .and_then(|id| String::from_utf8_lossy(id.raw).trim_matches('"').parse::<u64>().ok());
        if let Some(open) = id.and_then(|id| self.open.remove(&id)) {
            self.heard(open, Verdict::Same, now_us, actions);
        }
    }

    /// Gives up what has taken too long.
    pub fn tick(&mut self, now_us: u64, actions: &mut Vec<Action>) {
        let late: Vec<u64> =
            self.open.iter().filter(|(_, open)| open.due_us <= now_us).map(|(id, _)| *id).collect();
        for id in late {
            let Some(open) = self.open.remove(&id) else { continue };
            match self.own.take_if(|(own, _)| *own == id) {
                Some((_, Own::Initialize)) => self.connection = Connection::Over,
                Some((_, Own::Tools)) => self.connection = Connection::Ready,
                Some((_, Own::Rest(rest))) => self.rest_failed(rest, "no answer in time", actions),
                None => self.missed(open, Missing::TimedOut, actions),
            }
        }
        self.go_on(now_us, actions);
    }

    /// The server has gone.
    pub fn gone(&mut self, reason: &str, now_us: u64, actions: &mut Vec<Action>) {
        self.connection = Connection::Over;
        let under_way = if let Some((_, Own::Rest(rest))) = self.own.take() { Some(rest) } else { None };
        for rest in under_way.into_iter().chain(std::mem::take(&mut self.rest)) {
            self.rest_failed(rest, reason, actions);
        }
        for open in std::mem::take(&mut self.open).into_values() {
            self.missed(open, Missing::Gone(reason.to_owned()), actions);
        }
        self.go_on(now_us, actions);
    }

    fn missed(&mut self, open: Open, missing: Missing, actions: &mut Vec<Action>) {
        let script = Arc::clone(&self.script);
        let tape = script.tape();
        // Requests of our own are nobody's call.
        let Some(call) = tape.calls().get(open.call as usize) else { return };
        if script::is_introduction(tape, call) {
            self.connection = Connection::Over;
        }
        if let Some(recorded) = script::answer(tape, call).and_then(|span| self.read(span, actions)) {
            self.carried.learn(&self.runs, &tape.kind(call).method, &recorded, None);
        }
        let recorded_us = script::recorded_us(tape, call);
        let Found { changes, more } = open.found;
        let verdict = Verdict::Missing(missing);
        let checked =
            Checked { call: open.call, verdict, changes, more, error: None, took_us: None, recorded_us };
        self.judged(checked, actions);
    }

    /// Sends a message that a client would.
    fn send(&self, message: Vec<u8>, actions: &mut Vec<Action>) {
        self.keep(Direction::ClientToServer, &message, actions);
        actions.push(Action::Send(message));
    }

    fn keep(&self, direction: Direction, message: &[u8], actions: &mut Vec<Action>) {
        if self.setting.keeps == Keeps::NewTrace {
            actions.push(Action::Keep(direction, message.to_vec()));
        }
    }
}

/// Whether what a call answers may depend on what was written before. What a server says of itself and of its tools does not.
fn reads_state(tape: &Tape, call: &Recorded) -> bool {
    let method = &*tape.kind(call).method;
    !script::is_introduction(tape, call) && !matches!(method, "tools/list" | "prompts/list" | "ping")
}

/// When the trace was recorded, and what its client said; and that it is said again from now on.
fn runs(script: &Script, payloads: &impl Payloads, started_ms: i64) -> Runs {
    let recorded = script.recorded_ms.clone();
    let mut runs = Runs { recorded, live: started_ms..started_ms, ..Runs::default() };
    let mut request = Vec::new();
    for (call, _) in script.entries().filter(|(_, plan)| *plan == Plan::Send) {
        if payloads.read(call.request, &mut request).is_ok() {
            runs.hear(&request);
        }
    }
    runs
}

/// Where a list goes on.
fn next_cursor(answer: &Envelope<'_>) -> Option<String> {
    let result = Value::parse(answer.result?).ok()?;
    result.get("nextCursor")?.string().map(Cow::into_owned)
}

/// A request under another id, which is also what its progress goes by.
fn renumbered(request: &[u8], id: u64) -> Vec<u8> {
    let id = id.to_string();
    replaced(&with_id(request, id.as_bytes()), &["params", "_meta", "progressToken"], id.as_bytes())
}
