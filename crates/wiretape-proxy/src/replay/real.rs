//! The real server that is asked what was not recorded, and the trace of what it said.
//!
//! It is started when it is needed first, and told the client's own `initialize`. Its requests to the client pass under ids
//! that nobody else uses.

use crate::journal::Clock;
use crate::platform::{self, Process, Spawned, StderrMode};
use crate::record::meta;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::ChildStdin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_analyze::replay::{id_of, with_id};
use wiretape_trace::format::{LineEnd, TraceWriter};
use wiretape_trace::framing::LineFramer;
use wiretape_trace::message::{Direction, Envelope, MessageKind};
use wiretape_trace::redact::Redactor;

/// What the ids of the real server's requests begin with, on their way to the client.
const REAL: &str = "wiretape-real-";

/// How long the real server may take to end when its input has ended.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// Something that the real server did.
#[derive(Debug)]
pub(super) enum RealEvent {
    /// It said something.
    Line(Vec<u8>),
    /// It has gone.
    Ended,
}

pub(super) type Report = Arc<dyn Fn(RealEvent) + Send + Sync>;

/// The real server.
pub struct RealServer {
    command: Vec<OsString>,
    record: Option<Recording>,
    report: Report,
    initialize: Option<Vec<u8>>,
    state: State,
    asked: u64,
    /// The clients' ids of what was asked, by ours.
    waiting: HashMap<u64, Vec<u8>>,
    /// The ids of its questions, by those under which the client knows them.
    questions: HashMap<u64, Vec<u8>>,
}

impl std::fmt::Debug for RealServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RealServer").field("command", &self.command).finish_non_exhaustive()
    }
}

enum State {
    NotStarted,
    /// It has been told `initialize`; what waits for its answer.
    Greeted(Running, Vec<Vec<u8>>),
    Ready(Running),
    Gone(String),
}

struct Running {
    process: Process,
    stdin: ChildStdin,
}

impl RealServer {
    /// A server that is started by this command when it is needed. What it says is recorded in `record`, without secrets if
    /// there is a redactor.
    pub fn new(
        command: Vec<OsString>,
        record: Option<&Path>,
        redactor: Option<Redactor>,
    ) -> io::Result<Self> {
        let record = record.map(|path| Recording::begin(path, &command, redactor)).transpose()?;
        Ok(RealServer {
            command,
            record,
            report: Arc::new(|_| ()),
            initialize: None,
            state: State::NotStarted,
            asked: 0,
            waiting: HashMap::new(),
            questions: HashMap::new(),
        })
    }

    pub(super) fn report_to(&mut self, report: Report) {
        self.report = report;
    }

    /// Listens to what the client says. Whether it was meant for the real server alone.
    pub(super) fn hear(&mut self, line: &[u8]) -> bool {
        let envelope = Envelope::scan(line);
        if envelope.method.as_deref() == Some("initialize") {
            self.initialize = Some(line.to_vec());
        }
        let number = envelope.id.as_ref().and_then(|id| id.text().strip_prefix(REAL)?.parse::<u64>().ok());
        let question = number.filter(|_| envelope.kind == MessageKind::Response);
        let Some(id) = question.and_then(|number| self.questions.remove(&number)) else { return false };
        self.send(&with_id(line, &id));
        true
    }

    /// Asks it something. If it can't be asked, the answer says so.
    pub(super) fn ask(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        self.asked += 1;
        let id = id_of(message).unwrap_or(b"null").to_vec();
        let question = with_id(message, format!("\"wiretape-{}\"", self.asked).as_bytes());
        self.waiting.insert(self.asked, id);
        if let State::NotStarted = self.state {
            self.start();
        }
        if let State::Greeted(_, queue) = &mut self.state {
            queue.push(question);
            return None;
        }
        if self.send(&question) {
            return None;
        }
        let id = self.waiting.remove(&self.asked)?;
        Some(self.cannot_answer(&id))
    }

    fn start(&mut self) {
        let spawned = match Process::spawn(&self.command, StderrMode::Inherited) {
            Ok(spawned) => spawned,
            Err(error) => {
                self.state = State::Gone(format!("it can't be started: {error}"));
                return;
            }
        };
        let Spawned { process, stdin, stdout, .. } = spawned;
        read_lines(stdout, Arc::clone(&self.report));
        self.state = State::Ready(Running { process, stdin });
        if let Some(initialize) = self.initialize.clone() {
            self.send(&with_id(&initialize, b"\"wiretape-0\""));
            if let State::Ready(running) = std::mem::replace(&mut self.state, State::NotStarted) {
                self.state = State::Greeted(running, Vec::new());
            }
        }
    }

