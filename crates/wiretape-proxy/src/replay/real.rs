//! The real server that is asked what was not recorded, and the trace of what it said.
//!
//! Each session has a process of its own, which is started when it is needed first, and told the client's own `initialize`.
//! Requests pass under ids and progress tokens of ours, and its own requests under ids that nobody else uses: so what it says
//! finds its way back, whoever shares it.

use super::deck::Deck;
use super::recording::Recordings;
use crate::child::{end_process, read_lines, write_lines};
use crate::new_trace::NewTrace;
use crate::platform::{Process, Spawned, StderrMode};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use wiretape_analyze::replay::{Action, Miss, Notice, Tally, id_of, missed_after_all, replaced, with_id};
use wiretape_trace::message::{Direction, Envelope, MessageKind, payloads};
use wiretape_trace::redact::Redactor;
use wiretape_trace::value::Value;

/// What ids and progress tokens of ours begin with, on their way to the real server.
const OURS: &str = "wiretape-";

/// What the ids of the real server's requests begin with, on their way to the client.
const REAL: &str = "wiretape-real-";

const TOKEN: [&str; 3] = ["params", "_meta", "progressToken"];
const PROGRESS: [&str; 2] = ["params", "progressToken"];
const SUBSCRIPTION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/subscriptionId"];
const REQUEST: [&str; 2] = ["params", "requestId"];

/// Something that the real server did.
#[derive(Debug)]
pub(super) enum RealEvent {
    /// It said something.
    Line(Vec<u8>),
    /// It has gone.
    Ended,
}

pub(super) type Report = Arc<dyn Fn(RealEvent) + Send + Sync>;

/// Who asks a real server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    /// One, which can be asked in turn.
    One,
    /// All that have no session. They can't be asked, and what is said to nobody in particular is for none of them.
    Many,
}

/// The real servers of all clients.
#[derive(Debug)]
pub struct RealServers {
    command: Vec<OsString>,
    recordings: Option<Mutex<Recordings>>,
    /// Why not all that they said is recorded.
    lost: Arc<Mutex<Option<String>>>,
    running: Mutex<Vec<Arc<Running>>>,
    ending: Mutex<Vec<JoinHandle<()>>>,
}

impl RealServers {
    /// Servers that are started by this command when they are needed. What they say is recorded in `record`, without secrets
    /// if there is a redactor: what the first one says, and what further ones say in files beside it.
    pub fn new(
        command: Vec<OsString>,
        record: Option<&Path>,
        redactor: Option<Redactor>,
    ) -> io::Result<Self> {
        let recordings = record.map(|path| Recordings::begin(path, &command, redactor)).transpose()?;
        Ok(RealServers {
            command,
            recordings: recordings.map(Mutex::new),
            lost: Arc::default(),
            running: Mutex::default(),
            ending: Mutex::default(),
        })
    }

    /// A server for one more client, or for many, of a tape.
    pub(super) fn server(self: &Arc<Self>, clients: Clients, deck: &Deck) -> RealServer {
        RealServer {
            servers: Arc::clone(self),
            clients,
            tally: deck.shared_tally(),
            report: Arc::new(|_| ()),
            initialize: None,
            has_spoken: false,
            state: State::NotStarted,
            asked: 0,
            waiting: BTreeMap::new(),
            questioned: 0,
            questions: HashMap::new(),
        }
    }

    /// Ends them all, and waits until they have.
    pub fn end(&self) {
        let running = std::mem::take(&mut *lock(&self.running));
        running.into_iter().for_each(|running| self.end_one(running));
        let ending = std::mem::take(&mut *lock(&self.ending));
        for ending in ending {
            // One that panicked has nothing more to say.
            let _ = ending.join();
        }
        if let Some(recordings) = &self.recordings
            && let Err(error) = lock(recordings).end()
        {
            Journal::failed(&error, &self.lost);
        }
    }

    /// Why not all that they said is recorded, if it isn't.
    pub fn lost(&self) -> Option<String> {
        lock(&self.lost).clone()
    }

    fn start(&self, report: Report) -> io::Result<Arc<Running>> {
        let Spawned { process, stdin, stdout, .. } = Process::spawn(&self.command, StderrMode::Inherited)?;
        let recording = self.recordings.as_ref().map(|recordings| lock(recordings).next());
        let recording = match recording {
            None => Journal::Off,
            Some(Ok(trace)) => Journal::Recorded(trace),
            Some(Err(error)) => Journal::failed(&error, &self.lost),
        };
        let (input, lines) = channel();
        let ended = Arc::clone(&report);
        write_lines(stdin, lines, move || ended(RealEvent::Ended));
        read_lines(stdout, move |line| report(line.map_or(RealEvent::Ended, RealEvent::Line)));
        let running = Arc::new(Running {
            process: Mutex::new(Some(process)),
            input: Mutex::new(Some(input)),
            recording: Mutex::new(recording),
            lost: Arc::clone(&self.lost),
        });
        lock(&self.running).push(Arc::clone(&running));
        Ok(running)
    }

