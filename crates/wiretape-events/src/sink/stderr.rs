//! The sink that prints events to the terminal. Only the binary may use stderr directly, so it passes the
//! writer in.

use super::{Signal, SignalBody, Sink, SinkError};
use crate::event::{Event, LoggedRequest, RequestEvent, SchemaEvent, SessionEvent};
use crate::line::{Line, LineWhat};
use crate::observe::iso;
use crate::server_name::{FORWARD, server_name};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::glance::duration;

/// The format in which events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFormat {
    /// One line for people, with terminal colors. A writer that is not a terminal has to strip them.
    Pretty(Servers),
    /// One JSON object per line, as in the schema.
    Json,
}

/// Whether the lines have to name the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// There is only one server, so naming it would be noise.
    One,
    /// Each line names its server.
    Several,
}

/// Prints events as they arrive.
pub struct StderrSink {
    out: Box<dyn Write + Send>,
    format: EventFormat,
    /// The names of servers by their URLs, because some events carry only the URL.
    names: HashMap<Arc<str>, Arc<str>>,
}

impl StderrSink {
    /// Prints to `out`, which also decides about colors.
    pub fn new(out: Box<dyn Write + Send>, format: EventFormat) -> Self {
        StderrSink { out, format, names: HashMap::new() }
    }

    fn text(&mut self, signal: &Signal) -> Option<Vec<u8>> {
        match (self.format, &signal.what) {
            (EventFormat::Json, SignalBody::Event(_)) => Some(signal.json().to_vec()),
            (EventFormat::Json, SignalBody::Line(_)) => None,
            (EventFormat::Pretty(Servers::One), what) => Some(PrettyLine::of(what)?.text("")),
            (EventFormat::Pretty(Servers::Several), what) => {
                let line = PrettyLine::of(what)?;
                let server = self.name(line.upstream, line.listener);
                Some(line.text(&server))
            }
        }
    }

    /// The server's display name, from the listener of this event or of an earlier one.
    fn name(&mut self, upstream: &Arc<str>, listener: Option<&Arc<str>>) -> String {
        if let Some(listener) = listener.filter(|listener| &***listener != FORWARD) {
            self.names.insert(Arc::clone(upstream), Arc::clone(listener));
        }
        server_name(self.names.get(upstream).map(|name| &**name), upstream).to_owned()
    }
}

impl Sink for StderrSink {
    fn name(&self) -> &str {
        "stderr"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        let mut all = Vec::new();
        // One write per batch: stderr is not buffered, so each write is a system call.
        for signal in signals {
            if let Some(text) = self.text(signal) {
                all.extend_from_slice(&text);
                all.push(b'\n');
            }
        }
        // If stderr is closed, there is nowhere left to report that.
        let _ = self.out.write_all(&all).and_then(|()| self.out.flush());
        Ok(())
    }
}

/// One line, before it is rendered.
struct PrettyLine<'a> {
    time: String,
    upstream: &'a Arc<str>,
    listener: Option<&'a Arc<str>>,
    what: String,
    /// The outcome of a request, and the text after it.
    status: Option<(Outcome, String)>,
}

impl<'a> PrettyLine<'a> {
    /// The line for a signal. Heartbeats have none: they are for programs.
    fn of(what: &'a SignalBody) -> Option<Self> {
        match what {
            SignalBody::Event(Event::Request(event)) => Some(request(event)),
            SignalBody::Event(Event::Session(event)) => Some(session(event)),
            SignalBody::Event(Event::Schema(event)) => Some(schema(event)),
            SignalBody::Event(Event::Heartbeat(_)) => None,
            SignalBody::Line(what) => line(what),
        }
    }

    fn text(self, server: &str) -> Vec<u8> {
        const DIM: &str = "\x1b[2m";
        const BOLD: &str = "\x1b[1m";
        const RESET: &str = "\x1b[0m";
        // The time of day from an ISO timestamp: people watch live, so the date is the same on every line.
        let clock = self.time.get(11..23).unwrap_or(&self.time);
        let mut text = format!("{DIM}{clock}{RESET} ");
        if !server.is_empty() {
            let _ = write!(text, "{BOLD}{}{RESET} ", printable(server));
        }
        text.push_str(&printable(self.what.trim_end()));
        if let Some((status, rest)) = self.status {
            let _ = write!(text, " {}{}{RESET}{}", color(status), status.name(), printable(&rest));
        }
        text.into_bytes()
    }
}

/// The colors that `logs` uses too: green, red for failures, yellow for what the client gave up.
fn color(status: Outcome) -> &'static str {
    match status {
        Outcome::Ok => "\x1b[32m",
        _ if status.is_error() => "\x1b[1;31m",
        _ => "\x1b[1;33m",
    }
}

fn line(line: &Line) -> Option<PrettyLine<'_>> {
    let what = match &line.what {
        LineWhat::SessionEnd => format!("session {} ended", line.session),
        LineWhat::CspViolation { blocked_uri, directive } => format!("blocked {blocked_uri} by {directive}"),
        _ => return None,
    };
    Some(PrettyLine { time: line.ts.clone(), upstream: &line.upstream, listener: None, what, status: None })
}

fn session(event: &SessionEvent) -> PrettyLine<'_> {
    let client = event.client_name.as_deref().unwrap_or("an unnamed client");
    let version = event.client_version.as_deref().unwrap_or_default();
    PrettyLine {
        time: iso(event.ts),
        upstream: &event.upstream,
        listener: Some(&event.listener),
        what: format!("session {} started: {client} {version}", event.session_id),
        status: None,
    }
}

fn schema(event: &SchemaEvent) -> PrettyLine<'_> {
    let keys: Vec<&str> = event.items.iter().take(5).map(|item| item.key.as_str()).collect();
    let more = if event.items.len() > keys.len() { ", …" } else { "" };
    let (method, change) = (event.mcp_method, event.change_type.name());
    PrettyLine {
        time: iso(event.ts),
        upstream: &event.upstream,
        listener: None,
        what: format!("{method} {change} {}: {}{more}", event.items.len(), keys.join(", ")),
        status: None,
    }
}

fn request(event: &RequestEvent) -> PrettyLine<'_> {
    let what = match &event.request {
        LoggedRequest::Mcp { mcp_method, tool, .. } => {
            format!("{mcp_method} {}", tool.as_deref().unwrap_or_default())
        }
        LoggedRequest::McpBatch { messages, .. } => format!("batch of {}", messages.len()),
        LoggedRequest::Http { method, uri, .. } => format!("{method} {uri}"),
    };
    let mut rest = format!(" {}", duration(event.latency_us));
    if event.status != Outcome::Ok
        && let Some(message) = &event.error_message
    {
        let code = event.error_code.map(|code| format!(" {code}")).unwrap_or_default();
        let _ = write!(rest, ":{code} {message}");
    }
    PrettyLine {
        time: iso(event.ts),
        upstream: &event.upstream,
        listener: Some(&event.listener),
        what,
        status: Some((event.status, rest)),
    }
}

/// Replaces control and bidirectional formatting characters, so that text from a peer can't move the cursor,
/// change colors, or reverse the order of the line.
fn printable(text: &str) -> String {
    let is_safe = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_safe(c) { c } else { '\u{fffd}' }).collect()
}
