//! The tables, on the terminal and in `docs/benchmarks.md`: Markdown that is also readable unrendered.

use std::fs;
use std::thread;

use crate::failure::{Context, Failure, Result};
use crate::sh::root;

const FILE: &str = "docs/benchmarks.md";

/// The measurements of one section.
pub(super) struct Report {
    /// The section's name in the markers of the document.
    pub(super) section: &'static str,
    pub(super) rounds: usize,
    /// The compared subjects, in the order of each row's figures.
    pub(super) subjects: &'static [&'static str],
    pub(super) rows: Vec<Row>,
}

/// One measurement beside its target.
pub(super) struct Row {
    pub(super) what: String,
    /// One figure for each subject.
    pub(super) figures: Vec<String>,
    /// The figure that is compared with the target.
    pub(super) outcome: String,
    pub(super) target: String,
    pub(super) met: bool,
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let verdict = if self.met { "ok" } else { "MISSED" };
        let mut cells = vec![self.what.clone()];
        cells.extend(self.figures.iter().cloned());
        cells.extend([self.outcome.clone(), self.target.clone(), verdict.to_owned()]);
        cells
    }
}

impl Report {
    /// The date, the machine and the table.
    pub(super) fn render(&self) -> String {
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
        format!("{today}, {}, {} rounds.\n\n{}", machine(), self.rounds, table(self.subjects, &self.rows))
    }

    pub(super) fn missed(&self) -> usize {
        self.rows.iter().filter(|row| !row.met).count()
    }

    /// Replaces the text between the section's markers; the prose around them is written by hand.
    pub(super) fn write(&self) -> Result {
        let path = root().join(FILE);
        let document = fs::read_to_string(&path).context(FILE)?;
        let document = splice(&document, self.section, &self.render())?;
        fs::write(&path, document).context(FILE)
    }
}

fn splice(document: &str, section: &str, report: &str) -> Result<String> {
    let marker = |edge| format!("<!-- {section}, written by `cargo xtask bench --write`: {edge} -->");
    let (begin, end) = (marker("begin"), marker("end"));
    let parts =
        document.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) =
        parts.ok_or_else(|| Failure::new(format!("{FILE} has lost the lines {begin} and {end}")))?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", report.trim_end()))
}

fn table(subjects: &[&str], rows: &[Row]) -> String {
    let header = [&[""], subjects, &["outcome", "target", ""]].concat();
    let mut rule = vec!["--:"; header.len()];
    rule[0] = "---";
    rule[header.len() - 1] = "---";
    let mut lines: Vec<Vec<String>> =
        [header, rule].iter().map(|cells| cells.iter().map(ToString::to_string).collect()).collect();
    lines.extend(rows.iter().map(Row::cells));
    let widths: Vec<_> = (0..lines[0].len()).map(|column| width(&lines, column)).collect();
    lines.iter().map(|cells| line(cells, &widths)).collect()
}

fn width(lines: &[Vec<String>], column: usize) -> usize {
    lines.iter().map(|cells| cells[column].chars().count()).max().unwrap_or(0)
}

fn line(cells: &[String], widths: &[usize]) -> String {
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
    // Only the version: the suffix after the dash may name the person who built the kernel.
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
        let section = |name: &str, text: &str| {
            let marker = |edge| format!("<!-- {name}, written by `cargo xtask bench --write`: {edge} -->");
            format!("{}\n{text}\n{}\nprose\n", marker("begin"), marker("end"))
        };
        let document = section("stdio", "old") + &section("HTTP", "old");
        let expected = section("stdio", "old") + &section("HTTP", "new");
        assert_eq!(splice(&document, "HTTP", "new\n").unwrap(), expected);
        assert!(splice("no markers", "HTTP", "new").is_err());
    }

    #[test]
    fn rows_line_up() {
        let row = Row {
            what: "é".to_owned(),
            figures: vec!["1".to_owned(), "2".to_owned()],
            outcome: "1×".to_owned(),
            target: "≤ 2×".to_owned(),
            met: false,
        };
        let table = table(&["direct", "wiretape"], &[row]);
        let widths: Vec<_> = table.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
        assert!(table.contains("MISSED"));
    }
}
