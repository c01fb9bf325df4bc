//! A pending call.
//!
//! A hostile or very long trace may have a million of them, so the struct is small: sentinels where an `Option` would double
//! the size, and a box for what few calls have (`cargo xtask bench analyze`, "pending").

use super::{Call, ClosingMeans, ObservedAt, Outcome, Place};
use crate::operation::Watch;
use std::sync::Arc;
use wiretape_trace::format::Stamp;
use wiretape_trace::message::{Direction, Envelope, Id};
use wiretape_trace::protocol::method;

/// The sentinel of a missing number.
pub(super) const NONE: u64 = u64::MAX;

/// A call without an outcome so far.
#[derive(Debug)]
pub struct PendingCall {
    pub(super) number: u64,
    pub(super) id: IdKey,
    pub(super) session: Option<Arc<str>>,
    method: Arc<str>,
    tool: Option<Arc<str>>,
    line: u64,
    seq: u64,
    asked_us: u64,
    asked_ms: i64,
    exchange: u64,
    request_bytes: u64,
    parent: u64,
    /// The neighbors in the list of calls with the same id, or `NONE`: several clients without a session may share a trace
    /// and use the same ids.
    pub(super) older: u64,
    pub(super) newer: u64,
    direction: Direction,
    closing: ClosingMeans,
    rare: Option<Box<RareFacts>>,
}

/// Facts that most calls don't have.
#[derive(Debug, Default)]
pub(super) struct RareFacts {
    /// The progress token of the request, which its notifications repeat.
    pub(super) token: Option<Id<'static>>,
    /// The outcome if no answer comes, and the microseconds until it was decided.
    doom: Option<(Outcome, Option<u64>)>,
    http_status: Option<u16>,
    cancelled: Option<Place>,
    nested: u64,
    progress: u64,
    person_us: u64,
    client_us: u64,
    person: WaitingTime,
    others: WaitingTime,
    watch: Option<Watch>,
}

/// An id in the form in which it is compared. Most are small integers, which need no allocation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum IdKey {
    Integer(i64),
    Number(Box<str>),
    String(Box<str>),
}

impl IdKey {
    pub(super) fn of(id: &Id<'_>) -> Self {
        match id {
            Id::String(text) => IdKey::String(text.as_ref().into()),
            Id::Number(digits) => match digits.parse::<i64>() {
                // The common case, without normalization or allocation. Longer ones take the general path below.
                Ok(integer) if digits.len() < 19 => IdKey::Integer(integer),
                _ => match id.clone().by_value() {
                    Id::Number(text) => {
                        text.parse().map_or_else(|_| IdKey::Number(text.as_ref().into()), IdKey::Integer)
                    }
                    Id::String(text) => IdKey::String(text.as_ref().into()),
                },
            },
        }
    }

    fn to_id(&self) -> Id<'static> {
        match self {
            IdKey::Integer(integer) => Id::Number(integer.to_string().into()),
            IdKey::Number(text) => Id::Number(text.to_string().into()),
            IdKey::String(text) => Id::String(text.to_string().into()),
        }
    }
}

/// The facts of a request.
pub(super) struct Request<'r> {
    pub(super) number: u64,
    pub(super) direction: Direction,
    pub(super) id: IdKey,
    pub(super) session: Option<Arc<str>>,
    pub(super) method: Arc<str>,
    pub(super) tool: Option<Arc<str>>,
    pub(super) place: Place,
    pub(super) stamp: &'r Stamp<'r>,
    pub(super) exchange: Option<u64>,
    pub(super) bytes: u64,
    pub(super) parent: Option<u64>,
    pub(super) closing: ClosingMeans,
}

impl PendingCall {
    pub(super) fn new(request: Request<'_>) -> Self {
        let asked = ObservedAt::of(request.stamp);
        PendingCall {
            number: request.number,
            id: request.id,
            session: request.session,
            method: request.method,
            tool: request.tool,
            line: request.place.line,
            seq: request.place.seq.unwrap_or(NONE),
            asked_us: asked.us.unwrap_or(NONE),
            asked_ms: asked.wall_ms.unwrap_or(i64::MIN),
            exchange: request.exchange.unwrap_or(NONE),
            request_bytes: request.bytes,
            parent: request.parent.unwrap_or(NONE),
            older: NONE,
            newer: NONE,
            direction: request.direction,
            closing: request.closing,
            rare: None,
        }
    }

    /// The number of the request, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The direction of the request.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The method of the request; empty if it was not a string.
    pub fn method(&self) -> &Arc<str> {
        &self.method
    }

    /// The tool of a `tools/call`.
    pub fn tool(&self) -> Option<&Arc<str>> {
        self.tool.as_ref()
    }

