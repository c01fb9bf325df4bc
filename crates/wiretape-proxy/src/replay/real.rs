//! The real server that answers requests which were not recorded, and the recording of its answers.
//!
//! **Why this shape.** Each session has its own process, started at the first miss with the client's own `initialize`. The
//! process must not notice that it gets only some of the requests, and several clients without sessions may share it. So
//! requests get ids and progress tokens of ours on their way to it, and its own requests get ids with a prefix of ours on their
//! way to the client; every message is routed back by these.

use super::loaded_tape::LoadedTape;
use super::recording::Recordings;
use crate::child::{end_process, read_lines, write_lines};
use crate::new_trace::NewTrace;
use crate::platform::{Process, SpawnedServer, StderrMode};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use wiretape_analyze::replay::{Action, Miss, Notice, Tally, id_of, missed_after_all, replaced, with_id};
use wiretape_trace::message::{Direction, Envelope, MessageKind, payloads};
use wiretape_trace::redact::Redactor;
use wiretape_trace::value::Value;

/// The prefix of ids and progress tokens on their way to the real server.
const OURS: &str = "wiretape-";

/// The prefix of ids of the real server's requests on their way to the client.
const REAL: &str = "wiretape-real-";

const TOKEN: [&str; 3] = ["params", "_meta", "progressToken"];
const PROGRESS: [&str; 2] = ["params", "progressToken"];
const SUBSCRIPTION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/subscriptionId"];
const REQUEST: [&str; 2] = ["params", "requestId"];

/// An event of the real server.
#[derive(Debug)]
pub(super) enum RealEvent {
    /// The server sent a line.
    Line(Vec<u8>),
    /// The server's output has ended.
    Ended,
}

pub(super) type Report = Arc<dyn Fn(RealEvent) + Send + Sync>;

/// The clients of a real server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    /// One client, which can receive the server's own requests.
    One,
    /// All clients without a session. The server's own requests can't be routed to one of them, nor can notifications that
    /// belong to no request.
    Many,
}

/// The real servers of all clients.
#[derive(Debug)]
pub struct RealServers {
    command: Vec<OsString>,
    recordings: Option<Mutex<Recordings>>,
    /// Why the recording is incomplete.
    lost: Arc<Mutex<Option<String>>>,
    running: Mutex<Vec<Arc<RunningServer>>>,
    ending: Mutex<Vec<JoinHandle<()>>>,
}

impl RealServers {
    /// Servers that are started with this command on demand. The session with the first one is recorded in `record`, redacted if
    /// there is a redactor; those with further ones in files next to it.
    pub fn new(
        command: Vec<OsString>,
        record: Option<&Path>,
        redactor: Option<Redactor>,
    ) -> io::Result<Self> {
        // The file is created before anything is served: that it exists already must be known at the start.
        let recordings = record.map(|path| Recordings::begin(path, &command, redactor)).transpose()?;
        Ok(RealServers {
            command,
            recordings: recordings.map(Mutex::new),
            lost: Arc::default(),
            running: Mutex::default(),
            ending: Mutex::default(),
        })
    }

    /// A server for one client of a tape, or for all without a session.
    pub(super) fn server(self: &Arc<Self>, clients: Clients, loaded: &LoadedTape) -> RealServer {
        RealServer {
            servers: Arc::clone(self),
            clients,
            tally: loaded.shared_tally(),
            report: Arc::new(|_| ()),
            initialize: None,
            has_spoken: false,
            state: RealServerState::NotStarted,
            asked: 0,
            waiting: BTreeMap::new(),
            questioned: 0,
            questions: HashMap::new(),
        }
    }

    /// Ends all servers and waits until they have exited.
    pub fn end(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        running.into_iter().for_each(|running| self.end_one(running));
        let ending = std::mem::take(&mut *self.ending.lock());
        for ending in ending {
            // The panic hook has reported a panic; the others still have to be joined.
            let _ = ending.join();
        }
        if let Some(recordings) = &self.recordings
            && let Err(error) = recordings.lock().end()
        {
            RecordingState::failed(&error, &self.lost);
        }
    }

