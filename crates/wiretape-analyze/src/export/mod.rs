//! Exports traces to other formats.
//!
//! A trace is read twice: first for the facts that a file must start with (the earliest time, whether lines are missing), then
//! for the messages. An exporter of calls is an [`Analysis`] of the one interpretation of a trace; it holds only pending calls.

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

/// All export formats, in the order of the help.
pub static FORMATS: &[&ExportFormat] = &[
    &assay::ASSAY_V2,
    &jsonrpc::JSONRPC,
    &envelope::STREAMABLE_HTTP,
    &envelope::HTTP_SSE,
    &har::HAR,
    &perfetto::PERFETTO,
    &csv::CSV,
];

/// A format that traces can be exported to: its name, its description and its writer.
pub struct ExportFormat {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is for, in a few words, for `--help`.
    pub about: &'static str,
    make: fn(&ExportOptions, &Survey) -> Box<dyn Exporter>,
}

impl std::fmt::Debug for ExportFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ExportFormat").field(&self.name).finish()
    }
}

impl ExportFormat {
    /// Starts an export of one trace in this format.
    pub fn begin(&self, options: &ExportOptions, survey: &Survey) -> Box<dyn Exporter> {
        (self.make)(options, survey)
    }
}

/// The format with this name.
pub fn find(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// What the user chose on the command line.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// The id of the episode (`assay-v2`).
    pub episode_id: String,
    /// The id of the test (`assay-v2`).
    pub test_id: Option<String>,
    /// The prompt of the episode (`assay-v2`).
    pub prompt: String,
}

/// Writes a trace in another format.
pub trait Exporter {
    /// Writes the start of the file.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// Exports the next line.
    fn line(&mut self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()>;
    /// Writes the end of the file.
    fn finish(&mut self, state: RecordingState, out: &mut dyn Write) -> io::Result<()>;
}

/// Output of an analysis, buffered while a line is interpreted: analyses can't return errors, so writing happens afterwards.
#[derive(Debug, Default)]
struct Output {
    pending: Vec<u8>,
}

impl Output {
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        write(&mut self.pending).expect("writing to a Vec can't fail");
    }

    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// An analysis that exports.
trait ExportAnalysis: Analysis {
    /// Writes the start of the file.
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    /// The bytes that were written and not yet taken.
    fn output(&mut self) -> &mut Output;
    /// Writes the end of the file, after all calls are closed.
    fn finish(&mut self) {}
}

/// Adapts an analysis to [`Exporter`].
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
        // Closes the pending calls first, so that their rows come before the end of the file.
        self.reading.end_recording(state);
        self.reading.analysis_mut().finish();
        self.reading.analysis_mut().output().flush(out)
    }
}

/// Facts about a trace, from the first pass.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The `meta` record of the trace, if it has one.
    pub meta: Option<Meta>,
    /// The earliest time of a message, in milliseconds since 1970.
    pub first_ms: Option<i64>,
    /// What it shows of the OAuth discovery.
    pub discovery: Discovery,
    /// Whether it was redacted.
    pub redacted: bool,
    /// The transport context of an imported source, as JSON.
    pub context: Option<String>,
    /// The number of missing or damaged lines.
    pub lost: u64,
    ended: bool,
}

impl Survey {
    /// A survey before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Observes the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        match &line.record {
            Record::Meta(meta) => {
                self.redacted |= meta.redacted == Some(true);
                self.meta.get_or_insert_with(|| (**meta).clone());
            }
            Record::Message(message) => {
                let at = message.stamp.wall_ms();
                // The minimum, not the first: lines are in the order of observation, and imported ones may be in any
                // order.
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
                // The recorder counts all losses at the end, including those that the gap lines before it have
                // reported already.
                self.lost = self.lost.max(end.lost.unwrap_or(0));
                self.ended = true;
            }
            _ => {}
        }
    }

    fn observe_http(&mut self, http: Option<&[u8]>) {
        // A byte search first: most lines have no HTTP part, and most others no status.
        if let Some(http) = http.filter(|http| memchr::memmem::find(http, b"401").is_some()) {
            self.discovery.observe(&HttpContext::parse(http));
        }
    }

    /// The format it was imported from.
    pub fn imported(&self) -> Option<&str> {
        Some(self.meta.as_ref()?.imported.as_ref()?.format.as_str())
    }

    /// Whether lines are missing or the recording was cut off.
    pub fn is_incomplete(&self) -> bool {
        self.lost > 0 || !self.ended
    }

    /// Origin, redaction and completeness: `imported from x, redacted, incomplete`.
    pub fn words(&self) -> String {
        let imported = match self.imported() {
            Some(format) => format!("imported from {format}"),
            None => "recorded".to_owned(),
        };
        let redacted = if self.redacted { "redacted" } else { "not redacted" };
        let incomplete = match (self.lost, self.ended) {
            (0, true) => "complete".to_owned(),
            (0, false) => "incomplete: the recording was cut off".to_owned(),
            (1, _) => "incomplete: 1 part is missing or damaged".to_owned(),
            (lost, _) => format!("incomplete: {lost} parts are missing or damaged"),
        };
        format!("{imported}, {redacted}, {incomplete}")
    }
}

/// The context of a whole document, which belongs to no exchange.
fn document_context(http: &[u8]) -> Option<String> {
    let http = Value::parse(http).ok()?;
    let belongs = ["response", "request", "sse", "x"].iter().any(|name| http.get(name).is_some());
    let context = http.get("context").filter(|_| !belongs)?;
    Some(json::raw(context.raw).into_owned())
}
