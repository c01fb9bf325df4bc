//! `wiretape ls`: the recorded traces.

use crate::commands::outcomes_json::OutcomesJson;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use crate::trace_file::TraceFileError;
use crate::{dirs, units};
use clap::Args;
use jiff::tz::TimeZone;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use wiretape_library::{Catalog, CatalogEntry, TraceDigest, TraceState};
use wiretape_trace::format::{Part, Producer};

/// List traces, newest first
///
/// Shows the id prefix to pass to other commands, the label, the start, the duration, the number of messages, calls and
/// failed calls, and how the recording ended. Results are kept in an index, so only new and changed traces are read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape ls                 the 50 newest
  wiretape ls -n 5            the five newest
  wiretape ls --all           all traces
  wiretape ls --dir ./traces  traces in another directory
  wiretape ls --json | jq .label")]
pub(crate) struct LsArgs {
    /// List the traces in DIR instead of the default directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// List the newest N traces
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,

    /// List all traces
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Print one JSON object per line (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LsArgs) -> Result<(), CommandError> {
    let dir = args.dir.clone().map_or_else(dirs::traces_dir, Ok)?;
    // The default directory may not exist before the first recording; a directory that was named must.
    if args.dir.is_some() && !dir.is_dir() {
        return Err(CommandError::failure(format!("directory {} does not exist", dir.display())));
    }
    let catalog = Catalog::open(&dir, &dirs::index_dir()?)?;
    for error in &catalog.unreadable {
        warn_about(error);
    }
    // A directory may hold 100,000 traces, and only those that are listed are opened.
    let limit = if args.all { usize::MAX } else { args.limit };
    let shown = &catalog.entries[..limit.min(catalog.entries.len())];
    let traces = listed(&catalog, shown);
    if args.json {
        print_json(&traces)?;
    } else if catalog.entries.is_empty() {
        return print_welcome(&dir);
    } else {
        print_table(&traces)?;
    }
    // To standard error, so that it doesn't mix with --json.
    let older = catalog.entries.len() - shown.len();
    if older > 0 {
        output::note(format!(
            "{} not listed; use --all to list all",
            units::count(older as u64, "older trace")
        ));
    }
    Ok(())
}

fn warn_about(error: &TraceFileError) {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    output::warn(format!("{error}{cause}"));
}

/// A trace with its listed properties.
struct ListedTrace<'a> {
    entry: &'a CatalogEntry,
    short_id: String,
    digest: TraceDigest,
    state: TraceState,
}

fn listed<'a>(catalog: &Catalog, shown: &'a [CatalogEntry]) -> Vec<ListedTrace<'a>> {
    let (short_ids, digests) = (catalog.short_ids(shown), catalog.digests(shown));
    let mut traces = Vec::with_capacity(shown.len());
    for ((entry, short_id), digest) in shown.iter().zip(short_ids).zip(digests) {
        match digest {
            Ok(digest) => {
                // The figures of such a trace are too low, so the reader has to know.
                for limit in &digest.limits {
                    output::warn(format!("{}: {limit}", printable(&entry.path.display().to_string())));
                }
                let state = TraceState::new(&entry.path, &digest.ending.ending());
                traces.push(ListedTrace { entry, short_id, digest, state });
            }
            // One unreadable trace must not hide the others.
            Err(error) => warn_about(&error),
        }
    }
    traces
}

fn print_welcome(dir: &Path) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let strong = out.styles.strong;
    writeln!(out, "No traces in {} yet.\n", dir.display())?;
    writeln!(
        out,
        "To record a server, put this in front of its command in your MCP client's configuration:\n"
    )?;
    writeln!(out, "    {}\n", strong.paint("wiretape record -- COMMAND ARGS…"))?;
    writeln!(out, "To try it without a server of your own, run: {}", strong.paint("wiretape demo"))?;
    Ok(out.flush()?)
}

const COLUMNS: [Column; 8] = [
    Column { title: "ID", align: Align::Left, room: Room::Fixed },
    Column { title: "LABEL", align: Align::Left, room: Room::Flexible },
    Column { title: "STARTED", align: Align::Left, room: Room::Optional(1) },
    Column { title: "DURATION", align: Align::Right, room: Room::Optional(3) },
    Column { title: "MESSAGES", align: Align::Right, room: Room::Optional(4) },
    Column { title: "CALLS", align: Align::Right, room: Room::Optional(2) },
    Column { title: "ERRORS", align: Align::Right, room: Room::Fixed },
    Column { title: "STATE", align: Align::Left, room: Room::Flexible },
];

