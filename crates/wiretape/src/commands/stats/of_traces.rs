//! By traces, which are read for it.

use super::Form;
use super::table::{self, Row};
use crate::error::CommandError;
use crate::output::{self, Cell, Output, Styles, Table};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::trace_file::{self, Head, TraceFileError};
use crate::units;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use wiretape_analyze::stats::{CallStats, StatsRow, Subject, ToolStats};
use wiretape_trace::format::Notice;
use wiretape_trace::message::Direction;

/// Reads the traces, and prints what there is to say of their calls.
pub(super) fn run(traces: &[TraceSelector], form: Form) -> Result<(), CommandError> {
    let paths = traces.iter().map(TraceSelector::resolve).collect::<Result<Vec<_>, _>>()?;
    let mut stats = ToolStats::new();
    let mut traces = Vec::new();
    for path in paths {
        let head = trace_file::head(&path)?;
        if !goes_on_from(&head, traces.last()) {
            stats.end_recording();
        }
        read(&path, &mut stats)?;
        traces.push(MeasuredTrace { path, head });
    }
    stats.end_recording();
    match form {
        Form::Json => print_json(&stats, &traces),
        Form::Text => print_tables(&stats, &traces),
    }
}

struct MeasuredTrace {
    path: PathBuf,
    head: Head,
}

/// Whether a trace is the part that follows the one before it: a call may begin in one and end in the other.
fn goes_on_from(head: &Head, before: Option<&MeasuredTrace>) -> bool {
    let previous = head.meta.as_ref().and_then(|meta| meta.part.as_ref()).map(|part| part.previous.as_str());
    let before = before.and_then(|before| before.path.file_name()).and_then(|name| name.to_str());
    previous.is_some() && previous == before
}

fn read(path: &Path, stats: &mut ToolStats) -> Result<(), TraceFileError> {
    let mut reader = trace_file::open(path)?;
    loop {
        let line = reader.next_line();
        let line = line.map_err(|source| TraceFileError::Read { path: path.to_owned(), source })?;
        let Some(line) = line else { break };
        stats.observe(line.number, &line.record);
    }
    for notice in reader.notices() {
        if matches!(
            notice,
            Notice::DamagedLine { .. } | Notice::NewerVersion { .. } | Notice::TruncatedCompression { .. }
        ) {
            output::note(format!("{}: {notice}", path.display()));
        }
    }
    Ok(())
}

fn print_tables(stats: &ToolStats, traces: &[MeasuredTrace]) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let (styles, width) = (out.styles, out.width);
    let rows = stats.rows();
    if rows.is_empty() {
        writeln!(out, "There are no calls in {}.", units::count(traces.len() as u64, "trace"))?;
        return Ok(out.flush()?);
    }
    // One table, so that the columns of tools, methods and totals stand in line.
    let mut table = Table::new(&table::COLUMNS);
    for row in &rows {
        let (name, paint) = name(row, &styles);
        table.row(figures(&row.stats).cells(Cell::new(paint, name), &styles));
    }
    table.row(figures(&stats.totals()).cells(Cell::new(styles.strong, "total"), &styles));
    let dropped = table.write(&mut out, &styles, width)?;
    print_remarks(&mut out, stats, &dropped)?;
    Ok(out.flush()?)
}

fn name(row: &StatsRow, styles: &Styles) -> (String, output::Paint) {
    let (name, paint) = match &row.subject {
        Subject::Tool(tool) => (printable(tool).into_owned(), styles.name),
        Subject::Method(method) if method.is_empty() => ("(no method)".to_owned(), styles.dim),
        Subject::Method(method) => (printable(method).into_owned(), styles.dim),
    };
    match row.direction {
        Direction::ClientToServer => (name, paint),
        Direction::ServerToClient => (format!("← {name}"), paint),
    }
}

