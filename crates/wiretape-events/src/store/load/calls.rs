//! Requests with their answers, where no HTTP exchanges carry them: over stdio, and in imported traces.
//! Pairing is left to `Reading`; this turns the closed calls into rows.

use super::timeline::Tick;
use crate::event::EventId;
use crate::observe::{Change, Snapshot, Snapshots, Verdict, stateless_client, subject};
use crate::store::row::{
    CallRow, Kind, Operation, Row, RowSource, SchemaRow, SessionKey, SessionRow, Transport,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use wiretape_analyze::call::Call;
use wiretape_analyze::definitions::{Page, cursor};
use wiretape_analyze::reading::{Analysis, Closed, LineView, Meaning, Reading, RecordingState, Seen};
use wiretape_analyze::summary::Crashes;
use wiretape_trace::format::Line;
use wiretape_trace::message::{Direction, Envelope};
use wiretape_trace::protocol::{Peer, handshake_version, method, request_version};

/// The calls of a recording.
#[derive(Debug, Default)]
pub(super) struct Calls {
    reading: Reading<CallRows>,
}

/// The analysis that turns calls into rows.
#[derive(Debug, Default)]
struct CallRows {
    context: RecordingContext,
    /// The sessions whose client has introduced itself.
    introduced: BTreeSet<Arc<str>>,
    /// All sessions so far, which end with the recording.
    sessions: BTreeSet<Arc<str>>,
    crashes: Crashes,
    known: Vec<Snapshot>,
    snapshots: Option<Snapshots>,
    rows: Vec<Row>,
}

/// What the calls of a recording have in common, and the time of the current line.
#[derive(Debug, Clone, Default)]
pub(super) struct RecordingContext {
    pub(super) server: Arc<str>,
    pub(super) transport: Transport,
    pub(super) trace: Option<Arc<str>>,
    /// The name of a session where the trace names none.
    pub(super) grouping: Arc<str>,
    pub(super) now: Tick,
}

/// What is kept of a request until it is answered. Small, because many requests may be open.
#[derive(Debug, Default)]
pub(super) struct RequestFacts {
    time: i64,
    introduction: Option<Box<Introduction>>,
    /// The list's cursor, if this asks for a further page.
    cursor: Option<Box<str>>,
    /// The resource or prompt it is about.
    subject: Option<Box<str>>,
}

/// How client and server introduced themselves.
#[derive(Debug, Clone, Default)]
struct Introduction {
    client: Peer,
    server: Peer,
    protocol_version: Option<Arc<str>>,
}

impl Introduction {
    fn of_initialize(params: &[u8]) -> Self {
        // The requested revision, until the answer has the one that the server chose.
        let protocol_version = handshake_version(params).map(Into::into);
        Introduction {
            client: Peer::client(params).unwrap_or_default(),
            server: Peer::default(),
            protocol_version,
        }
    }

    /// In the stateless revision, each request introduces the client.
    fn of_meta(params: &[u8]) -> Option<Self> {
        let protocol_version = request_version(params).map(Into::into);
        Some(Introduction { client: stateless_client(params)?, server: Peer::default(), protocol_version })
    }

    fn add_server(&mut self, result: &[u8]) {
        self.server = Peer::server(result).unwrap_or_default();
        // The server chooses the revision.
        self.protocol_version = handshake_version(result).map(Into::into).or(self.protocol_version.take());
    }
}

impl Calls {
    /// Sets the last known lists of the server, which new ones are compared with.
    pub(super) fn set_known(&mut self, known: Vec<Snapshot>) {
        self.reading.analysis_mut().known = known;
    }

    /// Reads the next line, and appends the rows that it completes.
    pub(super) fn line(&mut self, line: &Line<'_>, context: RecordingContext, rows: &mut Vec<Row>) {
        self.reading.analysis_mut().context = context;
        self.reading.observe(line);
        rows.append(&mut self.reading.analysis_mut().rows);
    }

    /// Ends the recording, and with it all sessions.
    pub(super) fn end(&mut self, context: RecordingContext, rows: &mut Vec<Row>) {
        self.finish(context, rows);
        let CallRows { sessions, context, crashes, .. } = self.reading.analysis_mut();
        let cause = crashes.found().last().map(|crash| crash.cause().into_boxed_str());
        for id in std::mem::take(sessions) {
            let session = SessionKey { server: Arc::clone(&context.server), id };
            rows.push(Row::SessionEnd { session, time: context.now.wall_ms, crash: cause.clone() });
        }
    }

    /// Closes open requests as unanswered. Sessions stay open, because their end wasn't seen.
    pub(super) fn finish(&mut self, context: RecordingContext, rows: &mut Vec<Row>) {
        self.reading.analysis_mut().context = context;
        self.reading.end_recording(RecordingState::Over);
        rows.append(&mut self.reading.analysis_mut().rows);
    }
}

impl Analysis for CallRows {
    type PerCall = RequestFacts;

    fn begin_line(&mut self, line: &LineView<'_, '_>) {
        self.crashes.begin_line(line);
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut RequestFacts>) {
        let (Meaning::Request { .. }, Some(facts)) = (seen.meaning, own) else { return };
        // Only the client's requests are calls in the store; requests of the server are not.
        if seen.direction == Some(Direction::ClientToServer) {
            let envelope = seen.envelope;
            let is_list = envelope.method.as_deref().is_some_and(|method| method.ends_with("/list"));
            facts.cursor = envelope.params.filter(|_| is_list).and_then(cursor).map(String::into_boxed_str);
            facts.introduction = self.introduction(envelope).map(Box::new);
            facts.subject = subject(envelope).map(String::into_boxed_str);
            facts.time = self.context.now.wall_ms;
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, mut facts: RequestFacts) {
        let call = closed.call;
        if call.direction != Direction::ClientToServer {
            return;
        }
        let session = call.session.clone().unwrap_or_else(|| Arc::clone(&self.context.grouping));
        if let Some(result) = closed.answer.and_then(|answer| answer.result) {
            if &*call.method == method::INITIALIZE {
                facts.introduction.get_or_insert_default().add_server(result);
            } else if let Some(introduction) = &mut facts.introduction {
                introduction.server = Peer::server(result).unwrap_or_default();
            }
            let cursor = facts.cursor.take().map(String::from);
            if let Some(listed) = Page::of(&call.method, || cursor, result) {
                self.listed(&session, &listed);
            }
        }
        self.row(call, session, facts, closed.answer);
    }
}

impl CallRows {
    /// Compares a page of a server's list with the last known one.
    fn listed(&mut self, session: &Arc<str>, listed: &Page<'_>) {
        let context = &self.context;
        let snapshots = self.snapshots.get_or_insert_with(|| Snapshots::new(std::mem::take(&mut self.known)));
        for Change { kind, items } in snapshots.observe(&context.server, session, listed) {
            self.rows.push(Row::Schema(SchemaRow {
                time: context.now.wall_ms,
                server: Arc::clone(&context.server),
                method: listed.kind.method(),
                session: Some(Arc::clone(session)),
                change: kind,
                items,
            }));
        }
    }

    /// How a request introduces the client. Only searched until one has: parsing `_meta` of each request
    /// would cost more than the rest.
    fn introduction(&self, envelope: &Envelope<'_>) -> Option<Introduction> {
        let params = envelope.params?;
        match envelope.method.as_deref() {
            Some(method::INITIALIZE) => Some(Introduction::of_initialize(params)),
            _ if self.introduced.is_empty() => Introduction::of_meta(params),
            _ => None,
        }
    }

    fn row(&mut self, call: &Call, session: Arc<str>, facts: RequestFacts, answer: Option<&Envelope<'_>>) {
        let context = &self.context;
        let session = SessionKey { server: Arc::clone(&context.server), id: session };
        // 0 if the request was not seen, because the trace began after it.
        let time = if facts.time == 0 { context.now.wall_ms } else { facts.time };
        self.sessions.insert(Arc::clone(&session.id));
        let row = CallRow {
            time,
            operation: Operation {
                server: Arc::clone(&context.server),
                listener: None,
                transport: context.transport,
                kind: Kind::Mcp,
                method: Arc::clone(&call.method),
                tool: call.tool.clone(),
            },
            session: Some(session.clone()),
            trace: context.trace.clone(),
            status: call.outcome,
            latency_us: call.duration_us,
            exchange_us: call.duration_us,
            upstream_us: None,
            first_byte_us: None,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes.unwrap_or(0),
            http_status: call.http_status,
            error_code: call.error_code,
            error_message: answer.and_then(|answer| Verdict::of(answer).error_message),
            request_id: call.id.as_ref().map_or_else(String::new, |id| id.text().to_owned()),
            path: None,
            subject: facts.subject.map(String::from),
            event: context.trace.as_deref().map(|trace| EventId::of_call(trace, call.number)),
            source: RowSource::Trace,
        };
        if let Some(introduction) = facts.introduction {
            self.introduce(&session, time, *introduction);
        }
        self.rows.push(Row::Call(Box::new(row)));
    }

    fn introduce(&mut self, key: &SessionKey, started: i64, introduction: Introduction) {
        self.introduced.insert(Arc::clone(&key.id));
        self.rows.push(Row::Session(Box::new(SessionRow {
            key: key.clone(),
            started,
            listener: None,
            transport: self.context.transport,
            client_name: introduction.client.name,
            client_version: introduction.client.version,
            client_platform: introduction.client.platform,
            protocol_version: introduction.protocol_version,
            server_name: introduction.server.name,
            server_version: introduction.server.version,
            trace: self.context.trace.clone(),
        })));
    }
}
