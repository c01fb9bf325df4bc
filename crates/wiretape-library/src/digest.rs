//! What a listing shows of a trace, in a form that the index keeps.

use crate::introduction::{Introduction, answered, asked};
use crate::open::{self, TraceFileError};
use serde::{Deserialize, Serialize};
use std::path::Path;
use wiretape_analyze::summary::{Ending, TraceSummary};
use wiretape_trace::format::{End, Meta, Notice, Record};

/// One trace in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceDigest {
    /// What the trace says of itself; `None` without a `meta` line.
    pub meta: Option<Meta>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// Its duration in microseconds.
    pub duration_us: Option<u64>,
    /// Messages from client to server.
    pub messages_in: u64,
    /// Messages from server to client.
    pub messages_out: u64,
    /// Messages of an unknown direction.
    pub messages_other: u64,
    /// Its calls.
    pub calls: CallDigest,
    /// Responses without a request.
    pub orphans: u64,
    /// Lines on the wire that are not JSON.
    pub text_lines: u64,
    /// Lines of the server's standard error.
    pub stderr_lines: u64,
    /// Lines that could not be written.
    pub lost: u64,
    /// Lines of an unknown type.
    pub unknown_lines: u64,
    /// Lines that are not JSON objects.
    pub damaged_lines: u64,
    /// How it ends.
    pub ending: EndingDigest,
    /// Name and version of the client.
    pub client: Option<String>,
    /// Name and version of the server.
    pub server: Option<String>,
    /// What exceeds the limits of reading, in words.
    pub limits: Vec<String>,
}

/// The calls of a trace, counted by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDigest {
    /// All calls.
    pub total: u64,
    /// Failed calls.
    pub errors: u64,
    /// Calls without a response.
    pub unanswered: u64,
    /// Calls whose result says `isError`.
    pub tool_errors: u64,
    /// Calls that were answered with an error.
    pub protocol_errors: u64,
    /// Calls without a response when the trace ended.
    pub pending: u64,
    /// Calls that can't have a response.
    pub abandoned: u64,
}

/// An [`Ending`] that can be written down.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndingDigest {
    /// With an `end` line.
    End {
        /// When it was written.
        t: Option<String>,
        /// The server's exit code.
        exit_code: Option<i64>,
        /// Milliseconds since the recording began.
        duration_ms: Option<u64>,
        /// The signal that ended the server.
        signal: Option<i32>,
        /// Why it ended.
        reason: Option<String>,
        /// Lines that could not be written.
        lost: Option<u64>,
    },
    /// The recording continues in another file.
    Rotated {
        /// The name of that file.
        next: String,
    },
    /// Without an end.
    #[default]
    Missing,
}

impl TraceDigest {
    /// Reads a trace from end to end.
    pub fn read(path: &Path) -> Result<Self, TraceFileError> {
        let mut reader = open::open(path)?;
        let (mut summary, mut introduction) = (TraceSummary::new(), Introduction::default());
        while let Some(line) = open::next_line(&mut reader, path)? {
            if let (Record::Message(message), true) = (&line.record, line.number < INTRODUCTIONS) {
                introduce(&mut introduction, message.raw);
            }
            summary.observe(line.number, &line.record);
        }
        summary.finish();
        let is_limit = |notice: &&Notice| {
            matches!(notice, Notice::LongLine { .. } | Notice::DecompressionStopped { .. })
        };
        let limits = reader.notices().iter().filter(is_limit).map(ToString::to_string).collect();
        Ok(TraceDigest { limits, ..Self::of(&summary, introduction) })
    }

    /// What is kept of a summary. Whoever changes what `TraceSummary` counts changes this, and [`crate::index::VERSION`].
    fn of(summary: &TraceSummary, introduction: Introduction) -> Self {
        let calls = &summary.calls;
        TraceDigest {
            meta: summary.meta.clone(),
            started_ms: summary.started_ms(),
            duration_us: summary.duration_us(),
            messages_in: summary.messages_in,
            messages_out: summary.messages_out,
            messages_other: summary.messages_other,
            calls: CallDigest {
                total: calls.calls,
                errors: calls.errors(),
                unanswered: calls.unanswered(),
                tool_errors: calls.tool_errors,
                protocol_errors: calls.protocol_errors,
                pending: calls.pending,
                abandoned: calls.abandoned,
            },
            orphans: summary.orphans,
            text_lines: summary.text_lines,
            stderr_lines: summary.stderr_lines,
            lost: summary.lost,
            unknown_lines: summary.unknown_lines,
            damaged_lines: summary.damaged_lines,
            ending: EndingDigest::of(&summary.ending),
            client: introduction.client,
            server: introduction.server,
            limits: Vec::new(),
        }
    }

    /// All messages.
    pub fn messages(&self) -> u64 {
        self.messages_in + self.messages_out + self.messages_other
    }
}

/// Client and server introduce themselves among the first lines.
const INTRODUCTIONS: u64 = 50;

fn introduce(introduction: &mut Introduction, raw: &[u8]) {
    let mut told = asked(raw);
    answered(raw, &mut told);
    introduction.client = introduction.client.take().or(told.client);
    introduction.server = introduction.server.take().or(told.server);
}

impl EndingDigest {
    fn of(ending: &Ending) -> Self {
        match ending.clone() {
            Ending::End(End { t, exit_code, duration_ms, signal, reason, lost }) => {
                EndingDigest::End { t, exit_code, duration_ms, signal, reason, lost }
            }
            Ending::Rotated { next } => EndingDigest::Rotated { next },
            Ending::Missing => EndingDigest::Missing,
        }
    }

    /// The ending that was written down.
    pub fn ending(&self) -> Ending {
        match self.clone() {
            EndingDigest::End { t, exit_code, duration_ms, signal, reason, lost } => {
                Ending::End(End { t, exit_code, duration_ms, signal, reason, lost })
            }
            EndingDigest::Rotated { next } => Ending::Rotated { next },
            EndingDigest::Missing => Ending::Missing,
        }
    }
}
