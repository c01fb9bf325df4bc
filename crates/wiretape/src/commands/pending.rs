//! `wiretape logs --pending`: calls in flight, in all running recordings.
//!
//! They are derived from the live traces when the command runs, so that recording has no cost for it.

use super::calls::CallJson;
use super::violations::RowFormat;
use crate::dirs;
use crate::error::CommandError;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use crate::units;
use serde::Serialize;
use std::io::Write as _;
use wiretape_library::{Catalog, CatalogEntry, PendingCall, PendingCalls};
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
    let snapshot = PendingCalls::default().now(&catalog);
    for error in snapshot.unreadable {
        output::note(printable(&CommandError::from(error).to_string()));
    }
    match format {
        RowFormat::Json => print_json(&snapshot.calls),
        RowFormat::Text => print_table(&snapshot.calls, &catalog, snapshot.recordings),
    }
}

fn print_json(calls: &[PendingCall]) -> Result<(), CommandError> {
    let rows = calls.iter().map(|PendingCall { entry, call, .. }| PendingJson {
        label: entry.label(),
        trace_id: entry.id(),
        age_us: call.duration_us,
        call: CallJson::new(&entry.path, call),
    });
    Ok(output::print_json_lines(rows.collect::<Vec<_>>())?)
}

fn print_table(calls: &[PendingCall], catalog: &Catalog, recordings: u64) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    if calls.is_empty() {
        let recordings = units::count(recordings, "running recording");
        writeln!(out, "No calls are in flight in {recordings}.")?;
        return Ok(out.flush()?);
    }
    let (styles, width) = (out.styles, out.width);
    let entries: Vec<CatalogEntry> = calls.iter().map(|pending| pending.entry.clone()).collect();
    let mut table = Table::new(&COLUMNS);
    for (PendingCall { entry, call, .. }, short_id) in calls.iter().zip(catalog.short_ids(&entries)) {
        let arrow = if call.direction == Direction::ServerToClient { "← " } else { "" };
        let name = call.tool.as_deref().unwrap_or(&call.method);
        let session = call.session.as_deref().unwrap_or_default();
        table.row(vec![
            Cell::new(styles.warning, call.duration_us.map(units::duration).unwrap_or_default()),
            printable(entry.label()).into_owned().into(),
            Cell::new(styles.name, format!("{arrow}{}", printable(name))),
            Cell::new(styles.dim, printable(session)),
            Cell::new(styles.hint, printable(&short_id)),
            call.number.to_string().into(),
        ]);
    }
    table.drop_empty();
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}
