//! The table, on the terminal and in `docs/benchmarks.md`: Markdown that is also readable as it stands.

use std::fs;
use std::thread;

use crate::bench::measures::Plan;
use crate::failure::{Context, Failure, Result};
use crate::sh::root;

const FILE: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- written by `cargo xtask bench --write`: begin -->";
const END: &str = "<!-- written by `cargo xtask bench --write`: end -->";

/// One measurement beside its target.
pub(super) struct Row {
    pub(super) what: String,
    /// Direct, floor and recorder.
    pub(super) figures: [String; 3],
    /// What is compared with the target.
    pub(super) outcome: String,
    pub(super) target: String,
    pub(super) met: bool,
}

impl Row {
    fn cells(&self) -> [String; 7] {
        let [direct, floor, recorder] = self.figures.clone();
        let verdict = if self.met { "ok" } else { "MISSED" };
        [
            self.what.clone(),
            direct,
            floor,
            recorder,
            self.outcome.clone(),
            self.target.clone(),
            verdict.to_owned(),
        ]
    }
}

/// The date, the machine and the table.
pub(super) fn render(rows: &[Row], plan: &Plan) -> String {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
    format!("{today}, {}, {} rounds.\n\n{}", machine(), plan.rounds, table(rows))
}

/// Replaces what stands between the markers; the prose around is a person's.
pub(super) fn write(report: &str) -> Result {
    let path = root().join(FILE);
    let document = fs::read_to_string(&path).context(FILE)?;
    let document = splice(&document, report)
        .ok_or_else(|| Failure::new(format!("{FILE} has lost the lines {BEGIN} and {END}")))?;
    fs::write(&path, document).context(FILE)
}

fn splice(document: &str, report: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", report.trim_end()))
}

fn table(rows: &[Row]) -> String {
    let header = ["", "direct", "floor", "wiretape", "outcome", "target", ""].map(str::to_owned);
    let rule = ["---", "--:", "--:", "--:", "--:", "--:", "---"].map(str::to_owned);
    let lines: Vec<_> = [header, rule].into_iter().chain(rows.iter().map(Row::cells)).collect();
    let mut widths = [0; 7];
    for cells in &lines {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    lines.iter().map(|cells| line(cells, &widths)).collect()
}

fn line(cells: &[String; 7], widths: &[usize; 7]) -> String {
    let mut line = String::from("|");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let padded = if column == 0 { format!(" {cell:<width$} |") } else { format!(" {cell:>width$} |") };
        line.push_str(&padded);
    }
    line.push('\n');
    line
}

fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let processor =
        read_line("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // Only the version: what follows the dash may name the builder.
    let kernel = kernel.trim().split('-').next().unwrap_or_default().to_owned();
    format!("{cores} cores ({processor}), {} {kernel}", std::env::consts::OS)
}

/// The value of the first line `key : value`.
fn read_line(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let document = format!("# Title\n{BEGIN}\nold\n{END}\nprose\n");
        let expected = format!("# Title\n{BEGIN}\nnew\n{END}\nprose\n");
        assert_eq!(splice(&document, "new\n"), Some(expected));
        assert_eq!(splice("no markers", "new"), None);
    }

    #[test]
    fn rows_line_up() {
        let row = Row {
            what: "é".to_owned(),
            figures: ["1", "2", "3"].map(str::to_owned),
            outcome: "1×".to_owned(),
            target: "≤ 2×".to_owned(),
            met: false,
        };
        let table = table(&[row]);
        let widths: Vec<_> = table.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
        assert!(table.contains("MISSED"));
    }
}
