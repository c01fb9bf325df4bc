//! Which lines of a trace go which way: messages that an exchange of HTTP carries to [`Exchanges`], all others to [`Calls`].

use super::calls::{self, Calls};
use super::exchange::{Note, origin};
use super::exchanges::{self, Exchanges};
use super::timeline::{Tick, Timeline};
use crate::observe::Snapshot;
use crate::store::row::{Progress, Row, Transport};
use std::sync::Arc;
use wiretape_trace::format::{End, Exchange, Line, Message, Meta, OtherText, Record, parse_line};

/// Makes rows of a trace, line by line. Lines of all parts of a recording may follow each other.
#[derive(Debug)]
pub struct TraceFeed {
    line: u64,
    rows: Vec<Row>,
    /// The part that is read.
    part: Option<Arc<str>>,
    /// The first part that was read: rows name it.
    trace: Option<Arc<str>>,
    server: Arc<str>,
    transport: Transport,
    /// What stands for a session where none is named.
    grouping: Arc<str>,
    carriers: Carriers,
    timeline: Timeline,
    calls: Calls,
    exchanges: Option<Exchanges>,
    known: Vec<Snapshot>,
    ending: Ending,
}

/// What carries messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carriers {
    /// Exchanges of HTTP, as a proxy sees them.
    Exchanges,
    /// Something else, or nobody knows.
    Unknown,
}

/// How far a recording is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    GoesOn,
    /// There is nothing more to say of it.
    Finished,
}

/// What a file is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceIds {
    pub(super) id: String,
    /// That of the recording's first part.
    pub(super) first: String,
}

/// What a file is known by, if its line tells.
pub(super) fn trace_id(record: &Record<'_>) -> Option<TraceIds> {
    match record {
        Record::Meta(meta) => {
            let id = meta.id.clone().unwrap_or_else(|| format!("{}@{}", meta.label, meta.started_at));
            let first = meta.part.as_ref().map_or_else(|| id.clone(), |part| part.of.clone());
            Some(TraceIds { id, first })
        }
        Record::Message(message) => {
            // A file without `meta`: when it began is all that tells it from others.
            let id = format!("@{}", message.stamp.t.as_deref().unwrap_or_default());
            Some(TraceIds { first: id.clone(), id })
        }
        _ => None,
    }
}

