//! Findings as JUnit XML: a suite per trace, and a case per finding, which fails if the finding is denied.

use super::outcome::LintedTrace;
use crate::junit::{self, Case, CaseOutcome, Failure, Suite};
use std::io::{self, Write};
use wiretape_analyze::lint::Diagnostic;
use wiretape_analyze::lint::select::{Level, Selection};

pub(crate) fn write(out: &mut impl Write, traces: &[LintedTrace], selection: &Selection) -> io::Result<()> {
    let suites: Vec<Suite> = traces.iter().map(|trace| suite(trace, selection)).collect();
    junit::write(out, "wiretape lint", &suites)
}

fn suite(trace: &LintedTrace, selection: &Selection) -> Suite {
    let mut cases: Vec<Case> = trace.diagnostics.iter().map(|found| case(found, selection)).collect();
    // An empty suite would look like a test that did not run.
    if cases.is_empty() {
        cases.push(Case::new("no findings", CaseOutcome::Passed));
    }
    Suite { name: trace.path.display().to_string(), cases }
}

fn case(diagnostic: &Diagnostic, selection: &Selection) -> Case {
    let (rule, line) = (diagnostic.rule, diagnostic.line);
    let excerpt = diagnostic.excerpt.as_ref().map_or("", |excerpt| excerpt.text.as_str());
    let body = format!("line {line} {}\n{excerpt}\nhelp: {}", diagnostic.pointer, rule.fix);
    let message = diagnostic.message.clone();
    let outcome = match selection.level(rule) {
        Level::Deny => CaseOutcome::Failed(Failure { kind: rule.severity.to_string(), message, body }),
        _ => CaseOutcome::PassedWith(format!("{message}\n{body}")),
    };
    Case::new(format!("{} {} (line {line})", rule.code, rule.name), outcome)
}
