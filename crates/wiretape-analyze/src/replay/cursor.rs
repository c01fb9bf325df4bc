//! Finds the recorded call that a request matches, for one client; or explains the miss with the nearest call. Which
//! calls count as equal is decided in `matching`, what is sent for a match in `player`.
//!
//! Calls with the same request key form a chain on the tape, and a cursor only stores how far its client is in each
//! chain. So a match costs one hash lookup however long the trace is, and a client costs memory only for the chains
//! it used: a replay server may have many clients on one tape ("Replay" in docs/benchmarks.md: 805k calls/s against
//! 963k/s of a bare server). The tape is shared and immutable, and everything that changes per client is here:
//! clients need no lock among each other.
//!
//! Everything else is slower and only happens on a mismatch, in this order: calls with redacted values, calls with
//! other `inputResponses`, and, in loose mode, the nearest call. The order is from certain to guessed: a redacted
//! value is unknown but nothing contradicts it, other input contradicts one member, and the nearest call contradicts
//! anything. These read recorded requests from the file, at most [`MAX_CANDIDATES`] of them.

use super::difference::{Departure, in_words};
use super::matching::{Matching, Mode, Order, Repeats};
use super::tape::{CallName, Chain, Payloads, Recorded, Tape};
use std::collections::HashMap;
use std::fmt;
use wiretape_trace::message::Envelope;

/// Recorded requests that are read and compared to find the nearest one.
const MAX_CANDIDATES: usize = 500;

/// The recorded call that a request matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The number of the call on the tape.
    pub call: u32,
    /// How closely it matches.
    pub how: MatchKind,
    /// Whether this client already received its answer.
    pub is_repeat: bool,
}

/// How closely a request matches a recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchKind {
    /// Equal, except for ignored values.
    Same,
    /// Equal, except for values that were redacted in the recording.
    Redacted,
    /// Equal, except for the input that the server had requested (`inputResponses`).
    OtherInput(Vec<Departure>),
    /// It is the most similar call ([`Mode::Loose`]).
    Nearest(Vec<Departure>),
}

impl MatchKind {
    /// The name in JSON output.
    pub fn name(&self) -> &'static str {
        match self {
            MatchKind::Same => "same",
            MatchKind::Redacted => "redacted",
            MatchKind::OtherInput(_) => "other-input",
            MatchKind::Nearest(_) => "nearest",
        }
    }
}

/// A request without a matching recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The method and name of the request.
    pub kind: CallName,
    /// Why there is no answer.
    pub reason: MissReason,
    /// The most similar recorded call, to show what differs.
    pub nearest: Option<Nearest>,
    /// Why the request could not be forwarded to the real server, if there is one.
    pub unasked: Option<String>,
}

/// Why a request has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissReason {
    /// No recorded request is equal.
    NotRecorded,
    /// All equal recorded requests were used already.
    UsedUp,
    /// In recorded order, another call is next.
    OutOfOrder,
    /// The recorded request has no answer.
    NotAnswered,
    /// The recorded answer can't be read from the file.
    Unreadable,
}

impl MissReason {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            MissReason::NotRecorded => "not-recorded",
            MissReason::UsedUp => "used-up",
            MissReason::OutOfOrder => "out-of-order",
            MissReason::NotAnswered => "not-answered",
            MissReason::Unreadable => "unreadable",
        }
    }
}

/// The recorded call that is most similar to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The line of its request.
    pub line: u64,
    /// Its method and name.
    pub kind: CallName,
    /// The first differences of the request.
    pub departures: Vec<Departure>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.kind;
        match self.reason {
            MissReason::NotRecorded => write!(f, "no recorded call matches: {kind}")?,
            MissReason::UsedUp => write!(f, "all matching recorded calls are used up: {kind}")?,
            MissReason::OutOfOrder => write!(f, "{kind} is out of order")?,
            MissReason::NotAnswered => write!(f, "{kind} was never answered in the recording")?,
            MissReason::Unreadable => write!(f, "the recorded response to {kind} can't be read")?,
        }
        if let Some(nearest) = &self.nearest {
            self.fmt_nearest(nearest, f)?;
        }
        match &self.unasked {
            Some(reason) => write!(f, "; can't forward to the real server: {reason}"),
            None => Ok(()),
        }
    }
}

impl Miss {
    fn fmt_nearest(&self, nearest: &Nearest, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.reason == MissReason::OutOfOrder { "next" } else { "nearest" };
        write!(f, "; {word} is line {}", nearest.line)?;
        if nearest.kind != self.kind {
            write!(f, ", {}", nearest.kind)?;
        }
        if !nearest.departures.is_empty() {
            write!(f, ": {}", in_words(&nearest.departures))?;
        }
        Ok(())
    }
}

