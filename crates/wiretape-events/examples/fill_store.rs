//! Fills a store with calls that never were, and says how long that took: through the sink, as the proxy does, or by the least
//! that could replace it, a bare loop of inserts. `cargo xtask bench --only store` compares the two.
//!
//! ```text
//! cargo run --release --example fill_store -- sink store.db 1000000
//! ```

use rusqlite::{Connection, params};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_events::event::{Event, EventIds, LoggedRequest, LoggedResponse, RequestEvent, Span, VERSION};
use wiretape_events::raw::Raw;
use wiretape_events::store::{Retention, StoreSink, Writer};
use wiretape_events::{Outcome, Signal, Sink};

/// As many as come at once under load.
const BATCH: usize = 1000;
const SERVERS: u64 = 4;
const TOOLS: u64 = 25;
const SESSIONS: u64 = 10_000;
/// The calls lie in the last thirty days.
const SPAN_MS: u64 = 30 * 24 * 60 * 60 * 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(way), Some(path), Some(rows)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: fill_store sink|bare FILE ROWS".into());
    };
    let (path, rows) = (Path::new(&path), rows.parse()?);
    let took = match way.as_str() {
        "sink" => fill(rows, Through::sink(path)?)?,
        "bare" => fill(rows, Through::bare(path)?)?,
        _ => return Err("it is filled through the `sink`, or `bare`".into()),
    };
    print(&format!("{}\n", took.as_secs_f64()))?;
    Ok(())
}

fn print(text: &str) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())
}

/// Makes batches and writes them; only the writing counts.
fn fill(rows: u64, mut through: Through) -> Result<Duration, Box<dyn Error>> {
    let ids = EventIds::new();
    let names = Names::new();
    let mut took = Duration::ZERO;
    for first in (0..rows).step_by(BATCH) {
        let batch: Vec<Arc<Signal>> =
            (first..rows.min(first + BATCH as u64)).map(|n| Arc::new(names.signal(n, rows, &ids))).collect();
        let start = Instant::now();
        through.write(&batch)?;
        took += start.elapsed();
    }
    let start = Instant::now();
    through.finish()?;
    Ok(took + start.elapsed())
}

/// A way into the store.
enum Through {
    Sink(Box<StoreSink>),
    Bare(Connection),
}

impl Through {
    fn sink(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut sink = StoreSink::new(path, Retention::default());
        sink.open()?;
        Ok(Through::Sink(Box::new(sink)))
    }

    /// The same tables, without anything that looks after them.
    fn bare(path: &Path) -> Result<Self, Box<dyn Error>> {
        drop(Writer::open(path)?);
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(Through::Bare(connection))
    }

    fn write(&mut self, batch: &[Arc<Signal>]) -> Result<(), Box<dyn Error>> {
        match self {
            Through::Sink(sink) => Ok(sink.take(batch)?),
            Through::Bare(connection) => Ok(insert(connection, batch)?),
        }
    }

    fn finish(self) -> Result<(), Box<dyn Error>> {
        match self {
            Through::Sink(mut sink) => Ok(sink.finish()?),
            Through::Bare(_) => Ok(()),
        }
    }
}

fn insert(connection: &mut Connection, batch: &[Arc<Signal>]) -> rusqlite::Result<()> {
    const INSERT: &str = "INSERT INTO call (time, operation, session, status, latency_us, upstream_us, first_byte_us, \
         request_bytes, response_bytes, http_status, error_code, event_run, event_number, request_id, path, error_message) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare_cached(INSERT)?;
    for signal in batch {
        let wiretape_events::sink::SignalBody::Event(Event::Request(event)) = &signal.what else { continue };
        statement.execute(params![
            event.started_at,
            1,
            2,
            event.status as i64,
            event.latency_us as i64,
            event.upstream_us as i64,
            event.first_byte_us.map(|us| us as i64),
            event.request_bytes as i64,
            event.response_bytes as i64,
            200,
            event.error_code,
            7,
            8,
            event.request_id,
            "/mcp",
            event.error_message,
        ])?;
    }
    drop(statement);
    transaction.commit()
}

/// Texts that many calls have in common.
struct Names {
    servers: Vec<Arc<str>>,
    tools: Vec<Arc<str>>,
    sessions: Vec<Arc<str>>,
    post: Arc<str>,
    call: Arc<str>,
    listener: Arc<str>,
    now_ms: i64,
}

impl Names {
    fn new() -> Self {
        let all = |count: u64, name: &dyn Fn(u64) -> String| (0..count).map(|n| Arc::from(name(n))).collect();
        Names {
            servers: all(SERVERS, &|n| format!("http://localhost:{}", 9000 + n)),
            tools: all(TOOLS, &|n| format!("tool-{n}")),
            sessions: all(SESSIONS, &|n| format!("session-{n:08x}")),
            post: "POST".into(),
            call: "tools/call".into(),
            listener: "demo".into(),
            now_ms: jiff::Timestamp::now().as_millisecond(),
        }
    }

    fn signal(&self, n: u64, rows: u64, ids: &EventIds) -> Signal {
        let pick =
            |list: &[Arc<str>], n: u64| Arc::clone(&list[usize::try_from(n).unwrap_or(0) % list.len()]);
        // Sessions follow one another, some at a time.
        let session = n * SESSIONS / rows.max(1) + n % 8;
        let noise = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let failed = noise.is_multiple_of(50);
        let latency_us = 500 + noise % 200_000;
        let message = Raw::from(b"{}".to_vec());
        Signal::event(Event::Request(Box::new(RequestEvent {
            v: VERSION,
            event_id: ids.next(),
            request_id: n.to_string(),
            ts: self.now_ms,
            request: LoggedRequest::Mcp {
                method: Arc::clone(&self.post),
                path: "/mcp".to_owned(),
                mcp_method: Arc::clone(&self.call),
                tool: Some(pick(&self.tools, noise)),
                parts: None,
                message: message.clone(),
            },
            response: Some(LoggedResponse::Mcp {
                status: 200,
                result: if failed { "error" } else { "ok" },
                parts: None,
                message,
            }),
            latency_us,
            call_us: latency_us,
            upstream_us: latency_us - 100,
            spans: vec![Span("Upstream", latency_us)],
            openai: None,
            started_at: self.now_ms - i64::try_from((rows - n) * (SPAN_MS / rows.max(1))).unwrap_or(0),
            first_byte_us: Some(latency_us - 50),
            status: if failed { Outcome::ToolError } else { Outcome::Ok },
            error_code: None,
            error_message: failed.then(|| "the tool could not find what it was looking for".to_owned()),
            request_bytes: 200 + noise % 100,
            response_bytes: 1000 + noise % 5000,
            session: Some(pick(&self.sessions, session)),
            protocol_version: None,
            listener: Arc::clone(&self.listener),
            upstream: pick(&self.servers, session),
            csp_applied: false,
            trace: None,
        })))
    }
}
