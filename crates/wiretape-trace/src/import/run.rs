//! The import pipeline: from a source to the lines of traces.
//!
//! One thread reads and splits the source, workers parse and redact the batches, and the calling thread puts
//! them back in order and encodes lines. Batches are dealt to the workers in turn and collected in turn, so
//! order needs no sequence numbers; the channels hold one batch each, which bounds memory.

use super::conversation::Conversation;
use super::cut::{Batch, Cutter};
use super::formats::Format;
use super::item::{Defect, Flaw, Severity};
use super::prepare::{Gists, IdKey, Prepared, PreparedContent, PreparedItem, prepare};
use super::text;
use crate::compress;
use crate::format::{Assumed, Context, Encoder, Imported, LineEnd, Meta, Moment};
use crate::message::MessageKind;
use crate::redact::Redactor;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How many bytes at the beginning of a source are enough to detect its format.
pub const SAMPLE: usize = 256 * 1024;

/// Bytes per read from the source.
const CHUNK: usize = 256 * 1024;

/// Lines are passed to the sink once there are this many bytes of them.
const FLUSH: usize = 256 * 1024;

/// The most bytes of lines without a time that are held back until the source has one.
const HELD_BACK: usize = 8 * 1024 * 1024;

/// The most flaws that are kept in full; the rest are only counted.
const MAX_FLAWS: usize = 1000;

/// The options of an import.
pub struct ImportOptions<'o> {
    /// The format of the source.
    pub format: &'static Format,
    /// Redacts the source; without it everything is written as it is.
    pub redactor: Option<&'o Redactor>,
    /// Whether the first flaw rejects the source.
    pub strict: bool,
    /// The number of threads that parse units; at least one is used.
    pub workers: usize,
    /// The `meta` of the traces. If the source names its servers, a server's name replaces the label.
    pub meta: Meta,
    /// The name of the source, for the `meta`.
    pub source: String,
}

/// The destination of the traces.
pub trait TraceSink {
    /// Starts a trace. `server` is the server's name, if the source has names.
    fn begin(&mut self, server: Option<&str>) -> io::Result<SinkDecision>;
    /// Writes whole lines of a trace. Traces are numbered from 0 in the order in which they started.
    fn write(&mut self, trace: usize, lines: &[u8]) -> io::Result<()>;
}

/// Whether a sink wants a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkDecision {
    /// The trace is to be written.
    Wanted {
        /// The trace's id for its `meta`.
        id: Option<String>,
    },
    /// The trace is discarded, for example because the user chose another server.
    Unwanted,
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct ImportReport {
    /// The number of imported messages; each message of a batch counts.
    pub messages: u64,
    /// The flaws in the order of the source; at most a thousand.
    pub flaws: Vec<Flaw>,
    /// The number of flaws that lose nothing, kept or not.
    pub notes: u64,
    /// The number of parts of the source that could not be imported.
    pub losses: u64,
    /// The number of messages whose sender was guessed.
    pub guessed: u64,
    /// The number of traces.
    pub traces: usize,
}

