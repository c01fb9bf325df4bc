//! What linting some traces came to, whatever way it is shown.

use std::path::PathBuf;
use wiretape_analyze::lint::select::{Level, Selection};
use wiretape_analyze::lint::{Diagnostic, Findings, Rule, Severity, rules};

/// One trace, and what was found in it.
#[derive(Debug)]
pub(crate) struct LintedTrace {
    /// Its file.
    pub(crate) path: PathBuf,
    /// What was found, by line.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Rules of which more was found than is shown, and how much more.
    pub(crate) left_out: Vec<(&'static Rule, u64)>,
    /// How many findings there were in all, by severity.
    pub(crate) totals: Totals,
}

/// How many findings, by severity.
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

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Totals {
            errors: self.errors + other.errors,
            warnings: self.warnings + other.warnings,
            infos: self.infos + other.infos,
            denied: self.denied + other.denied,
        }
    }

    /// How many there are.
    pub(crate) fn all(self) -> u64 {
        self.errors + self.warnings + self.infos
    }
}

impl LintedTrace {
    /// Puts findings in the order of their lines.
    pub(crate) fn new(path: PathBuf, mut findings: Findings, selection: &Selection) -> Self {
        let mut totals = Totals::default();
        let mut left_out = Vec::new();
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

/// The sum of all traces.
pub(crate) fn totals(traces: &[LintedTrace]) -> Totals {
    traces.iter().fold(Totals::default(), |sum, trace| sum.plus(trace.totals))
}