    /// Ends one, without waiting for it.
    fn end_one(&self, running: Arc<Running>) {
        lock(&self.running).retain(|other| !Arc::ptr_eq(other, &running));
        let mut ending = lock(&self.ending);
        ending.retain(|ending| !ending.is_finished());
        ending.push(std::thread::spawn(move || running.end()));
    }
}

/// A server that runs.
#[derive(Debug)]
struct Running {
    process: Mutex<Option<Process>>,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    recording: Mutex<Journal>,
    lost: Arc<Mutex<Option<String>>>,
}

/// What becomes of what is said.
#[derive(Debug)]
enum Journal {
    Off,
    Recorded(NewTrace),
    /// It can't be recorded, which has to be told.
    Failed(Notice),
}

impl Journal {
    fn failed(error: &io::Error, lost: &Mutex<Option<String>>) -> Self {
        let reason = error.to_string();
        lock(lost).get_or_insert_with(|| reason.clone());
        Journal::Failed(Notice::NotRecorded { reason })
    }
}

impl Running {
    /// Sends it a message; whether that could be.
    fn send(&self, mut message: Vec<u8>) -> bool {
        let input = lock(&self.input);
        let Some(input) = input.as_ref() else { return false };
        // A message is a line there. In JSON these can only be white space.
        message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        self.record(Direction::ClientToServer, &message);
        input.send(message).is_ok()
    }

    fn record(&self, dir: Direction, message: &[u8]) {
        let mut recording = lock(&self.recording);
        if let Journal::Recorded(journal) = &mut *recording
            && let Err(error) = journal.message(dir, message)
        {
            // The client is answered all the same. A line that was torn must stay the last.
            *recording = Journal::failed(&error, &self.lost);
        }
    }

    /// Why nothing is recorded any more, once.
    fn failure(&self) -> Option<Notice> {
        let mut recording = lock(&self.recording);
        match std::mem::replace(&mut *recording, Journal::Off) {
            Journal::Failed(notice) => Some(notice),
            other => {
                *recording = other;
                None
            }
        }
    }

