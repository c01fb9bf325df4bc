//! The calls of a trace with the fingerprints of their messages.

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

/// The ignored paths of calls.
///
/// Volatile values, and the definitions in lists and handshakes: those are compared separately, because clients request them
/// in different pages and numbers.
#[derive(Debug, Clone)]
pub struct Ignored {
    volatile: Volatile,
    introductions: Paths,
    lists: Vec<(ListKind, Paths)>,
}

impl Ignored {
    /// Ignores volatile values and definitions.
    pub fn new(volatile: Volatile) -> Self {
        let result = volatile.of(Part::Result);
        let introductions =
            ServerFact::ALL.iter().fold(result.clone(), |paths, fact| paths.with(&[fact.member()]));
        let lists = ListKind::ALL.iter().map(|kind| (*kind, result.with(&[kind.member()]))).collect();
        Ignored { introductions, lists, volatile }
    }

    /// The ignored paths of a part of a call.
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
    /// The direction of the request.
    pub direction: Direction,
    /// The method of the request; empty if it was not a string.
    pub method: Arc<str>,
    /// The tool or prompt that it names.
    pub name: Option<Arc<str>>,
    /// The position of the request.
    pub request: PayloadPlace,
    /// The position of the response, if there is one.
    pub response: Option<PayloadPlace>,
    /// The receiver's own time in microseconds, without the time it waited for nested requests.
    pub took_us: Option<u64>,
    /// How the call went.
    pub outcome: Outcome,
    /// The HTTP status of an HTTP error.
    pub http_status: Option<u16>,
    /// Fingerprint of method and params.
    asked: u64,
    /// Fingerprint of the answer.
    answered: u64,
}

impl IndexedCall {
    /// The key by which it is aligned.
    pub(super) fn key(&self) -> Key {
        let side = combine(u64::from(self.direction == Direction::ServerToClient), text(&self.method));
        let kind = combine(side, self.name.as_deref().map_or(0, text));
        Key { exact: combine(kind, self.asked), kind, tie: self.answered }
    }

    /// Whether the requests are equal.
    pub fn asks_the_same(&self, other: &IndexedCall) -> bool {
        self.asked == other.asked
    }
}

/// The calls and definitions of a trace.
#[derive(Debug, Clone, Default)]
pub struct CallIndex {
    /// The calls, in the order of their requests.
    pub calls: Vec<IndexedCall>,
    /// The definitions of the server.
    pub definitions: Definitions,
    /// The time range of the recording in milliseconds since 1970, if known.
    pub(super) run_ms: Option<Range<i64>>,
    /// Possible ids in the client's requests.
    pub(super) ids: HashSet<String>,
}

/// The analysis that collects the calls of a trace for a [`CallIndex`].
#[derive(Debug)]
pub struct CallIndexer<'i> {
    ignored: &'i Ignored,
    collector: Collector,
    names: HashSet<Arc<str>>,
    /// Calls by number, from 1.
    calls: Vec<IndexedCall>,
    run_ms: Option<Range<i64>>,
    ids: HashSet<String>,
}

impl<'i> CallIndexer<'i> {
    /// An indexer before the first line.
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
        // Other methods may have a member `name` that identifies nothing; as part of the key it would keep calls
        // apart.
        let is_named = matches!(&*method, "tools/call" | "prompts/get");
        let name = envelope.name.as_deref().filter(|_| is_named).map(|name| self.intern(name));
        // A request without params equals one with empty params.
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

    /// The index of everything that was read.
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
            // Minimum and maximum, because wall clocks may be set back during a recording.
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
        // Only answered calls have a time to compare: a cancelled one lasted as long as its caller had patience.
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
