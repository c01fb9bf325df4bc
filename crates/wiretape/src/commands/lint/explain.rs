//! `lint --rules` and `lint --explain`.

use crate::output::{Align, Cell, Column, Output, Room, Table};
use crate::text::wrap;
use std::io::{self, Write};
use wiretape_analyze::lint::select::RuleSelector;
use wiretape_analyze::lint::{Rule, Severity, rules};

/// Lists the rules, one per line.
pub(crate) fn list(out: &mut Output) -> io::Result<()> {
    const COLUMNS: [Column; 4] = [
        Column { title: "CODE", align: Align::Left, room: Room::Fixed },
        Column { title: "NAME", align: Align::Left, room: Room::Fixed },
        Column { title: "SEVERITY", align: Align::Left, room: Room::Optional(1) },
        Column { title: "FINDS", align: Align::Left, room: Room::Flexible },
    ];
    let styles = out.styles;
    let mut table = Table::new(&COLUMNS);
    for rule in rules::ALL {
        let paint = match rule.severity {
            Severity::Error => styles.error,
            Severity::Warning => styles.warning,
            Severity::Info => styles.hint,
        };
        table.row(vec![
            Cell::from(rule.code),
            Cell::new(styles.name, rule.name),
            Cell::new(paint, rule.severity.name()),
            Cell::from(rule.what),
        ]);
    }
    let width = out.width;
    table.write(out, &styles, width)?;
    out.flush()
}

/// Explains the selected rules.
pub(crate) fn explain(out: &mut Output, selector: RuleSelector) -> io::Result<()> {
    let mut first = true;
    for rule in rules::ALL.iter().filter(|rule| selector.includes(rule)) {
        if !std::mem::take(&mut first) {
            writeln!(out)?;
        }
        explain_rule(out, rule)?;
    }
    out.flush()
}

fn explain_rule(out: &mut Output, rule: &Rule) -> io::Result<()> {
    let styles = out.styles;
    let width = out.width.unwrap_or(100).max(40);
    let head = format!("{} {}", rule.code, rule.name);
    writeln!(out, "{} ({}, {})", styles.strong.paint(head), rule.severity, rule.family.name())?;
    for (title, paragraph) in [("", rule.what), ("Why", rule.why), ("Fix", rule.fix)] {
        writeln!(out)?;
        if !title.is_empty() {
            writeln!(out, "{}", styles.strong.paint(title))?;
        }
        for line in wrap(paragraph, width) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out)?;
    writeln!(out, "Revisions: {}", rule.revisions.names().join(", "))?;
    writeln!(out, "Section: {}, {}", rule.section.title, rule.section.url)
}