    /// Why the recording is incomplete, if it is.
    pub fn lost(&self) -> Option<String> {
        self.lost.lock().clone()
    }

    fn start(&self, report: Report) -> io::Result<Arc<RunningServer>> {
        let SpawnedServer { process, stdin, stdout, .. } =
            Process::spawn(&self.command, StderrMode::Inherited)?;
        let recording = self.recordings.as_ref().map(|recordings| recordings.lock().next());
        let recording = match recording {
            None => RecordingState::Off,
            Some(Ok(trace)) => RecordingState::Recorded(Box::new(trace)),
            Some(Err(error)) => RecordingState::failed(&error, &self.lost),
        };
        let (input, lines) = channel();
        let ended = Arc::clone(&report);
        write_lines(stdin, lines, move || ended(RealEvent::Ended));
        // The end of its output is an event like a line, so that a request in flight gets an error instead of no
        // response.
        read_lines(stdout, move |line| report(line.map_or(RealEvent::Ended, RealEvent::Line)));
        let running = Arc::new(RunningServer {
            process: Mutex::new(Some(process)),
            input: Mutex::new(Some(input)),
            recording: Mutex::new(recording),
            lost: Arc::clone(&self.lost),
        });
        self.running.lock().push(Arc::clone(&running));
        Ok(running)
    }

    /// Ends a server without waiting for it.
    fn end_one(&self, running: Arc<RunningServer>) {
        // On a thread of its own, because a server may take seconds to exit and the session's lock is held here.
        self.running.lock().retain(|other| !Arc::ptr_eq(other, &running));
        let mut ending = self.ending.lock();
        ending.retain(|ending| !ending.is_finished());
        ending.push(std::thread::spawn(move || running.end()));
    }
}

/// The process of a real server, and its recording.
#[derive(Debug)]
struct RunningServer {
    process: Mutex<Option<Process>>,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    recording: Mutex<RecordingState>,
    lost: Arc<Mutex<Option<String>>>,
}

/// The state of a server's recording.
#[derive(Debug)]
enum RecordingState {
    Off,
    Recorded(Box<NewTrace>),
    /// Writing has failed, and the user must be notified.
    Failed(Notice),
}

impl RecordingState {
    fn failed(error: &io::Error, lost: &Mutex<Option<String>>) -> Self {
        let reason = error.to_string();
        // The first reason is the cause; later ones usually follow from it.
        lost.lock().get_or_insert_with(|| reason.clone());
        RecordingState::Failed(Notice::NotRecorded { reason })
    }
}

impl RunningServer {
    /// Records and sends a message. `false` if the server's input is closed.
    fn send(&self, mut message: Vec<u8>) -> bool {
        let input = self.input.lock();
        let Some(input) = input.as_ref() else { return false };
        // On stdio a message is one line. Unescaped line breaks in JSON can only be white space.
        message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        self.record(Direction::ClientToServer, &message);
        input.send(message).is_ok()
    }

    fn record(&self, dir: Direction, message: &[u8]) {
        let mut recording = self.recording.lock();
        if let RecordingState::Recorded(journal) = &mut *recording
            && let Err(error) = journal.write_message(dir, message)
        {
            // The client still gets its answer. Nothing may follow a line that was only partly written.
            *recording = RecordingState::failed(&error, &self.lost);
        }
    }

    /// The notice about a failed recording, once.
    fn failure(&self) -> Option<Notice> {
        let mut recording = self.recording.lock();
        match std::mem::replace(&mut *recording, RecordingState::Off) {
            RecordingState::Failed(notice) => Some(notice),
            other => {
                *recording = other;
                None
            }
        }
    }

