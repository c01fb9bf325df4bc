//! Rows made from the lines of a trace: one for each request of the client.

use super::batcher::Batcher;
use super::error::StoreError;
use super::query::Store;
use super::retention::Retention;
use super::row::{CallRow, Kind, Operation, Progress, Row, SchemaRow, SessionKey, SessionRow, Transport};
use super::writer::Writer;
use crate::event::Status;
use crate::observe::{Change, Listed, Snapshot, Snapshots, cursor};
use crate::sink::SinkError;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wiretape_analyze::call::{Call, CallTracker, Observed, Outcome};
use wiretape_trace::format::{End, Message, Meta, ReadError, Record, Stamp, TraceReader, parse_line};
use wiretape_trace::message::{Direction, Envelope, Id};
use wiretape_trace::value::Value;

/// How many rows are written at a time.
const BATCH: usize = 4096;

/// Where a client says who it is, in revisions without `initialize`.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What came of loading a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub enum Loaded {
    /// It is in the store now.
    Loaded {
        /// Its id.
        trace: String,
        /// How many calls it has.
        calls: u64,
    },
    /// It was in the store already, and nothing was done.
    AlreadyThere {
        /// Its id.
        trace: String,
    },
}

/// A trace can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store can't be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Loads a whole trace. One that was loaded before, or that a proxy has told of, is left as it is; one of which only a
/// part was loaded is loaded anew.
pub fn load<R: Read>(mut reader: TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    load_from(&mut reader, writer)
}

/// Like [`load`], and leaves the reader, which knows what is wrong with the trace.
pub fn load_from<R: Read>(reader: &mut TraceReader<R>, writer: &mut Writer) -> Result<Loaded, LoadError> {
    let mut feed = TraceFeed::new(known(writer.path()));
    while let Some(line) = reader.next_line()? {
        let first = feed.trace.is_none();
        feed.record(line.number, &line.record);
        let Some(trace) = feed.trace.clone() else { continue };
        if first {
            match writer.trace(&trace)? {
                Some(Progress::Complete | Progress::Told) => {
                    return Ok(Loaded::AlreadyThere { trace: trace.to_string() });
                }
                Some(Progress::Begun) => writer.forget_trace(&trace)?,
                None => {}
            }
            // A proxy names the first part of what it tells.
            if feed.grouping != trace && writer.trace(&feed.grouping)? == Some(Progress::Told) {
                return Ok(Loaded::AlreadyThere { trace: trace.to_string() });
            }
        }
        if feed.rows.len() >= BATCH {
            writer.write(&feed.take_rows())?;
        }
    }
    feed.finish();
    writer.write(&feed.take_rows())?;
    let trace = feed.trace.as_deref().unwrap_or_default().to_owned();
    Ok(Loaded::Loaded { trace, calls: feed.calls })
}

/// What servers offered when they were last seen. A store that isn't there yet, or is in memory, knows of nothing.
fn known(path: &Path) -> Vec<Snapshot> {
    Store::open_read(path).and_then(|store| store.snapshots()).unwrap_or_default()
}

/// Brings a trace into the store while it is written. What is wrong with the store never harms the trace.
#[derive(Debug)]
pub struct LiveTrace {
    feed: TraceFeed,
    batcher: Batcher,
}

impl LiveTrace {
    /// For the store at a path.
    pub fn new(path: &Path, retention: Retention) -> Self {
        LiveTrace { feed: TraceFeed::new(known(path)), batcher: Batcher::new(path, retention) }
    }

    /// Takes the trace's next line.
    pub fn line(&mut self, line: &[u8]) -> Result<(), SinkError> {
        self.feed.line(line);
        self.settle()
    }

    /// How soon [`wake`](Self::wake) is to be called if no line comes before.
    pub fn wake_in(&self) -> Option<Duration> {
        self.batcher.wake_in()
    }

    /// Writes what is due.
    pub fn wake(&mut self) -> Result<(), SinkError> {
        self.batcher.wake()
    }

    /// The trace has ended.
    pub fn finish(&mut self) -> Result<(), SinkError> {
        self.feed.finish();
        let result = self.settle();
        self.batcher.finish().and(result)
    }

    fn settle(&mut self) -> Result<(), SinkError> {
        for row in self.feed.take_rows() {
            self.batcher.push(row);
        }
        self.batcher.settle()
    }
}

