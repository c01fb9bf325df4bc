//! Routes the lines of a trace: messages in HTTP exchanges go to [`Exchanges`], all others to [`Calls`].

use super::calls::{self, Calls};
use super::exchange::origin;
use super::exchanges::{self, Exchanges};
use super::timeline::{Tick, Timeline};
use crate::observe::Snapshot;
use crate::store::row::{Progress, Row, TraceDigest, Transport};
use std::sync::Arc;
use wiretape_analyze::call::outcome_at_end;
use wiretape_trace::format::{
    CHAIN, Chain, End, Exchange, ExchangeNote, Line, Message, Meta, OtherText, Record, parse_line,
};

/// Turns the lines of a trace into rows. All parts of a recording may be fed one after another.
#[derive(Debug)]
pub struct TraceFeed {
    line: u64,
    rows: Vec<Row>,
    /// The part being read, until it is complete.
    part: Option<Arc<str>>,
    digest: DigestReader,
    /// The first part that was read, which rows name as their trace.
    trace: Option<Arc<str>>,
    server: Arc<str>,
    transport: Transport,
    /// The name of a session where the trace names none.
    grouping: Arc<str>,
    carriers: Carriers,
    timeline: Timeline,
    calls: Calls,
    exchanges: Option<Exchanges>,
    known: Vec<Snapshot>,
    ending: Ending,
}

/// How messages are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carriers {
    /// In HTTP exchanges, as recorded by a proxy.
    Exchanges,
    /// Otherwise: stdio, or an import that doesn't say.
    Unknown,
}

/// Whether the feed is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    GoesOn,
    /// Everything was read. `finish` may be called again, by `end` and by the owner.
    Finished,
}

/// The ids of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TraceIds {
    pub(super) id: String,
    /// The id of the recording's first part.
    pub(super) first: String,
}

/// The ids of a file, from its first line.
pub(super) fn trace_id(record: &Record<'_>) -> Option<TraceIds> {
    match record {
        Record::Meta(meta) => {
            let id = meta.id.clone().unwrap_or_else(|| format!("{}@{}", meta.label, meta.started_at));
            let first = meta.part.as_ref().map_or_else(|| id.clone(), |part| part.of.clone());
            Some(TraceIds { id, first })
        }
        Record::Message(message) => {
            // A file without `meta` has no id. The time of its first message is the best substitute.
            let id = format!("@{}", message.stamp.t.as_deref().unwrap_or_default());
            Some(TraceIds { first: id.clone(), id })
        }
        _ => None,
    }
}

/// Finds the digest in the last line of each file.
#[derive(Debug, Default)]
pub(super) struct DigestReader {
    /// The id and the number of the file being read, if its lines carry check values.
    part: Option<(Arc<str>, u64)>,
}

impl DigestReader {
    /// Reads the next line. Returns the digest if this is the last line of a file.
    pub(super) fn line(&mut self, line: &Line<'_>) -> Option<TraceDigest> {
        match &line.record {
            Record::Meta(meta) => {
                let is_chained = meta.chain.as_deref() == Some(CHAIN);
                let index = meta.part.as_ref().map_or(1, |part| part.index);
                self.part = meta.id.as_deref().filter(|_| is_chained).map(|id| (Arc::from(id), index));
                None
            }
            Record::End(_) | Record::Rotated { .. } => {
                let (trace, part) = self.part.take()?;
                // A redacted copy has the id of the recording, but a digest of its own.
                if Chain::original_in(line.bytes).is_some() {
                    return None;
                }
                Some(TraceDigest { trace, part, sha256: Chain::head_in(line.bytes)? })
            }
            _ => None,
        }
    }

    /// Whether the file that is being read may have a digest.
    pub(super) fn expects_digest(&self) -> bool {
        self.part.is_some()
    }
}

impl TraceFeed {
    /// At the start of a trace, with the last known lists of its servers.
    pub fn new(known: Vec<Snapshot>) -> Self {
        TraceFeed {
            line: 0,
            rows: Vec::new(),
            part: None,
            digest: DigestReader::default(),
            trace: None,
            server: Arc::from(""),
            transport: Transport::Stdio,
            grouping: Arc::from(""),
            carriers: Carriers::Unknown,
            timeline: Timeline::default(),
            calls: Calls::default(),
            exchanges: None,
            known,
            ending: Ending::GoesOn,
        }
    }

    /// Reads the next line.
    pub fn line(&mut self, line: &[u8]) {
        self.record(&Line { number: self.line + 1, offset: 0, bytes: line, record: parse_line(line) });
    }

    /// The rows since the last call.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// The number of rows to take.
    pub(super) fn waiting(&self) -> usize {
        self.rows.len()
    }

