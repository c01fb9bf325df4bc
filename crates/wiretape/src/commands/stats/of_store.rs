//! Statistics of the store, which are computed by SQL.

use super::StatsFormat;
use super::json::{CallsJson, LatencyJson};
use super::table::{self, Row};
use crate::commands::outcomes_json::OutcomesJson;
use crate::error::CommandError;
use crate::names::Names;
use crate::output::{self, Align, Cell, Column, Output, Room, Styles, Table};
use crate::text::printable;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::Path;
use wiretape_events::store::query::{Stats, StatsRecord};
use wiretape_events::store::{Filter, Store};

/// Queries the store and prints the statistics of the matching calls.
pub(super) fn run(store: &Store, filter: &Filter, format: StatsFormat) -> Result<(), CommandError> {
    let mut stats = store.stats(filter)?;
    // Tools before methods, as with traces; each group in the store's order, most calls first.
    stats.rows.sort_by_key(|row| row.tool.is_none());
    match format {
        StatsFormat::Json => Ok(output::print_json(&StatsJson::new(store.path(), &stats))?),
        StatsFormat::Text => Ok(print_table(&stats, &Names::of(store)?)?),
    }
}

fn print_table(stats: &Stats, names: &Names) -> io::Result<()> {
    let mut out = Output::stdout();
    let (styles, width) = (out.styles, out.width);
    if stats.rows.is_empty() {
        writeln!(out, "No calls in the store match this filter.")?;
        return out.flush();
    }
    let dropped = table(stats, names, &styles).write(&mut out, &styles, width)?;
    table::write_remarks(&mut out, remarks(&stats.totals), &dropped)?;
    out.flush()
}

/// The table of the rows. The column of servers is only shown if there are several.
fn table(stats: &Stats, names: &Names, styles: &Styles) -> Table {
    const SERVER: Column = Column { title: "SERVER", align: Align::Left, room: Room::Flexible };
    let is_one = stats.rows.windows(2).all(|pair| pair[0].server == pair[1].server);
    let mut columns = table::COLUMNS.to_vec();
    if !is_one {
        columns.insert(1, SERVER);
    }
    let mut table = Table::new(&columns);
    let mut add = |name: Cell, record: &StatsRecord| {
        let mut cells = figures(record).cells(name, styles);
        if !is_one {
            cells.insert(1, names.server(&record.server, None).into());
        }
        table.row(cells);
    };
    stats.rows.iter().for_each(|row| add(name(row, styles), row));
    add(Cell::new(styles.strong, "total"), &stats.totals);
    table
}

fn name(row: &StatsRecord, styles: &Styles) -> Cell {
    match (&row.tool, row.method.as_str()) {
        (Some(tool), _) => Cell::new(styles.name, printable(tool)),
        (None, "") => Cell::new(styles.dim, "(no method)"),
        (None, method) => Cell::new(styles.dim, printable(method)),
    }
}

fn figures(record: &StatsRecord) -> Row {
    Row {
        calls: record.calls,
        errors: record.errors,
        open: record.counts.without_answer(),
        p50: record.p50_us,
        p95: record.p95_us,
        p99: record.p99_us,
        mean: record.mean_us,
        max: record.max_us,
        request_bytes: record.request_bytes,
        response_bytes: record.response_bytes,
    }
}

fn remarks(totals: &StatsRecord) -> Vec<String> {
    let counts = &totals.counts;
    let mut remarks = Vec::new();
    if totals.errors > 0 {
        remarks.push(table::errors(counts));
    }
    if counts.without_answer() > 0 {
        remarks.push(table::open(counts));
    }
    remarks
}

/// The object of `stats --json`, similar to the one for traces.
#[derive(Serialize)]
struct StatsJson<'a> {
    store: &'a Path,
    rows: Vec<RowJson<'a>>,
    totals: CallsJson,
}

impl<'a> StatsJson<'a> {
    fn new(store: &'a Path, stats: &'a Stats) -> Self {
        StatsJson {
            store,
            rows: stats.rows.iter().map(RowJson::new).collect(),
            totals: calls_json(&stats.totals),
        }
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    server: &'a str,
    method: &'a str,
    tool: Option<&'a str>,
    dir: &'static str,
    #[serde(flatten)]
    calls: CallsJson,
}

impl<'a> RowJson<'a> {
    fn new(row: &'a StatsRecord) -> Self {
        RowJson {
            server: &row.server,
            method: &row.method,
            tool: row.tool.as_deref(),
            dir: "in",
            calls: calls_json(row),
        }
    }
}

fn calls_json(record: &StatsRecord) -> CallsJson {
    CallsJson {
        calls: record.calls,
        outcomes: OutcomesJson::new(&record.counts),
        request_bytes: record.request_bytes,
        response_bytes: record.response_bytes,
        result_tokens: None,
        latency_us: LatencyJson {
            measured: record.measured,
            p50: record.p50_us,
            p95: record.p95_us,
            p99: record.p99_us,
            mean: record.mean_us,
            max: record.max_us,
        },
    }
}
