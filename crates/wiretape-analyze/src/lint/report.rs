//! Where findings go: each with its place, no more of a rule than were asked for, the rest counted.

use super::diagnostic::{Diagnostic, Related};
use super::locate::locate_nearest;
use super::rule::Rule;
use std::collections::BTreeMap;
use wiretape_trace::redact::is_redacted;

/// How many findings of one rule in one line are worth keeping, whatever was asked for: each has to be looked up.
const PER_LINE: u64 = 50;

/// What was found in a trace.
#[derive(Debug, Default)]
pub struct Findings {
    /// The findings that were kept, in the order in which they were made.
    pub diagnostics: Vec<Diagnostic>,
    /// How many there were of each rule, by its code.
    pub counts: BTreeMap<&'static str, u64>,
    limit: Option<u64>,
}

impl Findings {
    /// Keeps no more than so many of each rule.
    pub fn with_limit(limit: Option<u64>) -> Self {
        Findings { limit, ..Self::default() }
    }

    /// Takes a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.count(diagnostic.rule) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// How many of this rule there were beyond those that were kept.
    pub fn left_out(&self, rule: &Rule) -> u64 {
        let kept = self.diagnostics.iter().filter(|diagnostic| *diagnostic.rule == *rule).count() as u64;
        self.counts.get(rule.code).map_or(0, |all| all.saturating_sub(kept))
    }

    /// Counts one, and says whether it is to be kept.
    fn count(&mut self, rule: &'static Rule) -> bool {
        let count = self.counts.entry(rule.code).or_default();
        *count += 1;
        self.limit.is_none_or(|limit| *count <= limit)
    }
}

/// The line that is being looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) line: u64,
    pub(crate) seq: Option<u64>,
    /// The whole line.
    pub(crate) bytes: &'a [u8],
}

/// What a rule tells its findings to.
pub struct Report<'r> {
    rule: &'static Rule,
    subject: Option<Subject<'r>>,
    /// What pointers begin at.
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

    /// Something is wrong at this place of the payload.
    pub fn at(&mut self, pointer: &str, message: impl Into<String>) {
        self.tell(&format!("{}{pointer}", self.base), message.into(), None);
    }

    /// The same, and another line belongs to it.
    pub fn at_with(&mut self, pointer: &str, message: impl Into<String>, line: u64, what: &'static str) {
        self.tell(&format!("{}{pointer}", self.base), message.into(), Some(Related { line, what }));
    }

    /// Something is wrong at this place of the line, outside the payload.
    pub fn in_line(&mut self, pointer: &str, message: impl Into<String>) {
        self.tell(pointer, message.into(), None);
    }

    /// Something is wrong in a line that has gone by. Whoever has the line can show the place, by
    /// [`Diagnostic::show_in`].
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

    /// Whether redaction changed what stands at a place: then it can't be judged.
    fn is_redacted(&self, pointer: &str) -> bool {
        // A line of text is wrong for being there, whatever it says.
        let Some(subject) = self.subject.filter(|_| !pointer.starts_with("/text")) else { return false };
        is_redacted(subject.bytes)
            && locate_nearest(subject.bytes, pointer).is_some_and(|place| is_redacted(&subject.bytes[place]))
    }

    fn tell(&mut self, pointer: &str, message: String, related: Option<Related>) {
        if self.is_redacted(pointer) {
            return;
        }
        self.here += 1;
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