/// Makes rows of a trace, line by line.
#[derive(Debug)]
pub struct TraceFeed {
    line: u64,
    rows: Vec<Row>,
    calls: u64,
    trace: Option<Arc<str>>,
    server: Arc<str>,
    transport: Transport,
    tracker: CallTracker,
    /// The client's requests that have no answer yet, and what the tracker does not keep of them.
    open: HashMap<Id<'static>, Asked>,
    /// The sessions whose client is known.
    introduced: BTreeSet<Arc<str>>,
    /// The sessions that have been heard of.
    sessions: BTreeSet<Arc<str>>,
    /// What stands for a session where none is named.
    grouping: Arc<str>,
    /// The last time that a line had.
    now: i64,
    finished: bool,
    snapshots: Snapshots,
}

/// What is kept of a request until it is answered.
#[derive(Debug, Clone, Default)]
struct Asked {
    time: i64,
    session: Option<Arc<str>>,
    hello: Option<Hello>,
    cancelled: bool,
    /// Where in a list it begins to read.
    cursor: Option<String>,
}

impl TraceFeed {
    /// At the beginning of a trace, with what servers offered before it.
    pub fn new(known: Vec<Snapshot>) -> Self {
        TraceFeed {
            line: 0,
            rows: Vec::new(),
            calls: 0,
            trace: None,
            server: Arc::from(""),
            transport: Transport::Stdio,
            tracker: CallTracker::new(),
            open: HashMap::new(),
            introduced: BTreeSet::new(),
            sessions: BTreeSet::new(),
            grouping: Arc::from(""),
            now: 0,
            finished: false,
            snapshots: Snapshots::new(known),
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &[u8]) {
        self.record(self.line + 1, &parse_line(line));
    }

    /// The rows that have been made since the last time.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Nothing more will come: what is unanswered stays so.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.end_calls();
        if let Some(id) = self.trace.clone() {
            self.rows.push(Row::Trace { id, time: self.now, progress: Progress::Complete });
        }
    }

    fn record(&mut self, number: u64, record: &Record<'_>) {
        self.line = number;
        match record {
            Record::Meta(meta) => self.meta(meta),
            Record::Message(message) => self.message(message),
            Record::End(end) => self.end(end),
            Record::Http(exchange) => self.at(&exchange.stamp),
            Record::Stderr(text) | Record::Text(text) => self.at(&text.stamp),
            _ => {}
        }
    }

    fn at(&mut self, stamp: &Stamp<'_>) {
        self.now = stamp.wall_ms().unwrap_or(self.now);
    }

    fn meta(&mut self, meta: &Meta) {
        self.now = time_ms(&meta.started_at).unwrap_or(0);
        self.tracker.observe_meta(meta);
        if meta.transport.as_deref() == Some("http") {
            self.transport = Transport::Http;
        }
        self.server = match (self.transport, meta.command.first()) {
            (Transport::Http, Some(url)) => Arc::from(origin(url)),
            _ => Arc::from(meta.label.as_str()),
        };
        let id = match &meta.id {
            Some(id) => Arc::from(id.as_str()),
            None => Arc::from(format!("{}@{}", meta.label, meta.started_at)),
        };
        self.begin(id);
        if let Some(part) = &meta.part {
            // All parts of a recording are one session.
            self.grouping = Arc::from(part.of.as_str());
        }
    }

    fn begin(&mut self, id: Arc<str>) {
        // While a recording goes on, the next part is the end of the one before.
        if let Some(id) = self.trace.take() {
            self.rows.push(Row::Trace { id, time: self.now, progress: Progress::Complete });
        }
        self.trace = Some(Arc::clone(&id));
        self.grouping = Arc::clone(&id);
        self.rows.push(Row::Trace { id, time: self.now, progress: Progress::Begun });
    }

    fn message(&mut self, message: &Message<'_>) {
        self.at(&message.stamp);
        if self.trace.is_none() {
            // A file without `meta`: when it began is all that tells it from others.
            let began = message.stamp.t.as_deref().unwrap_or_default();
            self.begin(Arc::from(format!("@{began}")));
        }
        let session: Option<Arc<str>> = message.session.as_deref().map(Arc::from);
        let mut seen = Vec::new();
        self.tracker
            .observe_message(self.line, message, |_, envelope, observed| seen.push((envelope, observed)));
        for (envelope, observed) in seen {
            match (message.dir.known(), observed) {
                (Some(Direction::ClientToServer), Observed::Request { abandoned, .. }) => {
                    self.asked(session.clone(), &envelope, abandoned.as_deref());
                }
                (Some(Direction::ClientToServer), Observed::Cancellation { .. }) => self.told(&envelope),
                (Some(Direction::ServerToClient), Observed::Answer(call)) => {
                    self.answered(session.clone(), &envelope, &call);
                }
                _ => {}
            }
        }
    }

