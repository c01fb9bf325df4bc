//! The result of linting, independent of the output format.

use std::path::PathBuf;
use wiretape_analyze::lint::select::{Level, Selection};
use wiretape_analyze::lint::{Diagnostic, Findings, Rule, Severity, rules};

/// A trace with its findings.
#[derive(Debug)]
pub(crate) struct LintedTrace {
    pub(crate) path: PathBuf,
    /// The findings, ordered by line.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Rules with more findings than are shown, and the number that is not shown.
    pub(crate) left_out: Vec<(&'static Rule, u64)>,
    /// The total number of findings, by severity.
    pub(crate) totals: Totals,
}

/// Numbers of findings, by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) infos: u64,
    /// How many of them make the command fail.
    pub(crate) denied: u64,
}

impl Totals {
    fn add(&mut self, rule: &Rule, count: u64, selection: &Selection) {
        match rule.severity {
            Severity::Error => self.errors += count,
            Severity::Warning => self.warnings += count,
            Severity::Info => self.infos += count,
        }
        if selection.level(rule) == Level::Deny {
            self.denied += count;
        }
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Totals {
            errors: self.errors + other.errors,
            warnings: self.warnings + other.warnings,
            infos: self.infos + other.infos,
            denied: self.denied + other.denied,
        }
    }

    /// The total of all severities.
    pub(crate) fn all(self) -> u64 {
        self.errors + self.warnings + self.infos
    }
}

impl LintedTrace {
    /// Sorts the findings by line.
    pub(crate) fn new(path: PathBuf, mut findings: Findings, selection: &Selection) -> Self {
        let mut totals = Totals::default();
        let mut left_out = Vec::new();
        // From the counts, because the list of diagnostics is limited for each rule.
        for (code, count) in &findings.counts {
            let Some(rule) = rules::find(code) else { continue };
            totals.add(rule, *count, selection);
            let more = findings.left_out(rule);
            if more > 0 {
                left_out.push((rule, more));
            }
        }
        findings.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.rule.code));
        LintedTrace { path, diagnostics: findings.diagnostics, left_out, totals }
    }
}

/// The sum over all traces.
pub(crate) fn totals(traces: &[LintedTrace]) -> Totals {
    traces.iter().fold(Totals::default(), |sum, trace| sum.plus(trace.totals))
}
