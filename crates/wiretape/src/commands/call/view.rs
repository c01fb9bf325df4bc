//! The output of one call.

use super::parts::{CallDetail, CallEvent, CallEventKind};
use crate::calls::DisplayFormat;
use crate::commands::calls::{CallJson, status_cell};
use crate::json::{self, ObjectWriter};
use crate::output::{self, Output, Styles};
use crate::text::printable;
use crate::units;
use std::io::{self, Write};
use std::path::Path;
use wiretape_analyze::call::{Call, Outcome};
use wiretape_analyze::tokens;
use wiretape_trace::message::Envelope;

impl CallDetail {
    pub(super) fn write(&self, out: &mut Output, path: &Path) -> io::Result<()> {
        let styles = out.styles;
        self.write_head(out, path, &styles)?;
        heading(out, &styles, "request", Some(self.call.request.line))?;
        json::write_pretty(out, &self.request, 2, &styles)?;
        // Most calls have no progress and no server requests, and an empty section is noise.
        if !self.events.is_empty() {
            heading(out, &styles, "during this call", None)?;
            for part in &self.events {
                part.write(out, &styles)?;
            }
            if self.more > 0 {
                writeln!(out, "  and {} more", units::number(self.more))?;
            }
        }
        match &self.response {
            Some(response) => {
                heading(out, &styles, "response", self.call.response.map(|place| place.line))?;
                json::write_pretty(out, response, 2, &styles)
            }
            None => Ok(()),
        }
    }

    fn write_head(&self, out: &mut Output, path: &Path, styles: &Styles) -> io::Result<()> {
        let call = &self.call;
        let name = format!("{} {}", call.method, call.tool.as_deref().unwrap_or_default());
        let title = format!("call {} ", call.number);
        let trace = path.display().to_string();
        writeln!(
            out,
            "{}{}  {}",
            styles.hint.paint(title),
            styles.strong.paint(printable(name.trim_end())),
            styles.dim.paint(printable(&trace))
        )?;
        for (name, text) in self.facts(&DisplayFormat::of(out)) {
            let paint = if name == "status" { status_paint(call, styles) } else { styles.plain };
            writeln!(out, "  {:<9} {}", styles.dim.paint(format!("{name:<9}")), paint.paint(text))?;
        }
        Ok(())
    }

    fn facts(&self, look: &DisplayFormat) -> Vec<(&'static str, String)> {
        let call = &self.call;
        let mut facts = vec![("status", status_text(call))];
        let id = call.id.as_ref().map_or("none".to_owned(), |id| printable(&id.to_string()).into_owned());
        facts.push(("id", id));
        if let Some(ms) = call.asked.wall_ms {
            facts.push(("time", look.clock(ms)));
        }
        if let Some(us) = call.duration_us {
            facts.push(("duration", self.timing(us)));
        }
        let response = call.response_bytes.map(|bytes| format!(", response {}", units::bytes(bytes)));
        facts.push((
            "size",
            format!("request {}{}", units::bytes(call.request_bytes), response.unwrap_or_default()),
        ));
        if let Some(tokens) = self.result_tokens() {
            facts.push((
                "tokens",
                format!("about {} in the result ({})", units::number(tokens), tokens::ENCODING),
            ));
        }
        if let Some(session) = &call.session {
            facts.push(("session", printable(session).into_owned()));
        }
        if let Some(parent) = call.parent {
            facts.push(("parent", format!("call {parent}")));
        }
        if let Some(first) = self.call.operation {
            facts.push(("part of", format!("the operation started by call {first}")));
        }
        if call.elsewhere {
            facts.push(("note", "the response arrived on another stream than the request".to_owned()));
        }
        facts
    }

    /// `1.20s (server 400ms, waiting for user 800ms)`
    fn timing(&self, us: u64) -> String {
        let call = &self.call;
        let parts = [
            ("server", call.own_us()),
            ("waiting for user", Some(call.person_us)),
            ("client", Some(call.client_us)),
        ];
        // The usual case: all of the time is the server's, and saying so adds nothing.
        if call.person_us + call.client_us == 0 {
            return units::duration(us);
        }
        let parts = parts.into_iter().filter_map(|(who, us)| us.filter(|us| *us > 0).map(|us| (who, us)));
        let parts: Vec<String> = parts.map(|(who, us)| format!("{who} {}", units::duration(us))).collect();
        format!("{} ({})", units::duration(us), parts.join(", "))
    }

    fn result_tokens(&self) -> Option<u64> {
        let response = self.response.as_deref()?;
        let result = Envelope::scan(response).result?;
        // Images and audio have no estimate; "0 tokens" would be wrong.
        Some(tokens::of_result(result)).filter(|tokens| *tokens > 0)
    }

