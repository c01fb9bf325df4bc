//! Builds the index of a trace line by line.

use super::entry::{CallEntry, CallNames, LineEntry};
use super::names::{NameId, Namer};
use crate::api::types::{Dir, LineKind};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use wiretape_analyze::call::{Call, Outcome};
use wiretape_analyze::reading::{Analysis, Closed, LineView, Meaning, Reading, RecordingState, Seen};
use wiretape_analyze::summary::{Crash, Crashes, Ending};
use wiretape_trace::format::{Line, Meta, Record};
use wiretape_trace::message::{Direction, MessageKind};

/// The additions of some lines to an index.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<LineEntry>,
    /// New and updated calls by number.
    pub(crate) calls: Vec<(u64, CallEntry)>,
    pub(crate) names: Vec<Arc<str>>,
    /// The times of the first and the last line of each session that lines name.
    pub(crate) sessions: BTreeMap<NameId, RangeInclusive<i64>>,
    pub(crate) messages: u64,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) ending: Option<Ending>,
    pub(crate) crash: Option<Crash>,
    /// The end of the last line.
    pub(crate) end: u64,
}

/// Reads the lines of a trace in order and returns batches of additions.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    reading: Reading<(Indexing, Crashes)>,
}

#[derive(Debug, Default)]
struct Indexing {
    namer: Namer,
    batch: Batch,
    summary: LineSummary,
}

/// The summary of all payloads of a line.
#[derive(Debug, Default)]
struct LineSummary {
    call: u64,
    method: NameId,
    kind: Option<LineKind>,
}

impl Builder {
    pub(crate) fn observe(&mut self, line: &Line<'_>) {
        self.reading.observe(line);
    }

    /// Updates the open calls when there are no more lines for now.
    pub(crate) fn update_open_calls(&mut self, state: RecordingState) {
        let open: Vec<(Call, i64)> =
            self.reading.pending(state).map(|(call, (at_us, ()))| (call, *at_us)).collect();
        for (call, at_us) in open {
            self.reading.analysis_mut().0.put(&call, at_us);
        }
    }

    /// Sets the offset up to which everything was observed.
    pub(crate) fn reached(&mut self, offset: u64) {
        self.reading.analysis_mut().0.batch.end = offset;
    }

    /// The additions since the last batch.
    pub(crate) fn take(&mut self) -> Batch {
        let (indexing, crashes) = self.reading.analysis_mut();
        let mut batch = std::mem::take(&mut indexing.batch);
        batch.names = indexing.namer.take_fresh();
        batch.crash = crashes.found().last().cloned();
        batch
    }

    pub(crate) fn waiting(&self) -> usize {
        self.reading.analysis().0.batch.lines.len()
    }
}