fn figures(stats: &CallStats) -> Row {
    Row {
        calls: stats.counts.calls,
        errors: stats.counts.errors(),
        open: stats.counts.unanswered(),
        p50: stats.latencies.percentile(50),
        p95: stats.latencies.percentile(95),
        p99: stats.latencies.percentile(99),
        mean: stats.latencies.mean(),
        max: stats.latencies.max(),
        request_bytes: stats.request_bytes,
        response_bytes: stats.response_bytes,
    }
}

fn print_remarks(out: &mut Output, stats: &ToolStats, dropped: &[&str]) -> std::io::Result<()> {
    let totals = stats.totals();
    let mut remarks = Vec::new();
    if totals.counts.errors() > 0 {
        let (tool, protocol) = (totals.counts.tool_errors, totals.counts.protocol_errors);
        remarks.push(format!("errors: {tool} reported by tools (isError), {protocol} of the protocol"));
    }
    if totals.counts.unanswered() > 0 {
        let abandoned = match totals.counts.abandoned {
            0 => String::new(),
            n => format!(", {n} of them abandoned (their id was used again)"),
        };
        remarks.push(format!("open: {} without a response{abandoned}", totals.counts.unanswered()));
    }
    if stats.orphans() > 0 {
        remarks.push(format!("{} that nobody waited for", units::count(stats.orphans(), "response")));
    }
    table::write_remarks(out, remarks, dropped)
}

fn print_json(stats: &ToolStats, traces: &[MeasuredTrace]) -> Result<(), CommandError> {
    let rows = stats.rows();
    let report = StatsJson {
        traces: traces.iter().map(TraceJson::new).collect(),
        rows: rows.iter().map(RowJson::new).collect(),
        totals: CallsJson::new(&stats.totals()),
        orphans: stats.orphans(),
        notifications: stats.notifications(),
    };
    Ok(output::print_json(&report)?)
}

/// The object of `stats --json`.
#[derive(Serialize)]
struct StatsJson<'a> {
    traces: Vec<TraceJson<'a>>,
    rows: Vec<RowJson<'a>>,
    totals: CallsJson,
    orphans: u64,
    notifications: u64,
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

#[derive(Serialize)]
struct RowJson<'a> {
    method: &'a str,
    tool: Option<&'a str>,
    dir: &'static str,
    #[serde(flatten)]
    calls: CallsJson,
}

impl<'a> RowJson<'a> {
    fn new(row: &'a StatsRow) -> Self {
        let (method, tool) = match &row.subject {
            Subject::Tool(tool) => ("tools/call", Some(tool.as_str())),
            Subject::Method(method) => (method.as_str(), None),
        };
        let dir = match row.direction {
            Direction::ClientToServer => "in",
            Direction::ServerToClient => "out",
        };
        RowJson { method, tool, dir, calls: CallsJson::new(&row.stats) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallsJson {
    calls: u64,
    errors: u64,
    tool_errors: u64,
    protocol_errors: u64,
    pending: u64,
    abandoned: u64,
    request_bytes: u64,
    response_bytes: u64,
    latency_us: LatencyJson,
}

/// How long calls took.
#[derive(Serialize)]
pub(super) struct LatencyJson {
    pub(super) measured: u64,
    pub(super) p50: Option<u64>,
    pub(super) p95: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) mean: Option<u64>,
    pub(super) max: Option<u64>,
}

impl CallsJson {
    fn new(stats: &CallStats) -> Self {
        let (counts, latencies) = (stats.counts, &stats.latencies);
        CallsJson {
            calls: counts.calls,
            errors: counts.errors(),
            tool_errors: counts.tool_errors,
            protocol_errors: counts.protocol_errors,
            pending: counts.pending,
            abandoned: counts.abandoned,
            request_bytes: stats.request_bytes,
            response_bytes: stats.response_bytes,
            latency_us: LatencyJson {
                measured: latencies.measured(),
                p50: latencies.percentile(50),
                p95: latencies.percentile(95),
                p99: latencies.percentile(99),
                mean: latencies.mean(),
                max: latencies.max(),
            },
        }
    }
}