/// The position of one client on a tape.
#[derive(Debug, Default)]
pub struct Cursor {
    /// The next call of each chain that has more than one; `None` when all were used. Chains of one call, which are most,
    /// need only their bit in `used`.
    next: HashMap<u32, Option<u32>>,
    used: Bits,
    /// All calls before it were used; spares `due` a scan from the start.
    first_unused: u32,
}

/// The request to find.
struct LookupRequest<'r> {
    method: &'r str,
    params: Option<&'r [u8]>,
    kind: CallName,
    /// The chain of calls with an equal request.
    chain: Option<u32>,
}

impl Cursor {
    /// A cursor at the start of a tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds the recorded call that a request matches, and marks it as used.
    pub fn find(
        &mut self,
        tape: &Tape,
        matching: &Matching,
        payloads: &impl Payloads,
        request: &Envelope<'_>,
    ) -> Result<Match, Box<Miss>> {
        let method = request.method.as_deref().unwrap_or_default();
        let chain = tape.chain_of(matching, method, request.params);
        // The fast path returns before a `CallName` is built, which allocates its names.
        if let Some(chain) = chain.filter(|_| matching.order == Order::Free)
            && let Some(found) = self.take_or_repeat(tape, matching, chain, MatchKind::Same)
        {
            return Ok(found);
        }
        let wanted = LookupRequest { method, params: request.params, kind: kind(request), chain };
        let search = Search { tape, matching, payloads, wanted };
        match matching.order {
            Order::Free => self.find_inexact(&search),
            Order::Recorded => self.find_in_order(&search),
        }
    }

    /// Marks a call as used without a lookup: the handshake is matched by other rules.
    pub fn mark(&mut self, call: u32) {
        self.used.insert(call);
    }

    /// Whether a call was used.
    pub fn is_used(&self, call: u32) -> bool {
        self.used.contains(call)
    }

    /// The next unused call of a chain; after the last one that one again, if repeats are allowed.
    pub(super) fn take_or_repeat(
        &mut self,
        tape: &Tape,
        matching: &Matching,
        chain: u32,
        how: MatchKind,
    ) -> Option<Match> {
        match (self.take_next(tape, chain), matching.repeats) {
            (Some(call), _) => Some(Match { call, how, is_repeat: false }),
            (None, Repeats::Last) => Some(Match { call: tape.chain(chain).last, how, is_repeat: true }),
            (None, Repeats::Never) => None,
        }
    }

    /// The next unused call of a chain.
    fn take_next(&mut self, tape: &Tape, chain: u32) -> Option<u32> {
        let Chain { first, last, .. } = tape.chain(chain);
        // The bit alone decides for a chain of one call; no map entry is needed.
        if first == last {
            return self.used.insert(first).then_some(first);
        }
        let next = self.next.entry(chain).or_insert(Some(first));
        let call = (*next)?;
        *next = tape.next_with_same_key(call);
        self.used.insert(call);
        Some(call)
    }

    fn find_inexact<P: Payloads>(&mut self, search: &Search<'_, P>) -> Result<Match, Box<Miss>> {
        // An equal request was recorded, and repeats are not allowed; a less similar call would be the wrong answer.
        if search.wanted.chain.is_some() {
            return Err(search.miss(MissReason::UsedUp));
        }
        if let Some(found) =
            self.first_of(search, search.redacted(), |call| search.is_same_but_redacted(call))
        {
            return Ok(Match { how: MatchKind::Redacted, ..found });
        }
        if let Some(found) = self.first_of(search, search.with_input(), |_| true) {
            return Ok(Match { how: search.other_input(found.call), ..found });
        }
        self.find_nearest(search).ok_or_else(|| search.miss(MissReason::NotRecorded))
    }

    /// The first unused call that matches; otherwise the last used one, if repeats are allowed; otherwise a matching call that
    /// was never answered.
    fn first_of<P>(
        &mut self,
        search: &Search<'_, P>,
        calls: &[u32],
        is_match: impl Fn(u32) -> bool,
    ) -> Option<Match> {
        let counting = |call: &u32| search.tape.call(*call).counts();
        // Matching reads the request from the file, so used calls are skipped first.
        let mut unused = calls.iter().copied().filter(|call| !self.is_used(*call));
        if let Some(call) = unused.clone().filter(counting).find(|call| is_match(*call)) {
            self.used.insert(call);
            return Some(Match { call, how: MatchKind::Same, is_repeat: false });
        }
        let mut used = calls.iter().rev().copied().filter(|call| self.is_used(*call) && counting(call));
        match used.find(|call| is_match(*call)) {
            Some(call) if search.matching.repeats == Repeats::Last => {
                Some(Match { call, how: MatchKind::Same, is_repeat: true })
            }
            Some(_) => None,
            None => {
                let call = unused.find(|call| is_match(*call))?;
                self.used.insert(call);
                Some(Match { call, how: MatchKind::Same, is_repeat: false })
            }
        }
    }