    /// Ends the input: open requests stay unanswered.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.ending, Ending::Finished) == Ending::Finished {
            return;
        }
        let now = self.timeline.last();
        // Sessions are not ended here: if there was no `end` line, they may continue for all we know.
        let context = self.context(now);
        self.calls.finish(context, &mut self.rows);
        if self.exchanges.is_some() {
            self.with_exchanges(|exchanges, context| exchanges.finish(now, context));
        }
        self.complete_part(now);
    }

    pub(super) fn record(&mut self, line: &Line<'_>) {
        self.line = line.number;
        self.rows.extend(self.digest.line(line).map(Row::TraceDigest));
        match &line.record {
            Record::Meta(meta) => self.meta(line, meta),
            Record::Message(message) => self.message(line, message),
            Record::End(end) => self.end(line, end),
            Record::Http(exchange) => self.about(line, exchange),
            Record::Text(text) => self.text(line, text),
            // Calls without an answer last until the last line of any kind.
            Record::Stderr(_) | Record::Gap(_) | Record::Rotated { .. } | Record::Unknown { .. } => {
                let stamp = line.record.stamp().filter(|stamp| stamp.us.is_some() || stamp.t.is_some());
                let now = stamp.map_or(self.timeline.last(), |stamp| self.timeline.line(stamp));
                self.call_line(line, now);
            }
            Record::Damaged(_) => {}
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
        // While a recording is running, the next part marks the end of the previous one.
        self.complete_part(now);
        self.trace.get_or_insert_with(|| Arc::clone(&id));
        // All parts of a recording are one session, so it is named after the first.
        self.grouping = Arc::from(first);
        self.part = Some(Arc::clone(&id));
        self.rows.push(Row::Trace { id, time: now.wall_ms, progress: Progress::Partial });
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
        self.with_exchanges(|exchanges, context| exchanges.message(&note, dir, message.raw, now, context));
    }

    fn text(&mut self, line: &Line<'_>, text: &OtherText<'_>) {
        let now = self.timeline.line(&text.stamp);
        match self.note(text.http) {
            Some(note) => {
                self.with_exchanges(|exchanges, context| exchanges.event(&note, &text.text, now, &context));
            }
            None => self.call_line(line, now),
        }
    }

    fn about(&mut self, line: &Line<'_>, exchange: &Exchange<'_>) {
        let now = self.timeline.line(&exchange.stamp);
        match self.note(Some(exchange.http)) {
            Some(note) => self.with_exchanges(|exchanges, context| exchanges.about(&note, now, context)),
            None => self.call_line(line, now),
        }
    }

    /// The exchange that a line belongs to, if any.
    fn note<'a>(&self, http: Option<&'a [u8]>) -> Option<ExchangeNote<'a>> {
        ExchangeNote::decode(http.filter(|_| self.carriers == Carriers::Exchanges)?)
    }

    fn end(&mut self, line: &Line<'_>, end: &End) {
        if let Some(ms) = end.stamp.wall_ms() {
            self.timeline.wall(ms);
        }
        let now = self.timeline.last();
        self.call_line(line, now);
        let context = self.context(now);
        self.calls.end(context, &mut self.rows);
        if self.exchanges.is_some() {
            self.with_exchanges(|exchanges, context| exchanges.end(now, outcome_at_end(end), context));
        }
    }

    /// Reads a line that doesn't belong to an HTTP exchange.
    fn call_line(&mut self, line: &Line<'_>, now: Tick) {
        // The known lists are needed by only one of the two: whichever reads the first message takes them.
        if !self.known.is_empty() && matches!(line.record, Record::Message(_)) {
            self.calls.set_known(std::mem::take(&mut self.known));
        }
        let context = self.context(now);
        self.calls.line(line, context, &mut self.rows);
    }

    fn context(&self, now: Tick) -> calls::RecordingContext {
        calls::RecordingContext {
            server: Arc::clone(&self.server),
            transport: self.transport,
            trace: self.trace.clone(),
            grouping: Arc::clone(&self.grouping),
            now,
        }
    }

    fn with_exchanges(&mut self, what: impl FnOnce(&mut Exchanges, exchanges::RecordingContext<'_>)) {
        let exchanges = self
            .exchanges
            .get_or_insert_with(|| Exchanges::new(&self.grouping, std::mem::take(&mut self.known)));
        let context = exchanges::RecordingContext {
            server: &self.server,
            trace: self.trace.as_ref(),
            rows: &mut self.rows,
        };
        what(exchanges, context);
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

    /// The id of each call's event.
    fn ids(lines: &[&str]) -> Vec<String> {
        let id = |row| match row {
            Row::Call(call) => call.event.map(|id| id.to_string()),
            _ => None,
        };
        rows(lines).into_iter().filter_map(id).collect()
    }

    #[test]
    fn loading_a_trace_again_yields_the_same_ids() {
        let batch = r#"{"dir":"in","us":60,"raw":[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]}"#;
        let first = ids(&[META, ASK, OK, batch]);
        assert_eq!(first, ids(&[META, ASK, OK, batch]));
        let different: std::collections::BTreeSet<_> = first.iter().collect();
        assert_eq!((first.len(), different.len()), (3, 3), "each part of a batch is a call of its own");
        assert_ne!(ids(&[&META.replace("\"T\"", "\"U\""), ASK, OK]), first[..1]);
        // Stores keep these: another version of the program must arrive at the same.
        assert_eq!(first[0], "af64094c86023903-4000000000000001");
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
    fn a_cancellation_counts_if_the_trace_ends_before_it_is_accepted() {
        let meta = r#"{"v":1,"type":"meta","startedAt":"","label":"x","command":["http://127.0.0.1:9/mcp"],"id":"T","transport":"http"}"#;
        let post = |x: u64, us: u64, raw: &str| {
            let request = r#"{"method":"POST","target":"/mcp","headers":{"mcp-session-id":"S"}}"#;
            format!(r#"{{"dir":"in","us":{us},"http":{{"x":{x},"request":{request}}},"raw":{raw}}}"#)
        };
        let ask = post(1, 10, r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#);
        let cancel =
            post(2, 40, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
        let calls = calls(&[meta, &ask, &cancel]);
        assert!(calls.contains(&"add 1 cancelled Some(30) S@http://127.0.0.1:9".to_owned()), "{calls:?}");
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
