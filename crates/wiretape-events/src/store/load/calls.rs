//! Requests with their answers, where no exchanges of HTTP carry them: over pipes, and in what other programs wrote.

use super::timeline::Tick;
use crate::event::Status;
use crate::observe::{
    Change, Program, Snapshot, Snapshots, Verdict, agreed_version, stateless_version, subject,
};
use crate::store::row::{CallRow, Kind, Operation, Row, SchemaRow, SessionKey, SessionRow, Transport};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use wiretape_analyze::call::{Call, CallTracker, Observed, Outcome};
use wiretape_analyze::definitions::{Page, cursor};
use wiretape_trace::format::{Message, Meta};
use wiretape_trace::message::{Direction, Envelope};

/// The calls of a recording.
#[derive(Debug, Default)]
pub(super) struct Calls {
    tracker: CallTracker,
    /// The client's requests that have no answer yet, and what the tracker does not keep of them.
    open: HashMap<u64, Asked>,
    /// The sessions whose client is known.
    introduced: BTreeSet<Arc<str>>,
    /// The sessions that have been heard of.
    sessions: BTreeSet<Arc<str>>,
    snapshots: Option<Snapshots>,
}

/// What the calls of a recording have in common, and where their rows go.
pub(super) struct Surroundings<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) transport: Transport,
    pub(super) trace: Option<&'a Arc<str>>,
    /// What stands for a session where none is named.
    pub(super) grouping: &'a Arc<str>,
    /// What servers offered before; whoever needs it first takes it.
    pub(super) known: &'a mut Vec<Snapshot>,
    pub(super) now: Tick,
    pub(super) rows: &'a mut Vec<Row>,
}

/// What is kept of a request until it is answered.
#[derive(Debug, Clone, Default)]
struct Asked {
    time: i64,
    session: Option<Arc<str>>,
    hello: Option<Hello>,
    /// Where in a list it begins to read.
    cursor: Option<String>,
    /// The resource or prompt that it is for.
    subject: Option<String>,
}

/// What client and server say of themselves.
#[derive(Debug, Clone, Default)]
struct Hello {
    client: Program,
    server: Program,
    protocol_version: Option<Arc<str>>,
}

impl Hello {
    fn of_initialize(params: &[u8]) -> Self {
        // What is asked for counts until there is an answer.
        let protocol_version = agreed_version(params);
        Hello { client: Program::client(params), server: Program::default(), protocol_version }
    }

    /// In revisions without `initialize` each request says it.
    fn of_meta(params: &[u8]) -> Option<Self> {
        let client = Program::stateless_client(params)?;
        Some(Hello { client, server: Program::default(), protocol_version: stateless_version(params) })
    }

    fn hear_server(&mut self, result: &[u8]) {
        self.server = Program::server(result);
        // What the server says is what was agreed on.
        self.protocol_version = agreed_version(result).or(self.protocol_version.take());
    }
}

impl Calls {
    /// Says where the messages come from; to be called before they are told.
    pub(super) fn meta(&mut self, meta: &Meta) {
        self.tracker.observe_meta(meta);
    }

    /// A message.
    pub(super) fn message(&mut self, line: u64, message: &Message<'_>, around: &mut Surroundings<'_>) {
        let session: Option<Arc<str>> = message.session.as_deref().map(Arc::from);
        let mut seen = Vec::new();
        self.tracker.observe_message(line, message, |_, envelope, observed| seen.push((envelope, observed)));
        for (envelope, observed) in seen {
            match (message.dir.known(), observed) {
                (Some(Direction::ClientToServer), Observed::Request { number, abandoned }) => {
                    self.asked(number, session.clone(), &envelope, abandoned.as_deref(), around);
                }
                (Some(Direction::ServerToClient), Observed::Answer(call)) => {
                    self.answered(session.clone(), &envelope, &call, around);
                }
                _ => {}
            }
        }
    }

    fn asked(
        &mut self,
        number: u64,
        session: Option<Arc<str>>,
        envelope: &Envelope<'_>,
        abandoned: Option<&Call>,
        around: &mut Surroundings<'_>,
    ) {
        let is_list = envelope.method.as_deref().is_some_and(|method| method.ends_with("/list"));
        let cursor = envelope.params.filter(|_| is_list).and_then(cursor);
        let time = around.now.wall_ms;
        let asked = Asked { time, session, hello: self.hello(envelope), cursor, subject: subject(envelope) };
        self.open.insert(number, asked);
        if let Some(call) = abandoned
            && let Some(asked) = self.open.remove(&call.number)
        {
            self.unanswered(call, asked, around);
        }
    }

