//! The calls of a trace, by fingerprints.

use super::payloads::PayloadPlace;
use crate::align::Key;
use crate::call::{Call, CallTracker, Observed, Outcome};
use crate::definitions::{Collector, Definitions, INTRODUCTIONS, ListKind, ServerFact};
use crate::fingerprint::{combine, fingerprint_without, text};
use crate::looks::remember_ids;
use crate::volatile::{Part, Paths, Volatile};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use wiretape_trace::format::Record;
use wiretape_trace::message::{Direction, Envelope};

/// What is left out of the parts of a call.
///
/// That is what is volatile, and of lists and introductions what a server offers: that is compared by itself, however
/// often it was asked for and in how many pages.
#[derive(Debug, Clone)]
pub struct Ignored {
    volatile: Volatile,
    introductions: Paths,
    lists: Vec<(ListKind, Paths)>,
}

impl Ignored {
    /// What is volatile, and what a server offers.
    pub fn new(volatile: Volatile) -> Self {
        let result = volatile.of(Part::Result);
        let introductions =
            ServerFact::ALL.iter().fold(result.clone(), |paths, fact| paths.with(&[fact.member()]));
        let lists = ListKind::ALL.iter().map(|kind| (*kind, result.with(&[kind.member()]))).collect();
        Ignored { introductions, lists, volatile }
    }

    /// What is left out of a part of a call of this method.
    pub fn of(&self, method: &str, part: Part) -> &Paths {
        if part == Part::Result {
            if INTRODUCTIONS.contains(&method) {
                return &self.introductions;
            }
            if let Some((_, paths)) = self.lists.iter().find(|(kind, _)| kind.method() == method) {
                return paths;
            }
        }
        self.volatile.of(part)
    }

    fn print(&self, method: &str, part: Part, json: &[u8]) -> u64 {
        let paths = self.of(method, part);
        fingerprint_without(json, paths, &paths.start())
    }
}

/// A call, without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedCall {
    /// Who asked.
    pub direction: Direction,
    /// The method.
    pub method: Arc<str>,
    /// The tool or prompt that it is for.
    pub name: Option<Arc<str>>,
    /// Where the request stands.
    pub request: PayloadPlace,
    /// Where the response stands, if there is one.
    pub response: Option<PayloadPlace>,
    /// Microseconds that the side which was asked took itself, if that is known.
    pub took_us: Option<u64>,
    /// What became of it.
    pub outcome: Outcome,
    /// What it asks.
    asked: u64,
    /// What it was answered.
    answered: u64,
}

impl IndexedCall {
    /// By what it is aligned: what it asks, and what it is for.
    pub(super) fn key(&self) -> Key {
        let side = combine(u64::from(self.direction == Direction::ServerToClient), text(&self.method));
        let kind = combine(side, self.name.as_deref().map_or(0, text));
        Key { exact: combine(kind, self.asked), kind, tie: self.answered }
    }

    /// Whether it asks the same.
    pub fn asks_the_same(&self, other: &IndexedCall) -> bool {
        self.asked == other.asked
    }

    /// Whether it was answered the same.
    pub fn is_answered_the_same(&self, other: &IndexedCall) -> bool {
        self.answered == other.answered
    }
}

/// The calls of a trace, and what its server offers.
#[derive(Debug, Clone, Default)]
pub struct CallIndex {
    /// The calls, in the order of their requests.
    pub calls: Vec<IndexedCall>,
    /// What the server offers.
    pub definitions: Definitions,
    /// When it was recorded: milliseconds since 1970, if that is known.
    pub(super) run_ms: Option<Range<i64>>,
    /// What the client said that may be an id.
    pub(super) ids: HashSet<String>,
}

/// Makes a [`CallIndex`] of a trace.
#[derive(Debug)]
pub struct CallIndexer<'i> {
    ignored: &'i Ignored,
    tracker: CallTracker,
    collector: Collector,
    names: HashSet<Arc<str>>,
    /// In the order of their numbers, which count from 1.
    calls: Vec<IndexedCall>,
    run_ms: Option<Range<i64>>,
    ids: HashSet<String>,
}

