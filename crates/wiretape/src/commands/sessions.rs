//! `wiretape sessions`: the sessions of the store or of traces.

use crate::ask::AskArgs;
use crate::calls::DisplayFormat;
use crate::commands::store;
use crate::error::CommandError;
use crate::names::Names;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::selector::TraceSelector;
use crate::text::printable;
use crate::units;
use clap::Args;
use std::io::Write as _;
use wiretape_events::store::query::SessionRecord;

/// List sessions, most recent first
///
/// Shows the id prefix for `wiretape session`, the server, the client, the start, the duration, the number of calls
/// and failed calls, and whether the session has ended. Filters select sessions; the counts include all calls of a
/// session. With TRACE, the sessions are those of the traces, otherwise those in the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape sessions                      the most recent ones
  wiretape sessions --since 1h --errors  those with failed calls in the last hour
  wiretape sessions --client claude-ai   those of one client
  wiretape sessions latest               those in the newest trace
  wiretape sessions --json | jq .id      for scripts")]
pub(crate) struct SessionsArgs {
    /// Read these traces instead of the store: paths, id prefixes, or `latest`
    #[arg(value_name = "TRACE", conflicts_with = "store")]
    traces: Vec<TraceSelector>,

    /// List only the N most recent sessions
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: u32,

    #[command(flatten)]
    ask: AskArgs,
}

const COLUMNS: [Column; 8] = [
    Column { title: "ID", align: Align::Left, room: Room::Fixed },
    Column { title: "SERVER", align: Align::Left, room: Room::Flexible },
    Column { title: "CLIENT", align: Align::Left, room: Room::Flexible },
    Column { title: "STARTED", align: Align::Left, room: Room::Optional(1) },
    Column { title: "DURATION", align: Align::Right, room: Room::Optional(3) },
    Column { title: "CALLS", align: Align::Right, room: Room::Optional(2) },
    Column { title: "ERRORS", align: Align::Right, room: Room::Fixed },
    Column { title: "STATE", align: Align::Left, room: Room::Optional(4) },
];

pub(crate) fn run(args: &SessionsArgs) -> Result<(), CommandError> {
    let store = match args.traces.as_slice() {
        [] => args.ask.store.open()?,
        traces => store::of_traces(traces)?,
    };
    let sessions = store.sessions(&args.ask.filter.checked(&store)?, args.limit)?;
    if args.ask.json {
        return Ok(output::print_json_lines(&sessions)?);
    }
    let mut out = Output::stdout();
    if sessions.is_empty() {
        let place = if args.traces.is_empty() { "store" } else { "trace" };
        writeln!(out, "No sessions in the {place} match this filter.")?;
        return Ok(out.flush()?);
    }
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(&out));
    let mut names = Names::of(&store)?;
    names.learn(&store, sessions.iter().map(|session| session.id.as_str()))?;
    table(&sessions, &names, &look, &styles).write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}

fn table(sessions: &[SessionRecord], names: &Names, look: &DisplayFormat, styles: &Styles) -> Table {
    let mut table = Table::new(&COLUMNS);
    sessions.iter().for_each(|session| table.row(row(session, names, look, styles)));
    table
}

fn row(session: &SessionRecord, names: &Names, look: &DisplayFormat, styles: &Styles) -> Vec<Cell> {
    let (state, paint) = match (&session.crash, session.ended) {
        (Some(_), _) => ("crashed", styles.error),
        (None, Some(_)) => ("ended", styles.plain),
        (None, None) => ("open", styles.good),
    };
    vec![
        Cell::new(styles.hint, names.session(&session.id, look)),
        Cell::new(styles.strong, names.server(&session.server, session.listener.as_deref())),
        client(session, styles),
        look.when(session.started).into(),
        units::duration(duration_us(session)).into(),
        units::number(session.calls).into(),
        output::failures(session.errors, styles),
        Cell::new(paint, state),
    ]
}

fn client(session: &SessionRecord, styles: &Styles) -> Cell {
    match program_name(session.client_name.as_deref(), session.client_version.as_deref()) {
        Some(client) => client.into(),
        None => Cell::new(styles.dim, "(unknown)"),
    }
}

/// A program's name and version.
pub(super) fn program_name(name: Option<&str>, version: Option<&str>) -> Option<String> {
    let words: Vec<&str> = name.into_iter().chain(version).collect();
    (!words.is_empty()).then(|| printable(&words.join(" ")).into_owned())
}

/// From the start to the last activity. Over stdio, that is the end of the server; a proxy's sessions end when they
/// were idle for long, which is no activity.
pub(super) fn duration_us(session: &SessionRecord) -> u64 {
    let ended = session.ended.filter(|_| session.listener.is_none());
    let end = ended.unwrap_or(session.last_seen).max(session.last_seen);
    u64::try_from(end.saturating_sub(session.started)).unwrap_or(0).saturating_mul(1000)
}