    fn answered(
        &mut self,
        session: Option<Arc<str>>,
        envelope: &Envelope<'_>,
        call: &Call,
        around: &mut Surroundings<'_>,
    ) {
        let Some(mut asked) = self.open.remove(&call.number) else { return };
        asked.session = asked.session.or(session);
        if let Some(result) = envelope.result {
            if call.method == "initialize" {
                asked.hello.get_or_insert_default().hear_server(result);
            }
            let cursor = asked.cursor.take();
            if let Some(listed) = Page::of(&call.method, || cursor, result) {
                self.listed(asked.session.clone(), &listed, around);
            }
        }
        self.ended(call, asked, Verdict::of(envelope), around);
    }

    /// A page of a server's list was seen.
    fn listed(&mut self, session: Option<Arc<str>>, listed: &Page<'_>, around: &mut Surroundings<'_>) {
        let session = session.unwrap_or_else(|| Arc::clone(around.grouping));
        let snapshots = self.snapshots.get_or_insert_with(|| Snapshots::new(std::mem::take(around.known)));
        for Change { kind, items } in snapshots.observe(around.server, &session, listed) {
            around.rows.push(Row::Schema(SchemaRow {
                time: around.now.wall_ms,
                server: Arc::clone(around.server),
                method: listed.kind.method(),
                session: Some(Arc::clone(&session)),
                change: kind,
                items,
            }));
        }
    }

    /// What a request says of the client; looked for until it is known.
    fn hello(&self, envelope: &Envelope<'_>) -> Option<Hello> {
        let params = envelope.params?;
        match envelope.method.as_deref() {
            Some("initialize") => Some(Hello::of_initialize(params)),
            _ if self.introduced.is_empty() => Hello::of_meta(params),
            _ => None,
        }
    }

    /// There will be no answer.
    fn unanswered(&mut self, call: &Call, asked: Asked, around: &mut Surroundings<'_>) {
        let status = match call.outcome {
            Outcome::Cancelled => Status::Cancelled,
            Outcome::TimedOut => Status::Timeout,
            _ => Status::Disconnected,
        };
        self.ended(call, asked, Verdict { status, error_code: None, error_message: None }, around);
    }

    /// A call has come to its end.
    fn ended(&mut self, call: &Call, asked: Asked, verdict: Verdict, around: &mut Surroundings<'_>) {
        let session = SessionKey {
            server: Arc::clone(around.server),
            id: asked.session.unwrap_or_else(|| Arc::clone(around.grouping)),
        };
        if let Some(hello) = asked.hello {
            self.introduce(&session, asked.time, hello, around);
        }
        self.sessions.insert(Arc::clone(&session.id));
        around.rows.push(Row::Call(Box::new(CallRow {
            time: asked.time,
            operation: Operation {
                server: Arc::clone(around.server),
                listener: None,
                transport: around.transport,
                kind: Kind::Mcp,
                method: Arc::from(call.method.as_str()),
                tool: call.tool.as_deref().map(Arc::from),
            },
            session: Some(session),
            trace: around.trace.cloned(),
            status: verdict.status,
            latency_us: call.latency_us,
            upstream_us: None,
            first_byte_us: None,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes.unwrap_or(0),
            http_status: None,
            error_code: verdict.error_code,
            error_message: verdict.error_message,
            request_id: call.id.as_ref().map_or_else(String::new, |id| id.text().to_owned()),
            path: None,
            subject: asked.subject,
            event: None,
        })));
    }

    fn introduce(&mut self, key: &SessionKey, started: i64, hello: Hello, around: &mut Surroundings<'_>) {
        self.introduced.insert(Arc::clone(&key.id));
        around.rows.push(Row::Session(Box::new(SessionRow {
            key: key.clone(),
            started,
            listener: None,
            transport: around.transport,
            client_name: hello.client.name,
            client_version: hello.client.version,
            client_platform: hello.client.platform,
            protocol_version: hello.protocol_version,
            server_name: hello.server.name,
            server_version: hello.server.version,
            trace: around.trace.cloned(),
        })));
    }

    /// The recording has come to its end, and with it all sessions.
    pub(super) fn end(&mut self, around: &mut Surroundings<'_>) {
        self.finish(around);
        for id in std::mem::take(&mut self.sessions) {
            let session = SessionKey { server: Arc::clone(around.server), id };
            around.rows.push(Row::SessionEnd { session, time: around.now.wall_ms });
        }
    }

    /// What is open stays unanswered.
    pub(super) fn finish(&mut self, around: &mut Surroundings<'_>) {
        for call in std::mem::take(&mut self.tracker).finish() {
            if call.direction == Direction::ClientToServer
                && let Some(asked) = self.open.remove(&call.number)
            {
                self.unanswered(&call, asked, around);
            }
        }
    }
}
