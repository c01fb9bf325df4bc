//! The table that both sources share.

use crate::output::{Align, Cell, Column, Output, Room, Styles};
use crate::units;
use std::io::{self, Write as _};
use wiretape_analyze::stats::CallCounts;

const fn number(title: &'static str, room: Room) -> Column {
    Column { title, align: Align::Right, room }
}

/// The tool or method, and a column for each figure.
pub(super) const COLUMNS: [Column; 11] = [
    Column { title: "TOOL/METHOD", align: Align::Left, room: Room::Flexible },
    number("CALLS", Room::Fixed),
    number("ERRORS", Room::Fixed),
    number("OPEN", Room::Optional(4)),
    number("P50", Room::Fixed),
    number("P95", Room::Fixed),
    number("P99", Room::Fixed),
    number("MEAN", Room::Optional(6)),
    number("MAX", Room::Optional(5)),
    number("REQUEST", Room::Optional(3)),
    number("RESPONSE", Room::Optional(2)),
];

/// The figures of a row.
pub(super) struct Row {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) open: u64,
    pub(super) p50: Option<u64>,
    pub(super) p95: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) mean: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
}

impl Row {
    /// The cells of a row with this name.
    pub(super) fn cells(&self, name: Cell, styles: &Styles) -> Vec<Cell> {
        let number = |n: u64, paint| {
            if n > 0 { Cell::new(paint, units::number(n)) } else { Cell::new(styles.dim, "0") }
        };
        let time = |us: Option<u64>| us.map(units::duration).map_or(Cell::new(styles.dim, "-"), Cell::from);
        vec![
            name,
            units::number(self.calls).into(),
            number(self.errors, styles.error),
            number(self.open, styles.warning),
            time(self.p50),
            time(self.p95),
            time(self.p99),
            time(self.mean),
            time(self.max),
            units::bytes(self.request_bytes).into(),
            units::bytes(self.response_bytes).into(),
        ]
    }
}

/// Writes the remarks below the table.
pub(super) fn write_remarks(out: &mut Output, mut remarks: Vec<String>, dropped: &[&str]) -> io::Result<()> {
    if !dropped.is_empty() {
        remarks.push(format!(
            "not shown: {} (use a wider terminal, or --json)",
            dropped.join(", ").to_lowercase()
        ));
    }
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    let dim = out.styles.dim;
    remarks.iter().try_for_each(|remark| writeln!(out, "{}", dim.paint(remark)))
}

/// `errors: 1 tool error (isError), 2 timed out`
pub(super) fn errors(counts: &CallCounts) -> String {
    let parts = [
        (counts.tool_errors, "tool error (isError)", "tool errors (isError)"),
        (counts.protocol_errors, "protocol error", "protocol errors"),
        (counts.http_errors, "HTTP error", "HTTP errors"),
        (counts.timed_out, "timed out", "timed out"),
        (counts.crashed, "open when the server crashed", "open when the server crashed"),
    ];
    format!("errors: {}", joined(&parts))
}

/// `open: 3 without a response: 1 cancelled, 2 unanswered`
pub(super) fn open(counts: &CallCounts) -> String {
    let parts = [
        (counts.timed_out, "timed out", "timed out"),
        (counts.cancelled, "cancelled", "cancelled"),
        (counts.disconnected, "disconnected", "disconnected"),
        (counts.crashed, "crashed", "crashed"),
        (counts.unanswered, "unanswered", "unanswered"),
        (counts.pending, "pending", "pending"),
    ];
    format!("open: {} without a response: {}", units::number(counts.without_answer()), joined(&parts))
}

fn joined(parts: &[(u64, &str, &str)]) -> String {
    let some = parts.iter().filter(|(count, ..)| *count > 0);
    let words = some.map(|(count, one, many)| {
        format!("{} {}", units::number(*count), if *count == 1 { one } else { many })
    });
    words.collect::<Vec<_>>().join(", ")
}
