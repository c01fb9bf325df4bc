//! The interpreter: turns lines into calls, operations and outcomes, and reports them to an analysis.
//!
//! It fixes the order of callbacks, which analyses rely on: a line begins, its payloads are seen in order, an answer
//! is seen before its call is closed, and the line ends. The rules themselves are elsewhere: pairing in `call`,
//! grouping in `operation`, times in `clock`.

use super::{Analysis, Cause, Closed, LineView, Meaning, Seen};
use crate::call::{
    Answered, Call, CallTracker, ExchangeEffect, ObservedAt, Opened, Outcome, PayloadSource, PendingCall,
    Place, outcome_at_end,
};
use crate::clock::TraceClock;
use crate::operation::{OperationTracker, Watch};
use wiretape_trace::format::{End, Exchange, Line, Message, Meta, Record, Stamp};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind, payloads};
use wiretape_trace::protocol::method;

/// Whether more of a recording can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingState {
    /// It is still being written: open calls are pending, and have lasted until now.
    Running {
        /// The wall clock in milliseconds since 1970. A parameter, because this crate has no clock.
        now_ms: i64,
    },
    /// It ended or was cut off: open calls stay unanswered.
    Over,
}

impl RecordingState {
    /// The outcome of open calls at the end of the file, if there is no `end` line.
    pub fn outcome(self) -> Outcome {
        match self {
            RecordingState::Running { .. } => Outcome::Pending,
            RecordingState::Over => Outcome::Unanswered,
        }
    }
}

/// Interprets one recording at a time for an analysis. All parts of a rotated recording may follow each other.
#[derive(Debug)]
pub struct Reading<A: Analysis> {
    tracker: CallTracker<A::PerCall>,
    operations: OperationTracker,
    clock: TraceClock,
    /// The latest time of any line: open calls have lasted at least until then.
    now: ObservedAt,
    analysis: A,
}

impl<A: Analysis + Default> Default for Reading<A> {
    fn default() -> Self {
        Reading::new(A::default())
    }
}

impl<A: Analysis> Reading<A> {
    /// A reading before the first line.
    pub fn new(analysis: A) -> Self {
        Reading {
            tracker: CallTracker::default(),
            operations: OperationTracker::default(),
            clock: TraceClock::default(),
            now: ObservedAt::default(),
            analysis,
        }
    }

    /// The analysis with its results so far.
    pub fn analysis(&self) -> &A {
        &self.analysis
    }

    /// The analysis, for taking results before the end.
    pub fn analysis_mut(&mut self) -> &mut A {
        &mut self.analysis
    }

