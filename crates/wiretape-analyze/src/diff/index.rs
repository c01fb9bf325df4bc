//! The calls of a trace, by fingerprints.

use super::payloads::PayloadPlace;
use crate::align::Key;
use crate::call::Outcome;
use crate::definitions::{Collector, Definitions, INTRODUCTIONS, ListKind, ServerFact};
use crate::fingerprint::{combine, fingerprint_without, text};
use crate::looks::remember_ids;
use crate::reading::{Analysis, Closed, LineView, Meaning, Seen};
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
    /// The status that an HTTP error has.
    pub http_status: Option<u16>,
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
            collector: Collector::new(),
            names: HashSet::new(),
            calls: Vec::new(),
            run_ms: None,
            ids: HashSet::new(),
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
            http_status: None,
            asked,
            answered: 0,
        });
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
    pub fn finish(self) -> CallIndex {
        CallIndex {
            calls: self.calls,
            definitions: self.collector.finish(),
            run_ms: self.run_ms,
            ids: self.ids,
        }
    }
}

impl Analysis for CallIndexer<'_> {
    type PerCall = <Collector as Analysis>::PerCall;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        if let Record::Message(message) = &view.line.record
            && let Some(ms) = message.stamp.wall_ms()
        {
            let run = self.run_ms.get_or_insert(ms..ms);
            *run = run.start.min(ms)..run.end.max(ms);
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        if let Meaning::Request { .. } = seen.meaning {
            remember_ids(&mut self.ids, seen.raw);
            let place = PayloadPlace { line: seen.line.line.number, index: seen.index };
            self.request(seen.direction.unwrap_or(Direction::ClientToServer), place, seen.envelope);
        }
        self.collector.seen(seen, own);
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall) {
        self.collector.closed(closed, own);
        let call = closed.call;
        let at = usize::try_from(call.number).ok().and_then(|number| number.checked_sub(1));
        let Some(entry) = at.and_then(|at| self.calls.get_mut(at)) else { return };
        entry.outcome = call.outcome;
        entry.http_status = call.http_status;
        entry.took_us = call.own_us().filter(|_| call.latency_us().is_some());
        let answer = closed.answer.zip(closed.line);
        entry.response = answer.map(|(_, view)| PayloadPlace { line: view.line.number, index: closed.index });
        let answer = answer.and_then(|(envelope, _)| match (envelope.error, envelope.result) {
            (Some(error), _) => Some((Part::Error, error)),
            (None, result) => result.map(|result| (Part::Result, result)),
        });
        let print = answer.map_or(0, |(part, json)| self.ignored.print(&entry.method, part, json));
        entry.answered = combine(outcome_print(call.outcome, call.http_status), print);
    }
}

fn outcome_print(outcome: Outcome, http_status: Option<u16>) -> u64 {
    combine(text(outcome.name()), http_status.map_or(0, u64::from))
}