impl TraceFeed {
    /// At the beginning of a trace, with what servers offered before it.
    pub fn new(known: Vec<Snapshot>) -> Self {
        TraceFeed {
            line: 0,
            rows: Vec::new(),
            part: None,
            trace: None,
            server: Arc::from(""),
            transport: Transport::Stdio,
            grouping: Arc::from(""),
            carriers: Carriers::Unknown,
            timeline: Timeline::new(),
            calls: Calls::default(),
            exchanges: None,
            known,
            ending: Ending::GoesOn,
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &[u8]) {
        self.record(&Line { number: self.line + 1, offset: 0, bytes: line, record: parse_line(line) });
    }

    /// The rows that have been made since the last time.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// How many rows there are to take.
    pub(super) fn waiting(&self) -> usize {
        self.rows.len()
    }

    /// Nothing more will come: what is unanswered stays so.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.ending, Ending::Finished) == Ending::Finished {
            return;
        }
        let now = self.timeline.last();
        // The end may have been told; if it was not, sessions may go on, for all that is known.
        let around = self.surroundings(now);
        self.calls.finish(around, &mut self.rows);
        if self.exchanges.is_some() {
            self.with_exchanges(|exchanges, around| exchanges.finish(now, around));
        }
        self.complete_part(now);
    }

    pub(super) fn record(&mut self, line: &Line<'_>) {
        self.line = line.number;
        match &line.record {
            Record::Meta(meta) => self.meta(line, meta),
            Record::Message(message) => self.message(line, message),
            Record::End(end) => self.end(line, end),
            Record::Http(exchange) => self.about(line, exchange),
            Record::Text(text) => self.text(text),
            Record::Stderr(text) => drop(self.timeline.line(&text.stamp)),
            Record::Gap(_) | Record::Rotated { .. } | Record::Unknown { .. } | Record::Damaged(_) => {}
        }
    }

    fn meta(&mut self, line: &Line<'_>, meta: &Meta) {
        self.timeline.wall(time_ms(&meta.started_at).unwrap_or(0));
        if meta.transport.as_deref() == Some("http") {
            self.transport = Transport::Http;
        }
        self.carriers = match (self.transport, &meta.imported) {
            (Transport::Http, None) => Carriers::Exchanges,
            _ => Carriers::Unknown,
        };
        self.server = match (self.transport, meta.command.first()) {
            (Transport::Http, Some(url)) => Arc::from(origin(url)),
            _ => Arc::from(meta.label.as_str()),
        };
        self.begin_part(&line.record);
        self.call_line(line, self.timeline.last());
    }

    fn begin_part(&mut self, record: &Record<'_>) {
        let Some(TraceIds { id, first }) = trace_id(record) else { return };
        let (id, now): (Arc<str>, Tick) = (Arc::from(id), self.timeline.last());
        // While a recording goes on, the next part is the end of the one before.
        self.complete_part(now);
        self.trace.get_or_insert_with(|| Arc::clone(&id));
        // All parts of a recording are one session.
        self.grouping = Arc::from(first);
        self.part = Some(Arc::clone(&id));
        self.rows.push(Row::Trace { id, time: now.wall_ms, progress: Progress::Begun });
    }

    fn complete_part(&mut self, now: Tick) {
        if let Some(id) = self.part.take() {
            self.rows.push(Row::Trace { id, time: now.wall_ms, progress: Progress::Complete });
        }
    }

    fn message(&mut self, line: &Line<'_>, message: &Message<'_>) {
        let now = self.timeline.line(&message.stamp);
        if self.part.is_none() {
            self.begin_part(&line.record);
        }
        let Some((note, dir)) = self.note(message.http).zip(message.dir.known()) else {
            return self.call_line(line, now);
        };
        self.with_exchanges(|exchanges, around| exchanges.message(&note, dir, message.raw, now, around));
    }

    fn text(&mut self, text: &OtherText<'_>) {
        let now = self.timeline.line(&text.stamp);
        if let Some(note) = self.note(text.http) {
            self.with_exchanges(|exchanges, around| exchanges.event(&note, &text.text, now, &around));
        }
    }

    fn about(&mut self, line: &Line<'_>, exchange: &Exchange<'_>) {
        let now = self.timeline.line(&exchange.stamp);
        match self.note(Some(exchange.http)) {
            Some(note) => self.with_exchanges(|exchanges, around| exchanges.about(&note, now, around)),
            None => self.call_line(line, now),
        }
    }

    /// What a line says of its exchange, if it has one.
    fn note<'a>(&self, http: Option<&'a [u8]>) -> Option<Note<'a>> {
        Note::parse(http.filter(|_| self.carriers == Carriers::Exchanges)?)
    }

    fn end(&mut self, line: &Line<'_>, end: &End) {
        if let Some(ms) = end.stamp.wall_ms() {
            self.timeline.wall(ms);
        }
        let now = self.timeline.last();
        self.call_line(line, now);
        let around = self.surroundings(now);
        self.calls.end(around, &mut self.rows);
        if self.exchanges.is_some() {
            self.with_exchanges(|exchanges, around| exchanges.end(now, around));
        }
    }

    /// A line that no exchange of ours carries.
    fn call_line(&mut self, line: &Line<'_>, now: Tick) {
        // Of both kinds of lines, the first needs what servers offered before.
        if !self.known.is_empty() && matches!(line.record, Record::Message(_)) {
            self.calls.set_known(std::mem::take(&mut self.known));
        }
        let around = self.surroundings(now);
        self.calls.line(line, around, &mut self.rows);
    }

    fn surroundings(&self, now: Tick) -> calls::Surroundings {
        calls::Surroundings {
            server: Arc::clone(&self.server),
            transport: self.transport,
            trace: self.trace.clone(),
            grouping: Arc::clone(&self.grouping),
            now,
        }
    }

    fn with_exchanges(&mut self, what: impl FnOnce(&mut Exchanges, exchanges::Surroundings<'_>)) {
        let exchanges = self.exchanges.get_or_insert_with(|| {
            Exchanges::new(&self.grouping, std::mem::take(&mut self.known), &self.timeline)
        });
        let around = exchanges::Surroundings {
            server: &self.server,
            trace: self.trace.as_ref(),
            timeline: &self.timeline,
            rows: &mut self.rows,
        };
        what(exchanges, around);
    }
}

fn time_ms(text: &str) -> Option<i64> {
    text.parse().ok().map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::SessionRow;
    use wiretape_analyze::call::Outcome;

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
        assert_eq!(calls(&[META, ASK]), ["add 1 unanswered Some(0) T@demo"]);
        assert_eq!(calls(&[META, ASK, cancel]), ["add 1 cancelled None T@demo"]);
        assert_eq!(calls(&[META, ASK, cancel, OK]), ["add 1 cancelled Some(42) T@demo"]);
        assert_eq!(
            calls(&[META, ASK, ASK, OK]),
            ["add 1 unanswered Some(0) T@demo", "add 1 ok Some(42) T@demo"]
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
                (Outcome::ProtocolError, Some(-32602), Some("no such tool".to_owned())),
                (Outcome::ToolError, None, Some("too big".to_owned())),
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
}