    /// Closes the server's input, waits for its exit or terminates it, and ends the recording.
    fn end(&self) {
        // Closing stdin is how a stdio server is asked to stop (2025-11-25, lifecycle, shutdown); a signal comes only
        // after that.
        drop(self.input.lock().take());
        let process = self.process.lock().take();
        let exit = process.and_then(|process| end_process(process).exit());
        let recording = std::mem::replace(&mut *self.recording.lock(), RecordingState::Off);
        if let RecordingState::Recorded(recording) = recording
            && let Err(error) = recording.end(exit)
        {
            RecordingState::failed(&error, &self.lost);
        }
    }
}

/// The real server of one client, or of all clients without a session.
pub(super) struct RealServer {
    servers: Arc<RealServers>,
    clients: Clients,
    tally: Arc<Mutex<Tally>>,
    report: Report,
    initialize: Option<Vec<u8>>,
    /// Whether it has sent a message.
    has_spoken: bool,
    state: RealServerState,
    asked: u64,
    /// The requests that it has not answered yet, by our numbers.
    waiting: BTreeMap<u64, ForwardedRequest>,
    questioned: u64,
    /// The ids of its own requests, by the number under which the client knows them.
    questions: HashMap<u64, Vec<u8>>,
}

/// The state of the server's process.
enum RealServerState {
    NotStarted,
    /// `initialize` was sent; the messages wait for its answer.
    Greeted(Arc<RunningServer>, Vec<Vec<u8>>),
    Ready(Arc<RunningServer>),
    Gone(String),
}

/// A request that was forwarded to the server.
struct ForwardedRequest {
    /// The player's number of the request.
    request: u64,
    /// The client's id, and its progress token.
    id: Vec<u8>,
    token: Option<Vec<u8>>,
    /// Whether it is a subscription, which stays open.
    is_subscription: bool,
    /// The miss that caused it.
    miss: Box<Miss>,
}

impl RealServer {
    pub(super) fn report_to(&mut self, report: Report) {
        self.report = report;
    }

