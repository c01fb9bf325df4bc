//! The digest of a trace: what a listing shows of it, in the form in which the index stores it.

use crate::liveness::recording_state;
use crate::open::{self, TraceFileError};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;
use wiretape_analyze::reading::Reading;
use wiretape_analyze::stats::CallCounts;
use wiretape_analyze::summary::{Ending, TraceSummary};
use wiretape_trace::format::{End, Meta, Notice, Stamp};

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
    /// The calls, counted by outcome.
    pub calls: CallCounts,
    /// The calls that the server made.
    pub server_requests: CallCounts,
    /// Responses without a request.
    pub orphans: u64,
    /// Lines on the wire that are not JSON.
    pub text_lines: u64,
    /// Events of HTTP streams that are not meant to be messages.
    pub stream_events: u64,
    /// Lines of the server's standard error.
    pub stderr_lines: u64,
    /// Lines that could not be written.
    pub lost: u64,
    /// Lines of an unknown type.
    pub unknown_lines: u64,
    /// Lines that are not JSON objects.
    pub damaged_lines: u64,
    /// The last line of the trace, by kind.
    pub ending: EndingDigest,
    /// The server's last lines on standard error.
    pub last_stderr: Vec<String>,
    /// Name and version of the client.
    pub client: Option<String>,
    /// Name and version of the server.
    pub server: Option<String>,
    /// The limits that reading has exceeded, as text for people.
    pub limits: Vec<String>,
}

/// An [`Ending`] as the index of a directory stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndingDigest {
    /// With an `end` line.
    End {
        /// When it was written.
        t: Option<String>,
        /// The same, in microseconds since the recording began.
        us: Option<u64>,
        /// The server's exit code.
        exit_code: Option<i64>,
        /// Milliseconds since the recording began.
        duration_ms: Option<u64>,
        /// The signal that ended the server.
        signal: Option<i32>,
        /// The recorder's reason for the end.
        reason: Option<String>,
        /// Lines that could not be written.
        lost: Option<u64>,
    },
    /// The recording continues in another file.
    Rotated {
        /// The name of that file.
        next: String,
    },
    /// The trace has neither `end` nor `rotated`.
    #[default]
    Missing,
}

impl TraceDigest {
    /// Reads a trace from end to end.
    pub fn read(path: &Path) -> Result<Self, TraceFileError> {
        let mut reader = open::open(path)?;
        let mut reading = Reading::new(TraceSummary::new());
        while let Some(line) = open::next_line(&mut reader, path)? {
            reading.observe(&line);
        }
        let is_limit = |notice: &&Notice| {
            matches!(notice, Notice::LongLine { .. } | Notice::DecompressionStopped { .. })
        };
        let limits = reader.notices().iter().filter(is_limit).map(ToString::to_string).collect();
        Ok(TraceDigest { limits, ..Self::of(reading.finish(recording_state(path))) })
    }

    /// The part of a summary that is stored. A change of what `TraceSummary` counts requires a new
    /// [`crate::index::VERSION`].
    fn of(summary: TraceSummary) -> Self {
        TraceDigest {
            started_ms: summary.started_ms(),
            duration_us: summary.duration_us(),
            messages_in: summary.messages_in,
            messages_out: summary.messages_out,
            messages_other: summary.messages_other,
            calls: summary.calls,
            server_requests: summary.server_requests,
            orphans: summary.orphans,
            text_lines: summary.text_lines,
            stream_events: summary.stream_events,
            stderr_lines: summary.stderr_lines,
            lost: summary.lost,
            unknown_lines: summary.unknown_lines,
            damaged_lines: summary.damaged_lines,
            ending: EndingDigest::of(&summary.ending),
            last_stderr: summary.last_stderr.into(),
            client: summary.client.map(|peer| peer.to_string()),
            server: summary.server.map(|peer| peer.to_string()),
            limits: Vec::new(),
            meta: summary.meta,
        }
    }

    /// The number of messages in all directions.
    pub fn messages(&self) -> u64 {
        self.messages_in + self.messages_out + self.messages_other
    }
}

impl EndingDigest {
    fn of(ending: &Ending) -> Self {
        match ending.clone() {
            Ending::End(End { stamp, exit_code, duration_ms, signal, reason, lost }) => {
                let t = stamp.t.map(Cow::into_owned);
                EndingDigest::End { t, us: stamp.us, exit_code, duration_ms, signal, reason, lost }
            }
            Ending::Rotated { next } => EndingDigest::Rotated { next },
            Ending::Missing => EndingDigest::Missing,
        }
    }

    /// The ending from which this was made.
    pub fn ending(&self) -> Ending {
        match self.clone() {
            EndingDigest::End { t, us, exit_code, duration_ms, signal, reason, lost } => {
                let stamp = Stamp { t: t.map(Cow::Owned), us, seq: None };
                Ending::End(End { stamp, exit_code, duration_ms, signal, reason, lost })
            }
            EndingDigest::Rotated { next } => Ending::Rotated { next },
            EndingDigest::Missing => Ending::Missing,
        }
    }
}