/// A source could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The source has a fatal flaw, or any flaw if the import is strict.
    #[error("{0}")]
    Refused(Flaw),
    /// The source contains no message.
    #[error("the source has no messages")]
    Empty {
        /// What was found besides messages.
        report: Box<ImportReport>,
    },
    /// The source can't be read.
    #[error("can't read all of the source")]
    Read(#[source] io::Error),
    /// The trace can't be written.
    #[error("can't write the trace")]
    Write(#[source] io::Error),
}

/// Imports a source into `sink`. Returns when everything is written, or with the first fatal error.
pub fn import(
    source: impl Read + Send,
    options: &ImportOptions<'_>,
    sink: &mut dyn TraceSink,
) -> Result<ImportReport, ImportError> {
    let workers = options.workers.max(1);
    let mut traces = Traces { options, sink, open: Vec::new(), report: ImportReport::default() };
    thread::scope(|scope| {
        let (mut inlets, mut outlets, mut preparing) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..workers {
            // One batch of slack per worker: enough to keep it busy, and it bounds memory.
            let (inlet, batches) = sync_channel::<Batch>(1);
            let (results, outlet) = sync_channel::<Prepared>(1);
            let (format, redactor) = (options.format, options.redactor);
            preparing.push(scope.spawn(move || {
                for batch in batches {
                    if results.send(prepare(format, redactor, batch)).is_err() {
                        break;
                    }
                }
            }));
            inlets.push(inlet);
            outlets.push(outlet);
        }
        let reading = scope.spawn(move || read(source, options.format, &inlets));
        let written = traces.write_all(&outlets);
        // After an error, workers may be blocked on a full channel; this makes their `send` fail.
        drop(outlets);
        let read = join(reading);
        // The scope waits for the closures only; joining also waits until the threads have freed what they
        // held.
        preparing.into_iter().for_each(join);
        written?;
        if let Some(flaw) = read.map_err(ImportError::Read)? {
            traces.flaw(flaw)?;
        }
        Ok(())
    })?;
    traces.finish()
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Reads a source and deals its batches to the workers in turn. A source that ends too early is a flaw.
fn read(source: impl Read + Send, format: &Format, inlets: &[SyncSender<Batch>]) -> io::Result<Option<Flaw>> {
    // Decompression comes first: a byte order mark is inside.
    let mut source = text::reader(compress::reader(source)?)?;
    let mut cutter = Cutter::new(format.shape);
    let mut chunk = vec![0; CHUNK];
    let mut turns = inlets.iter().cycle();
    let mut deal = |batch| turns.next().is_some_and(|inlet| inlet.send(batch).is_ok());
    let mut flaw = None;
    loop {
        match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                if let Some(batch) = cutter.push(&chunk[..length])
                    && !deal(batch)
                {
                    // The other end is gone: the conversation has failed, and reports why.
                    return Ok(None);
                }
                if cutter.is_stuck() {
                    flaw = Some(Flaw { line: cutter.line(), entry: None, defect: Defect::CutOff });
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_broken_compression(&error) => {
                let defect = Defect::TruncatedCompression;
                flaw = Some(Flaw { line: cutter.line(), entry: None, defect });
                break;
            }
            Err(error) => return Err(error),
        }
    }
    deal(cutter.finish());
    Ok(flaw)
}

/// The id of the request that an item answers.
fn answered(item: &PreparedItem) -> Option<IdKey> {
    match &item.what {
        PreparedContent::Message { gists: Gists::One(gist), .. } if gist.kind == MessageKind::Response => {
            gist.id
        }
        _ => None,
    }
}

fn is_broken_compression(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | InvalidData | InvalidInput)
}

/// The traces that are being written, one for each server.
struct Traces<'t, 'o> {
    options: &'t ImportOptions<'o>,
    sink: &'t mut dyn TraceSink,
    open: Vec<OpenTrace>,
    report: ImportReport,
}

struct OpenTrace {
    server: Option<String>,
    conversation: Conversation,
    encoder: Encoder,
    /// The `meta` line, until the start time is known.
    meta: Option<Meta>,
    lines: Vec<u8>,
    /// The first time in the source.
    first_ms: Option<i64>,
    /// The last time in the source so far.
    last_ms: Option<i64>,
    wanted: bool,
}

impl OpenTrace {
    /// The time of the next line. A line without one repeats the previous time.
    fn moment(&mut self, at_ms: Option<i64>) -> Moment {
        if let Some(at_ms) = at_ms {
            self.first_ms.get_or_insert(at_ms);
            self.last_ms = Some(at_ms);
            self.begin(at_ms);
        }
        Moment { wall_ms: self.last_ms.unwrap_or_default(), us: 0 }
    }

    /// Writes the `meta` line, and restamps the lines that were held back because they came before the first
    /// time.
    fn begin(&mut self, wall_ms: i64) {
        let Some(meta) = self.meta.take() else { return };
        let held_back = std::mem::take(&mut self.lines);
        self.encoder.meta(&mut self.lines, Moment { wall_ms, us: 0 }, &meta);
        for line in held_back.split_inclusive(|byte| *byte == b'\n') {
            self.encoder.restamp(&mut self.lines, wall_ms, line);
        }
    }

    /// Milliseconds between the first and the last time in the source.
    fn duration_ms(&self) -> u64 {
        let duration = self.first_ms.zip(self.last_ms).map(|(first, last)| last.saturating_sub(first));
        duration.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0)
    }
}