    fn find_nearest<P: Payloads>(&mut self, search: &Search<'_, P>) -> Option<Match> {
        if search.matching.mode != Mode::Loose {
            return None;
        }
        // Even a loose match never crosses tools: the answer of another tool is not an answer.
        search.tape.kind_number(&search.wanted.kind)?;
        let nearest = search.nearest(Recorded::counts).or_else(|| search.nearest(|_| true))?;
        let chain = search.tape.call(nearest).chain;
        self.take_or_repeat(
            search.tape,
            search.matching,
            chain,
            MatchKind::Nearest(search.departures(nearest)),
        )
    }

    /// In recorded order: the next call, or one that was in flight at the same time.
    fn find_in_order<P: Payloads>(&mut self, search: &Search<'_, P>) -> Result<Match, Box<Miss>> {
        let calls = search.tape.calls();
        while calls.get(self.first_unused as usize).is_some_and(|_| self.is_used(self.first_unused)) {
            self.first_unused += 1;
        }
        // An equal request is found by its chain alone. Only without one are the due requests read and compared.
        let same = self.due(search.tape).find(|call| search.is_answer_to_same(*call));
        if let Some(call) = same {
            self.used.insert(call);
            return Ok(Match { call, how: MatchKind::Same, is_repeat: false });
        }
        let due: Vec<u32> = self.due(search.tape).collect();
        match search.best_of(&due) {
            Some((call, how)) => {
                self.used.insert(call);
                Ok(Match { call, how, is_repeat: false })
            }
            None => Err(search.miss_of_order(due.first().copied())),
        }
    }

    /// The calls that may come next: the first unused one, and those that were sent before it was answered.
    fn due<'t>(&'t self, tape: &'t Tape) -> impl Iterator<Item = u32> + 't {
        let numbers = self.first_unused..u32::try_from(tape.calls().len()).unwrap_or(u32::MAX);
        let open =
            numbers.filter(|number| !self.is_used(*number) && !tape.comes_by_itself(tape.call(*number)));
        open.scan(u64::MAX, |until, number| {
            let call = tape.call(number);
            // `until` is the earliest answer among the due calls: the recorded client had seen it before it sent
            // anything later.
            let is_due = call.request.offset <= *until;
            // A call that was never answered doesn't block the ones after it.
            *until = (*until).min(tape.answered_at(call).unwrap_or(u64::MAX));
            is_due.then_some(number)
        })
    }
}

/// The method and, for tools and prompts, the name of a request.
pub(super) fn kind(request: &Envelope<'_>) -> CallName {
    let method = request.method.as_deref().unwrap_or_default();
    let name = request.name.as_deref().filter(|_| matches!(method, "tools/call" | "prompts/get"));
    CallName { method: method.into(), name: name.map(Into::into) }
}

/// A request together with everything it is compared with.
struct Search<'s, P> {
    tape: &'s Tape,
    matching: &'s Matching,
    payloads: &'s P,
    wanted: LookupRequest<'s>,
}

