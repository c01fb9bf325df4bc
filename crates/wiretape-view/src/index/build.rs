//! Makes an index of a trace, line by line.

use super::entry::{CallEntry, CallNames, LineEntry};
use super::names::{NameId, Namer};
use crate::api::types::{Dir, LineKind};
use std::collections::HashMap;
use std::sync::Arc;
use wiretape_analyze::call::{Call, CallTracker, Observed};
use wiretape_analyze::clock::TraceClock;
use wiretape_analyze::listing::stamp_of;
use wiretape_analyze::operation::OperationTracker;
use wiretape_analyze::summary::Ending;
use wiretape_trace::format::{Line, Meta, Record};
use wiretape_trace::message::{Direction, Envelope, MessageKind};

/// What some lines add to an index.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) lines: Vec<LineEntry>,
    /// Calls that are new, or of which more is known, by their number.
    pub(crate) calls: Vec<(u64, CallEntry)>,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) messages: u64,
    pub(crate) errors: u64,
    pub(crate) meta: Option<Box<Meta>>,
    pub(crate) ending: Option<Ending>,
    /// The end of the last line.
    pub(crate) end: u64,
}

/// Reads the lines of a trace in order, and tells in batches what they add.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    tracker: CallTracker,
    operations: OperationTracker,
    clock: TraceClock,
    namer: Namer,
    /// When open calls were asked.
    asked: HashMap<u64, i64>,
    batch: Batch,
}

/// What the payloads of a line say together.
#[derive(Default)]
struct Said {
    call: u64,
    method: NameId,
    kind: Option<LineKind>,
}

impl Builder {
    pub(crate) fn observe(&mut self, line: &Line<'_>) {
        if let Record::Meta(meta) = &line.record {
            self.clock.observe_meta(meta);
            self.batch.meta.get_or_insert_with(|| meta.clone());
        }
        let at_us = match stamp_of(&line.record) {
            Some(stamp) => self.clock.at(stamp),
            None => self.clock.at(&wiretape_trace::format::Stamp::default()),
        };
        let said = self.payloads(line, at_us);
        let (kind, dir) = kind_of(&line.record, said.kind);
        self.batch.lines.push(LineEntry::new(line.offset, at_us, said.call, said.method, kind, dir));
        self.batch.end = line.offset + line.bytes.len() as u64 + 1;
        match &line.record {
            Record::End(end) => self.batch.ending = Some(Ending::End(end.clone())),
            Record::Rotated { next } => self.batch.ending = Some(Ending::Rotated { next: next.clone() }),
            _ => {}
        }
    }

    fn payloads(&mut self, line: &Line<'_>, at_us: i64) -> Said {
        let mut seen = Vec::new();
        let failed = self.tracker.observe_record(line.number, &line.record, |_, envelope, observed| {
            seen.push((envelope, observed));
        });
        let mut said = Said::default();
        if let Record::Message(message) = &line.record {
            self.batch.messages += seen.len() as u64;
            for (envelope, observed) in seen {
                let operation = self.operations.observe(&self.tracker, &message.stamp, &envelope, &observed);
                self.payload(&envelope, &observed, operation, at_us, &mut said);
            }
            // Nobody asks for whole operations here: the calls say to which they belong.
            self.operations.take_ended();
        }
        for call in failed {
            said.call = call.number;
            self.close(&call, None);
        }
        said
    }

    fn payload(
        &mut self,
        envelope: &Envelope<'_>,
        observed: &Observed,
        operation: Option<u64>,
        at_us: i64,
        said: &mut Said,
    ) {
        let number = match observed {
            Observed::Request { number, .. } => *number,
            Observed::Answer(call) => call.number,
            Observed::Progress { of } | Observed::Cancellation { of } => of.unwrap_or(0),
            Observed::Orphan | Observed::Other => 0,
        };
        if said.call == 0 {
            said.call = number;
        }
        if said.kind.is_none() {
            said.method = match (envelope.method.as_deref(), observed) {
                (Some(method), _) => self.namer.name(method),
                (None, Observed::Answer(call)) => self.namer.name(&call.method),
                _ => NameId::NONE,
            };
        }
        said.kind = Some(if said.kind.is_some() { LineKind::Batch } else { payload_kind(envelope.kind) });
        if let Observed::Request { number, abandoned } = observed {
            self.asked.insert(*number, at_us);
            match self.tracker.open_call(*number).cloned() {
                Some(call) => self.put(&call, at_us, operation),
                // It can't be answered, and is told as abandoned.
                None => debug_assert!(abandoned.is_some(), "a request is open or abandoned"),
            }
        }
        if let Observed::Progress { of: Some(of) } | Observed::Cancellation { of: Some(of) } = observed {
            self.refresh(*of);
        }
        if let Some(call) = observed.closed() {
            self.close(call, operation);
        }
    }

    /// More is known of an open call.
    fn refresh(&mut self, number: u64) {
        if let (Some(call), Some(at_us)) = (self.tracker.open_call(number).cloned(), self.asked.get(&number))
        {
            self.put(&call, *at_us, None);
        }
    }

    fn close(&mut self, call: &Call, operation: Option<u64>) {
        let at_us = self.asked.remove(&call.number).unwrap_or_default();
        self.batch.errors += u64::from(call.outcome.is_error());
        self.put(call, at_us, operation);
    }

    fn put(&mut self, call: &Call, at_us: i64, operation: Option<u64>) {
        let operation = operation.or_else(|| self.operations.of(call.number));
        let names = CallNames {
            method: self.namer.name(&call.method),
            tool: call.tool.as_deref().map_or(NameId::NONE, |tool| self.namer.name(tool)),
            session: call.session.as_deref().map_or(NameId::NONE, |session| self.namer.name(session)),
        };
        self.batch.calls.push((call.number, CallEntry::new(call, at_us, names, operation)));
    }

    /// Nothing more will come, as far as anybody knows: tells what becomes of calls that are open.
    pub(crate) fn settle(&mut self) {
        let open: Vec<Call> = self.tracker.as_if_ended().collect();
        for call in open {
            let at_us = self.asked.get(&call.number).copied().unwrap_or_default();
            self.put(&call, at_us, None);
        }
    }

    /// All before this place in the file was observed.
    pub(crate) fn reached(&mut self, offset: u64) {
        self.batch.end = offset;
    }

    /// What was observed since the last time.
    pub(crate) fn take(&mut self) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.names = self.namer.take_fresh();
        batch
    }

    pub(crate) fn waiting(&self) -> usize {
        self.batch.lines.len()
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