impl Analysis for Indexing {
    /// The time of the request, in microseconds.
    type PerCall = i64;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        self.summary = LineSummary::default();
        match &view.line.record {
            Record::Meta(meta) => drop(self.batch.meta.get_or_insert_with(|| meta.clone())),
            Record::End(end) => self.batch.ending = Some(Ending::End(end.clone())),
            Record::Rotated { next, .. } => self.batch.ending = Some(Ending::Rotated { next: next.clone() }),
            _ => {}
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut i64>) {
        self.batch.messages += 1;
        // A batch has several calls; its line names the first.
        if self.summary.call == 0 {
            self.summary.call = seen.meaning.call().unwrap_or(0);
        }
        if self.summary.kind.is_none() {
            let method = seen.envelope.method.as_deref();
            self.summary.method = method.map_or(NameId::NONE, |method| self.namer.name(method));
        }
        let is_first = self.summary.kind.is_none();
        self.summary.kind = Some(if is_first { payload_kind(seen.envelope.kind) } else { LineKind::Batch });
        if let (Some(at_us), Some(pending)) = (own, seen.pending) {
            if let Meaning::Request { .. } = seen.meaning {
                *at_us = seen.line.at_us;
            }
            // An update of an open call; its final state is set when it is closed.
            let call = pending.as_if_ended(Outcome::Pending, pending.asked());
            self.put(&call, *at_us);
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, at_us: i64) {
        let call = closed.call;
        if self.summary.call == 0 && closed.line.is_some() {
            self.summary.call = call.number;
        }
        if closed.answer.is_some() && closed.index == 0 {
            self.summary.method = self.namer.name(&call.method);
        }
        // 0 if the request was not in the trace: the response is then the only time there is.
        let at_us = if at_us == 0 { closed.line.map_or(0, |view| view.at_us) } else { at_us };
        self.put(call, at_us);
    }

    fn end_line(&mut self, view: &LineView<'_, '_>) {
        let line = view.line;
        if let Some(session) = session_of(&line.record) {
            let session = self.namer.name(session);
            let times = self.batch.sessions.entry(session).or_insert(view.at_us..=view.at_us);
            *times = *times.start()..=view.at_us;
        }
        let (kind, dir) = kind_of(&line.record, self.summary.kind);
        let LineSummary { call, method, .. } = self.summary;
        self.batch.lines.push(LineEntry::new(line.offset, view.at_us, call, method, kind, dir));
        self.batch.end = line.offset + line.bytes.len() as u64 + 1;
    }
}

impl Indexing {
    fn put(&mut self, call: &Call, at_us: i64) {
        let names = CallNames {
            method: self.namer.name(&call.method),
            tool: call.tool.as_deref().map_or(NameId::NONE, |tool| self.namer.name(tool)),
            session: call.session.as_deref().map_or(NameId::NONE, |session| self.namer.name(session)),
        };
        self.batch.calls.push((call.number, CallEntry::new(call, at_us, names)));
    }
}

/// The session that a line names.
fn session_of<'a>(record: &'a Record<'_>) -> Option<&'a str> {
    match record {
        Record::Message(message) => message.session.as_deref(),
        Record::Http(exchange) => exchange.session.as_deref(),
        _ => None,
    }
}

fn payload_kind(kind: MessageKind) -> LineKind {
    match kind {
        MessageKind::Request => LineKind::Request,
        MessageKind::Response => LineKind::Response,
        MessageKind::Notification => LineKind::Notification,
        MessageKind::Batch => LineKind::Batch,
        MessageKind::NotJsonRpc => LineKind::Odd,
    }
}

fn kind_of(record: &Record<'_>, payloads: Option<LineKind>) -> (LineKind, Dir) {
    let dir = |direction: Option<Direction>| direction.map_or(Dir::Unknown, Dir::from);
    match record {
        Record::Meta(_) => (LineKind::Meta, Dir::Unknown),
        Record::Message(message) => {
            let is_batch = message.raw.trim_ascii_start().first() == Some(&b'[');
            let kind = if is_batch { LineKind::Batch } else { payloads.unwrap_or(LineKind::Odd) };
            (kind, dir(message.dir.known()))
        }
        Record::Text(text) if text.is_stream_event() => (LineKind::Stream, dir(text.dir.known())),
        Record::Text(text) => (LineKind::Text, dir(text.dir.known())),
        Record::Stderr(_) => (LineKind::Stderr, Dir::Out),
        Record::Http(_) => (LineKind::Http, Dir::Unknown),
        Record::Gap(_) => (LineKind::Gap, Dir::Unknown),
        Record::Rotated { .. } => (LineKind::Rotated, Dir::Unknown),
        Record::End(_) => (LineKind::End, Dir::Unknown),
        Record::Unknown { .. } => (LineKind::Unknown, Dir::Unknown),
        Record::Damaged(_) => (LineKind::Damaged, Dir::Unknown),
    }
}

impl From<Direction> for Dir {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::ClientToServer => Dir::In,
            Direction::ServerToClient => Dir::Out,
        }
    }
}
