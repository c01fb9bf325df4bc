//! The store's sink: turns signals into rows. The batcher decides when they are written.

use super::batcher::{Batcher, now_ms};
use super::retention::Retention;
use super::row::{
    CallRow, Kind, Operation, Row, RowSource, SchemaRow, SessionKey, SessionRow, Transport, ViolationRow,
};
use crate::event::{
    Event, LoggedCall, LoggedRequest, LoggedResponse, RequestEvent, SchemaEvent, SessionEvent,
};
use crate::line::{Line, LineWhat};
use crate::observe::subject_of;
use crate::sink::{Signal, SignalBody, Sink, SinkError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Writes what a proxy reports to the store.
#[derive(Debug)]
pub struct StoreSink {
    batcher: Batcher,
}

impl StoreSink {
    /// A sink for the store at `path`, which is opened when the first rows are written.
    pub fn new(path: &Path, retention: Retention) -> Self {
        StoreSink { batcher: Batcher::new(path, retention) }
    }

    /// Opens the store now. An error is worth a warning, but the sink keeps working: it retries.
    pub fn open(&mut self) -> Result<(), SinkError> {
        self.batcher.open()
    }
}

impl Sink for StoreSink {
    fn name(&self) -> &str {
        "sqlite"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        for signal in signals {
            rows(signal, |row| self.batcher.push(row));
        }
        self.batcher.write_due()
    }

    fn wake_in(&self) -> Option<Duration> {
        self.batcher.wake_in()
    }

    fn wake(&mut self) -> Result<(), SinkError> {
        self.batcher.wake()
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.batcher.finish()
    }
}

/// Calls `each` with the rows for a signal.
pub fn rows(signal: &Signal, mut each: impl FnMut(Row)) {
    match &signal.what {
        SignalBody::Event(Event::Request(event)) => request(event, each),
        SignalBody::Event(Event::Session(event)) => each(session(event)),
        SignalBody::Event(Event::Schema(event)) => each(schema(event)),
        SignalBody::Event(Event::Heartbeat(_)) => {}
        SignalBody::Line(body) => line(body, each),
    }
}

fn request(event: &RequestEvent, mut each: impl FnMut(Row)) {
    match &event.request {
        LoggedRequest::Mcp { mcp_method, tool, message, .. } => {
            let mut row = call(event, Kind::Mcp, Arc::clone(mcp_method), tool.clone());
            row.subject = subject_of(mcp_method, message.as_bytes());
            each(Row::Call(Box::new(row)));
        }
        LoggedRequest::McpBatch { messages, .. } => {
            messages.iter().for_each(|message| each(Row::Call(Box::new(one_of_batch(event, message)))));
        }
        LoggedRequest::Http { method, uri, .. } => {
            let mut row = call(event, Kind::Http, Arc::clone(method), None);
            // Queries differ for each request and may be long, so they would make `path` useless for
            // grouping.
            row.path = Some(uri.split('?').next().unwrap_or_default().to_owned());
            each(Row::Call(Box::new(row)));
        }
    }
}

fn call(event: &RequestEvent, kind: Kind, method: Arc<str>, tool: Option<Arc<str>>) -> CallRow {
    CallRow {
        time: event.started_at,
        operation: Operation {
            server: Arc::clone(&event.upstream),
            listener: known(&event.listener),
            transport: Transport::Http,
            kind,
            method,
            tool,
        },
        session: event
            .session
            .as_ref()
            .map(|id| SessionKey { server: Arc::clone(&event.upstream), id: Arc::clone(id) }),
        trace: event.trace.clone(),
        status: event.status,
        latency_us: Some(event.call_us),
        exchange_us: Some(event.latency_us),
        upstream_us: Some(event.upstream_us),
        first_byte_us: event.first_byte_us,
        request_bytes: event.request_bytes,
        response_bytes: event.response_bytes,
        http_status: event.response.as_ref().map(http_status),
        error_code: event.error_code,
        error_message: event.error_message.clone(),
        request_id: event.request_id.clone(),
        path: None,
        subject: None,
        event: Some(event.event_id),
        source: RowSource::Proxy,
    }
}

/// The listener; a recording of an older version has none.
fn known(listener: &Arc<str>) -> Option<Arc<str>> {
    Some(Arc::clone(listener)).filter(|listener| !listener.is_empty())
}

/// The row for one message of a batch: the times are those of the batch, the bytes its own.
fn one_of_batch(event: &RequestEvent, message: &LoggedCall) -> CallRow {
    CallRow {
        status: message.status,
        error_code: message.error_code,
        error_message: message.error_message.clone(),
        request_id: message.request_id.clone().unwrap_or_default(),
        request_bytes: message.request_bytes,
        response_bytes: message.response_bytes,
        subject: subject_of(&message.mcp_method, message.message.as_bytes()),
        ..call(event, Kind::Batch, Arc::clone(&message.mcp_method), message.tool.clone())
    }
}

fn http_status(response: &LoggedResponse) -> u16 {
    match response {
        LoggedResponse::Mcp { status, .. }
        | LoggedResponse::McpBatch { status, .. }
        | LoggedResponse::Http { status, .. } => *status,
    }
}

fn session(event: &SessionEvent) -> Row {
    Row::Session(Box::new(SessionRow {
        key: SessionKey { server: Arc::clone(&event.upstream), id: Arc::clone(&event.session_id) },
        started: event.started_at,
        listener: known(&event.listener),
        transport: Transport::Http,
        client_name: event.client_name.clone(),
        client_version: event.client_version.clone(),
        client_platform: event.client_platform.clone(),
        protocol_version: event.protocol_version.clone(),
        server_name: event.server_name.clone(),
        server_version: event.server_version.clone(),
        trace: event.trace.clone(),
    }))
}

fn schema(event: &SchemaEvent) -> Row {
    Row::Schema(SchemaRow {
        time: event.ts,
        server: Arc::clone(&event.upstream),
        method: event.mcp_method,
        session: event.session.clone(),
        change: event.change_type,
        items: event.items.clone(),
    })
}

fn line(line: &Line, mut each: impl FnMut(Row)) {
    let time = || line.ts.parse().map_or_else(|_| now_ms(), jiff::Timestamp::as_millisecond);
    match &line.what {
        LineWhat::SessionEnd => each(Row::SessionEnd {
            session: SessionKey { server: Arc::clone(&line.upstream), id: Arc::clone(&line.session) },
            time: time(),
            // A proxy doesn't see how the processes behind its upstreams end.
            crash: None,
        }),
        LineWhat::CspViolation { blocked_uri, directive } => each(Row::Violation(ViolationRow {
            time: time(),
            server: Arc::clone(&line.upstream),
            session: Some(Arc::clone(&line.session)).filter(|session| !session.is_empty()),
            blocked_uri: blocked_uri.clone(),
            directive: directive.clone(),
        })),
        // Events carry the same with more detail.
        LineWhat::ToolCall { .. }
        | LineWhat::ToolList { .. }
        | LineWhat::SessionStart
        | LineWhat::WidgetServe { .. } => {}
    }
}
