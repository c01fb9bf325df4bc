//! Collects findings with their positions: up to a limit per rule, the rest are counted.

use super::diagnostic::{Diagnostic, Related};
use super::locate::locate_nearest;
use super::rule::Rule;
use std::collections::BTreeMap;
use wiretape_trace::redact::is_redacted;

/// Findings of one rule kept per line, whatever the limit: locating each in its line costs a scan of the line.
const PER_LINE: u64 = 50;

/// The findings of a trace.
#[derive(Debug, Default)]
pub struct Findings {
    /// The findings that were kept, in the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of findings of each rule, by its code, including those that were not kept.
    pub counts: BTreeMap<&'static str, u64>,
    limit: Option<u64>,
}

impl Findings {
    /// Keeps at most `limit` findings per rule; `None` keeps all.
    pub fn with_limit(limit: Option<u64>) -> Self {
        Findings { limit, ..Self::default() }
    }

    /// Counts a finding, and keeps it if the limit allows.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.count(diagnostic.rule) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The number of findings of a rule that were counted but not kept.
    pub fn left_out(&self, rule: &Rule) -> u64 {
        let kept = self.diagnostics.iter().filter(|diagnostic| *diagnostic.rule == *rule).count() as u64;
        self.counts.get(rule.code).map_or(0, |all| all.saturating_sub(kept))
    }

    /// Counts a finding. Returns whether to keep it.
    fn count(&mut self, rule: &'static Rule) -> bool {
        let count = self.counts.entry(rule.code).or_default();
        *count += 1;
        self.limit.is_none_or(|limit| *count <= limit)
    }
}

/// The line that is being checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) line: u64,
    pub(crate) seq: Option<u64>,
    /// The JSON of the whole trace line, which pointers start from.
    pub(crate) bytes: &'a [u8],
}

/// Receives the findings of one rule for one subject.
pub struct Report<'r> {
    rule: &'static Rule,
    subject: Option<Subject<'r>>,
    /// The prefix of pointers: `/raw`, `/raw/2` in a batch, `/http`.
    base: &'r str,
    findings: &'r mut Findings,
    here: u64,
}

impl<'r> Report<'r> {
    pub(crate) fn new(
        rule: &'static Rule,
        subject: Option<Subject<'r>>,
        base: &'r str,
        findings: &'r mut Findings,
    ) -> Self {
        Report { rule, subject, base, findings, here: 0 }
    }

    /// Reports a finding at a pointer into the payload.
    pub fn at(&mut self, pointer: &str, message: impl Into<String>) {
        self.push_at(&format!("{}{pointer}", self.base), message.into(), None);
    }

    /// Reports a finding that another line explains.
    pub fn at_with(&mut self, pointer: &str, message: impl Into<String>, line: u64, what: &'static str) {
        self.push_at(&format!("{}{pointer}", self.base), message.into(), Some(Related { line, what }));
    }

    /// Reports a finding at a pointer into the line, outside the payload.
    pub fn in_line(&mut self, pointer: &str, message: impl Into<String>) {
        self.push_at(pointer, message.into(), None);
    }

    /// Reports a finding in an earlier line, whose bytes are no longer available. A caller that reads the line again can
    /// locate it with [`Diagnostic::show_in`].
    pub fn before(&mut self, line: u64, seq: Option<u64>, pointer: &str, message: impl Into<String>) {
        if self.findings.count(self.rule) {
            self.findings.diagnostics.push(Diagnostic {
                rule: self.rule,
                line,
                seq,
                pointer: pointer.to_owned(),
                span: None,
                message: message.into(),
                excerpt: None,
                related: None,
            });
        }
    }

    /// Whether the value at a pointer was redacted: then it can't be checked.
    fn is_redacted(&self, pointer: &str) -> bool {
        // A line of text is a finding by its presence, whatever it says.
        let Some(subject) = self.subject.filter(|_| !pointer.starts_with("/text")) else { return false };
        // The whole line first: a substring search, which is cheaper than locating the value and false for most
        // lines.
        is_redacted(subject.bytes)
            && locate_nearest(subject.bytes, pointer).is_some_and(|place| is_redacted(&subject.bytes[place]))
    }

    fn push_at(&mut self, pointer: &str, message: String, related: Option<Related>) {
        if self.is_redacted(pointer) {
            return;
        }
        self.here += 1;
        // Counted before the limits, so that totals are exact even if findings are dropped.
        if !self.findings.count(self.rule) || self.here > PER_LINE {
            return;
        }
        let Some(subject) = self.subject else { return };
        let mut diagnostic = Diagnostic {
            rule: self.rule,
            line: subject.line,
            seq: subject.seq,
            pointer: pointer.to_owned(),
            span: None,
            message,
            excerpt: None,
            related,
        };
        diagnostic.show_in(subject.bytes);
        self.findings.diagnostics.push(diagnostic);
    }
}
