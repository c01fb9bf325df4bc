//! Statistics of traces, which are read in full.

use super::StatsFormat;
use super::json::{CallsJson, LatencyJson};
use super::table::{self, Row};
use crate::commands::outcomes_json::OutcomesJson;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, Head, TraceFileError};
use crate::units;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use wiretape_analyze::operation::OperationKind;
use wiretape_analyze::reading::{Reading, RecordingState};
use wiretape_analyze::stats::{CallStats, OperationStats, StatsRow, Subject, ToolStats};
use wiretape_analyze::summary::{Crash, Crashes};
use wiretape_analyze::tokens;
use wiretape_trace::message::Direction;

/// Reads the traces and prints their statistics.
pub(super) fn run(traces: &[TraceSelector], format: StatsFormat, tokens: Tokens) -> Result<(), CommandError> {
    let paths = traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    let stats = match tokens {
        Tokens::Counted => ToolStats::with_tokens(),
        Tokens::Skipped => ToolStats::new(),
    };
    let mut reading = Reading::new((stats, Crashes::default()));
    let mut traces: Vec<MeasuredTrace> = Vec::new();
    for path in paths {
        // The head is read before the lines: it says whether this file continues the one before.
        let head = trace_file::head(&path)?;
        if let Some(before) = traces.last().filter(|before| !trace_file::goes_on(&head, &before.path)) {
            // Open calls of a rotated part stay open: the next part may answer them.
            reading.end_recording(trace_file::recording_state(&before.path));
        }
        read(&path, &mut reading)?;
        traces.push(MeasuredTrace { path, head });
    }
    let state = traces.last().map_or(RecordingState::Over, |last| trace_file::recording_state(&last.path));
    let (stats, crashes) = reading.finish(state);
    match format {
        StatsFormat::Json => print_json(&stats, crashes.found(), &traces, tokens),
        StatsFormat::Text => print_tables(&stats, crashes.found(), &traces, tokens),
    }
}

/// Whether tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tokens {
    /// Tokens are counted, which takes longer.
    Counted,
    /// Tokens are not counted.
    Skipped,
}

struct MeasuredTrace {
    path: PathBuf,
    head: Head,
}

fn read(path: &Path, reading: &mut Reading<(ToolStats, Crashes)>) -> Result<(), TraceFileError> {
    let mut reader = trace_file::open_with_progress(path)?;
    while let Some(line) = trace_file::next_line(&mut reader, path)? {
        reading.observe(&line);
    }
    // After the figures were counted: damaged lines are missing from them, and the reader of the table has to know.
    trace_file::report_damage(path, &reader);
    Ok(())
}

fn print_tables(
    stats: &ToolStats,
    crashes: &[Crash],
    traces: &[MeasuredTrace],
    tokens: Tokens,
) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let (styles, width) = (out.styles, out.width);
    let rows = stats.rows();
    // A table of nothing but a total of zeros would hide that there was nothing to count.
    if rows.is_empty() {
        writeln!(out, "No calls in {}.", units::count(traces.len() as u64, "trace"))?;
        table::write_remarks(&mut out, crash_remarks(crashes), &[])?;
        return Ok(out.flush()?);
    }
    // One table, so that the columns of tools, methods and totals line up.
    let mut columns = table::COLUMNS.to_vec();
    if tokens == Tokens::Counted {
        columns.push(TOKENS);
    }
    let mut table = Table::new(&columns);
    let mut add = |name: Cell, stats: &CallStats| {
        let mut cells = figures(stats).cells(name, &styles);
        if tokens == Tokens::Counted {
            cells.push(units::number(stats.result_tokens).into());
        }
        table.row(cells);
    };
    for row in &rows {
        let (name, paint) = name(row, &styles);
        add(Cell::new(paint, name), &row.stats);
    }
    add(Cell::new(styles.strong, "total"), &stats.totals());
    let dropped = table.write(&mut out, &styles, width)?;
    print_remarks(&mut out, stats, crashes, tokens, &dropped)?;
    Ok(out.flush()?)
}

/// The size of the results in a model's context.
const TOKENS: Column = Column { title: "TOKENS", align: Align::Right, room: Room::Fixed };

fn name(row: &StatsRow, styles: &Styles) -> (String, output::Paint) {
    let (name, paint) = match &row.subject {
        Subject::Tool(tool) => (printable(tool).into_owned(), styles.name),
        // A request without a method is a protocol violation, and still a call that someone waits for.
        Subject::Method(method) if method.is_empty() => ("(no method)".to_owned(), styles.dim),
        Subject::Method(method) => (printable(method).into_owned(), styles.dim),
    };
    match row.direction {
        Direction::ClientToServer => (name, paint),
        // The arrow of `show`: sampling by the server must not be read as a call of the client.
        Direction::ServerToClient => (format!("← {name}"), paint),
    }
}

fn figures(stats: &CallStats) -> Row {
    Row {
        calls: stats.counts.calls,
        errors: stats.counts.errors(),
        open: stats.counts.without_answer(),
        p50: stats.latencies.percentile(50),
        p95: stats.latencies.percentile(95),
        p99: stats.latencies.percentile(99),
        mean: stats.latencies.mean(),
        max: stats.latencies.max(),
        request_bytes: stats.request_bytes,
        response_bytes: stats.response_bytes,
    }
}

