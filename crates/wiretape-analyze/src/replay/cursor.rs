//! The recorded call that a request means, for one client; or why there is none, and the one that comes nearest.

use super::difference::{Departure, in_words};
use super::matching::{Matching, Mode, Order, Repeats};
use super::tape::{Chain, Kind, Payloads, Recorded, Tape};
use std::collections::HashMap;
use std::fmt;
use wiretape_trace::message::Envelope;

/// More candidates are not compared.
const MAX_CANDIDATES: usize = 500;

/// The recorded call that a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub call: u32,
    /// Why it is that one.
    pub how: How,
    /// Whether this client was given its answer before.
    pub is_repeat: bool,
}

/// Why a recorded call is the one that a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It asks the same.
    Same,
    /// It asks the same, but for what was redacted.
    Redacted,
    /// It asks the same, and brings something else that the server had asked for.
    OtherInput(Vec<Departure>),
    /// It comes nearest.
    Nearest(Vec<Departure>),
}

impl How {
    /// Its name, for other programs.
    pub fn name(&self) -> &'static str {
        match self {
            How::Same => "same",
            How::Redacted => "redacted",
            How::OtherInput(_) => "other-input",
            How::Nearest(_) => "nearest",
        }
    }
}

/// No recorded call is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What was asked for.
    pub kind: Kind,
    /// Why there is nothing to answer.
    pub reason: MissReason,
    /// The recorded call that comes nearest.
    pub nearest: Option<Nearest>,
    /// Why the real server could not be asked either, if there is one.
    pub unasked: Option<String>,
}

/// Why there is nothing to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissReason {
    /// Nothing was recorded that asks this.
    NotRecorded,
    /// It was recorded, but not so often.
    UsedUp,
    /// Another call is next.
    OutOfOrder,
    /// It was recorded, and never answered.
    NotAnswered,
    /// It was recorded, and its answer can't be read any more.
    Unreadable,
}

impl MissReason {
    /// Its name, for other programs.
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

/// A recorded call that a request could have meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The line of its request.
    pub line: u64,
    /// What it is for.
    pub kind: Kind,
    /// How the request departs from it.
    pub departures: Vec<Departure>,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = &self.kind;
        match self.reason {
            MissReason::NotRecorded => write!(f, "no recorded call asks this: {kind}")?,
            MissReason::UsedUp => write!(f, "every recorded call that asks this was used: {kind}")?,
            MissReason::OutOfOrder => write!(f, "{kind} is not what comes next")?,
            MissReason::NotAnswered => write!(f, "{kind} was recorded and never answered")?,
            MissReason::Unreadable => write!(f, "the answer to {kind} can't be read any more")?,
        }
        if let Some(nearest) = &self.nearest {
            self.fmt_nearest(nearest, f)?;
        }
        match &self.unasked {
            Some(reason) => write!(f, "; the real server can't be asked: {reason}"),
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

/// How far one client has come in a tape.
#[derive(Debug, Default)]
pub struct Cursor {
    /// By chain, for those of more than one call: the call whose answer comes next; `None` when all were given.
    next: HashMap<u32, Option<u32>>,
    used: Bits,
    /// All before it were used.
    first_unused: u32,
}

/// A request that is being looked for.
struct Wanted<'r> {
    method: &'r str,
    params: Option<&'r [u8]>,
    kind: Kind,
    /// The chain of calls that ask the same.
    chain: Option<u32>,
}

impl Cursor {
    /// At the beginning of a tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// The recorded call that a request means.
    pub fn find(
        &mut self,
        tape: &Tape,
        matching: &Matching,
        payloads: &impl Payloads,
        request: &Envelope<'_>,
    ) -> Result<Found, Box<Miss>> {
        let method = request.method.as_deref().unwrap_or_default();
        let chain = tape.chain_of(matching, method, request.params);
        if let Some(chain) = chain.filter(|_| matching.order == Order::Free)
            && let Some(found) = self.take_or_repeat(tape, matching, chain, How::Same)
        {
            return Ok(found);
        }
        let wanted = Wanted { method, params: request.params, kind: kind(request), chain };
        let search = Search { tape, matching, payloads, wanted };
        match matching.order {
            Order::Free => self.find_otherwise(&search),
            Order::Recorded => self.find_in_order(&search),
        }
    }

    /// Notes that a call was played though nobody looked for it.
    pub fn mark(&mut self, call: u32) {
        self.used.insert(call);
    }

    /// Whether a call was used.
    pub fn is_used(&self, call: u32) -> bool {
        self.used.contains(call)
    }

    /// The next call of a chain; behind the last that one again, if that may be.
    pub(super) fn take_or_repeat(
        &mut self,
        tape: &Tape,
        matching: &Matching,
        chain: u32,
        how: How,
    ) -> Option<Found> {
        match (self.take(tape, chain), matching.repeats) {
            (Some(call), _) => Some(Found { call, how, is_repeat: false }),
            (None, Repeats::Last) => Some(Found { call: tape.chain(chain).last, how, is_repeat: true }),
            (None, Repeats::Never) => None,
        }
    }

