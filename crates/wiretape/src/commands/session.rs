//! `wiretape session`: one session, call by call.

use super::sessions::{named, took_us};
use crate::ask::{FilterArgs, StoreArgs};
use crate::calls::{self, Look};
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
/// Each line has when a call began, counted from the session's beginning, what was called, how it went, how long it took,
/// and what went wrong. The messages themselves are in the session's trace, if there is one: `wiretape show` it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wiretape session 0197a1b2            the session whose id begins like that
  wiretape session 0197a1b2 --errors   what failed in it
  wiretape session 0197a1b2 --json     for programs")]
pub(crate) struct SessionArgs {
    /// The session: the beginning of its id, as `wiretape sessions` shows it
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

/// Runs the command.
pub(crate) fn run(args: &SessionArgs) -> Result<(), CommandError> {
    let store = args.store.open()?;
    let mut told = store.session(&args.id)?;
    if !args.filter.is_empty() {
        told.calls = filtered(&store, &told.session, args.filter.checked(&store)?)?;
    }
    told.calls.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        return Ok(output::print_json(&told)?);
    }
    let mut out = Output::stdout();
    write(&mut out, &told)?;
    Ok(out.flush()?)
}

/// The session's calls that a filter means.
fn filtered(store: &Store, session: &SessionRecord, filter: Filter) -> Result<Vec<CallRecord>, CommandError> {
    if let Some(name) = &filter.server
        && !store.servers_named(name)?.contains(&session.server)
    {
        return Ok(Vec::new());
    }
    let filter = Filter {
        server: Some(session.server.clone()),
        session: Some(session.id.clone()),
        since_ms: filter.since_ms.max(Some(session.started)),
        ..filter
    };
    let mut calls = store.calls(&filter, Order::Oldest, u32::MAX)?;
    // Another session's id may begin with this one's.
    calls.retain(|call| call.session.as_ref() == Some(&session.id));
    Ok(calls)
}

fn write(out: &mut Output, told: &SessionCalls) -> io::Result<()> {
    let (styles, width, look) = (out.styles, out.width, Look::of(out));
    for (name, value) in facts(&told.session, &look) {
        writeln!(out, "{} {value}", styles.dim.paint(format!("{name:<9}")))?;
    }
    writeln!(out)?;
    if told.calls.is_empty() {
        return writeln!(out, "There are no such calls in it.");
    }
    table(told, &styles).write(out, &styles, width)?;
    Ok(())
}

/// What there is to say of a session.
fn facts(session: &SessionRecord, look: &Look) -> Vec<(&'static str, String)> {
    let began = format!("{}, took {}", look.when(session.started), units::duration(took_us(session)));
    let state = if session.ended.is_some() { "" } else { ", open" };
    let mut server = printable(&session.server).into_owned();
    if let Some(name) = session.listener.as_deref().filter(|name| *name != FORWARD) {
        server = format!("{} at {server}", printable(name));
    }
    if let Some(name) = named(session.server_name.as_deref(), session.server_version.as_deref()) {
        server = format!("{server} ({name})");
    }
    let text = |text: &Option<String>| text.as_deref().map(|text| printable(text).into_owned());
    let facts = [
        ("session", Some(printable(&session.id).into_owned())),
        ("server", Some(server)),
        ("client", named(session.client_name.as_deref(), session.client_version.as_deref())),
        ("platform", text(&session.client_platform)),
        ("protocol", text(&session.protocol_version)),
        ("began", Some(format!("{began}{state}"))),
        ("calls", Some(format!("{}, {} failed", units::count(session.calls, "call"), session.errors))),
        ("trace", text(&session.trace)),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

const COLUMNS: [Column; 5] = [
    Column { title: "AT", align: Align::Right, room: Room::Fixed },
    Column { title: "CALLED", align: Align::Left, room: Room::Flexible },
    Column { title: "STATUS", align: Align::Left, room: Room::Optional(1) },
    Column { title: "TOOK", align: Align::Right, room: Room::Fixed },
    Column { title: "ERROR", align: Align::Left, room: Room::Flexible },
];

fn table(told: &SessionCalls, styles: &Styles) -> Table {
    let mut table = Table::new(&COLUMNS);
    for call in &told.calls {
        table.row(vec![
            Cell::new(styles.dim, offset(call.time, told.session.started)),
            calls::name(call, styles),
            calls::status(call.status, styles),
            calls::took(call.latency_us, styles),
            Cell::new(styles.error, calls::error(call)),
        ]);
    }
    table
}

/// How long after the beginning, as `show` has it.
fn offset(time: i64, started: i64) -> String {
    let ms = time.saturating_sub(started);
    let sign = if ms < 0 { '-' } else { '+' };
    let ms = ms.unsigned_abs();
    format!("{sign}{}.{:03}s", ms / 1000, ms % 1000)
}
