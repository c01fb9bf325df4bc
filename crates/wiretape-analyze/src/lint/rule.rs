//! What a rule is: what it is called, when it holds, why, and how it is checked.

use super::report::Report;
use super::revision::Revisions;
use super::view::{ExchangeView, MessageView, PayloadView, TextView, TraceEnd, UnansweredCall};
use std::fmt;

/// How bad it is to break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is broken.
    Info,
    /// The specification says SHOULD.
    Warning,
    /// The specification says MUST.
    Error,
}

impl Severity {
    /// Its name.
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

/// What rules are about; the letter that their codes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// One message by itself.
    Messages,
    /// Params and results, against the schema of their revision.
    Shapes,
    /// Initialization, capabilities, requests and their responses.
    Lifecycle,
    /// Progress notifications.
    Progress,
    /// Tools: definitions, arguments, results.
    Tools,
    /// Lines on a pipe, HTTP exchanges and streams.
    Transport,
    /// What 2026-07-28 asks for.
    Stateless,
    /// What differs from a baseline.
    Drift,
}

impl Family {
    /// All of them, in the order of the catalogue.
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

    /// Its name.
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

    /// The letter that its codes begin with.
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

/// A place in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// Where it is read.
    pub url: &'static str,
}

/// What a check looks at.
#[derive(Clone, Copy)]
pub enum Check {
    /// Each payload, with what is known of its session before it.
    Payload(fn(&PayloadView<'_>, &mut Report<'_>)),
    /// Each line with a message; a batch is one.
    Message(fn(&MessageView<'_>, &mut Report<'_>)),
    /// Each line that is not JSON.
    Text(fn(&TextView<'_>, &mut Report<'_>)),
    /// Each HTTP exchange, once its response's head is known.
    Exchange(fn(&ExchangeView<'_>, &mut Report<'_>)),
    /// Each call that has no answer when the trace ends.
    Unanswered(fn(&UnansweredCall<'_>, &mut Report<'_>)),
    /// The end of the trace.
    End(fn(&TraceEnd<'_>, &mut Report<'_>)),
    /// Nothing of a trace by itself: others find these and bring them as diagnostics.
    Elsewhere,
}

/// A rule.
pub struct Rule {
    /// Its code: the family's letter and three digits. Never given to another rule.
    pub code: &'static str,
    /// Its name, which is that of the pattern: "allow id-null" reads well.
    pub name: &'static str,
    /// What it is about.
    pub family: Family,
    /// How bad it is.
    pub severity: Severity,
    /// The revisions it holds for.
    pub revisions: Revisions,
    /// Where the specification says so.
    pub section: Section,
    /// What is found, in a sentence.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// How it is found.
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