    /// The next call of a chain.
    fn take(&mut self, tape: &Tape, chain: u32) -> Option<u32> {
        let Chain { first, last, .. } = tape.chain(chain);
        if first == last {
            return self.used.insert(first).then_some(first);
        }
        let next = self.next.entry(chain).or_insert(Some(first));
        let call = (*next)?;
        *next = tape.next_with_same_key(call);
        self.used.insert(call);
        Some(call)
    }

    fn find_otherwise<P: Payloads>(&mut self, search: &Search<'_, P>) -> Result<Found, Box<Miss>> {
        if search.wanted.chain.is_some() {
            return Err(search.miss(MissReason::UsedUp));
        }
        if let Some(found) =
            self.first_of(search, search.redacted(), |call| search.is_same_but_redacted(call))
        {
            return Ok(Found { how: How::Redacted, ..found });
        }
        if let Some(found) = self.first_of(search, search.with_input(), |_| true) {
            return Ok(Found { how: search.other_input(found.call), ..found });
        }
        self.find_nearest(search).ok_or_else(|| search.miss(MissReason::NotRecorded))
    }

    /// The first of some calls that is meant and was not used; else the last that is meant, if that may be. One that was never
    /// answered is, if no other is meant.
    fn first_of<P>(
        &mut self,
        search: &Search<'_, P>,
        calls: &[u32],
        is_meant: impl Fn(u32) -> bool,
    ) -> Option<Found> {
        let counting = |call: &u32| search.tape.call(*call).counts();
        // Most likely the next is meant: what was used is passed over without a look.
        let mut unused = calls.iter().copied().filter(|call| !self.is_used(*call));
        if let Some(call) = unused.clone().filter(counting).find(|call| is_meant(*call)) {
            self.used.insert(call);
            return Some(Found { call, how: How::Same, is_repeat: false });
        }
        let mut used = calls.iter().rev().copied().filter(|call| self.is_used(*call) && counting(call));
        match used.find(|call| is_meant(*call)) {
            Some(call) if search.matching.repeats == Repeats::Last => {
                Some(Found { call, how: How::Same, is_repeat: true })
            }
            Some(_) => None,
            None => {
                let call = unused.find(|call| is_meant(*call))?;
                self.used.insert(call);
                Some(Found { call, how: How::Same, is_repeat: false })
            }
        }
    }

    fn find_nearest<P: Payloads>(&mut self, search: &Search<'_, P>) -> Option<Found> {
        if search.matching.mode != Mode::Loose {
            return None;
        }
        search.tape.kind_number(&search.wanted.kind)?;
        let nearest = search.nearest(Recorded::counts).or_else(|| search.nearest(|_| true))?;
        let chain = search.tape.call(nearest).chain;
        self.take_or_repeat(search.tape, search.matching, chain, How::Nearest(search.departures(nearest)))
    }

    /// The next call that is due, or one that was open at the same time.
    fn find_in_order<P: Payloads>(&mut self, search: &Search<'_, P>) -> Result<Found, Box<Miss>> {
        let calls = search.tape.calls();
        while calls.get(self.first_unused as usize).is_some_and(|_| self.is_used(self.first_unused)) {
            self.first_unused += 1;
        }
        // Most likely it is one of the first that are due: the others are looked at only if it is none that asks the same.
        let same = self.due(search.tape).find(|call| search.is_answer_to_same(*call));
        if let Some(call) = same {
            self.used.insert(call);
            return Ok(Found { call, how: How::Same, is_repeat: false });
        }
        let due: Vec<u32> = self.due(search.tape).collect();
        match search.best_of(&due) {
            Some((call, how)) => {
                self.used.insert(call);
                Ok(Found { call, how, is_repeat: false })
            }
            None => Err(search.miss_of_order(due.first().copied())),
        }
    }

    /// The next call, and those that were made before it was answered.
    fn due<'t>(&'t self, tape: &'t Tape) -> impl Iterator<Item = u32> + 't {
        let numbers = self.first_unused..u32::try_from(tape.calls().len()).unwrap_or(u32::MAX);
        let open =
            numbers.filter(|number| !self.is_used(*number) && !tape.comes_by_itself(tape.call(*number)));
        open.scan(u64::MAX, |until, number| {
            let call = tape.call(number);
            let is_due = call.request.offset <= *until;
            // A call that was never answered need not come.
            *until = (*until).min(tape.answered_at(call).unwrap_or(u64::MAX));
            is_due.then_some(number)
        })
    }
}

/// What a request is for.
pub(super) fn kind(request: &Envelope<'_>) -> Kind {
    let method = request.method.as_deref().unwrap_or_default();
    let name = request.name.as_deref().filter(|_| matches!(method, "tools/call" | "prompts/get"));
    Kind { method: method.into(), name: name.map(Into::into) }
}

/// A request, and everything that it is compared with.
struct Search<'s, P> {
    tape: &'s Tape,
    matching: &'s Matching,
    payloads: &'s P,
    wanted: Wanted<'s>,
}