impl Traces<'_, '_> {
    fn write_all(&mut self, outlets: &[Receiver<Prepared>]) -> Result<(), ImportError> {
        for outlet in outlets.iter().cycle() {
            // Batches are dealt in turn, so the first worker without another batch marks the end.
            let Ok(prepared) = outlet.recv() else { break };
            self.write_batch(&prepared)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, prepared: &Prepared) -> Result<(), ImportError> {
        let mut flaws = prepared.flaws.iter().peekable();
        for item in &prepared.items {
            // Flaws are interleaved with items by line, so that the report follows the order of the source.
            while let Some(flaw) = flaws.next_if(|flaw| flaw.line <= item.line) {
                self.flaw(flaw.clone())?;
            }
            self.item(prepared, item)?;
        }
        for flaw in flaws {
            self.flaw(flaw.clone())?;
        }
        for trace in 0..self.open.len() {
            self.flush(trace, FLUSH)?;
        }
        Ok(())
    }

    fn flaw(&mut self, flaw: Flaw) -> Result<(), ImportError> {
        let severity = flaw.defect.severity();
        // Nothing is written yet that can't be discarded: the caller commits its files only on success.
        if severity == Severity::Fatal || self.options.strict {
            return Err(ImportError::Refused(flaw));
        }
        match severity {
            Severity::Note => self.report.notes += 1,
            Severity::Loss | Severity::Fatal => self.report.losses += 1,
        }
        if self.report.flaws.len() < MAX_FLAWS {
            self.report.flaws.push(flaw);
        }
        Ok(())
    }

    fn item(&mut self, prepared: &Prepared, item: &PreparedItem) -> Result<(), ImportError> {
        if matches!(item.what, PreparedContent::FreshIds) {
            if let Some(at) = self.trace_of(item) {
                self.open[at].conversation.forget_calls();
            }
            return Ok(());
        }
        if self.is_repeated(item) {
            return self.flaw(item.flaw(Defect::RepeatedCall));
        }
        let at = self.trace_for(item)?;
        let trace = &mut self.open[at];
        let moment = trace.moment(item.at_ms);
        let mut context = Context {
            session: item.session.as_deref(),
            http: item.http.as_deref(),
            assumed: Assumed { time: item.at_ms.is_none(), direction: false },
            ..Context::default()
        };
        let (encoder, lines) = (&mut trace.encoder, &mut trace.lines);
        match &item.what {
            PreparedContent::Message { from, raw, gists } => {
                if self.options.format.many_sessions && gists.iter().any(|gist| gist.is_initialize) {
                    // A new handshake: ids may start over.
                    trace.conversation.forget_calls();
                }
                let attribution = trace
                    .conversation
                    .observe(*from, gists)
                    .map_err(|defect| ImportError::Refused(item.flaw(defect)))?;
                context.assumed.direction = attribution.guessed;
                encoder.message(lines, moment, attribution.from, context, prepared.bytes(raw));
                if trace.wanted {
                    self.report.messages += gists.count();
                    self.report.guessed += if attribution.guessed { gists.count() } else { 0 };
                }
            }
            PreparedContent::Text { from, text } => {
                encoder.text(lines, moment, *from, context, prepared.bytes(text));
            }
            PreparedContent::Stderr { text } => {
                let context = Context { assumed: context.assumed, ..Context::default() };
                encoder.stderr(lines, moment, context, prepared.bytes(text));
            }
            PreparedContent::Exchange => encoder.http(lines, moment, context),
            PreparedContent::FreshIds => {}
        }
        Ok(())
    }

    /// The trace of an item's server; starts one if there is none.
    fn trace_for(&mut self, item: &PreparedItem) -> Result<usize, ImportError> {
        self.trace_of(item).map_or_else(|| self.begin(item), Ok)
    }

    /// The trace of an item's server, if it has started. A response that doesn't name its server belongs to
    /// the one whose request is open.
    fn trace_of(&self, item: &PreparedItem) -> Option<usize> {
        let asked = answered(item)
            .filter(|_| item.server.is_none())
            .and_then(|id| self.open.iter().position(|trace| trace.conversation.waits_for(id)));
        asked.or_else(|| self.open.iter().position(|trace| trace.server == item.server))
    }

    /// Whether a call, or its result, was imported before. Programs that only store calls write a session's
    /// history again when it is resumed.
    fn is_repeated(&self, item: &PreparedItem) -> bool {
        let PreparedContent::Message { gists: Gists::One(gist), .. } = &item.what else { return false };
        let Some(id) = gist.id.filter(|_| self.options.format.calls_only) else { return false };
        let mut servers =
            self.open.iter().filter(|trace| item.server.is_none() || trace.server == item.server);
        let waits = || servers.clone().any(|trace| trace.conversation.waits_for(id));
        let may_repeat = match gist.kind {
            MessageKind::Request => gist.is_tool_call,
            MessageKind::Response => !waits(),
            _ => false,
        };
        may_repeat && servers.any(|trace| trace.conversation.has_call(id))
    }

    fn begin(&mut self, item: &PreparedItem) -> Result<usize, ImportError> {
        let begun = self.sink.begin(item.server.as_deref()).map_err(ImportError::Write)?;
        let (wanted, id) = match begun {
            SinkDecision::Wanted { id } => (true, id),
            SinkDecision::Unwanted => (false, None),
        };
        let mut meta = Meta {
            id,
            imported: Some(Imported {
                format: self.options.format.name.to_owned(),
                source: self.options.source.clone(),
                calls_only: self.options.format.calls_only.then_some(true),
            }),
            redacted: Some(self.options.redactor.is_some()),
            transport: self.options.format.transport.map(str::to_owned),
            ..self.options.meta.clone()
        };
        if let Some(server) = &item.server {
            meta.label = crate::name::clean_label(server);
        }
        self.open.push(OpenTrace {
            server: item.server.clone(),
            conversation: Conversation::default(),
            encoder: Encoder::without_offsets(),
            meta: Some(meta),
            lines: Vec::new(),
            first_ms: None,
            last_ms: None,
            wanted,
        });
        Ok(self.open.len() - 1)
    }

    /// Passes the lines of a trace to the sink, if there are at least `least` bytes.
    fn flush(&mut self, at: usize, least: usize) -> Result<(), ImportError> {
        // An unwanted trace is still interpreted, since its ids decide to which server an answer belongs.
        if !self.open[at].wanted {
            self.open[at].lines.clear();
            return Ok(());
        }
        let trace = &mut self.open[at];
        if trace.meta.is_some() && trace.lines.len() >= HELD_BACK {
            // Too much is held back to wait any longer: the source seems to have no times.
            trace.begin(0);
        }
        let lines = &mut trace.lines;
        if trace.meta.is_none() && lines.len() >= least {
            self.sink.write(at, lines).map_err(ImportError::Write)?;
            lines.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ImportReport, ImportError> {
        if self.report.messages == 0 {
            return Err(ImportError::Empty { report: Box::new(self.report) });
        }
        for at in 0..self.open.len() {
            let trace = &mut self.open[at];
            trace.begin(0);
            let end = LineEnd {
                duration_ms: trace.duration_ms(),
                reason: Some(format!("imported from {}", self.options.format.name)),
                lost: (self.report.losses > 0).then_some(self.report.losses),
                assumed: if trace.first_ms.is_some() { &["exitCode"] } else { &["t", "exitCode"] },
                ..LineEnd::default()
            };
            let moment = trace.moment(None);
            trace.encoder.end(&mut trace.lines, moment, &end);
            self.flush(at, 0)?;
        }
        self.report.traces = self.open.len();
        Ok(self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Kept(Vec<(String, Vec<u8>)>);

    impl TraceSink for Kept {
        fn begin(&mut self, server: Option<&str>) -> io::Result<SinkDecision> {
            self.0.push((server.unwrap_or("-").to_owned(), Vec::new()));
            Ok(SinkDecision::Wanted { id: None })
        }

        fn write(&mut self, trace: usize, lines: &[u8]) -> io::Result<()> {
            self.0[trace].1.extend_from_slice(lines);
            Ok(())
        }
    }

    fn imported(format: &str, source: &[u8]) -> (Result<ImportReport, ImportError>, Kept) {
        let mut kept = Kept::default();
        let options = ImportOptions {
            format: super::super::formats::find(format).unwrap(),
            redactor: None,
            strict: false,
            workers: 2,
            meta: Meta::default(),
            source: String::new(),
        };
        (import(source, &options, &mut kept), kept)
    }

    /// A trace is written as the name of its server, and how many messages and other lines are between its
    /// first line and
    fn check(format: &str, source: &[u8], traces: &[(&str, usize, usize)], flaws: &[&str]) {
        let (report, kept) = imported(format, source);
        let report = report.unwrap();
        let count = |(server, lines): &(String, Vec<u8>)| {
            let lines: Vec<&[u8]> =
                lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
            let messages =
                lines.iter().filter(|line| memchr::memmem::find(line, b",\"raw\":").is_some()).count();
            (server.clone(), messages, lines.len() - messages - 2)
        };
        let told: Vec<_> = kept.0.iter().map(count).collect();
        let expected: Vec<_> =
            traces.iter().map(|(name, all, rest)| ((*name).to_owned(), *all, *rest)).collect();
        assert_eq!(told, expected);
        let told: Vec<String> = report.flaws.iter().map(ToString::to_string).collect();
        assert_eq!(told, flaws);
        assert_eq!(report.guessed, 0);
    }

    #[test]
    fn a_server_may_be_connected_to_again() {
        let fixture = include_bytes!("../../../../fixtures/import/mcporter.jsonl");
        check("mcporter", fixture, &[("tickets", 8, 0), ("weather", 10, 0)], &[]);
        let fixture = include_bytes!("../../../../fixtures/import/mcp-rec.jsonl");
        check("mcp-rec", fixture, &[("-", 17, 1)], &[]);
    }

    #[test]
    fn several_clients_may_use_the_same_ids() {
        let fixture = include_bytes!("../../../../fixtures/import/mcpsnoop.jsonl");
        let flaw = "line 16: the message was truncated by the program that wrote it";
        check("mcpsnoop", fixture, &[("files", 12, 3), ("shop", 6, 2)], &[flaw]);
    }

    #[test]
    fn an_answer_without_a_server_goes_to_who_was_asked_and_what_is_repeated_is_written_once() {
        let fixture = include_bytes!("../../../../fixtures/import/claude-code.jsonl");
        let again = |line| format!("line {line}: duplicate of an earlier call in the source; skipped");
        let flaws = [15, 16, 17, 18].map(again);
        let flaws: Vec<&str> = flaws.iter().map(String::as_str).collect();
        let traces = [("tickets", 6, 0), ("claude-code", 3, 0), ("plugin_web_browser", 2, 0)];
        check("claude-code", fixture, &traces, &flaws);
    }

    #[test]
    fn an_envelope_with_nothing_in_it_is_told_of() {
        let message =
            br#"{"direction":"c2s","seq":1,"raw":{"jsonrpc":"2.0","method":"notifications/initialized"}}"#;
        let empty = br#"{"direction":"s2c","seq":2}"#;
        let flaw = "line 2: expected a message, a text or an HTTP exchange";
        check("mcpsnoop", &[&message[..], empty].join(&b'\n'), &[("-", 1, 0)], &[flaw]);
    }

    #[test]
    fn what_surrounds_a_message_is_written_as_text() {
        let mut source = br#"{"transport":"http-sse","entries":[{"transport_context":{"headers":{"x":"2?5"}},"request":{"jsonrpc":"2.0","method":"notifications/initialized"}}]}"#.to_vec();
        let odd = source.iter().position(|byte| *byte == b'?').unwrap();
        source[odd] = 0xff;
        check("http-sse", &source, &[("-", 1, 0)], &["line 1, entry 1: invalid UTF-8"]);
        let (_, kept) = imported("http-sse", &source);
        assert!(std::str::from_utf8(&kept.0[0].1).is_ok());
    }

    /// The lines of the only trace, as values.
    fn lines(format: &str, source: &[u8]) -> Vec<serde_json::Value> {
        let (report, kept) = imported(format, source);
        report.unwrap();
        let lines = kept.0[0].1.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    fn timed(ms: i64) -> Vec<u8> {
        format!(r#"{{"timestamp_ms":{ms},"jsonrpc":"2.0","method":"notifications/initialized"}}"#)
            .into_bytes()
    }

    #[test]
    fn a_trace_begins_with_the_first_time_of_its_source() {
        let source = [PING, &timed(1_750_000_000_000), PING, &timed(1_750_000_000_250)].join(&b'\n');
        let lines = lines("jsonrpc", &source);
        let started = "2025-06-15T15:06:40.000Z";
        assert_eq!(lines[0]["startedAt"], started);
        let times: Vec<_> = lines[1..].iter().map(|line| line["t"].as_str().unwrap()).collect();
        let later = "2025-06-15T15:06:40.250Z";
        assert_eq!(times, [started, started, started, later, later]);
        let has_time = |line: &serde_json::Value| !line["assumed"].to_string().contains("\"t\"");
        assert_eq!([1, 2, 3, 4].map(|at| has_time(&lines[at])), [false, true, false, true]);
        assert_eq!(lines[5]["durationMs"], 250);
    }

    #[test]
    fn standard_error_before_any_time_says_that_it_has_none() {
        let log = "starting up\n2026-06-03T09:15:02.274Z [x] [info] Message from client: {\"method\":\"initialize\",\"params\":{},\"jsonrpc\":\"2.0\",\"id\":0} { metadata: undefined }\n";
        let lines = lines("claude-desktop", log.as_bytes());
        assert_eq!(lines[0]["startedAt"], "2026-06-03T09:15:02.274Z");
        assert_eq!((&lines[1]["type"], &lines[1]["t"]), (&"stderr".into(), &lines[0]["startedAt"]));
        assert_eq!(lines[1]["assumed"], serde_json::json!(["t"]));
    }

    #[test]
    fn a_source_without_times_begins_in_1970() {
        let lines = lines("jsonrpc", PING);
        assert_eq!(lines[0]["startedAt"], "1970-01-01T00:00:00.000Z");
        assert_eq!(lines[2]["assumed"], serde_json::json!(["t", "exitCode"]));
    }

    #[test]
    fn only_so_much_is_held_back_for_a_time_that_may_never_come() {
        let long =
            format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"x":"{}"}}}}"#, "y".repeat(1024 * 1024));
        let mut source = [long.as_bytes(); 10].join(&b'\n');
        source.extend_from_slice(
            &[b"\n", &timed(1_750_000_000_000)[..], b"\n", &timed(1_750_000_000_250)].concat(),
        );
        let lines = lines("jsonrpc", &source);
        assert_eq!(lines[0]["startedAt"], "1970-01-01T00:00:00.000Z");
        assert_eq!(lines[11]["t"], "2025-06-15T15:06:40.000Z");
        assert_eq!(lines[13]["durationMs"], 250);
    }

    #[test]
    fn the_messages_of_a_batch_are_counted() {
        let batch = [&b"["[..], PING, b",", br#"{"jsonrpc":"2.0","id":2,"method":"ping"}]"#].concat();
        let (report, _) = imported("jsonrpc", &batch);
        assert_eq!(report.unwrap().messages, 2);
    }

    #[test]
    fn flaws_of_a_document_name_the_entry() {
        let call = r#"{"request":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}}"#;
        let told = |entries: &str| {
            let source = format!(r#"{{"transport":"http-sse","entries":[{entries}]}}"#);
            match imported("http-sse", source.as_bytes()).0 {
                Ok(report) => report.flaws.iter().map(ToString::to_string).collect(),
                Err(error) => vec![error.to_string()],
            }
        };
        assert_eq!(
            told(&format!("{call},{{}}")),
            ["line 1, entry 2: an entry must have exactly one of `request`, `response` and `sse`"]
        );
        assert_eq!(
            told(&format!("{call},{call}")),
            ["line 1, entry 2: a `tools/call` request has the `id` of an earlier one"]
        );
        assert_eq!(
            told(&format!(r#"{call},{{"response":{{}}}}"#)),
            ["line 1, entry 2: not a JSON-RPC message"]
        );
    }

    #[test]
    fn a_result_whose_call_is_missing_is_kept() {
        let line = br#"{"type":"user","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","content":"x"}]}}"#;
        check("claude-code", line, &[("-", 1, 0)], &[]);
    }

    #[test]
    fn a_call_with_the_id_of_another_is_refused_elsewhere() {
        let line = br#"{"ts": 1.0, "dir": "client->server", "msg": {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}}"#;
        let (report, _) = imported("mcp-rec", &[&line[..], line].join(&b'\n'));
        assert_eq!(
            report.unwrap_err().to_string(),
            "line 2: a `tools/call` request has the `id` of an earlier one"
        );
    }
}
