//! `wiretape logs --pending`: calls in flight, in all running recordings.
//!
//! They are derived from the live traces when the command runs, so that recording has no cost for it.

use super::calls::CallJson;
use super::violations::RowFormat;
use crate::dirs;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use crate::trace_file;
use crate::units;
use serde::Serialize;
use std::io::Write as _;
use wiretape_analyze::call::{Call, Outcome};
use wiretape_analyze::filter::Filter;
use wiretape_analyze::listing::CallLister;
use wiretape_library::{Catalog, CatalogEntry, Liveness, liveness};
use wiretape_trace::message::Direction;

const fn left(title: &'static str, room: Room) -> Column {
    Column { title, align: Align::Left, room }
}

const COLUMNS: [Column; 6] = [
    Column { title: "AGE", align: Align::Right, room: Room::Fixed },
    left("SERVER", Room::Optional(3)),
    left("TOOL/METHOD", Room::Flexible),
    left("SESSION", Room::Optional(1)),
    left("TRACE", Room::Fixed),
    Column { title: "CALL", align: Align::Right, room: Room::Fixed },
];

/// A call in flight, with its trace.
struct PendingRow<'a> {
    entry: &'a CatalogEntry,
    short_id: String,
    call: Call,
}

/// A line of `logs --pending --json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PendingJson<'a> {
    label: &'a str,
    trace_id: &'a str,
    age_us: Option<u64>,
    #[serde(flatten)]
    call: CallJson<'a>,
}

/// Prints the calls in flight, oldest first.
pub(super) fn print(format: RowFormat) -> Result<(), CommandError> {
    let catalog = Catalog::read(&dirs::traces_dir()?)?;
    let is_running = |entry: &&CatalogEntry| liveness(&entry.path) == Liveness::Running;
    let live: Vec<CatalogEntry> = catalog.entries.iter().filter(is_running).cloned().collect();
    let short_ids = catalog.short_ids(&live);
    let mut rows = Vec::new();
    for (entry, short_id) in live.iter().zip(short_ids) {
        for call in pending(entry)? {
            rows.push(PendingRow { entry, short_id: short_id.clone(), call });
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.call.duration_us));
    match format {
        RowFormat::Json => print_json(&rows),
        RowFormat::Text => print_table(&rows, live.len()),
    }
}

fn pending(entry: &CatalogEntry) -> Result<Vec<Call>, CommandError> {
    let mut reader = trace_file::open(&entry.path)?;
    let mut lister = CallLister::new(Filter::default());
    while let Some(line) = trace_file::next_line(&mut reader, &entry.path)? {
        lister.observe(&line, |_| {});
    }
    let mut calls = Vec::new();
    lister.finish(trace_file::recording_state(&entry.path), |call| calls.push(call));
    calls.retain(|call| call.outcome == Outcome::Pending);
    Ok(calls)
}

fn print_json(rows: &[PendingRow<'_>]) -> Result<(), CommandError> {
    let rows = rows.iter().map(|row| PendingJson {
        label: row.entry.label(),
        trace_id: row.entry.id(),
        age_us: row.call.duration_us,
        call: CallJson::new(&row.entry.path, &row.call),
    });
    Ok(output::print_json_lines(rows.collect::<Vec<_>>())?)
}

fn print_table(rows: &[PendingRow<'_>], live: usize) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    if rows.is_empty() {
        let recordings = units::count(live as u64, "running recording");
        writeln!(out, "No calls are in flight in {recordings}.")?;
        return Ok(out.flush()?);
    }
    let (styles, width) = (out.styles, out.width);
    let mut table = Table::new(&COLUMNS);
    for row in rows {
        let call = &row.call;
        let arrow = if call.direction == Direction::ServerToClient { "← " } else { "" };
        let name = call.tool.as_deref().unwrap_or(&call.method);
        let session = call.session.as_deref().unwrap_or_default();
        table.row(vec![
            Cell::new(styles.warning, row.call.duration_us.map(units::duration).unwrap_or_default()),
            printable(row.entry.label()).into_owned().into(),
            Cell::new(styles.name, format!("{arrow}{}", printable(name))),
            Cell::new(styles.dim, printable(session)),
            Cell::new(styles.hint, printable(&row.short_id)),
            call.number.to_string().into(),
        ]);
    }
    table.drop_empty();
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}
