//! `wiretape ls`: the traces there are.

use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use crate::trace_file::{self, TraceFileError};
use crate::{dirs, units};
use clap::Args;
use jiff::tz::TimeZone;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wiretape_analyze::summary::TraceSummary;
use wiretape_library::{Catalog, CatalogEntry, TraceState};
use wiretape_trace::format::{Part, Producer};

/// List the traces, the newest first
///
/// With each trace: the beginning of its id, by which other commands take it; when it began and how long it
/// took; messages, calls and failed calls; and how it ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape ls                 all traces
  wiretape ls -n 5            the five newest
  wiretape ls --dir ./traces  those in another directory
  wiretape ls --json | jq .label")]
pub(crate) struct LsArgs {
    /// List the traces in this directory instead of your own
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// List only the newest N
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Print one JSON object a line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &LsArgs) -> Result<(), CommandError> {
    let dir = args.dir.clone().map_or_else(dirs::traces_dir, Ok)?;
    if args.dir.is_some() && !dir.is_dir() {
        return Err(CommandError::failure(format!("there is no directory {}", dir.display())));
    }
    let catalog = Catalog::read(&dir)?;
    let short_ids = catalog.short_ids();
    for error in &catalog.unreadable {
        warn_about(error);
    }
    let limit = args.limit.unwrap_or(usize::MAX);
    let entries: Vec<(&CatalogEntry, &String)> = catalog.entries.iter().zip(&short_ids).take(limit).collect();
    let traces = summarize_all(&entries);
    if args.json {
        return print_json(&traces);
    }
    if catalog.entries.is_empty() {
        return print_welcome(&dir);
    }
    print_table(&traces, catalog.entries.len() - entries.len())
}

fn warn_about(error: &TraceFileError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    output::warn(format!("{error}{cause}"));
}

/// A trace with all that is listed of it.
struct ListedTrace<'a> {
    entry: &'a CatalogEntry,
    short_id: &'a str,
    summary: TraceSummary,
    state: TraceState,
}

/// Reads the traces, several at a time, and keeps their order.
fn summarize_all<'a>(entries: &[(&'a CatalogEntry, &'a String)]) -> Vec<ListedTrace<'a>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(entries.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(entry, short_id)) = entries.get(at) else { break };
                    let result = summarize(entry, short_id);
                    done.lock().expect("no worker panics").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(at, _)| *at);
    let readable = done.into_iter().filter_map(|(_, result)| result.inspect_err(warn_about).ok());
    readable.collect()
}

fn summarize<'a>(entry: &'a CatalogEntry, short_id: &'a str) -> Result<ListedTrace<'a>, TraceFileError> {
    let mut reader = trace_file::open(&entry.path)?;
    let mut summary = TraceSummary::new();
    loop {
        let line = reader.next_line();
        let line = line.map_err(|source| TraceFileError::Read { path: entry.path.clone(), source })?;
        let Some(line) = line else { break };
        summary.observe(line.number, &line.record);
    }
    summary.finish();
    let state = TraceState::new(&entry.path, &summary.ending);
    Ok(ListedTrace { entry, short_id, summary, state })
}

fn print_welcome(dir: &Path) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let strong = out.styles.strong;
    writeln!(out, "No traces in {} yet.\n", dir.display())?;
    writeln!(out, "Put this in front of an MCP server's command, where your client starts it:\n")?;
    writeln!(out, "    {}\n", strong.paint("wiretape record -- COMMAND ARGS…"))?;
    writeln!(out, "Or see what comes out without a server of your own: {}", strong.paint("wiretape demo"))?;
    Ok(out.flush()?)
}

const COLUMNS: [Column; 8] = [
    Column { title: "ID", align: Align::Left, room: Room::Fixed },
    Column { title: "LABEL", align: Align::Left, room: Room::Flexible },
    Column { title: "STARTED", align: Align::Left, room: Room::Optional(1) },
    Column { title: "TOOK", align: Align::Right, room: Room::Optional(3) },
    Column { title: "MSGS", align: Align::Right, room: Room::Optional(4) },
    Column { title: "CALLS", align: Align::Right, room: Room::Optional(2) },
    Column { title: "ERRORS", align: Align::Right, room: Room::Fixed },
    Column { title: "STATE", align: Align::Left, room: Room::Flexible },
];