fn print_remarks(
    out: &mut Output,
    stats: &ToolStats,
    crashes: &[Crash],
    tokens: Tokens,
    dropped: &[&str],
) -> std::io::Result<()> {
    let totals = stats.totals();
    let mut remarks = crash_remarks(crashes);
    if totals.counts.errors() > 0 {
        remarks.push(table::errors(&totals.counts));
    }
    if totals.counts.without_answer() > 0 {
        remarks.push(table::open(&totals.counts));
    }
    remarks.extend(stats.operations().iter().map(|(kind, operations)| operation_remark(*kind, operations)));
    if tokens == Tokens::Counted {
        remarks.push(format!("tokens: results only, estimated with {}", tokens::ENCODING));
    }
    if stats.orphans() > 0 {
        remarks.push(format!("{} without a request", units::count(stats.orphans(), "response")));
    }
    table::write_remarks(out, remarks, dropped)
}

/// Crashed servers, each with its exit code and its last line on standard error.
fn crash_remarks(crashes: &[Crash]) -> Vec<String> {
    let remark =
        |crash: &Crash| format!("crashed: {} ({})", printable(&crash.label), printable(&crash.cause()));
    crashes.iter().map(remark).collect()
}

fn operation_remark(kind: OperationKind, stats: &OperationStats) -> String {
    let person = match stats.person_us {
        0 => String::new(),
        us => format!(", {} waiting for user", units::duration(us)),
    };
    let p50 = stats.durations.percentile(50).map(|us| format!(", p50 {}", units::duration(us)));
    format!(
        "operations: {} {} of {}{}{person}",
        units::number(stats.operations),
        kind.name(),
        units::count(stats.calls, "call"),
        p50.unwrap_or_default()
    )
}

fn print_json(
    stats: &ToolStats,
    crashes: &[Crash],
    traces: &[MeasuredTrace],
    tokens: Tokens,
) -> Result<(), CommandError> {
    let rows = stats.rows();
    let report = StatsJson {
        traces: traces.iter().map(TraceJson::new).collect(),
        rows: rows.iter().map(|row| RowJson::new(row, tokens)).collect(),
        totals: calls_json(&stats.totals(), tokens),
        server_requests: calls_json(&stats.server_requests(), tokens),
        operations: stats.operations().iter().map(OperationsJson::new).collect(),
        encoding: (tokens == Tokens::Counted).then_some(tokens::ENCODING),
        crashes: crashes.iter().map(CrashJson::new).collect(),
        orphans: stats.orphans(),
        notifications: stats.notifications(),
    };
    Ok(output::print_json(&report)?)
}

/// The object of `stats --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatsJson<'a> {
    traces: Vec<TraceJson<'a>>,
    rows: Vec<RowJson<'a>>,
    totals: CallsJson,
    server_requests: CallsJson,
    operations: Vec<OperationsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    crashes: Vec<CrashJson<'a>>,
    orphans: u64,
    notifications: u64,
}

/// A recording whose server ended in failure.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CrashJson<'a> {
    label: &'a str,
    exit_code: Option<i64>,
    signal: Option<i32>,
    last_stderr: &'a [String],
}

impl<'a> CrashJson<'a> {
    fn new(crash: &'a Crash) -> Self {
        let (exit_code, signal) = (crash.end.exit_code, crash.end.signal);
        CrashJson { label: &crash.label, exit_code, signal, last_stderr: &crash.last_stderr }
    }
}

#[derive(Serialize)]
struct TraceJson<'a> {
    path: &'a Path,
    id: Option<&'a str>,
    label: Option<&'a str>,
}

impl<'a> TraceJson<'a> {
    fn new(trace: &'a MeasuredTrace) -> Self {
        let meta = trace.head.meta.as_ref();
        TraceJson {
            path: &trace.path,
            id: meta.and_then(|meta| meta.id.as_deref()),
            label: meta.map(|meta| meta.label.as_str()),
        }
    }
}

fn calls_json(stats: &CallStats, tokens: Tokens) -> CallsJson {
    CallsJson {
        calls: stats.counts.calls,
        outcomes: OutcomesJson::new(&stats.counts),
        request_bytes: stats.request_bytes,
        response_bytes: stats.response_bytes,
        result_tokens: (tokens == Tokens::Counted).then_some(stats.result_tokens),
        latency_us: LatencyJson::new(&stats.latencies),
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    method: &'a str,
    tool: Option<&'a str>,
    dir: &'static str,
    #[serde(flatten)]
    calls: CallsJson,
}

impl<'a> RowJson<'a> {
    fn new(row: &'a StatsRow, tokens: Tokens) -> Self {
        let (method, tool) = match &row.subject {
            // The table has one column for both; programs get them apart.
            Subject::Tool(tool) => ("tools/call", Some(&**tool)),
            Subject::Method(method) => (&**method, None),
        };
        let dir = match row.direction {
            Direction::ClientToServer => "in",
            Direction::ServerToClient => "out",
        };
        RowJson { method, tool, dir, calls: calls_json(&row.stats, tokens) }
    }
}

/// The operations of one kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationsJson {
    kind: &'static str,
    operations: u64,
    calls: u64,
    notifications: u64,
    ended: u64,
    person_us: u64,
    duration_us: LatencyJson,
}

impl OperationsJson {
    fn new((kind, stats): (&OperationKind, &OperationStats)) -> Self {
        OperationsJson {
            kind: kind.name(),
            operations: stats.operations,
            calls: stats.calls,
            notifications: stats.news,
            ended: stats.ended,
            person_us: stats.person_us,
            duration_us: LatencyJson::new(&stats.durations),
        }
    }
}