    /// Lets it end, or ends it.
    fn end(&self) {
        drop(lock(&self.input).take());
        let process = lock(&self.process).take();
        let exit = process.and_then(|process| end_process(process).exit());
        let recording = std::mem::replace(&mut *lock(&self.recording), Journal::Off);
        if let Journal::Recorded(recording) = recording
            && let Err(error) = recording.end(exit)
        {
            Journal::failed(&error, &self.lost);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The real server of one client, or of many.
pub(super) struct RealServer {
    servers: Arc<RealServers>,
    clients: Clients,
    tally: Arc<Mutex<Tally>>,
    report: Report,
    initialize: Option<Vec<u8>>,
    /// Whether it has sent a message.
    has_spoken: bool,
    state: State,
    asked: u64,
    /// What it was asked, by our numbers.
    waiting: BTreeMap<u64, Waiting>,
    questioned: u64,
    /// The ids of its questions, by those under which the client knows them.
    questions: HashMap<u64, Vec<u8>>,
}

enum State {
    NotStarted,
    /// It has been told `initialize`; what waits for its answer.
    Greeted(Arc<Running>, Vec<Vec<u8>>),
    Ready(Arc<Running>),
    Gone(String),
}

/// A request that it was asked.
struct Waiting {
    /// The player's number of it.
    request: u64,
    /// The client's id, and its progress token.
    id: Vec<u8>,
    token: Option<Vec<u8>>,
    /// Whether it stays open for news.
    is_subscription: bool,
    /// Why it had to be asked.
    miss: Box<Miss>,
}

impl RealServer {
    pub(super) fn report_to(&mut self, report: Report) {
        self.report = report;
    }

    /// Listens to what the client says. Whether it was meant for the real server alone.
    pub(super) fn hear(&mut self, message: &[u8], actions: &mut Vec<Action>) -> bool {
        let envelope = Envelope::scan(message);
        match (envelope.kind, envelope.method.as_deref()) {
            (_, Some("initialize")) => {
                self.initialize = Some(message.to_vec());
                false
            }
            (MessageKind::Response, _) => self.hear_reply(message, &envelope),
            (MessageKind::Notification, Some("notifications/cancelled")) => {
                let cancelled = value_at(message, &REQUEST).and_then(|id| self.waits_for(id));
                let Some(request) = cancelled else { return false };
                self.cancel(request);
                actions.push(Action::Close { request });
                true
            }
            (MessageKind::Notification, method) if method != Some("notifications/initialized") => {
                self.send(message.to_vec());
                false
            }
            _ => false,
        }
    }

    fn hear_reply(&mut self, message: &[u8], envelope: &Envelope<'_>) -> bool {
        let number = envelope.id.as_ref().and_then(|id| id.text().strip_prefix(REAL)?.parse::<u64>().ok());
        let Some(id) = number.and_then(|number| self.questions.remove(&number)) else { return false };
        self.send(with_id(message, &id));
        true
    }

    /// Whether it runs and has not said a word yet.
    pub(super) fn is_starting(&self) -> bool {
        matches!(self.state, State::Greeted(..) | State::Ready(_)) && !self.has_spoken
    }

    /// Whether it owes an answer.
    pub(super) fn is_asked(&self) -> bool {
        self.waiting.values().any(|waiting| !waiting.is_subscription)
    }

    /// The request that has this id with the client, if it was passed on.
    fn waits_for(&self, id: &[u8]) -> Option<u64> {
        self.waiting.values().find(|waiting| waiting.id == id).map(|waiting| waiting.request)
    }

    /// The client doesn't want the answer to a request any more.
    pub(super) fn cancel(&mut self, request: u64) {
        let number = self.waiting.iter().find(|(_, waiting)| waiting.request == request);
        let Some(number) = number.map(|(number, _)| *number) else { return };
        self.waiting.remove(&number);
        let params = serde_json::json!({ "requestId": format!("{OURS}{number}") });
        let notification =
            serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.send_when_ready(notification.to_string().into_bytes());
    }

    /// Asks it something. If it can't be asked, the client is to be told so.
    pub(super) fn ask(&mut self, request: u64, message: &[u8], miss: Box<Miss>) -> Vec<Action> {
        self.asked += 1;
        let ours = quoted(OURS, self.asked);
        let waiting = Waiting {
            request,
            id: id_of(message).unwrap_or(b"null").to_vec(),
            token: value_at(message, &TOKEN).map(<[u8]>::to_vec),
            is_subscription: Envelope::scan(message).method.as_deref() == Some("subscriptions/listen"),
            miss,
        };
        let mut question = with_id(message, &ours);
        if waiting.token.is_some() {
            question = replaced(&question, &TOKEN, &ours);
        }
        self.waiting.insert(self.asked, waiting);
        if let State::NotStarted = self.state {
            self.start();
        }
        if self.send_when_ready(question) {
            return Vec::new();
        }
        self.waiting.remove(&self.asked).map_or_else(Vec::new, |waiting| self.cannot_answer(waiting).into())
    }

    fn start(&mut self) {
        let running = match self.servers.start(Arc::clone(&self.report)) {
            Ok(running) => running,
            Err(error) => {
                self.state = State::Gone(format!("it can't be started: {error}"));
                return;
            }
        };
        self.state = match &self.initialize {
            Some(initialize) => {
                running.send(with_id(initialize, &quoted(OURS, 0)));
                State::Greeted(running, Vec::new())
            }
            None => State::Ready(running),
        };
    }

    /// Sends it a message, after what it has to be told first; whether that could be.
    fn send_when_ready(&mut self, message: Vec<u8>) -> bool {
        match &mut self.state {
            State::Greeted(_, queue) => {
                queue.push(message);
                true
            }
            _ => self.send(message),
        }
    }

    /// Sends it a message; whether that could be.
    fn send(&self, message: Vec<u8>) -> bool {
        match &self.state {
            State::Greeted(running, _) | State::Ready(running) => running.send(message),
            State::NotStarted | State::Gone(_) => false,
        }
    }

    /// Takes what it did. Returns what the client is to be told.
    pub(super) fn take(&mut self, event: RealEvent) -> Vec<Action> {
        let mut actions = Vec::new();
        if let State::Greeted(running, _) | State::Ready(running) = &self.state {
            actions.extend(running.failure().map(Action::Tell));
        }
        match event {
            RealEvent::Line(line) => {
                self.record(&line);
                actions.extend(payloads(&line).into_iter().filter_map(|payload| self.said(payload)));
            }
            RealEvent::Ended => actions.extend(self.gone()),
        }
        actions
    }

    fn record(&self, line: &[u8]) {
        if let State::Greeted(running, _) | State::Ready(running) = &self.state {
            running.record(Direction::ServerToClient, line);
        }
    }

    fn said(&mut self, line: &[u8]) -> Option<Action> {
        let envelope = Envelope::scan(line);
        self.has_spoken |= envelope.kind != MessageKind::NotJsonRpc;
        match envelope.kind {
            MessageKind::Response => self.answered(line, &envelope),
            MessageKind::Request => self.asks(line),
            MessageKind::Notification => self.notified(line, &envelope),
            MessageKind::Batch | MessageKind::NotJsonRpc => None,
        }
    }

    fn answered(&mut self, line: &[u8], envelope: &Envelope<'_>) -> Option<Action> {
        let number = number_in(envelope.id.as_ref()?.text())?;
        if number == 0 {
            self.is_ready();
            return None;
        }
        let waiting = self.waiting.remove(&number)?;
        Some(Action::Answer { to: waiting.request, message: with_id(line, &waiting.id) })
    }

    /// It asks in turn.
    fn asks(&mut self, line: &[u8]) -> Option<Action> {
        let id = id_of(line)?.to_vec();
        if self.clients == Clients::Many {
            let error =
                serde_json::json!({ "code": -32601, "message": "wiretape: this client can't be asked" });
            self.send(failure(&id, &error));
            return None;
        }
        self.questioned += 1;
        self.questions.insert(self.questioned, id);
        let message = with_id(line, &quoted(REAL, self.questioned));
        let newest = self.waiting.values().rev().find(|waiting| !waiting.is_subscription);
        Some(Action::Send { during: newest.map(|waiting| waiting.request), message })
    }

    fn notified(&self, line: &[u8], envelope: &Envelope<'_>) -> Option<Action> {
        let of = |path: &[&str]| -> Option<&Waiting> {
            let value = Value::parse(value_at(line, path)?).ok()?.string()?;
            self.waiting.get(&number_in(&value)?)
        };
        if let Some(waiting) = of(&PROGRESS) {
            let message = replaced(line, &PROGRESS, waiting.token.as_deref()?);
            return Some(Action::Send { during: Some(waiting.request), message });
        }
        if let Some(waiting) = of(&SUBSCRIPTION) {
            let message = replaced(line, &SUBSCRIPTION, &waiting.id);
            return Some(Action::Send { during: Some(waiting.request), message });
        }
        match envelope.method.as_deref() {
            // It comes too late.
            Some("notifications/progress") => None,
            Some("notifications/cancelled") => self.takes_back(line),
            _ => self.said_to_nobody(line),
        }
    }

    /// It doesn't want the answer to a question any more.
    fn takes_back(&self, line: &[u8]) -> Option<Action> {
        let id = value_at(line, &REQUEST)?;
        let number =
            self.questions.iter().find(|(_, question)| **question == id).map(|(number, _)| *number)?;
        let message = replaced(line, &REQUEST, &quoted(REAL, number));
        Some(Action::Send { during: None, message })
    }

    /// If only one request is open, it is said during that.
    fn said_to_nobody(&self, line: &[u8]) -> Option<Action> {
        let mut open = self.waiting.values().filter(|waiting| !waiting.is_subscription);
        let during = match (open.next(), open.next()) {
            (Some(only), None) => Some(only.request),
            _ if self.clients == Clients::Many => return None,
            _ => None,
        };
        Some(Action::Send { during, message: line.to_vec() })
    }

    /// It has answered `initialize`.
    fn is_ready(&mut self) {
        let State::Greeted(running, queue) = &mut self.state else { return };
        let (running, queue) = (Arc::clone(running), std::mem::take(queue));
        running.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec());
        for message in queue {
            running.send(message);
        }
        self.state = State::Ready(running);
    }

    fn gone(&mut self) -> Vec<Action> {
        self.end("it has gone");
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().flat_map(|waiting| self.cannot_answer(waiting)).collect()
    }

    /// What becomes of a request that it can't be asked.
    fn cannot_answer(&self, waiting: Waiting) -> [Action; 2] {
        let reason = if let State::Gone(reason) = &self.state { reason } else { "it takes no more input" };
        let miss = Miss { unasked: Some(reason.to_owned()), ..*waiting.miss };
        missed_after_all(waiting.request, &waiting.id, Box::new(miss), &mut lock(&self.tally))
    }

    fn end(&mut self, reason: &str) {
        match std::mem::replace(&mut self.state, State::Gone(reason.to_owned())) {
            State::Greeted(running, _) | State::Ready(running) => self.servers.end_one(running),
            State::NotStarted => {}
            gone @ State::Gone(_) => self.state = gone,
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        self.end("its client has gone");
    }
}

fn failure(id: &[u8], error: &serde_json::Value) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat()
}

/// An id or a token, as JSON.
fn quoted(prefix: &str, number: u64) -> Vec<u8> {
    format!("\"{prefix}{number}\"").into_bytes()
}

/// The number in an id or a token of ours.
fn number_in(text: &str) -> Option<u64> {
    text.strip_prefix(OURS)?.parse().ok()
}

fn value_at<'m>(message: &'m [u8], path: &[&str]) -> Option<&'m [u8]> {
    Some(Value::parse(message).ok()?.at_path(path)?.raw)
}