    /// The session, if one is named.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.session.as_ref()
    }

    /// The line of the request, from 1.
    pub fn request_line(&self) -> u64 {
        self.line
    }

    /// The number of the HTTP exchange of the request.
    pub fn exchange(&self) -> Option<u64> {
        known(self.exchange)
    }

    /// When the request was observed.
    pub fn asked(&self) -> ObservedAt {
        ObservedAt { us: known(self.asked_us), wall_ms: Some(self.asked_ms).filter(|ms| *ms != i64::MIN) }
    }

    /// The number of the call during which this one was sent.
    pub fn parent(&self) -> Option<u64> {
        known(self.parent)
    }

    pub(super) fn rare(&mut self) -> &mut RareFacts {
        self.rare.get_or_insert_default()
    }

    pub(super) fn token(&self) -> Option<&Id<'static>> {
        self.rare.as_ref()?.token.as_ref()
    }

    /// The number of the first call of the operation that it belongs to.
    pub fn operation(&self) -> Option<u64> {
        self.rare.as_ref()?.watch.as_ref()?.first
    }

    /// Sets what its answer means for its operation.
    pub(super) fn take_watch(&mut self) -> Option<Watch> {
        self.rare.as_mut()?.watch.take()
    }

    pub(crate) fn set_watch(&mut self, watch: Watch) {
        self.rare().watch = Some(watch);
    }

    pub(crate) fn id(&self) -> Id<'static> {
        self.id.to_id()
    }

    /// Counts a progress notification.
    pub(super) fn note_progress(&mut self) {
        self.rare().progress += 1;
    }

    /// Records a `notifications/cancelled` for the call, with the outcome if no response comes.
    pub(super) fn cancel(&mut self, outcome: Outcome, place: Place, stamp: &Stamp<'_>) {
        let lasted = self.lasted(ObservedAt::of(stamp));
        let rare = self.rare();
        rare.doom = Some((outcome, lasted));
        rare.cancelled = Some(place);
    }

    /// Sets the outcome for the case that no answer comes. The first cause counts.
    pub(super) fn doom(&mut self, outcome: Outcome, http_status: Option<u16>, stamp: &Stamp<'_>) {
        let lasted = self.lasted(ObservedAt::of(stamp));
        let rare = self.rare();
        if rare.doom.is_none() {
            rare.doom = Some((outcome, lasted));
            rare.http_status = http_status.filter(|_| outcome == Outcome::HttpError);
        }
    }

    /// Moves it to another exchange and session, because it was sent again.
    pub(super) fn carry_over(&mut self, exchange: u64, session: Option<Arc<str>>) {
        self.exchange = exchange;
        self.session = session;
    }

    /// What a disconnect of its client means.
    pub(super) fn closing(&self) -> ClosingMeans {
        self.closing
    }

    fn lasted(&self, until: ObservedAt) -> Option<u64> {
        self.asked().until(until)
    }

    /// Completes the call with a response.
    pub(super) fn answered(
        mut self,
        place: Place,
        stamp: &Stamp<'_>,
        bytes: u64,
        exchange: Option<u64>,
        response: &Envelope<'_>,
        outcome: Outcome,
    ) -> Call {
        // Before the call is built, because waits that are still open count up to the answer.
        self.end_nested_waits(stamp);
        let (outcome, duration_us) = self.outcome_with(outcome, stamp);
        let elsewhere = exchange.is_some() && self.exchange().is_some() && exchange != self.exchange();
        Call {
            response: Some(place),
            response_bytes: Some(bytes),
            duration_us,
            elsewhere,
            error_code: response.error_code.filter(|_| outcome == Outcome::ProtocolError),
            http_status: None,
            ..self.to_call(outcome)
        }
    }

    /// Completes the call with an HTTP error status.
    pub(super) fn failed(mut self, place: Place, stamp: &Stamp<'_>, status: u16, bytes: Option<u64>) -> Call {
        self.end_nested_waits(stamp);
        let (outcome, duration_us) = self.outcome_with(Outcome::HttpError, stamp);
        Call {
            response: Some(place),
            response_bytes: bytes,
            duration_us,
            http_status: Some(status).filter(|_| outcome == Outcome::HttpError),
            ..self.to_call(outcome)
        }
    }

    /// Outcome and duration, given the outcome of the response. A cancelled call lasted until its cancellation, not until a
    /// late response.
    fn outcome_with(&self, response: Outcome, stamp: &Stamp<'_>) -> (Outcome, Option<u64>) {
        let lasted = latency_us(self.asked(), stamp);
        match self.rare.as_ref().and_then(|rare| rare.doom) {
            Some((outcome @ (Outcome::Cancelled | Outcome::TimedOut), until)) => (outcome, until.or(lasted)),
            // Any other outcome was inferred from the end of an exchange, and an answer on another stream overrules it.
            // A cancellation is the caller's decision, which a late answer doesn't undo.
            _ => (response, lasted),
        }
    }

    /// Completes the call without a response: it lasted until its outcome was decided, else until now.
    pub(super) fn unanswered(self, otherwise: Outcome, now: ObservedAt) -> Call {
        let (outcome, duration_us) = self.outcome_now(otherwise, now);
        Call { duration_us, ..self.to_call(outcome) }
    }

    /// The same for a call that stays pending.
    pub fn as_if_ended(&self, otherwise: Outcome, now: ObservedAt) -> Call {
        let (outcome, duration_us) = self.outcome_now(otherwise, now);
        Call { duration_us, ..self.to_call(outcome) }
    }

    fn outcome_now(&self, otherwise: Outcome, now: ObservedAt) -> (Outcome, Option<u64>) {
        match self.rare.as_ref().and_then(|rare| rare.doom) {
            Some((outcome, until)) => (outcome, until),
            None => (otherwise, self.lasted(now)),
        }
    }

    fn to_call(&self, outcome: Outcome) -> Call {
        let rare = self.rare.as_deref();
        let of = |number: fn(&RareFacts) -> u64| rare.map_or(0, number);
        Call {
            number: self.number,
            direction: self.direction,
            id: Some(self.id.to_id()),
            session: self.session.clone(),
            method: Arc::clone(&self.method),
            tool: self.tool.clone(),
            request: Place { line: self.line, seq: known(self.seq) },
            asked: self.asked(),
            response: None,
            duration_us: None,
            outcome,
            error_code: None,
            http_status: rare.and_then(|rare| rare.http_status),
            request_bytes: self.request_bytes,
            response_bytes: None,
            exchange: self.exchange(),
            parent: self.parent(),
            operation: self.operation(),
            nested: of(|rare| rare.nested),
            progress: of(|rare| rare.progress),
            cancelled: rare.and_then(|rare| rare.cancelled),
            person_us: of(|rare| rare.person_us),
            client_us: of(|rare| rare.client_us),
            elsewhere: false,
        }
    }

    /// A nested request starts.
    pub(super) fn nested_begins(&mut self, method: &str, stamp: &Stamp<'_>) {
        let rare = self.rare();
        rare.nested += 1;
        let at = ObservedAt::of(stamp);
        if asks_a_person(method) {
            // While the user is asked, other nested requests don't count: otherwise the sum of both could exceed the
            // call's duration.
            rare.client_us += rare.others.pause(at);
            rare.person.begin(at);
        } else if rare.person.open == 0 {
            rare.others.begin(at);
        } else {
            rare.others.open += 1;
        }
    }

    /// A nested request ends.
    pub(super) fn nested_ends(&mut self, method: &str, stamp: &Stamp<'_>) {
        let rare = self.rare();
        let at = ObservedAt::of(stamp);
        if asks_a_person(method) {
            rare.person_us += rare.person.end(at);
            if rare.person.open == 0 {
                rare.others.resume(at);
            }
        } else {
            rare.client_us += rare.others.end(at);
        }
    }

    /// Ends the wait for nested answers that never came.
    fn end_nested_waits(&mut self, stamp: &Stamp<'_>) {
        if let Some(rare) = self.rare.as_deref_mut() {
            let at = ObservedAt::of(stamp);
            rare.person_us += rare.person.pause(at);
            rare.client_us += rare.others.pause(at);
        }
    }
}