    /// Observes a message of the client. Returns whether it was for the real server alone.
    pub(super) fn observe_client(&mut self, message: &[u8], actions: &mut Vec<Action>) -> bool {
        let envelope = Envelope::scan(message);
        match (envelope.kind, envelope.method.as_deref()) {
            (_, Some("initialize")) => {
                // Kept for a server that is started later, at the first miss.
                self.initialize = Some(message.to_vec());
                false
            }
            (MessageKind::Response, _) => self.forward_reply(message, &envelope),
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

    fn forward_reply(&mut self, message: &[u8], envelope: &Envelope<'_>) -> bool {
        let number = envelope.id.as_ref().and_then(|id| id.text().strip_prefix(REAL)?.parse::<u64>().ok());
        let Some(id) = number.and_then(|number| self.questions.remove(&number)) else { return false };
        self.send(with_id(message, &id));
        true
    }

    /// Whether it was started and has not sent a message yet.
    pub(super) fn is_starting(&self) -> bool {
        matches!(self.state, RealServerState::Greeted(..) | RealServerState::Ready(_)) && !self.has_spoken
    }

    /// Whether it has unanswered requests.
    pub(super) fn has_pending(&self) -> bool {
        self.waiting.values().any(|waiting| !waiting.is_subscription)
    }

    /// The forwarded request with this id of the client.
    fn waits_for(&self, id: &[u8]) -> Option<u64> {
        self.waiting.values().find(|waiting| waiting.id == id).map(|waiting| waiting.request)
    }

    /// Forwards the client's cancellation of a request to the real server.
    pub(super) fn cancel(&mut self, request: u64) {
        let number = self.waiting.iter().find(|(_, waiting)| waiting.request == request);
        let Some(number) = number.map(|(number, _)| *number) else { return };
        self.waiting.remove(&number);
        let params = serde_json::json!({ "requestId": format!("{OURS}{number}") });
        let notification =
            serde_json::json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.send_when_ready(notification.to_string().into_bytes());
    }

    /// Forwards a request. If that fails, the returned actions report it to the client.
    pub(super) fn ask(&mut self, request: u64, message: &[u8], miss: Box<Miss>) -> Vec<Action> {
        self.asked += 1;
        // Several clients may share the process and use the same ids, so requests get ids of our own.
        let ours = quoted(OURS, self.asked);
        let waiting = ForwardedRequest {
            request,
            id: id_of(message).unwrap_or(b"null").to_vec(),
            token: value_at(message, &TOKEN).map(<[u8]>::to_vec),
            is_subscription: Envelope::scan(message).method.as_deref() == Some("subscriptions/listen"),
            miss,
        };
        let mut question = with_id(message, &ours);
        // Progress tokens have to be unique on a connection, too, for the same reason.
        if waiting.token.is_some() {
            question = replaced(&question, &TOKEN, &ours);
        }
        self.waiting.insert(self.asked, waiting);
        if let RealServerState::NotStarted = self.state {
            self.start();
        }
        if self.send_when_ready(question) {
            return Vec::new();
        }
        self.waiting.remove(&self.asked).map_or_else(Vec::new, |waiting| self.unanswerable(waiting).into())
    }

    fn start(&mut self) {
        let running = match self.servers.start(Arc::clone(&self.report)) {
            Ok(running) => running,
            Err(error) => {
                self.state = RealServerState::Gone(format!("it can't be started: {error}"));
                return;
            }
        };
        self.state = match &self.initialize {
            Some(initialize) => {
                running.send(with_id(initialize, &quoted(OURS, 0)));
                RealServerState::Greeted(running, Vec::new())
            }
            None => RealServerState::Ready(running),
        };
    }

    /// Sends a message after the handshake. `false` if the server can't get it.
    fn send_when_ready(&mut self, message: Vec<u8>) -> bool {
        match &mut self.state {
            // Only `ping` may be sent before `initialize` is answered (2024-11-05 to 2025-11-25, lifecycle).
            RealServerState::Greeted(_, queue) => {
                queue.push(message);
                true
            }
            _ => self.send(message),
        }
    }

    /// Sends a message now. `false` if the server can't get it.
    fn send(&self, message: Vec<u8>) -> bool {
        match &self.state {
            RealServerState::Greeted(running, _) | RealServerState::Ready(running) => running.send(message),
            RealServerState::NotStarted | RealServerState::Gone(_) => false,
        }
    }

    /// Handles an event of the server. Returns the actions for the client.
    pub(super) fn handle_event(&mut self, event: RealEvent) -> Vec<Action> {
        let mut actions = Vec::new();
        if let RealServerState::Greeted(running, _) | RealServerState::Ready(running) = &self.state {
            actions.extend(running.failure().map(Action::Notify));
        }
        match event {
            RealEvent::Line(line) => {
                self.record(&line);
                actions
                    .extend(payloads(&line).into_iter().filter_map(|payload| self.handle_message(payload)));
            }
            RealEvent::Ended => actions.extend(self.handle_exit()),
        }
        actions
    }

    fn record(&self, line: &[u8]) {
        if let RealServerState::Greeted(running, _) | RealServerState::Ready(running) = &self.state {
            running.record(Direction::ServerToClient, line);
        }
    }

    fn handle_message(&mut self, line: &[u8]) -> Option<Action> {
        let envelope = Envelope::scan(line);
        self.has_spoken |= envelope.kind != MessageKind::NotJsonRpc;
        match envelope.kind {
            MessageKind::Response => self.handle_answer(line, &envelope),
            MessageKind::Request => self.handle_request(line),
            MessageKind::Notification => self.handle_notification(line, &envelope),
            // Forwarding it would break the client, and there is no request that it answers.
            MessageKind::Batch | MessageKind::NotJsonRpc => None,
        }
    }

    fn handle_answer(&mut self, line: &[u8], envelope: &Envelope<'_>) -> Option<Action> {
        let number = number_in(envelope.id.as_ref()?.text())?;
        // 0 is our own `initialize`; the client has got its answer from the tape.
        if number == 0 {
            self.finish_handshake();
            return None;
        }
        let waiting = self.waiting.remove(&number)?;
        Some(Action::Answer { to: waiting.request, message: with_id(line, &waiting.id) })
    }

    /// Handles a request of the server.
    fn handle_request(&mut self, line: &[u8]) -> Option<Action> {
        let id = id_of(line)?.to_vec();
        if self.clients == Clients::Many {
            let error = serde_json::json!({ "code": -32601, "message": "wiretape: clients without a session can't receive requests" });
            self.send(failure(&id, &error));
            return None;
        }
        self.questioned += 1;
        self.questions.insert(self.questioned, id);
        let message = with_id(line, &quoted(REAL, self.questioned));
        // A request of the server doesn't send_between which call it belongs to; the newest is the best guess, as in analysis.
        let newest = self.waiting.values().rev().find(|waiting| !waiting.is_subscription);
        Some(Action::Send { during: newest.map(|waiting| waiting.request), message })
    }

    fn handle_notification(&self, line: &[u8], envelope: &Envelope<'_>) -> Option<Action> {
        let of = |path: &[&str]| -> Option<&ForwardedRequest> {
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
            // The request was already answered or cancelled.
            Some("notifications/progress") => None,
            Some("notifications/cancelled") => self.handle_cancellation(line),
            _ => self.route_unrelated(line),
        }
    }

    /// Handles the cancellation of one of the server's requests.
    fn handle_cancellation(&self, line: &[u8]) -> Option<Action> {
        let id = value_at(line, &REQUEST)?;
        let number =
            self.questions.iter().find(|(_, question)| **question == id).map(|(number, _)| *number)?;
        let message = replaced(line, &REQUEST, &quoted(REAL, number));
        Some(Action::Send { during: None, message })
    }

    /// Handles a notification that belongs to no request. If exactly one request is pending, it is sent on that one's stream.
    fn route_unrelated(&self, line: &[u8]) -> Option<Action> {
        let mut open = self.waiting.values().filter(|waiting| !waiting.is_subscription);
        let during = match (open.next(), open.next()) {
            (Some(only), None) => Some(only.request),
            _ if self.clients == Clients::Many => return None,
            _ => None,
        };
        Some(Action::Send { during, message: line.to_vec() })
    }

    /// Completes the handshake after the answer to `initialize`.
    fn finish_handshake(&mut self) {
        let RealServerState::Greeted(running, queue) = &mut self.state else { return };
        let (running, queue) = (Arc::clone(running), std::mem::take(queue));
        running.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec());
        for message in queue {
            running.send(message);
        }
        self.state = RealServerState::Ready(running);
    }

    fn handle_exit(&mut self) -> Vec<Action> {
        self.end("it has exited");
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().flat_map(|waiting| self.unanswerable(waiting)).collect()
    }

    /// The actions for a request that the server can't answer.
    fn unanswerable(&self, waiting: ForwardedRequest) -> [Action; 2] {
        let reason =
            if let RealServerState::Gone(reason) = &self.state { reason } else { "it has closed its input" };
        let miss = Miss { unasked: Some(reason.to_owned()), ..*waiting.miss };
        missed_after_all(waiting.request, &waiting.id, Box::new(miss), &mut self.tally.lock())
    }

    fn end(&mut self, reason: &str) {
        match std::mem::replace(&mut self.state, RealServerState::Gone(reason.to_owned())) {
            RealServerState::Greeted(running, _) | RealServerState::Ready(running) => {
                self.servers.end_one(running);
            }
            RealServerState::NotStarted => {}
            gone @ RealServerState::Gone(_) => self.state = gone,
        }
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        self.end("its client is gone");
    }
}

fn failure(id: &[u8], error: &serde_json::Value) -> Vec<u8> {
    [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat()
}

/// An id or a token of ours as JSON text.
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
