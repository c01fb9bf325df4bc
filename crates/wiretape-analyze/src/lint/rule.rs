//! A rule: its code and name, the revisions it applies to, its documentation, and its check.

use super::report::Report;
use super::revision::Revisions;
use super::view::{ExchangeView, MessageView, PayloadView, TextView, TraceEnd, UnansweredCall};
use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// Violates a SHOULD of the specification.
    Warning,
    /// Violates a MUST of the specification.
    Error,
}

impl Severity {
    /// The name in output, filters and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The subject of rules; each family has a letter that its codes start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Single JSON-RPC messages: ids, methods, errors, batches.
    Messages,
    /// Params and results, validated against the schema of their revision.
    Shapes,
    /// Initialization, capabilities, requests and their responses.
    Lifecycle,
    /// Progress notifications and their tokens.
    Progress,
    /// Tools: definitions, arguments, results.
    Tools,
    /// Lines on a pipe, HTTP exchanges and streams.
    Transport,
    /// Requirements of 2026-07-28, the revision without sessions.
    Stateless,
    /// Differences from a baseline.
    Drift,
}

impl Family {
    /// All families, in the order of the catalog.
    pub const ALL: [Family; 8] = [
        Family::Messages,
        Family::Shapes,
        Family::Lifecycle,
        Family::Progress,
        Family::Tools,
        Family::Transport,
        Family::Stateless,
        Family::Drift,
    ];

    /// The name in output, filters and documentation.
    pub fn name(self) -> &'static str {
        match self {
            Family::Messages => "messages",
            Family::Shapes => "shapes",
            Family::Lifecycle => "lifecycle",
            Family::Progress => "progress",
            Family::Tools => "tools",
            Family::Transport => "transport",
            Family::Stateless => "stateless",
            Family::Drift => "drift",
        }
    }

    /// The first letter of its codes.
    pub fn letter(self) -> char {
        match self {
            Family::Messages => 'M',
            Family::Shapes => 'S',
            Family::Lifecycle => 'L',
            Family::Progress => 'P',
            Family::Tools => 'T',
            Family::Transport => 'W',
            Family::Stateless => 'N',
            Family::Drift => 'D',
        }
    }
}

/// A section of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The title of the section.
    pub title: &'static str,
    /// The address of the section.
    pub url: &'static str,
}

/// The kind of a check: what it is called with.
#[derive(Clone, Copy)]
pub enum Check {
    /// Each payload, with the session state before it.
    Payload(fn(&PayloadView<'_>, &mut Report<'_>)),
    /// Each line with a message; a batch is one line.
    Message(fn(&MessageView<'_>, &mut Report<'_>)),
    /// Each line that is not JSON.
    Text(fn(&TextView<'_>, &mut Report<'_>)),
    /// Each HTTP exchange, once the head of its response is known.
    Exchange(fn(&ExchangeView<'_>, &mut Report<'_>)),
    /// Each call that has no answer when the trace ends.
    Unanswered(fn(&UnansweredCall<'_>, &mut Report<'_>)),
    /// The end of the trace.
    End(fn(&TraceEnd<'_>, &mut Report<'_>)),
    /// Nothing: the findings come from another module, such as [`super::drift`].
    Elsewhere,
}

/// A lint rule: its documentation and its check.
pub struct Rule {
    /// The family's letter and three digits. Never reused for another rule.
    pub code: &'static str,
    /// The name of the pattern it finds, so that "allow id-null" reads well.
    pub name: &'static str,
    /// The family that it belongs to.
    pub family: Family,
    /// The severity of its findings.
    pub severity: Severity,
    /// The revisions it applies to.
    pub revisions: Revisions,
    /// The section of the specification it is based on.
    pub section: Section,
    /// What it finds, in one sentence.
    pub what: &'static str,
    /// Why it matters: the consequence for a peer or a user.
    pub why: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// The check, and what it is called with.
    pub check: Check,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.name)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}