impl<P: Payloads> Search<'_, P> {
    /// In how many places the request departs from a recorded one.
    fn distance(&self, call: &Recorded) -> Option<usize> {
        let mut bytes = Vec::new();
        self.payloads.read(call.request, &mut bytes).ok()?;
        let found = self.matching.differences(Envelope::scan(&bytes).params, self.wanted.params);
        Some(found.list.len() + usize::from(found.more) * 1000)
    }

    /// How the request departs from a recorded one.
    fn departures(&self, call: u32) -> Vec<Departure> {
        let mut bytes = Vec::new();
        match self.payloads.read(self.tape.call(call).request, &mut bytes) {
            Ok(()) => self.matching.departures(Envelope::scan(&bytes).params, self.wanted.params),
            Err(_) => Vec::new(),
        }
    }

    /// The calls of this kind with something redacted in them.
    fn redacted(&self) -> &[u32] {
        self.tape.kind_number(&self.wanted.kind).map_or(&[], |kind| self.tape.redacted(kind))
    }

    fn is_same_but_redacted(&self, call: u32) -> bool {
        self.distance(self.tape.call(call)) == Some(0)
    }

    fn with_input(&self) -> &[u32] {
        self.tape.with_input(self.matching.key_without_input(self.wanted.method, self.wanted.params))
    }

    fn other_input(&self, call: u32) -> How {
        How::OtherInput(self.departures(call))
    }

    /// Whether a call asks the same, and was answered.
    fn is_answer_to_same(&self, call: u32) -> bool {
        let call = self.tape.call(call);
        Some(call.chain) == self.wanted.chain && call.counts()
    }

    /// Of some calls the one that is meant, and why. One that was never answered is, if no other is meant.
    fn best_of(&self, calls: &[u32]) -> Option<(u32, How)> {
        let (counting, others): (Vec<u32>, Vec<u32>) =
            calls.iter().partition(|call| self.tape.call(**call).counts());
        self.meant_of(&counting).or_else(|| self.meant_of(&others))
    }

    fn meant_of(&self, calls: &[u32]) -> Option<(u32, How)> {
        let calls = calls.iter().copied();
        let is_same = |call: &u32| Some(self.tape.call(*call).chain) == self.wanted.chain;
        if let Some(call) = calls.clone().find(is_same) {
            return Some((call, How::Same));
        }
        let redacted = self.redacted();
        let is_redacted = |call: &u32| redacted.binary_search(call).is_ok();
        if let Some(call) = calls.clone().filter(is_redacted).find(|call| self.is_same_but_redacted(*call)) {
            return Some((call, How::Redacted));
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
        Some((call, How::Nearest(self.departures(call))))
    }

    /// The recorded call that comes nearest, of those that may be.
    fn nearest(&self, may_be: impl Fn(&Recorded) -> bool) -> Option<u32> {
        let distinct = self.tape.distinct(&self.wanted.kind);
        self.nearest_of(distinct.iter().copied().filter(|number| may_be(self.tape.call(*number))))
    }

    fn nearest_of(&self, calls: impl Iterator<Item = u32>) -> Option<u32> {
        let compared = calls.take(MAX_CANDIDATES).filter_map(|number| {
            let distance = self.distance(self.tape.call(number))?;
            Some((distance, number))
        });
        compared.min().map(|(_, number)| number)
    }

    fn miss(&self, reason: MissReason) -> Box<Miss> {
        let nearest = self.nearest(|_| true).map(|number| self.told(number, self.departures(number)));
        Box::new(Miss { kind: self.wanted.kind.clone(), reason, nearest, unasked: None })
    }

    fn miss_of_order(&self, due: Option<u32>) -> Box<Miss> {
        let Some(due) = due else { return self.miss(MissReason::UsedUp) };
        if self.wanted.chain.is_none() {
            return self.miss(MissReason::NotRecorded);
        }
        let is_same_kind = *self.tape.kind(self.tape.call(due)) == self.wanted.kind;
        let departures = if is_same_kind { self.departures(due) } else { Vec::new() };
        let nearest = Some(self.told(due, departures));
        Box::new(Miss {
            kind: self.wanted.kind.clone(),
            reason: MissReason::OutOfOrder,
            nearest,
            unasked: None,
        })
    }

    fn told(&self, number: u32, departures: Vec<Departure>) -> Nearest {
        let call = self.tape.call(number);
        Nearest { line: call.line, kind: self.tape.kind(call).clone(), departures }
    }
}

/// A set of small numbers.
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
