//! The index of a trace in memory: the positions of its lines and the facts about its calls, without their contents.
//!
//! [`build`] reads the file once and produces batches; [`Index`] is what queries use. The content of
//! a line is read from the file again when it is displayed.

pub(crate) mod build;
mod chunked;
pub(crate) mod entry;
pub(crate) mod names;

use build::Batch;
use chunked::Chunked;
use entry::{CallEntry, LineEntry};
use names::{NameId, Names};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use wiretape_analyze::filter::Subject;
use wiretape_analyze::stats::CallCounts;
use wiretape_analyze::summary::{Crash, Ending};
use wiretape_trace::format::Meta;
use wiretape_trace::message::Direction;

/// The index of a trace as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Index {
    lines: Chunked<LineEntry>,
    calls: Chunked<CallEntry>,
    pub(crate) names: Names,
    /// The times of the first and the last line of each session that lines name.
    sessions: BTreeMap<NameId, RangeInclusive<i64>>,
    pub(crate) messages: u64,
    /// The client's calls by outcome. The server's requests have entries too, but are not counted.
    pub(crate) client_calls: CallCounts,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) ending: Option<Ending>,
    /// How the server crashed, with its last lines on standard error.
    crash: Option<Crash>,
    end: u64,
}

impl Index {
    pub(crate) fn add(&mut self, batch: Batch) {
        self.names.extend(batch.names);
        batch.lines.into_iter().for_each(|line| self.lines.push(line));
        for (number, call) in batch.calls {
            self.count(number, &call);
            self.calls.set(position(number), call);
        }
        for (session, times) in batch.sessions {
            let known = self.sessions.entry(session).or_insert_with(|| times.clone());
            *known = *known.start()..=*times.end();
        }
        self.messages += batch.messages;
        // Only the first `meta` describes the file.
        self.meta = self.meta.take().or(batch.meta);
        // The last ending counts, because more may follow an `end`.
        self.ending = batch.ending.or(self.ending.take());
        self.crash = batch.crash.or(self.crash.take());
        self.end = self.end.max(batch.end);
    }

    /// Counts a new or updated call. A call is counted once, with its latest outcome.
    fn count(&mut self, number: u64, call: &CallEntry) {
        if call.direction != Direction::ClientToServer {
            return;
        }
        if let Some(before) = self.calls.get(position(number)) {
            self.client_calls.remove(before.outcome);
        }
        self.client_calls.add(call.outcome);
    }

    /// The last lines on standard error of a server that crashed.
    pub(crate) fn last_stderr(&self) -> &[String] {
        self.crash.as_ref().map_or(&[], |crash| &crash.last_stderr)
    }

    pub(crate) fn lines(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// A line by its number, from 1.
    pub(crate) fn line(&self, number: u64) -> Option<LineEntry> {
        self.lines.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
    }

    /// A call by its number, from 1.
    pub(crate) fn call(&self, number: u64) -> Option<&CallEntry> {
        self.calls.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// All calls, with their numbers.
    pub(crate) fn all_calls(&self) -> impl Iterator<Item = (u64, &CallEntry)> {
        (1..).zip(self.calls.iter())
    }

    /// All lines, with their numbers.
    pub(crate) fn all_lines(&self) -> impl Iterator<Item = (u64, &LineEntry)> {
        (1..).zip(self.lines.iter())
    }

    /// The byte range of a line in the file, which may include its terminator.
    pub(crate) fn span(&self, number: u64) -> Option<Range<u64>> {
        let begin = self.line(number)?.offset;
        let end = self.line(number + 1).map_or(self.end, |next| next.offset);
        Some(begin..end)
    }

    /// The times of the first and the last line.
    pub(crate) fn times(&self) -> Option<(i64, i64)> {
        let last = self.line(self.lines.len() as u64)?;
        // The first lines of other producers have no time; the next line has.
        let first = self.lines.iter().map(|line| line.at_us).find(|at| *at > 0)?;
        Some((first, last.at_us))
    }

    /// The times of the first and the last line that name a session.
    pub(crate) fn session_times(&self, session: NameId) -> Option<RangeInclusive<i64>> {
        self.sessions.get(&session).cloned()
    }

    /// The subject of a filter, without the request's id, which is only in the file.
    pub(crate) fn subject<'a>(&'a self, call: &CallEntry, label: &'a str) -> Subject<'a> {
        Subject {
            method: self.names.get(call.method),
            tool: self.names.get(call.tool),
            outcome: Some(call.outcome),
            direction: Some(call.direction),
            session: self.names.get(call.session),
            server: Some(label),
            id: None,
            latency_us: call.duration_us(),
            request_bytes: Some(u64::from(call.request_bytes)),
            response_bytes: call.response_bytes(),
        }
    }
}

fn position(number: u64) -> usize {
    usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX)
}