impl<'i> CallIndexer<'i> {
    /// At the start of a trace.
    pub fn new(ignored: &'i Ignored) -> Self {
        CallIndexer {
            ignored,
            tracker: CallTracker::new(),
            collector: Collector::new(),
            names: HashSet::new(),
            calls: Vec::new(),
            run_ms: None,
            ids: HashSet::new(),
        }
    }

    /// Takes the next line.
    pub fn observe(&mut self, line: u64, record: &Record<'_>) {
        if let Record::Message(message) = record
            && let Some(ms) = message.stamp.wall_ms()
        {
            let run = self.run_ms.get_or_insert(ms..ms);
            *run = run.start.min(ms)..run.end.max(ms);
        }
        let mut payloads = Vec::new();
        let tell = |raw, envelope, observed| payloads.push((raw, envelope, observed));
        let failed = self.tracker.observe_record(line, record, tell);
        for (index, (raw, envelope, observed)) in payloads.into_iter().enumerate() {
            if let Observed::Request { .. } = observed {
                remember_ids(&mut self.ids, raw);
            }
            self.payload(PayloadPlace { line, index }, &envelope, &observed, record);
        }
        failed.iter().for_each(|call| self.close(call, None));
    }

    fn payload(
        &mut self,
        place: PayloadPlace,
        envelope: &Envelope<'_>,
        observed: &Observed,
        record: &Record<'_>,
    ) {
        self.collector.observe(place.line, envelope, observed);
        if let (Observed::Request { .. }, Record::Message(message)) = (observed, record) {
            let direction = message.dir.known().unwrap_or(Direction::ClientToServer);
            self.request(direction, place, envelope);
        }
        let answer = matches!(observed, Observed::Answer(_)).then_some((place, envelope));
        if let Some(call) = observed.closed() {
            self.close(call, answer);
        }
    }

    fn request(&mut self, direction: Direction, place: PayloadPlace, envelope: &Envelope<'_>) {
        let method = self.intern(envelope.method.as_deref().unwrap_or_default());
        let is_named = matches!(&*method, "tools/call" | "prompts/get");
        let name = envelope.name.as_deref().filter(|_| is_named).map(|name| self.intern(name));
        // A request without parameters asks what one with empty ones does.
        let asked = self.ignored.print(&method, Part::Params, envelope.params.unwrap_or(b"{}"));
        self.calls.push(IndexedCall {
            direction,
            method,
            name,
            request: place,
            response: None,
            took_us: None,
            outcome: Outcome::Pending,
            asked,
            answered: 0,
        });
    }

    /// A call has come to its end, with an answer or without.
    fn close(&mut self, call: &Call, answer: Option<(PayloadPlace, &Envelope<'_>)>) {
        let at = usize::try_from(call.number).ok().and_then(|number| number.checked_sub(1));
        let Some(entry) = at.and_then(|at| self.calls.get_mut(at)) else { return };
        entry.outcome = call.outcome;
        entry.took_us = call.own_us().filter(|_| call.outcome.is_measured());
        entry.response = answer.map(|(place, _)| place);
        let answer = answer.and_then(|(_, envelope)| match (envelope.error, envelope.result) {
            (Some(error), _) => Some((Part::Error, error)),
            (None, result) => result.map(|result| (Part::Result, result)),
        });
        let print = answer.map_or(0, |(part, json)| self.ignored.print(&entry.method, part, json));
        entry.answered = combine(outcome_print(call.outcome), print);
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    /// The calls of the trace.
    pub fn finish(mut self) -> CallIndex {
        for call in std::mem::take(&mut self.tracker).finish() {
            self.close(&call, None);
        }
        CallIndex {
            calls: self.calls,
            definitions: self.collector.finish(),
            run_ms: self.run_ms,
            ids: self.ids,
        }
    }
}

fn outcome_print(outcome: Outcome) -> u64 {
    let status = if let Outcome::HttpError { status } = outcome { u64::from(status) } else { 0 };
    combine(text(outcome.name()), status)
}