    /// An id in the form in which calls are matched.
    pub fn key(&self, id: Id<'_>) -> Id<'static> {
        self.tracker.key(id)
    }

    /// The clock of the recording.
    pub fn clock(&self) -> &TraceClock {
        &self.clock
    }

    /// The pending calls as of now, with the analysis' data.
    pub fn pending(&self, state: RecordingState) -> impl Iterator<Item = (Call, &A::PerCall)> {
        let now = self.end_of_open_calls(state);
        self.tracker.all_pending().map(move |(call, own)| (call.as_if_ended(state.outcome(), now), own))
    }

    /// Interprets the next line.
    pub fn observe(&mut self, line: &Line<'_>) {
        self.observe_with(line, |_| {});
    }

    /// Interprets the next line. `after_close` receives the analysis after each call that an `end` line closes, so that results
    /// can be taken one by one instead of all at once.
    pub fn observe_with(&mut self, line: &Line<'_>, after_close: impl FnMut(&mut A)) {
        if let Record::Meta(meta) = &line.record {
            // Before the line's time is computed: the clock starts with this record.
            self.meta(meta);
        }
        let at_us = self.time(line.record.stamp());
        let view = LineView::new(line, at_us);
        self.analysis.begin_line(&view);
        match &line.record {
            Record::Message(message) => self.message(&view, message),
            Record::Http(exchange) => self.exchange(&view, exchange),
            Record::End(end) => self.end(&view, end, after_close),
            _ => {}
        }
        self.analysis.end_line(&view);
    }

    /// Ends the trace: closes pending calls and returns the analysis.
    pub fn finish(self, state: RecordingState) -> A {
        self.finish_with(state, |_| {})
    }

    /// Ends the trace. `after_close` receives the analysis after each call that is closed.
    pub fn finish_with(mut self, state: RecordingState, after_close: impl FnMut(&mut A)) -> A {
        self.end_recording_with(state, after_close);
        self.analysis
    }

    /// Ends the recording; the next line belongs to another one for the same analysis.
    pub fn end_recording(&mut self, state: RecordingState) {
        self.end_recording_with(state, |_| {});
    }

    fn end_recording_with(&mut self, state: RecordingState, after_close: impl FnMut(&mut A)) {
        self.close_all(state.outcome(), self.end_of_open_calls(state), None, after_close);
        for operation in std::mem::take(&mut self.operations).finish() {
            self.analysis.operation_closed(&operation);
        }
        // Ids, sessions and offsets of the next recording have nothing to do with this one's.
        self.tracker = CallTracker::default();
        self.clock = TraceClock::default();
        self.now = ObservedAt::default();
    }

    fn meta(&mut self, meta: &Meta) {
        if meta.imported.is_some() {
            self.tracker.compare_ids_by_text();
        }
        self.clock.observe_meta(meta);
    }

    fn time(&mut self, stamp: Option<&Stamp<'_>>) -> i64 {
        let Some(stamp) = stamp else { return self.clock.at(&Stamp::default()) };
        self.now.us = self.now.us.max(stamp.us);
        // The wall clock is a date string; it is parsed only where nothing better is known.
        if stamp.us.is_none() {
            self.now.wall_ms = self.now.wall_ms.max(stamp.wall_ms());
        }
        self.clock.at(stamp)
    }

    fn message(&mut self, view: &LineView<'_, '_>, message: &Message<'_>) {
        let direction = message.dir.known();
        let session = self.tracker.session(message.session.as_deref());
        let mut source = PayloadSource {
            place: Place { line: view.line.number, seq: message.stamp.seq },
            stamp: &message.stamp,
            // A placeholder: a message without a known direction is never matched.
            direction: direction.unwrap_or(Direction::ClientToServer),
            session,
            exchange: view.exchange(),
            bytes: 0,
        };
        for (index, raw) in payloads(message.raw).into_iter().enumerate() {
            let envelope = Envelope::scan(raw);
            source.bytes = raw.len() as u64;
            let payload = Payload { view, source: &source, direction, raw, index, envelope: &envelope };
            self.payload(&payload);
        }
        // After the payloads: a batch may end an operation and continue it with a later payload.
        for operation in self.operations.take_ended() {
            self.analysis.operation_closed(&operation);
        }
    }

    fn payload(&mut self, payload: &Payload<'_, '_>) {
        let (source, envelope) = (payload.source, payload.envelope);
        let notification = envelope.method.as_deref().filter(|_| envelope.kind == MessageKind::Notification);
        match (envelope.kind, notification) {
            _ if payload.direction.is_none() => self.seen(payload, Meaning::Other, None),
            (MessageKind::Request, _) => self.request(payload),
            (MessageKind::Response, _) => self.response(payload),
            (_, Some(method::PROGRESS)) => {
                let of = self.tracker.progress(source, envelope);
                self.seen(payload, Meaning::Progress { of }, None);
            }
            (_, Some(method::CANCELLED)) => {
                let of = self.tracker.cancellation(source, envelope);
                self.seen(payload, Meaning::Cancellation { of }, None);
            }
            _ => {
                let operation = self.operations.notification(envelope, source.stamp);
                self.seen(payload, Meaning::Other, operation);
            }
        }
    }

    fn request(&mut self, payload: &Payload<'_, '_>) {
        let (source, envelope) = (payload.source, payload.envelope);
        let Opened { number, unanswered } = self.tracker.request(source, envelope);
        let mut operation = None;
        if let Some((call, _)) = self.tracker.pending_mut(number) {
            operation = self.operations.request(call, envelope, source.stamp);
        }
        // A call that loses its id ends before the new request starts; a request that can't be answered starts first.
        let own_end = unanswered.as_ref().is_some_and(|(call, _)| call.number == number);
        if own_end {
            self.seen(payload, Meaning::Request { number }, operation);
        }
        if let Some((call, own)) = unanswered {
            self.analysis.closed(&Closed::without_answer(&call, Cause::Id, Some(payload.view)), own);
        }
        if !own_end {
            self.seen(payload, Meaning::Request { number }, operation);
        }
    }

    fn response(&mut self, payload: &Payload<'_, '_>) {
        let (source, envelope) = (payload.source, payload.envelope);
        let outcome = payload.outcome();
        let Some(Answered { mut call, mut own, watch }) = self.tracker.response(source, envelope, outcome)
        else {
            self.seen(payload, Meaning::Orphan, None);
            return;
        };
        self.continue_operation(payload, &mut call, watch);
        let seen = payload.seen(Meaning::Answer { number: call.number }, call.operation);
        let seen = Seen { answers: Some(&call), ..seen };
        self.analysis.seen(&seen, Some(&mut own));
        self.answered(payload, &call, own);
        // An error without an id refuses a whole batch. The payload was seen, and counted, once.
        while envelope.id.is_none()
            && let Some(Answered { mut call, own, watch }) = self.tracker.response(source, envelope, outcome)
        {
            self.continue_operation(payload, &mut call, watch);
            self.answered(payload, &call, own);
        }
    }

    fn continue_operation(&mut self, payload: &Payload<'_, '_>, call: &mut Call, watch: Option<Watch>) {
        let (source, envelope) = (payload.source, payload.envelope);
        let operation = watch.and_then(|watch| self.operations.answer(call, watch, envelope, source.stamp));
        call.operation = operation.or(call.operation);
    }

    fn answered(&mut self, payload: &Payload<'_, '_>, call: &Call, own: A::PerCall) {
        let closed = Closed {
            call,
            cause: Cause::Answer,
            answer: Some(payload.envelope),
            raw: payload.raw,
            index: payload.index,
            line: Some(payload.view),
        };
        self.analysis.closed(&closed, own);
    }

    fn exchange(&mut self, view: &LineView<'_, '_>, exchange: &Exchange<'_>) {
        // Parsing the heads is the expensive part of this line, and needless without pending calls over HTTP.
        if self.tracker.has_exchanges()
            && let Some(http) = view.http()
        {
            let stamp = &exchange.stamp;
            if let Some(before) = http.again {
                // Before the end of the first exchange is looked at, because its status no longer concerns the calls
                // that were sent again.
                self.tracker.carry_over(before, http.x, exchange.session.as_deref());
            }
            let place = Place { line: view.line.number, seq: stamp.seq };
            match self.tracker.exchange_ended(place, stamp, http) {
                ExchangeEffect::Failed(calls) => {
                    for (call, own) in calls {
                        let closed = Closed::without_answer(&call, Cause::HttpStatus, Some(view));
                        self.analysis.closed(&closed, own);
                    }
                }
                ExchangeEffect::Doomed(numbers) => {
                    for number in numbers {
                        if let Some((call, own)) = self.tracker.pending_mut(number) {
                            self.analysis.doomed(view, call, own);
                        }
                    }
                }
            }
        }
    }

    fn end(&mut self, view: &LineView<'_, '_>, end: &End, after_close: impl FnMut(&mut A)) {
        let ended = ObservedAt::of(&end.stamp);
        let now = ObservedAt { us: self.now.us.max(ended.us), wall_ms: self.now.wall_ms.max(ended.wall_ms) };
        self.close_all(outcome_at_end(end), now, Some(view), after_close);
    }

    /// Until when calls without an answer have lasted, if the recording has no `end` line so far.
    fn end_of_open_calls(&self, state: RecordingState) -> ObservedAt {
        let RecordingState::Running { now_ms } = state else { return self.now };
        // A hanging server writes no lines, so the last line says nothing about how long its calls have been pending.
        // Only the wall clock does; if it was set back, the last line is still a lower limit.
        let us = self.clock.offset_of(now_ms).max(self.now.us);
        ObservedAt { us, wall_ms: self.now.wall_ms.max(Some(now_ms)) }
    }

    fn close_all(
        &mut self,
        otherwise: Outcome,
        now: ObservedAt,
        view: Option<&LineView<'_, '_>>,
        mut after_close: impl FnMut(&mut A),
    ) {
        for (call, own) in self.tracker.close_all(otherwise, now) {
            self.analysis.closed(&Closed::without_answer(&call, Cause::End, view), own);
            after_close(&mut self.analysis);
        }
    }

    fn seen(&mut self, payload: &Payload<'_, '_>, meaning: Meaning, operation: Option<u64>) {
        let is_of_server = payload.direction == Some(Direction::ServerToClient);
        // Before `pending_mut` borrows the tracker for the rest of this function.
        let during = (is_of_server && payload.envelope.kind != MessageKind::Response)
            .then(|| self.tracker.during(payload.source.exchange))
            .flatten();
        let open = meaning.call().and_then(|number| self.tracker.pending_mut(number));
        let (pending, own) = open.map_or((None, None), |(call, own)| (Some(&*call), Some(own)));
        let operation = operation.or_else(|| pending.and_then(PendingCall::operation));
        let seen = Seen { pending, during, ..payload.seen(meaning, operation) };
        self.analysis.seen(&seen, own);
    }
}

/// A payload with its context, on the way to the analysis.
struct Payload<'s, 'a> {
    view: &'s LineView<'s, 'a>,
    source: &'s PayloadSource<'s>,
    direction: Option<Direction>,
    raw: &'a [u8],
    index: usize,
    envelope: &'s Envelope<'a>,
}

impl<'s, 'a> Payload<'s, 'a> {
    /// The outcome of the call that this response answers.
    fn outcome(&self) -> Outcome {
        match self.envelope.error {
            // Only errors are generated, so that no other response needs its heads parsed.
            Some(error) if self.view.http().is_some_and(|http| http.own) => Outcome::of_own_error(error),
            _ => Outcome::of_response(self.envelope),
        }
    }