fn known(number: u64) -> Option<u64> {
    (number != NONE).then_some(number)
}

fn asks_a_person(method: &str) -> bool {
    method == method::ELICIT
}

/// The time during which at least one nested request was pending: overlapping ones count once.
#[derive(Debug, Default)]
struct WaitingTime {
    open: u64,
    since: Option<ObservedAt>,
}

impl WaitingTime {
    fn begin(&mut self, at: ObservedAt) {
        self.open += 1;
        self.since = self.since.or(Some(at));
    }

    /// One ends. Returns the microseconds since the first one started, if this was the last.
    fn end(&mut self, at: ObservedAt) -> u64 {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 { self.pause(at) } else { 0 }
    }

    fn pause(&mut self, at: ObservedAt) -> u64 {
        self.since.take().and_then(|since| since.until(at)).unwrap_or(0)
    }

    fn resume(&mut self, at: ObservedAt) {
        self.since = (self.open > 0).then_some(at);
    }
}

fn latency_us(asked: ObservedAt, response: &Stamp<'_>) -> Option<u64> {
    match (asked.us, response.us) {
        // Both have microseconds, so the wall clock, a date string, is not parsed.
        (Some(_), Some(_)) => asked.until(ObservedAt { us: response.us, wall_ms: None }),
        _ => asked.until(ObservedAt::of(response)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_call_is_small() {
        // With its place in the two maps of the tracker, a pending call takes less than 300 bytes.
        assert!(size_of::<PendingCall>() <= 176, "{}", size_of::<PendingCall>());
    }
}
