//! `wiretape logs --violations`: violations of a Content-Security-Policy, as reported by browsers.

use crate::calls::DisplayFormat;
use crate::error::CommandError;
use crate::names::Names;
use crate::output::{self, Align, Cell, Column, Output, Room, Table};
use crate::text::printable;
use std::io::Write as _;
use wiretape_events::store::query::ViolationRecord;
use wiretape_events::store::{Filter, Store};

const fn left(title: &'static str, room: Room) -> Column {
    Column { title, align: Align::Left, room }
}

const COLUMNS: [Column; 5] = [
    left("TIME", Room::Fixed),
    left("SERVER", Room::Optional(1)),
    left("DIRECTIVE", Room::Fixed),
    left("BLOCKED", Room::Flexible),
    left("SESSION", Room::Optional(2)),
];

#[derive(Clone, Copy)]
pub(super) enum RowFormat {
    Text,
    Json,
}

/// Prints the latest violations, oldest first.
pub(super) fn print(
    store: &Store,
    filter: &Filter,
    limit: u32,
    format: RowFormat,
) -> Result<(), CommandError> {
    let mut violations = store.violations(filter, limit)?;
    violations.reverse();
    match format {
        RowFormat::Json => Ok(output::print_json_lines(&violations)?),
        RowFormat::Text => print_table(store, &violations),
    }
}

fn print_table(store: &Store, violations: &[ViolationRecord]) -> Result<(), CommandError> {
    let mut out = Output::stdout();
    if violations.is_empty() {
        writeln!(out, "No violations in the store match this filter.")?;
        return Ok(out.flush()?);
    }
    let mut names = Names::of(store)?;
    names.learn(store, violations.iter().filter_map(|violation| violation.session.as_deref()))?;
    let (styles, width, look) = (out.styles, out.width, DisplayFormat::of(&out));
    let mut table = Table::new(&COLUMNS);
    for violation in violations {
        let session = violation.session.as_deref().map(|id| names.session(id, &look));
        table.row(vec![
            Cell::new(styles.dim, look.clock(violation.time)),
            names.server(&violation.server, None).into(),
            Cell::new(styles.name, printable(&violation.directive)),
            Cell::new(styles.error, printable(&violation.blocked_uri)),
            Cell::new(styles.dim, session.unwrap_or_default()),
        ]);
    }
    table.write(&mut out, &styles, width)?;
    Ok(out.flush()?)
}
