//! What redaction costs per byte: for text as it is, for text made to be expensive, and for each family of rules.

use std::process::Command;

use crate::bench::Effort;
use crate::bench::figures::{median, times};
use crate::bench::progress::Progress;
use crate::bench::report::{Report, Row};
use crate::failure::{Failure, Result};
use crate::sh::{capture, cargo, run as run_task, target_directory};

const SUBJECTS: [&str; 1] = ["per byte"];

/// What the other texts are compared with.
const PROSE: &str = "prose";

/// What the families of rules are compared with.
const ALL_RULES: &str = "all rules";

/// Ordinary texts: there is no target for them here, because the stdio section measures them end to end.
const ORDINARY: [&str; 6] = [
    PROSE,
    "base64",
    "JSON",
    "JSON in a string",
    "a session that remembers 256 secrets",
    "a session whose messages name new secrets",
];

/// The label of a text, and its cost in nanoseconds per byte.
type Cost = (String, f64);

/// Runs all measurements of this section.
pub(super) fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.rounds.unwrap_or(if effort.quick { 2 } else { 9 });
    run_task(&mut cargo(["build", "--release", "--package", "wiretape-trace", "--example", "redaction"]))?;
    let progress = Progress::of("redaction");
    let mut measured = Vec::new();
    for round in 0..rounds {
        progress.show(round);
        measured.push(costs()?);
    }
    let labels: Vec<String> = measured[0].iter().map(|(label, _)| label.clone()).collect();
    let rows = labels.iter().map(|label| row(label, &measured)).collect::<Result<_>>()?;
    Ok(Report { section: "redaction", rounds, subjects: &SUBJECTS, rows })
}

fn costs() -> Result<Vec<Cost>> {
    let output = capture(&mut Command::new(target_directory().join("release/examples/redaction")))?;
    output.lines().map(cost).collect()
}

fn cost(line: &str) -> Result<Cost> {
    let (label, figure) =
        line.split_once('\t').ok_or_else(|| Failure::new(format!("no figure in `{line}`")))?;
    let figure = figure.parse().map_err(|_| Failure::new(format!("`{figure}` is not a number")))?;
    Ok((label.to_owned(), figure))
}

fn row(label: &str, measured: &[Vec<Cost>]) -> Result<Row> {
    let is_family = label.starts_with("without ");
    let base = if is_family { ALL_RULES } else { PROSE };
    let of = |costs: &[Cost], label: &str| {
        let found = costs.iter().find(|(name, _)| name == label);
        found.map(|(_, cost)| *cost).ok_or_else(|| Failure::new(format!("`{label}` was not measured")))
    };
    let figures = measured.iter().map(|costs| of(costs, label)).collect::<Result<Vec<_>>>()?;
    let ratios = measured.iter().map(|costs| Ok(of(costs, label)? / of(costs, base)?));
    let ratio = median(ratios.collect::<Result<Vec<_>>>()?);
    let has_target = !is_family && label != ALL_RULES && !ORDINARY.contains(&label);
    Ok(Row {
        what: if is_family {
            format!("a session, {label}: against all rules")
        } else {
            format!("{label}: against prose")
        },
        figures: vec![format!("{:.2} ns", median(figures))],
        outcome: times(ratio),
        target: if has_target { "≤ 1×".to_owned() } else { "–".to_owned() },
        met: !has_target || ratio <= 1.0,
    })
}