    fn asked(&mut self, session: Option<Arc<str>>, envelope: &Envelope<'_>, abandoned: Option<&Call>) {
        let is_list = envelope.method.as_deref().is_some_and(|method| method.ends_with("/list"));
        let cursor = envelope.params.filter(|_| is_list).and_then(cursor);
        let asked = Asked { time: self.now, session, hello: self.hello(envelope), cancelled: false, cursor };
        let Some(id) = envelope.id.clone().map(|id| self.tracker.key(id)) else {
            if let Some(call) = abandoned {
                self.ended(call, asked, None);
            }
            return;
        };
        let older = self.open.insert(id, asked);
        if let (Some(call), Some(older)) = (abandoned, older) {
            self.ended(call, older, None);
        }
    }

    /// A notification of the client, which may cancel a request.
    fn told(&mut self, envelope: &Envelope<'_>) {
        if envelope.method.as_deref() != Some("notifications/cancelled") {
            return;
        }
        let Some(id) = envelope.params.and_then(parse).and_then(|params| params.get("requestId")) else {
            return;
        };
        let id = match id.string() {
            Some(text) => Id::String(text),
            None => Id::Number(String::from_utf8_lossy(id.raw)),
        };
        if let Some(asked) = self.open.get_mut(&self.tracker.key(id)) {
            asked.cancelled = true;
        }
    }

    fn answered(&mut self, session: Option<Arc<str>>, envelope: &Envelope<'_>, call: &Call) {
        let Some(mut asked) = call.id.as_ref().and_then(|id| self.open.remove(id)) else { return };
        asked.session = asked.session.or(session);
        if let Some(result) = envelope.result {
            if call.method == "initialize" {
                asked.hello.get_or_insert_default().hear_server(result);
            }
            let cursor = asked.cursor.take();
            if let Some(listed) = Listed::of(&call.method, || cursor, result) {
                self.listed(asked.session.clone(), &listed);
            }
        }
        self.ended(call, asked, failure(envelope));
    }