fn print_table(traces: &[ListedTrace<'_>]) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    let mut table = Table::new(&COLUMNS);
    for trace in traces {
        table.row(row(trace, &out));
    }
    let (styles, width) = (out.styles, out.width);
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}

fn row(trace: &ListedTrace<'_>, out: &Output) -> Vec<Cell> {
    let (styles, digest) = (&out.styles, &trace.digest);
    let errors = digest.calls.errors();
    // Zeros are dimmed, so that traces with errors stand out.
    let error_paint = if errors > 0 { styles.error } else { styles.dim };
    let state_paint = match &trace.state {
        TraceState::Running => styles.good,
        state if state.is_failure() => styles.error,
        state if state.is_trouble() => styles.warning,
        _ => styles.plain,
    };
    vec![
        Cell::new(styles.hint, printable(&trace.short_id)),
        Cell::new(styles.strong, printable(trace.entry.label())),
        started(digest.started_ms, out).into(),
        digest.duration_us.map(units::duration).unwrap_or_default().into(),
        units::number(digest.messages()).into(),
        units::number(digest.calls.calls).into(),
        Cell::new(error_paint, units::number(errors)),
        Cell::new(state_paint, state(trace)),
    ]
}

fn started(ms: Option<i64>, out: &Output) -> String {
    let Some(ms) = ms else { return String::new() };
    // "5 minutes ago" is of no use in a file.
    if !out.is_terminal() {
        return units::iso(ms).unwrap_or_default();
    }
    units::when(ms, jiff::Timestamp::now().as_millisecond(), &TimeZone::system())
}

/// How the recording ended, with further remarks.
fn state(trace: &ListedTrace<'_>) -> String {
    let digest = &trace.digest;
    let mut state = trace.state.describe();
    let part = digest.meta.as_ref().and_then(|meta| meta.part.as_ref());
    match (part, &trace.state) {
        (Some(part), _) => state.push_str(&format!(", part {}", part.index)),
        // The first part doesn't say that it is one; only its last line shows it.
        (None, TraceState::Rotated { .. }) => state.push_str(", part 1"),
        _ => {}
    }
    if digest.text_lines > 0 {
        state.push_str(&format!(", {} not JSON", units::number(digest.text_lines)));
    }
    // A call that is open at the end of a part may be answered in the next one.
    let continues = matches!(trace.state, TraceState::Running | TraceState::Rotated { .. });
    if digest.calls.without_answer() > 0 && !continues {
        state.push_str(&format!(", {} open", units::number(digest.calls.without_answer())));
    }
    if digest.lost > 0 {
        state.push_str(&format!(", {} lost", units::number(digest.lost)));
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
    id: &'a str,
    short_id: &'a str,
    label: &'a str,
    path: &'a Path,
    bytes: u64,
    command: Option<&'a [String]>,
    started_at: Option<String>,
    duration_us: Option<u64>,
    messages: MessagesJson,
    calls: CallsJson,
    orphans: u64,
    server_requests: u64,
    text_lines: u64,
    stream_events: u64,
    stderr_lines: u64,
    last_stderr: &'a [String],
    lost: u64,
    unknown_lines: u64,
    damaged_lines: u64,
    state: &'static str,
    failed: bool,
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
struct CallsJson {
    total: u64,
    #[serde(flatten)]
    outcomes: OutcomesJson,
}

impl<'a> TraceJson<'a> {
    fn new(trace: &'a ListedTrace<'_>) -> Self {
        let (digest, meta) = (&trace.digest, trace.digest.meta.as_ref());
        let end = match &trace.state {
            TraceState::Ended(end) => Some(end),
            _ => None,
        };
        let next = match &trace.state {
            TraceState::Rotated { next } => Some(next.as_str()),
            _ => None,
        };
        TraceJson {
            id: trace.entry.id(),
            short_id: &trace.short_id,
            label: trace.entry.label(),
            path: &trace.entry.path,
            bytes: trace.entry.bytes(),
            command: meta.map(|meta| meta.command.as_slice()),
            started_at: digest.started_ms.and_then(units::iso),
            duration_us: digest.duration_us,
            messages: MessagesJson {
                r#in: digest.messages_in,
                out: digest.messages_out,
                other: digest.messages_other,
            },
            calls: CallsJson { total: digest.calls.calls, outcomes: OutcomesJson::new(&digest.calls) },
            orphans: digest.orphans,
            server_requests: digest.server_requests.calls,
            text_lines: digest.text_lines,
            stream_events: digest.stream_events,
            stderr_lines: digest.stderr_lines,
            // Useful as the reason of a failure; for other traces it would only make the listing long.
            last_stderr: if trace.state.is_failure() { &digest.last_stderr } else { &[] },
            lost: digest.lost,
            unknown_lines: digest.unknown_lines,
            damaged_lines: digest.damaged_lines,
            state: trace.state.name(),
            failed: trace.state.is_failure(),
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