fn print_table(traces: &[ListedTrace<'_>], more: usize) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let mut table = Table::new(&COLUMNS);
    for trace in traces {
        table.row(row(trace, &out));
    }
    let (styles, width) = (out.styles, out.width);
    table.write(&mut out, &styles, width)?;
    if more > 0 && out.is_terminal() {
        writeln!(out, "{}", styles.dim.paint(format!("… and {more} older")))?;
    }
    Ok(out.flush()?)
}

fn row(trace: &ListedTrace<'_>, out: &Output) -> Vec<Cell> {
    let (styles, summary) = (&out.styles, &trace.summary);
    let errors = summary.calls.errors();
    let error_paint = if errors > 0 { styles.error } else { styles.dim };
    let state_paint = match &trace.state {
        TraceState::Running => styles.good,
        state if state.is_trouble() => styles.warning,
        _ => styles.plain,
    };
    vec![
        Cell::new(styles.hint, printable(trace.short_id)),
        Cell::new(styles.strong, printable(&trace.entry.label())),
        started(summary.started_ms(), out).into(),
        summary.duration_us().map(units::duration).unwrap_or_default().into(),
        summary.messages().to_string().into(),
        summary.calls.calls.to_string().into(),
        Cell::new(error_paint, errors.to_string()),
        Cell::new(state_paint, state(trace)),
    ]
}

fn started(ms: Option<i64>, out: &Output) -> String {
    let Some(ms) = ms else { return String::new() };
    if !out.is_terminal() {
        return units::iso(ms).unwrap_or_default();
    }
    units::when(ms, jiff::Timestamp::now().as_millisecond(), &TimeZone::system())
}

/// How it ended, and what else is worth a word.
fn state(trace: &ListedTrace<'_>) -> String {
    let summary = &trace.summary;
    let mut state = trace.state.describe();
    let part = summary.meta.as_ref().and_then(|meta| meta.part.as_ref());
    match (part, &trace.state) {
        (Some(part), _) => state.push_str(&format!(", part {}", part.index)),
        (None, TraceState::Rotated { .. }) => state.push_str(", part 1"),
        _ => {}
    }
    if summary.text_lines > 0 {
        state.push_str(&format!(", {} not JSON", summary.text_lines));
    }
    // What is open at the end of a part may be answered in the next.
    let goes_on = matches!(trace.state, TraceState::Running | TraceState::Rotated { .. });
    if summary.calls.unanswered() > 0 && !goes_on {
        state.push_str(&format!(", {} unanswered", summary.calls.unanswered()));
    }
    if summary.lost > 0 {
        state.push_str(&format!(", {} lost", summary.lost));
    }
    printable(&state).into_owned()
}

fn print_json(traces: &[ListedTrace<'_>]) -> Result<(), CommandError> {
    let mut out = output::machine_stdout();
    for trace in traces {
        serde_json::to_writer(&mut out, &TraceJson::new(trace)).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// One line of `ls --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceJson<'a> {
    id: String,
    short_id: &'a str,
    label: String,
    path: &'a Path,
    bytes: u64,
    command: Option<&'a [String]>,
    started_at: Option<String>,
    duration_us: Option<u64>,
    messages: MessagesJson,
    calls: CallsJson,
    orphans: u64,
    text_lines: u64,
    stderr_lines: u64,
    lost: u64,
    unknown_lines: u64,
    damaged_lines: u64,
    state: &'static str,
    exit_code: Option<i64>,
    signal: Option<i32>,
    reason: Option<&'a str>,
    next: Option<&'a str>,
    part: Option<&'a Part>,
    producer: Option<&'a Producer>,
    redacted: Option<bool>,
}

#[derive(Serialize)]
struct MessagesJson {
    r#in: u64,
    out: u64,
    other: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallsJson {
    total: u64,
    tool_errors: u64,
    protocol_errors: u64,
    pending: u64,
    abandoned: u64,
}

impl<'a> TraceJson<'a> {
    fn new(trace: &'a ListedTrace<'_>) -> Self {
        let (summary, meta) = (&trace.summary, trace.summary.meta.as_ref());
        let end = match &trace.state {
            TraceState::Ended(end) => Some(end),
            _ => None,
        };
        let next = match &trace.state {
            TraceState::Rotated { next } => Some(next.as_str()),
            _ => None,
        };
        let counts = summary.calls;
        TraceJson {
            id: trace.entry.id(),
            short_id: trace.short_id,
            label: trace.entry.label(),
            path: &trace.entry.path,
            bytes: trace.entry.bytes,
            command: meta.map(|meta| meta.command.as_slice()),
            started_at: summary.started_ms().and_then(units::iso),
            duration_us: summary.duration_us(),
            messages: MessagesJson {
                r#in: summary.messages_in,
                out: summary.messages_out,
                other: summary.messages_other,
            },
            calls: CallsJson {
                total: counts.calls,
                tool_errors: counts.tool_errors,
                protocol_errors: counts.protocol_errors,
                pending: counts.pending,
                abandoned: counts.abandoned,
            },
            orphans: summary.orphans,
            text_lines: summary.text_lines,
            stderr_lines: summary.stderr_lines,
            lost: summary.lost,
            unknown_lines: summary.unknown_lines,
            damaged_lines: summary.damaged_lines,
            state: trace.state.name(),
            exit_code: end.and_then(|end| end.exit_code),
            signal: end.and_then(|end| end.signal),
            reason: end.and_then(|end| end.reason.as_deref()),
            next,
            part: meta.and_then(|meta| meta.part.as_ref()),
            producer: meta.and_then(|meta| meta.producer.as_ref()),
            redacted: meta.and_then(|meta| meta.redacted),
        }
    }
}