impl<P: Payloads> Search<'_, P> {
    /// The number of differences from a recorded request; `None` if that can't be read.
    fn distance(&self, call: &Recorded) -> Option<usize> {
        let mut bytes = Vec::new();
        self.payloads.read(call.request, &mut bytes).ok()?;
        let found = self.matching.differences(Envelope::scan(&bytes).params, self.wanted.params);
        // The comparison stops at a limit; with more differences than that, the call ranks behind all that were
        // counted.
        Some(found.list.len() + usize::from(found.more) * 1000)
    }

    /// The first differences from a recorded request.
    fn departures(&self, call: u32) -> Vec<Departure> {
        let mut bytes = Vec::new();
        match self.payloads.read(self.tape.call(call).request, &mut bytes) {
            Ok(()) => self.matching.departures(Envelope::scan(&bytes).params, self.wanted.params),
            Err(_) => Vec::new(),
        }
    }

    /// The calls with the same method and name whose requests contain redacted values.
    fn redacted(&self) -> &[u32] {
        self.tape.kind_number(&self.wanted.kind).map_or(&[], |kind| self.tape.redacted(kind))
    }

    fn is_same_but_redacted(&self, call: u32) -> bool {
        self.distance(self.tape.call(call)) == Some(0)
    }

    fn with_input(&self) -> &[u32] {
        self.tape.with_input(self.matching.key_without_input(self.wanted.method, self.wanted.params))
    }

    fn other_input(&self, call: u32) -> MatchKind {
        MatchKind::OtherInput(self.departures(call))
    }

    /// Whether a call has an equal request and an answer.
    fn is_answer_to_same(&self, call: u32) -> bool {
        let call = self.tape.call(call);
        Some(call.chain) == self.wanted.chain && call.counts()
    }

    /// Of some calls the one that is meant, and why. One that was never answered is, if no other is meant.
    fn best_of(&self, calls: &[u32]) -> Option<(u32, MatchKind)> {
        let (counting, others): (Vec<u32>, Vec<u32>) =
            calls.iter().partition(|call| self.tape.call(**call).counts());
        self.match_among(&counting).or_else(|| self.match_among(&others))
    }

    fn match_among(&self, calls: &[u32]) -> Option<(u32, MatchKind)> {
        let calls = calls.iter().copied();
        let is_same = |call: &u32| Some(self.tape.call(*call).chain) == self.wanted.chain;
        if let Some(call) = calls.clone().find(is_same) {
            return Some((call, MatchKind::Same));
        }
        let redacted = self.redacted();
        // Sorted, because the tape is built in the order of its calls.
        let is_redacted = |call: &u32| redacted.binary_search(call).is_ok();
        if let Some(call) = calls.clone().filter(is_redacted).find(|call| self.is_same_but_redacted(*call)) {
            return Some((call, MatchKind::Redacted));
        }
        let with_input = self.with_input();
        if let Some(call) = calls.clone().find(|call| with_input.contains(call)) {
            return Some((call, self.other_input(call)));
        }
        if self.matching.mode != Mode::Loose {
            return None;
        }
        let call =
            self.nearest_of(calls.filter(|call| *self.tape.kind(self.tape.call(*call)) == self.wanted.kind))?;
        Some((call, MatchKind::Nearest(self.departures(call))))
    }

    /// The most similar recorded call among those that `may_be` accepts.
    fn nearest(&self, may_be: impl Fn(&Recorded) -> bool) -> Option<u32> {
        let distinct = self.tape.distinct(&self.wanted.kind);
        self.nearest_of(distinct.iter().copied().filter(|number| may_be(self.tape.call(*number))))
    }

    fn nearest_of(&self, calls: impl Iterator<Item = u32>) -> Option<u32> {
        let compared = calls.take(MAX_CANDIDATES).filter_map(|number| {
            let distance = self.distance(self.tape.call(number))?;
            Some((distance, number))
        });
        // Of equally distant calls the earliest, so that the same request always gets the same answer.
        compared.min().map(|(_, number)| number)
    }

    fn miss(&self, reason: MissReason) -> Box<Miss> {
        let nearest = self.nearest(|_| true).map(|number| self.nearest_call(number, self.departures(number)));
        Box::new(Miss { kind: self.wanted.kind.clone(), reason, nearest, unasked: None })
    }

    fn miss_of_order(&self, due: Option<u32>) -> Box<Miss> {
        // In recorded order nothing is repeated: when all calls are used, any request is one too many.
        let Some(due) = due else { return self.miss(MissReason::UsedUp) };
        if self.wanted.chain.is_none() {
            return self.miss(MissReason::NotRecorded);
        }
        let is_same_kind = *self.tape.kind(self.tape.call(due)) == self.wanted.kind;
        let departures = if is_same_kind { self.departures(due) } else { Vec::new() };
        let nearest = Some(self.nearest_call(due, departures));
        Box::new(Miss {
            kind: self.wanted.kind.clone(),
            reason: MissReason::OutOfOrder,
            nearest,
            unasked: None,
        })
    }

    fn nearest_call(&self, number: u32, departures: Vec<Departure>) -> Nearest {
        let call = self.tape.call(number);
        Nearest { line: call.line, kind: self.tape.kind(call).clone(), departures }
    }
}

/// A set of call numbers, one bit each: a tape of a million calls costs a client 125 kB.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        let (at, bit) = (number as usize / 64, 1 << (number % 64));
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        let is_new = self.0[at] & bit == 0;
        self.0[at] |= bit;
        is_new
    }
}