    pub(super) fn write_json(&self, path: &Path) -> io::Result<()> {
        let call = serde_json::to_vec(&CallJson::new(path, &self.call))?;
        let mut object = ObjectWriter::new();
        object.raw("call", &call).raw("request", or_null(&self.request));
        object.raw("response", self.response.as_deref().map_or(b"null", |response| or_null(response)));
        object.array("meanwhile", self.events.iter().map(CallEvent::json));
        object.number("more", Some(self.more));
        object.number("resultTokens", self.result_tokens()).string("encoding", Some(tokens::ENCODING));
        let mut out = output::machine_stdout();
        out.write_all(&object.finish())?;
        out.write_all(b"\n")?;
        out.flush()
    }
}

fn or_null(payload: &[u8]) -> &[u8] {
    // The line of the message is damaged or gone; the object must still be valid JSON.
    if payload.is_empty() { b"null" } else { payload }
}

fn heading(out: &mut Output, styles: &Styles, title: &str, line: Option<u64>) -> io::Result<()> {
    let line = line.map(|line| format!("  line {line}")).unwrap_or_default();
    writeln!(out, "\n{}{}", styles.strong.paint(title), styles.dim.paint(line))
}

fn status_text(call: &Call) -> String {
    let meaning = match call.outcome {
        Outcome::ToolError => "isError in the result",
        Outcome::ProtocolError => "JSON-RPC error",
        Outcome::TimedOut | Outcome::Cancelled if call.is_late() => "answered later",
        Outcome::TimedOut => "no response in time",
        Outcome::Cancelled => "no response",
        Outcome::Disconnected => "the client disconnected, or the recorder was stopped",
        Outcome::Crashed => "the server crashed before it responded",
        Outcome::Unanswered => "no response before the recording ended or the id was reused",
        Outcome::Pending => "in flight",
        Outcome::Ok | Outcome::HttpError => return status_words(call),
    };
    format!("{} ({meaning})", status_words(call))
}

fn status_words(call: &Call) -> String {
    status_cell(call, &Styles::plain()).text().to_owned()
}

fn status_paint(call: &Call, styles: &Styles) -> crate::output::Paint {
    status_cell(call, styles).paint()
}

impl CallEvent {
    fn write(&self, out: &mut Output, styles: &Styles) -> io::Result<()> {
        let after = self.after_us.map(|us| format!("+{}", units::duration(us))).unwrap_or_default();
        let start = format!("  {after:>9}  line {:<5} ", self.line);
        write!(out, "{}", styles.dim.paint(start))?;
        match &self.kind {
            CallEventKind::Progress(raw) => line(out, styles, "progress", &params(raw)),
            CallEventKind::Cancellation(raw) => line(out, styles, "cancelled", &params(raw)),
            CallEventKind::Stderr(text) => {
                writeln!(out, "{} {}", styles.warning.paint("stderr"), printable(text.trim_end()))
            }
            CallEventKind::Request { number, payload } => {
                writeln!(out, "{}", styles.server_to_client.paint(format!("← call {number}")))?;
                json::write_pretty(out, payload, 4, styles)
            }
            CallEventKind::Answer { number, payload } => {
                writeln!(out, "{}", styles.client_to_server.paint(format!("→ response to call {number}")))?;
                json::write_pretty(out, payload, 4, styles)
            }
        }
    }

    fn json(&self) -> Vec<u8> {
        let mut object = ObjectWriter::new();
        let (kind, number) = match &self.kind {
            CallEventKind::Progress(_) => ("progress", None),
            CallEventKind::Cancellation(_) => ("cancellation", None),
            CallEventKind::Stderr(_) => ("stderr", None),
            CallEventKind::Request { number, .. } => ("request", Some(*number)),
            CallEventKind::Answer { number, .. } => ("answer", Some(*number)),
        };
        object.string("kind", Some(kind)).number("line", Some(self.line)).number("afterUs", self.after_us);
        // Documented as present only for requests and responses, so `null` would be a change of the format.
        if number.is_some() {
            object.number("call", number);
        }
        match &self.kind {
            CallEventKind::Stderr(text) => object.string("text", Some(text)),
            CallEventKind::Progress(raw) | CallEventKind::Cancellation(raw) => object.raw("raw", raw),
            CallEventKind::Request { payload, .. } | CallEventKind::Answer { payload, .. } => {
                object.raw("raw", payload)
            }
        };
        object.finish()
    }
}

fn line(out: &mut Output, styles: &Styles, word: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{} {text}", styles.name.paint(word))
}

fn params(raw: &[u8]) -> String {
    // The token only repeats which call this is.
    let params = json::member(raw, "params").unwrap_or_default();
    json::compact_members(params, &["progressToken", "_meta"], 200)
}