    /// Sends it a message; whether that could be.
    fn send(&mut self, message: &[u8]) -> bool {
        let (State::Greeted(running, _) | State::Ready(running)) = &mut self.state else { return false };
        if let Some(record) = &mut self.record {
            record.message(Direction::ClientToServer, message);
        }
        let sent = running.stdin.write_all(message).and_then(|()| running.stdin.write_all(b"\n"));
        sent.and_then(|()| running.stdin.flush()).is_ok()
    }

    /// Takes what it did. Returns what the client is to be told.
    pub(super) fn take(&mut self, event: RealEvent) -> Vec<Vec<u8>> {
        match event {
            RealEvent::Line(line) => self.said(&line).into_iter().collect(),
            RealEvent::Ended => self.gone(),
        }
    }

    fn said(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        if let Some(record) = &mut self.record {
            record.message(Direction::ServerToClient, line);
        }
        let envelope = Envelope::scan(line);
        match envelope.kind {
            MessageKind::Response => {
                let number = envelope.id.as_ref()?.text().strip_prefix("wiretape-")?.parse().ok()?;
                if number == 0 {
                    self.is_ready();
                    return None;
                }
                let id = self.waiting.remove(&number)?;
                Some(with_id(line, &id))
            }
            MessageKind::Request => {
                let number = self.questions.len() as u64 + self.asked * 1000;
                self.questions.insert(number, id_of(line)?.to_vec());
                Some(with_id(line, format!("\"{REAL}{number}\"").as_bytes()))
            }
            MessageKind::Notification => Some(line.to_vec()),
            MessageKind::Batch | MessageKind::NotJsonRpc => None,
        }
    }

    /// It has answered `initialize`.
    fn is_ready(&mut self) {
        let State::Greeted(running, queue) = std::mem::replace(&mut self.state, State::NotStarted) else {
            return;
        };
        self.state = State::Ready(running);
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for message in queue {
            self.send(&message);
        }
    }

    fn gone(&mut self) -> Vec<Vec<u8>> {
        self.end("it has gone");
        let mut waiting: Vec<(u64, Vec<u8>)> = self.waiting.drain().collect();
        waiting.sort();
        waiting.iter().map(|(_, id)| self.cannot_answer(id)).collect()
    }

    fn cannot_answer(&self, id: &[u8]) -> Vec<u8> {
        let reason = if let State::Gone(reason) = &self.state { reason } else { "it takes no more input" };
        let message = format!("wiretape: the real server can't be asked: {reason}");
        let error =
            serde_json::json!({ "code": -32000, "message": message, "data": { "source": "wiretape" } });
        [br#"{"jsonrpc":"2.0","id":"#, id, br#","error":"#, error.to_string().as_bytes(), b"}"].concat()
    }

    /// Lets it end, or ends it.
    fn end(&mut self, reason: &str) {
        let state = std::mem::replace(&mut self.state, State::Gone(reason.to_owned()));
        let (State::Greeted(running, _) | State::Ready(running)) = state else {
            if let State::Gone(_) = state {
                self.state = state;
            }
            return;
        };
        drop(running.stdin);
        let (sender, ended) = std::sync::mpsc::channel();
        let process = Arc::new(running.process);
        let waiting = Arc::clone(&process);
        std::thread::spawn(move || drop(sender.send(waiting.wait())));
        let _ = ended.recv_timeout(LAST_MOMENT);
        process.end_group();
    }
}

impl Drop for RealServer {
    fn drop(&mut self) {
        self.end("wiretape has ended");
        if let Some(record) = self.record.take() {
            record.end();
        }
    }
}

fn read_lines(mut stdout: impl Read + Send + 'static, report: Report) {
    std::thread::spawn(move || {
        let mut framer = LineFramer::new();
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = stdout.read(&mut chunk) {
            framer.push(&chunk[..n]);
            while let Some(frame) = framer.next_frame() {
                report(RealEvent::Line(frame.bytes.to_vec()));
            }
        }
        report(RealEvent::Ended);
    });
}

/// The trace of what was new.
struct Recording {
    writer: TraceWriter<File>,
    redactor: Option<Redactor>,
    clock: Clock,
    began: Instant,
}

impl Recording {
    fn begin(path: &Path, command: &[OsString], redactor: Option<Redactor>) -> io::Result<Self> {
        let clock = Clock::start();
        let file = platform::create_private_file(path)?;
        let writer = TraceWriter::new(file, clock.now(), &meta(command, None, redactor.as_ref()))?;
        Ok(Recording { writer, redactor, clock, began: Instant::now() })
    }

    fn message(&mut self, dir: Direction, raw: &[u8]) {
        let clean = match &self.redactor {
            Some(redactor) => redactor.json(raw).unwrap_or_else(|_| redactor.text(raw)),
            None => Cow::Borrowed(raw),
        };
        // The client is answered all the same.
        let _ = self.writer.message(self.clock.now(), dir, &clean);
    }

    fn end(self) {
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let end = LineEnd { duration_ms, ..LineEnd::default() };
        let _ = self.writer.end(self.clock.now(), &end);
    }
}
