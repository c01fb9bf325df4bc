//! `wiretape session`: the calls of one session.

use super::sessions::{duration_us, program_name};
use crate::ask::{FilterArgs, StoreArgs};
use crate::calls::{self, DisplayFormat};
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::text::printable;
use crate::units;
use clap::Args;
use std::io::{self, Write};
use wiretape_events::FORWARD;
use wiretape_events::store::query::{CallRecord, Order, SessionCalls, SessionRecord};
use wiretape_events::store::{Filter, Store};

/// Show one session, call by call
///
/// Shows the offset of each call from the start of the session, the tool or method, the status, the duration, and the
/// error. The messages are in the session's trace, if there is one: use `wiretape show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape session 0197a1b2            the session whose id starts with 0197a1b2
  wiretape session 0197a1b2 --errors   its failed calls
  wiretape session 0197a1b2 --json     for scripts")]
pub(crate) struct SessionArgs {
    /// The session: an id prefix, as listed by `wiretape sessions`
    id: String,

    /// Show at most the first N calls
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Print one JSON object (schema: docs/json-output.md)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn run(args: &SessionArgs) -> Result<(), CommandError> {
    let store = args.store.open()?;
    let mut session_calls = store.session(&args.id)?;
    if !args.filter.is_empty() {
        session_calls.calls = filtered(&store, &session_calls.session, args.filter.checked(&store)?)?;
    }
    session_calls.calls.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        return Ok(output::print_json(&session_calls)?);
    }
    let mut out = Output::stdout();
    write(&mut out, &session_calls)?;
    Ok(out.flush()?)
}

/// The session's calls that match a filter.
fn filtered(store: &Store, session: &SessionRecord, filter: Filter) -> Result<Vec<CallRecord>, CommandError> {
    if let Some(name) = &filter.server
        && !store.servers_named(name)?.contains(&session.server)
    {
        return Ok(Vec::new());
    }
    let filter = Filter {
        server: Some(session.server.clone()),
        session: Some(session.id.clone()),
        // Limits the scan: no call of the session is older.
        since_ms: filter.since_ms.max(Some(session.started)),
        ..filter
    };
    let mut calls = store.calls(&filter, Order::Oldest, u32::MAX)?;
    // The id of another session may start with this one's.
    calls.retain(|call| call.session.as_ref() == Some(&session.id));
    Ok(calls)
}

fn write(out: &mut Output, session_calls: &SessionCalls) -> io::Result<()> {
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(out));
    for (name, value) in facts(&session_calls.session, &look) {
        writeln!(out, "{} {value}", styles.dim.paint(format!("{name:<9}")))?;
    }
    writeln!(out)?;
    if session_calls.calls.is_empty() {
        return writeln!(out, "No calls in this session match this filter.");
    }
    table(session_calls, &styles).write(out, &styles, width)?;
    Ok(())
}

fn facts(session: &SessionRecord, look: &DisplayFormat) -> Vec<(&'static str, String)> {
    let started =
        format!("{}, duration {}", look.when(session.started), units::duration(duration_us(session)));
    let state = if session.ended.is_some() { "" } else { ", open" };
    let mut server = printable(&session.server).into_owned();
    if let Some(name) = session.listener.as_deref().filter(|name| *name != FORWARD) {
        server = format!("{} at {server}", printable(name));
    }
    if let Some(name) = program_name(session.server_name.as_deref(), session.server_version.as_deref()) {
        server = format!("{server} ({name})");
    }
    let text = |text: &Option<String>| text.as_deref().map(|text| printable(text).into_owned());
    let facts = [
        ("session", Some(printable(&session.id).into_owned())),
        ("server", Some(server)),
        ("client", program_name(session.client_name.as_deref(), session.client_version.as_deref())),
        ("platform", text(&session.client_platform)),
        ("protocol", text(&session.protocol_version)),
        ("started", Some(format!("{started}{state}"))),
        ("crashed", text(&session.crash)),
        (
            "calls",
            Some(format!(
                "{}, {} failed",
                units::count(session.calls, "call"),
                units::number(session.errors)
            )),
        ),
        ("trace", text(&session.trace)),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

const COLUMNS: [Column; 5] = [
    Column { title: "OFFSET", align: Align::Right, room: Room::Fixed },
    Column { title: "TOOL/METHOD", align: Align::Left, room: Room::Flexible },
    Column { title: "STATUS", align: Align::Left, room: Room::Optional(1) },
    Column { title: "DURATION", align: Align::Right, room: Room::Fixed },
    Column { title: "ERROR", align: Align::Left, room: Room::Flexible },
];

fn table(session_calls: &SessionCalls, styles: &Styles) -> Table {
    let mut table = Table::new(&COLUMNS);
    for call in &session_calls.calls {
        table.row(vec![
            Cell::new(styles.dim, offset(call.time, session_calls.session.started)),
            calls::name(call, styles),
            calls::status(call.status, styles),
            calls::duration(call.latency_us, styles),
            Cell::new(styles.error, calls::error(call)),
        ]);
    }
    table
}

/// The offset from the start of the session, in the format of `show`.
fn offset(time: i64, started: i64) -> String {
    let ms = time.saturating_sub(started);
    let sign = if ms < 0 { '-' } else { '+' };
    let ms = ms.unsigned_abs();
    format!("{sign}{}.{:03}s", ms / 1000, ms % 1000)
}
