//! Whether a trace has ended, continues in another file, or is being recorded.

use crate::liveness::{Liveness, liveness};
use serde::Serialize;
use std::path::Path;
use wiretape_analyze::glance::describe_end;
use wiretape_analyze::summary::Ending;
use wiretape_trace::format::End;

/// The state of a recording: decided by the last line of its trace and by whether a recorder holds the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceState {
    /// The recording has ended.
    Ended(End),
    /// It continues in another file.
    Rotated {
        /// The name of that file.
        next: String,
    },
    /// It is being recorded.
    Running,
    /// Its recorder is gone, or may be, and wrote no end.
    NoEnd,
}

/// A [`TraceState`] without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceStateKind {
    /// The recording has ended.
    Ended,
    /// The recording continues in another file.
    Rotated,
    /// The trace is being recorded.
    Running,
    /// The recorder is gone, or may be, and wrote no end.
    NoEnd,
}

impl TraceStateKind {
    /// One word for programs.
    pub fn name(self) -> &'static str {
        match self {
            TraceStateKind::Ended => "ended",
            TraceStateKind::Rotated => "rotated",
            TraceStateKind::Running => "running",
            TraceStateKind::NoEnd => "no-end",
        }
    }
}

impl TraceState {
    /// The state of the trace at `path` that ends like this.
    pub fn new(path: &Path, ending: &Ending) -> Self {
        match ending {
            Ending::End(end) => TraceState::Ended(end.clone()),
            Ending::Rotated { next } => TraceState::Rotated { next: next.clone() },
            // Only asked without an end: a recorder holds its lock for a moment after writing `end`.
            Ending::Missing if liveness(path) == Liveness::Running => TraceState::Running,
            Ending::Missing => TraceState::NoEnd,
        }
    }

    /// The state without its details.
    pub fn kind(&self) -> TraceStateKind {
        match self {
            TraceState::Ended(_) => TraceStateKind::Ended,
            TraceState::Rotated { .. } => TraceStateKind::Rotated,
            TraceState::Running => TraceStateKind::Running,
            TraceState::NoEnd => TraceStateKind::NoEnd,
        }
    }

    /// One word for programs.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// A few words for people.
    pub fn describe(&self) -> String {
        match self {
            TraceState::Ended(end) if end.is_failure() && end.exit_code != Some(127) => {
                format!("crashed ({})", describe_end(end))
            }
            TraceState::Ended(end) => describe_end(end),
            TraceState::Rotated { .. } => "continued".to_owned(),
            TraceState::Running => "running".to_owned(),
            TraceState::NoEnd => "cut off".to_owned(),
        }
    }

    /// Whether the server ended in failure.
    pub fn is_failure(&self) -> bool {
        matches!(self, TraceState::Ended(end) if end.is_failure())
    }

    /// Whether the server failed, or the recording was cut off.
    pub fn is_trouble(&self) -> bool {
        match self {
            TraceState::Ended(_) => self.is_failure(),
            TraceState::NoEnd => true,
            TraceState::Rotated { .. } | TraceState::Running => false,
        }
    }
}
