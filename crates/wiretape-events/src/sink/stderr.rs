//! Events for somebody who watches.

use super::{Signal, Sink, SinkError, What};
use crate::event::{Event, LoggedRequest, RequestEvent};
use crate::line::LineWhat;
use crate::observe::iso;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use wiretape_analyze::call::Outcome;

/// How events look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A line for people.
    Pretty,
    /// One JSON object in a line.
    Json,
}

/// Writes events as they come.
pub struct StderrSink {
    out: Box<dyn Write + Send>,
    look: Look,
}

impl StderrSink {
    /// Writes to `out`.
    pub fn new(out: Box<dyn Write + Send>, look: Look) -> Self {
        StderrSink { out, look }
    }

    fn text(&self, signal: &Signal) -> Option<Vec<u8>> {
        match (self.look, &signal.what) {
            (Look::Json, What::Event(_)) => Some(signal.json().to_vec()),
            (Look::Json, What::Line(_)) => None,
            (Look::Pretty, What::Event(event)) => pretty(event).map(String::into_bytes),
            (Look::Pretty, What::Line(line)) => {
                let text = match &line.what {
                    LineWhat::SessionEnd => format!("session {} ended", line.session),
                    LineWhat::CspViolation { blocked_uri, directive } => {
                        format!("blocked {blocked_uri} by {directive}")
                    }
                    _ => return None,
                };
                Some(format!("{} {}", clock(&line.ts), printable(&text)).into_bytes())
            }
        }
    }
}

impl Sink for StderrSink {
    fn name(&self) -> &str {
        "stderr"
    }

    fn take(&mut self, signals: &[Arc<Signal>]) -> Result<(), SinkError> {
        let mut all = Vec::new();
        for text in signals.iter().filter_map(|signal| self.text(signal)) {
            all.extend_from_slice(&text);
            all.push(b'\n');
        }
        // If nobody reads it, nobody is left to be told.
        let _ = self.out.write_all(&all).and_then(|()| self.out.flush());
        Ok(())
    }
}

/// The time of day of an ISO timestamp.
fn clock(iso: &str) -> &str {
    iso.get(11..23).unwrap_or(iso)
}

/// One line that tells the most important. Heartbeats say nothing to people.
fn pretty(event: &Event) -> Option<String> {
    let mut text = String::new();
    let ts = match event {
        Event::Request(event) => {
            request(event, &mut text);
            event.ts
        }
        Event::Session(event) => {
            let unknown = "an unnamed client";
            let client = event.client_name.as_deref().unwrap_or(unknown);
            let version = event.client_version.as_deref().unwrap_or_default();
            let _ = write!(text, "session {} began: {client} {version}", event.session_id);
            event.ts
        }
        Event::Schema(event) => {
            let keys: Vec<&str> = event.items.iter().take(5).map(|item| item.key.as_str()).collect();
            let more = if event.items.len() > keys.len() { ", …" } else { "" };
            let (method, change) = (event.mcp_method, event.change_type.name());
            let _ = write!(text, "{method} {change} {}: {}{more}", event.items.len(), keys.join(", "));
            event.ts
        }
        Event::Heartbeat(_) => return None,
    };
    Some(format!("{} {}", clock(&iso(ts)), printable(text.trim_end())))
}

fn request(event: &RequestEvent, text: &mut String) {
    let _ = match &event.request {
        LoggedRequest::Mcp { mcp_method, tool, .. } => {
            write!(text, "{mcp_method} {}", tool.as_deref().unwrap_or_default())
        }
        LoggedRequest::McpBatch { messages, .. } => write!(text, "batch of {}", messages.len()),
        LoggedRequest::Http { method, uri, .. } => write!(text, "{method} {uri}"),
    };
    let trimmed = text.trim_end().len();
    text.truncate(trimmed);
    let ms = event.latency_us as f64 / 1000.0;
    let _ = write!(text, " {} {ms:.1} ms", event.status.name());
    if event.status != Outcome::Ok
        && let Some(message) = &event.error_message
    {
        let code = event.error_code.map(|code| format!(" {code}")).unwrap_or_default();
        let _ = write!(text, ":{code} {message}");
    }
}

/// What came from peers can't move the cursor, nor turn the line around.
fn printable(text: &str) -> String {
    let is_safe = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_safe(c) { c } else { '\u{fffd}' }).collect()
}