    /// A page of a server's list was seen.
    fn listed(&mut self, session: Option<Arc<str>>, listed: &Listed<'_>) {
        let session = session.unwrap_or_else(|| Arc::clone(&self.grouping));
        for Change { kind, items } in self.snapshots.observe(&self.server, &session, listed) {
            self.rows.push(Row::Schema(SchemaRow {
                time: self.now,
                server: Arc::clone(&self.server),
                method: listed.method,
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

    /// A call has come to its end.
    fn ended(&mut self, call: &Call, asked: Asked, error_message: Option<String>) {
        let session = SessionKey {
            server: Arc::clone(&self.server),
            id: asked.session.unwrap_or_else(|| Arc::clone(&self.grouping)),
        };
        if let Some(hello) = asked.hello {
            self.introduce(&session, asked.time, hello);
        }
        self.sessions.insert(Arc::clone(&session.id));
        self.calls += 1;
        self.rows.push(Row::Call(Box::new(CallRow {
            time: asked.time,
            operation: Operation {
                server: Arc::clone(&self.server),
                listener: None,
                transport: self.transport,
                kind: Kind::Mcp,
                method: Arc::from(call.method.as_str()),
                tool: call.tool.as_deref().map(Arc::from),
            },
            session: Some(session),
            trace: self.trace.clone(),
            status: status(call.outcome, asked.cancelled),
            latency_us: call.latency_us,
            upstream_us: None,
            first_byte_us: None,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes.unwrap_or(0),
            http_status: None,
            error_code: match call.outcome {
                Outcome::ProtocolError { code } => code,
                _ => None,
            },
            error_message,
            request_id: call.id.as_ref().map_or_else(String::new, id_text),
            path: None,
            event: None,
        })));
    }

    fn introduce(&mut self, key: &SessionKey, started: i64, hello: Hello) {
        self.introduced.insert(Arc::clone(&key.id));
        self.rows.push(Row::Session(Box::new(SessionRow {
            key: key.clone(),
            started,
            listener: None,
            transport: self.transport,
            client_name: hello.client_name,
            client_version: hello.client_version,
            client_platform: None,
            protocol_version: hello.protocol_version.map(Arc::from),
            server_name: hello.server_name,
            server_version: hello.server_version,
            trace: self.trace.clone(),
        })));
    }

    fn end(&mut self, end: &End) {
        self.now = end.t.as_deref().and_then(time_ms).unwrap_or(self.now);
        self.end_calls();
        for id in &self.sessions {
            let session = SessionKey { server: Arc::clone(&self.server), id: Arc::clone(id) };
            self.rows.push(Row::SessionEnd { session, time: self.now });
        }
    }

    /// What is open stays unanswered.
    fn end_calls(&mut self) {
        for call in std::mem::take(&mut self.tracker).finish() {
            if call.direction == Direction::ClientToServer
                && let Some(asked) = call.id.as_ref().and_then(|id| self.open.remove(id))
            {
                self.ended(&call, asked, None);
            }
        }
    }
}

/// What client and server say of themselves.
#[derive(Debug, Clone, Default)]
struct Hello {
    client_name: Option<String>,
    client_version: Option<String>,
    protocol_version: Option<String>,
    server_name: Option<String>,
    server_version: Option<String>,
}

impl Hello {
    fn of_initialize(params: &[u8]) -> Self {
        Hello {
            client_name: text_at(params, &["clientInfo", "name"]),
            client_version: text_at(params, &["clientInfo", "version"]),
            protocol_version: text_at(params, &["protocolVersion"]),
            ..Hello::default()
        }
    }

    /// In revisions without `initialize` each request says it.
    fn of_meta(params: &[u8]) -> Option<Self> {
        let client_name = text_at(params, &["_meta", CLIENT_INFO, "name"])?;
        Some(Hello {
            client_name: Some(client_name),
            client_version: text_at(params, &["_meta", CLIENT_INFO, "version"]),
            protocol_version: text_at(params, &["_meta", PROTOCOL_VERSION]),
            ..Hello::default()
        })
    }

    fn hear_server(&mut self, result: &[u8]) {
        self.server_name = text_at(result, &["serverInfo", "name"]);
        self.server_version = text_at(result, &["serverInfo", "version"]);
        // What the server says is what was agreed on.
        self.protocol_version = text_at(result, &["protocolVersion"]).or(self.protocol_version.take());
    }
}

fn parse(json: &[u8]) -> Option<Value<'_>> {
    Value::parse(json).ok()
}

fn text_at(json: &[u8], path: &[&str]) -> Option<String> {
    Some(parse(json)?.at_path(path)?.string()?.into_owned())
}

/// What went wrong, in the words of the protocol's error or of the tool.
fn failure(answer: &Envelope<'_>) -> Option<String> {
    if let Some(error) = answer.error {
        return text_at(error, &["message"]);
    }
    let mut first = None;
    let content = parse(answer.result.filter(|_| answer.is_error)?)?.get("content")?;
    content.elements(|element| {
        if first.is_none() {
            first = element.get("text").and_then(Value::string);
        }
    });
    first.map(std::borrow::Cow::into_owned)
}

fn status(outcome: Outcome, cancelled: bool) -> Status {
    match outcome {
        Outcome::Ok => Status::Ok,
        Outcome::ToolError => Status::ToolError,
        Outcome::ProtocolError { .. } => Status::ProtocolError,
        Outcome::HttpError { .. } => Status::HttpError,
        Outcome::TimedOut => Status::Timeout,
        _ if cancelled => Status::Cancelled,
        _ => Status::Disconnected,
    }
}

fn id_text(id: &Id<'_>) -> String {
    match id {
        Id::String(text) | Id::Number(text) => text.to_string(),
    }
}

fn time_ms(text: &str) -> Option<i64> {
    text.parse().ok().map(jiff::Timestamp::as_millisecond)
}

/// A URL without its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Vec<Row> {
        let mut feed = TraceFeed::new(Vec::new());
        lines.iter().for_each(|line| feed.line(line.as_bytes()));
        feed.finish();
        feed.take_rows()
    }

    /// Method, id, status, latency and session of each call.
    fn calls(lines: &[&str]) -> Vec<String> {
        let describe = |row: Row| match row {
            Row::Call(call) => Some(format!(
                "{} {} {} {:?} {}",
                call.operation.tool.as_deref().unwrap_or(&call.operation.method),
                call.request_id,
                call.status.name(),
                call.latency_us,
                call.session.map_or_else(String::new, |session| format!("{}@{}", session.id, session.server)),
            )),
            _ => None,
        };
        rows(lines).into_iter().filter_map(describe).collect()
    }

    const META: &str = r#"{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"demo","command":["demo"],"id":"T","transport":"stdio"}"#;
    const ASK: &str = r#"{"t":"2026-05-12T23:00:01.000Z","dir":"in","us":10,"raw":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}}"#;
    const OK: &str =
        r#"{"t":"2026-05-12T23:00:01.001Z","dir":"out","us":52,"raw":{"jsonrpc":"2.0","id":1,"result":{}}}"#;

    #[test]
    fn a_call_is_a_row_once_it_is_answered() {
        assert_eq!(calls(&[META, ASK, OK]), ["add 1 ok Some(42) T@demo"]);
    }

    #[test]
    fn what_the_server_asks_is_no_call() {
        let ask = r#"{"dir":"out","us":1,"raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
        let answer = r#"{"dir":"in","us":2,"raw":{"jsonrpc":"2.0","id":1,"result":{}}}"#;
        assert_eq!(calls(&[META, ASK, ask, answer, OK]), ["add 1 ok Some(42) T@demo"]);
        assert_eq!(calls(&[META, ask, answer, ask]), [""; 0]);
    }

    #[test]
    fn what_is_unanswered_was_cancelled_or_left() {
        let cancel = r#"{"dir":"in","raw":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}}"#;
        assert_eq!(calls(&[META, ASK]), ["add 1 disconnected None T@demo"]);
        assert_eq!(calls(&[META, ASK, cancel]), ["add 1 cancelled None T@demo"]);
        assert_eq!(calls(&[META, ASK, cancel, OK]), ["add 1 ok Some(42) T@demo"]);
        assert_eq!(
            calls(&[META, ASK, ASK, OK]),
            ["add 1 disconnected None T@demo", "add 1 ok Some(42) T@demo"]
        );
    }

    #[test]
    fn failures_have_their_code_and_words() {
        let error = r#"{"dir":"out","raw":{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}}"#;
        let tool = r#"{"dir":"out","raw":{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"too big"}]}}}"#;
        let failures: Vec<_> = rows(&[META, ASK, error, ASK, tool])
            .into_iter()
            .filter_map(|row| match row {
                Row::Call(call) => Some((call.status, call.error_code, call.error_message)),
                _ => None,
            })
            .collect();
        assert_eq!(
            failures,
            [
                (Status::ProtocolError, Some(-32602), Some("no such tool".to_owned())),
                (Status::ToolError, None, Some("too big".to_owned())),
            ]
        );
    }

    fn session(lines: &[&str]) -> SessionRow {
        let session = rows(lines).into_iter().find_map(|row| match row {
            Row::Session(session) => Some(*session),
            _ => None,
        });
        session.unwrap()
    }

    #[test]
    fn initialize_says_who_is_there() {
        let meta = r#"{"v":1,"type":"meta","startedAt":"","label":"x","command":["http://127.0.0.1:9/mcp"],"id":"T","transport":"http"}"#;
        let ask = r#"{"dir":"in","raw":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2099-01-01","clientInfo":{"name":"cli","version":"3"}}}}"#;
        let answer = r#"{"dir":"out","session":"S","raw":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"srv","version":"4"}}}}"#;
        let session = session(&[meta, ask, answer]);
        assert_eq!((&*session.key.server, &*session.key.id), ("http://127.0.0.1:9", "S"));
        assert_eq!(
            (session.client_name.as_deref(), session.client_version.as_deref()),
            (Some("cli"), Some("3"))
        );
        assert_eq!(
            (session.server_name.as_deref(), session.server_version.as_deref()),
            (Some("srv"), Some("4"))
        );
        assert_eq!(session.protocol_version.as_deref(), Some("2025-06-18"));
        assert_eq!(session.trace.as_deref(), Some("T"));
    }

    #[test]
    fn without_initialize_the_first_request_says_who_is_there() {
        let ask = r#"{"dir":"in","raw":{"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"cli","version":"3"}}}}}"#;
        let session = session(&[META, ask]);
        assert_eq!((&*session.key.id, session.client_name.as_deref()), ("T", Some("cli")));
    }

    #[test]
    fn a_url_is_cut_to_its_origin() {
        assert_eq!(origin("https://a.example:8443/mcp?x#y"), "https://a.example:8443");
        assert_eq!(origin("https://a.example"), "https://a.example");
        assert_eq!(origin("server/x"), "server");
    }
}