    fn seen(&self, meaning: Meaning, operation: Option<u64>) -> Seen<'s, 'a> {
        Seen {
            line: self.view,
            direction: self.direction,
            session: self.source.session.as_ref(),
            raw: self.raw,
            index: self.index,
            envelope: self.envelope,
            meaning,
            pending: None,
            answers: None,
            during: None,
            operation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wiretape_trace::format::TraceReader;

    #[derive(Debug, Default)]
    struct Durations(Vec<(Outcome, Option<u64>)>);

    impl Analysis for Durations {
        type PerCall = ();

        fn closed(&mut self, closed: &Closed<'_, '_>, (): ()) {
            self.0.push((closed.call.outcome, closed.call.duration_us));
        }
    }

    const START_MS: i64 = 1_750_000_000_000;

    fn check(trace: &str, state: RecordingState, outcome: Outcome, duration_us: Option<u64>) {
        let mut reader = TraceReader::new(trace.as_bytes());
        let mut reading = Reading::new(Durations::default());
        while let Some(line) = reader.next_line().unwrap() {
            reading.observe(&line);
        }
        assert_eq!(reading.pending(state).map(|(call, ())| call.duration_us).next(), Some(duration_us));
        assert_eq!(reading.finish(state).0, [(outcome, duration_us)]);
    }

    #[test]
    fn a_pending_call_has_lasted_until_now() {
        let trace = concat!(
            r#"{"v":1,"type":"meta","startedAt":"2025-06-15T15:06:40.000Z","command":[]}"#,
            "\n",
            r#"{"t":"2025-06-15T15:06:40.000Z","us":500,"dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
            "\n",
        );
        let after = |ms| RecordingState::Running { now_ms: START_MS + ms };
        check(trace, after(2_000), Outcome::Pending, Some(1_999_500));
        // The wall clock was set back: no less than what the lines say.
        check(trace, after(-2_000), Outcome::Pending, Some(0));
        check(trace, RecordingState::Over, Outcome::Unanswered, Some(0));
    }

    #[test]
    fn without_offsets_a_pending_call_is_timed_by_the_wall_clock() {
        let trace =
            r#"{"t":"2025-06-15T15:06:40.000Z","dir":"in","raw":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#;
        let trace = format!("{trace}\n");
        let state = RecordingState::Running { now_ms: START_MS + 2_000 };
        check(&trace, state, Outcome::Pending, Some(2_000_000));
    }
}
