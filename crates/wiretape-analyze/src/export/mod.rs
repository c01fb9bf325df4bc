//! Traces, handed out in other formats.
//!
//! A trace is read twice: once for what must come first in a file (the earliest time, whether something is missing), and
//! once for the messages. An exporter that shows calls is an analysis of the one interpretation of a trace; it holds the
//! calls that are open, and nothing else.

mod assay;
mod authorization;
mod csv;
mod envelope;
mod har;
mod json;
mod jsonrpc;
mod perfetto;

use crate::reading::{Analysis, Reading, RecordingState};
use std::io::{self, Write};
use wiretape_trace::format::{HttpContext, Line, Meta, Record};
use wiretape_trace::value::Value;

pub use authorization::Discovery;

/// All formats.
pub static FORMATS: &[&ExportFormat] = &[
    &assay::ASSAY_V2,
    &jsonrpc::JSONRPC,
    &envelope::STREAMABLE_HTTP,
    &envelope::HTTP_SSE,
    &har::HAR,
    &perfetto::PERFETTO,
    &csv::CSV,
];

/// A format that traces are handed out in.
pub struct ExportFormat {
    /// What users call it.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    make: fn(&ExportOptions, &Survey) -> Box<dyn Exporter>,
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExportFormat").field(&self.name).finish()
    }
}

impl ExportFormat {
    /// Begins an export.
    pub fn begin(&self, options: &ExportOptions, survey: &Survey) -> Box<dyn Exporter> {
        (self.make)(options, survey)
    }
}

/// The format of this name.
pub fn find(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// What the user may choose.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The id of an episode.
    pub episode_id: String,
    /// The id of a test.
    pub test_id: Option<String>,
    /// What the episode was asked.
    pub prompt: String,
}

/// Hands a trace out.
pub trait Exporter {
    /// Writes what stands at the beginning.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// Takes the next line of the trace.
    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()>;
    /// The trace just stops here: writes what comes last.
    fn finish(&mut self, state: RecordingState, out: &mut dyn Write) -> io::Result<()>;
}

/// What an analysis writes: gathered while a line is interpreted, and written when that is done.
#[derive(Debug, Default)]
struct Output {
    pending: Vec<u8>,
}

impl Output {
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        write(&mut self.pending).expect("writing into memory can't fail");
    }

    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// An analysis that is an export.
trait ExportAnalysis: Analysis {
    /// Writes what comes first.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// What it has written.
    fn output(&mut self) -> &mut Output;
    /// Writes what comes last, once all calls are closed.
    fn finish(&mut self) {}
}

/// Exports by an analysis.
fn exporter<A: ExportAnalysis + 'static>(analysis: A) -> Box<dyn Exporter> {
    Box::new(Interpreted { reading: Reading::new(analysis) })
}

struct Interpreted<A: Analysis> {
    reading: Reading<A>,
}

impl<A: ExportAnalysis> Exporter for Interpreted<A> {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.reading.analysis_mut().begin(out)
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.reading.observe(line);
        self.reading.analysis_mut().output().flush(out)
    }

    fn finish(&mut self, state: RecordingState, out: &mut dyn Write) -> io::Result<()> {
        self.reading.end_recording(state);
        self.reading.analysis_mut().finish();
        self.reading.analysis_mut().output().flush(out)
    }
}

/// What is known of a trace before it is handed out.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Its `meta`.
    pub meta: Option<Meta>,
    /// The earliest time of a message, in milliseconds since 1970.
    pub first_ms: Option<i64>,
    /// What it shows of how to log in.
    pub discovery: Discovery,
    /// Whether its secrets were taken out.
    pub redacted: bool,
    /// What an imported source says of the transport as a whole, as it stands there.
    pub context: Option<String>,
    /// Lines that are missing, or damaged.
    pub lost: u64,
    ended: bool,
}

impl Survey {
    /// A survey of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        match &line.record {
            Record::Meta(meta) => {
                self.redacted |= meta.redacted == Some(true);
                self.meta.get_or_insert_with(|| (**meta).clone());
            }
            Record::Message(message) => {
                let at = message.stamp.wall_ms();
                self.first_ms = self.first_ms.into_iter().chain(at).min();
                self.observe_http(message.http);
            }
            Record::Http(exchange) => {
                self.observe_http(Some(exchange.http));
                if self.context.is_none() {
                    self.context = document_context(exchange.http);
                }
            }
            Record::Text(text) => self.observe_http(text.http),
            Record::Gap(gap) => self.lost += gap.lost,
            Record::Damaged(_) => self.lost += 1,
            Record::End(end) => {
                self.lost = self.lost.max(end.lost.unwrap_or(0));
                self.ended = true;
            }
            _ => {}
        }
    }

    fn observe_http(&mut self, http: Option<&[u8]>) {
        // Most lines have none, and of the others most have no status.
        if let Some(http) = http.filter(|http| memchr::memmem::find(http, b"401").is_some()) {
            self.discovery.observe(&HttpContext::parse(http));
        }
    }

    /// Where it was imported from.
    pub fn imported(&self) -> Option<&str> {
        Some(self.meta.as_ref()?.imported.as_ref()?.format.as_str())
    }

    /// Whether something may be missing.
    pub fn is_incomplete(&self) -> bool {
        self.lost > 0 || !self.ended
    }

    /// `imported from x, redacted, incomplete`: what a reader should know.
    pub fn words(&self) -> String {
        let imported = match self.imported() {
            Some(format) => format!("imported from {format}"),
            None => "recorded".to_owned(),
        };
        let redacted = if self.redacted { "redacted" } else { "not redacted" };
        let incomplete = match (self.lost, self.ended) {
            (0, true) => "complete".to_owned(),
            (0, false) => "incomplete: it has no end".to_owned(),
            (1, _) => "incomplete: 1 part is missing or damaged".to_owned(),
            (lost, _) => format!("incomplete: {lost} parts are missing or damaged"),
        };
        format!("{imported}, {redacted}, {incomplete}")
    }
}

/// A context that belongs to no exchange.
fn document_context(http: &[u8]) -> Option<String> {
    let http = Value::parse(http).ok()?;
    let belongs = ["response", "request", "sse", "x"].iter().any(|name| http.get(name).is_some());
    let context = http.get("context").filter(|_| !belongs)?;
    Some(json::raw(context.raw).into_owned())
}
