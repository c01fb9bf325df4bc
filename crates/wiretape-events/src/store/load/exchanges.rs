//! All HTTP exchanges of a recording: reassembled, observed like the proxy's, and turned into rows. Using the
//! same observer is what makes a loaded trace and a watched one agree.

use super::exchange::{OpenExchange, Rebuilt, SentMessage, StageTimes, Times};
use super::timeline::Tick;
use crate::event::EventIds;
use crate::observe::{Observer, ObserverOptions, Snapshot};
use crate::sink::Signal;
use crate::store::row::{Row, RowSource};
use crate::store::sink;
use crate::transaction::Streamed;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use wiretape_analyze::call::Outcome;
use wiretape_analyze::reading::RecordingState;
use wiretape_trace::format::{Ended, ExchangeNote};
use wiretape_trace::message::Direction;

/// The idle time after which a session ends: the proxy's default, because a trace doesn't record the setting.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// How many answered exchanges may wait for the line about their end. Traces of older versions don't have
/// such lines, so without a limit all exchanges would be kept.
const MAX_ANSWERED: usize = 64;

/// The exchanges of a recording.
pub(super) struct Exchanges {
    observer: Observer,
    open: BTreeMap<u64, OpenExchange>,
    /// Those of them that have answers, the oldest first.
    answered: VecDeque<u64>,
    /// The last unanswered message: an exchange that sends it again refers to it.
    refused: Option<(u64, SentMessage)>,
    /// Whether the durations of what is being observed are known.
    times: Times,
    /// Whether the times of their stages are: once one exchange has them, the recorder writes them for all.
    stages: StageTimes,
    /// The outcome of calls whose exchanges were open when the recording ended.
    at_end: Option<Outcome>,
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchanges").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

/// What the exchanges of a recording have in common, and where their rows go.
pub(super) struct RecordingContext<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) trace: Option<&'a Arc<str>>,
    pub(super) rows: &'a mut Vec<Row>,
}

impl Exchanges {
    /// For a recording with this name, and the last known lists of its servers.
    pub(super) fn new(name: &str, snapshots: Vec<Snapshot>) -> Self {
        let options = ObserverOptions {
            lines: false,
            session_idle: SESSION_IDLE,
            snapshots,
            ids: Arc::new(EventIds::new()),
        };
        Exchanges {
            observer: Observer::of_recording(options, name),
            open: BTreeMap::new(),
            answered: VecDeque::new(),
            refused: None,
            times: Times::Known,
            stages: StageTimes::Unknown,
            at_end: None,
        }
    }

    /// Adds a message line to the exchange that carried it.
    pub(super) fn message(
        &mut self,
        note: &ExchangeNote<'_>,
        dir: Direction,
        raw: &[u8],
        at: Tick,
        mut context: RecordingContext<'_>,
    ) {
        let Some(open) = self.line(note, at, &context) else { return };
        let was_answered = open.is_answered();
        let on_stream = open.message(note, dir, raw, at);
        let (is_over, is_answered, has_end) = (open.is_over(), open.is_answered(), open.has_end());
        if let Some(stream) = on_stream {
            let streamed = Streamed {
                upstream: stream.upstream,
                session: stream.session,
                message: Bytes::copy_from_slice(raw),
                at: at.moment(),
            };
            self.observe(at, &mut context, |observer, signals| observer.streamed(streamed, signals));
        }
        if is_over {
            self.end_as_noted(note, Ended::Complete, at, &mut context);
        } else if is_answered && !was_answered && !has_end {
            self.answered.push_back(note.x);
            self.make_room(&mut context);
        }
    }

    /// Reads an SSE event that is not a message.
    pub(super) fn event(
        &mut self,
        note: &ExchangeNote<'_>,
        text: &str,
        at: Tick,
        context: &RecordingContext<'_>,
    ) {
        if let Some(open) = self.line(note, at, context) {
            open.event(note, text);
        }
    }

    /// Reads a line about an exchange itself.
    pub(super) fn about(&mut self, note: &ExchangeNote<'_>, at: Tick, mut context: RecordingContext<'_>) {
        if self.line(note, at, &context).is_none() {
            return;
        }
        if let Some(ended) = note.ended() {
            self.end_as_noted(note, ended, at, &mut context);
        }
    }

    /// Ends the recording, and with it all sessions.
    pub(super) fn end(&mut self, at: Tick, outcome: Outcome, mut context: RecordingContext<'_>) {
        self.end_open(at, outcome, &mut context);
        self.observe(at, &mut context, Observer::finish);
    }

    /// The trace ends here without an `end` line. Open exchanges are ended, sessions may continue.
    pub(super) fn finish(&mut self, at: Tick, mut context: RecordingContext<'_>) {
        self.end_open(at, RecordingState::Over.outcome(), &mut context);
        self.observe(at, &mut context, Observer::give_up);
    }

    fn end_open(&mut self, at: Tick, outcome: Outcome, context: &mut RecordingContext<'_>) {
        // The recording ended, not the exchanges. The observer would report them as disconnected.
        self.at_end = Some(outcome);
        // Notifications first: one of them may cancel a call, and the line that says it was accepted may be in the next part.
        let mut open: Vec<_> = self.open.iter().map(|(x, open)| (!open.is_notification(), *x)).collect();
        open.sort_unstable();
        for (_, x) in open {
            let Some(open) = self.open.get_mut(&x) else { continue };
            if open.is_answered() {
                self.end_at_last_line(x, Ended::Complete, context);
            } else {
                open.lasts_until(at);
                self.end_at_last_line(x, Ended::Stopped, context);
            }
        }
        self.at_end = None;
    }

    /// The exchange that a line is about; `None` if it began before the recording.
    fn line(
        &mut self,
        note: &ExchangeNote<'_>,
        at: Tick,
        context: &RecordingContext<'_>,
    ) -> Option<&mut OpenExchange> {
        if note.request.is_some() {
            let mut open = OpenExchange::begin(note, context.server, context.trace.cloned(), at);
            if let Some(sent) = note.again.and_then(|x| self.sent_by(x)) {
                open.repeat(sent);
            }
            self.open.insert(note.x, open);
        }
        let open = self.open.get_mut(&note.x)?;
        open.note(note, at);
        Some(open)
    }

    /// The message of an earlier exchange that is sent again. The earlier one is dropped: its answer (such as
    /// 401) no longer matters.
    fn sent_by(&mut self, x: u64) -> Option<SentMessage> {
        if let Some(open) = self.take(x) {
            return open.into_sent();
        }
        // In traces of older versions, that exchange has ended by now.
        self.refused.as_ref().filter(|(refused, _)| *refused == x).map(|(_, sent)| sent.clone())
    }

    fn make_room(&mut self, context: &mut RecordingContext<'_>) {
        while self.answered.len() > MAX_ANSWERED
            && let Some(x) = self.answered.pop_front()
        {
            self.end_at_last_line(x, Ended::Complete, context);
        }
    }

    fn take(&mut self, x: u64) -> Option<OpenExchange> {
        self.answered.retain(|answered| *answered != x);
        self.open.remove(&x)
    }

    fn end_as_noted(
        &mut self,
        note: &ExchangeNote<'_>,
        ended: Ended,
        at: Tick,
        context: &mut RecordingContext<'_>,
    ) {
        if let Some(open) = self.take(note.x) {
            self.finished(open.end_as_noted(note, ended), at, context);
        }
    }

    fn end_at_last_line(&mut self, x: u64, ended: Ended, context: &mut RecordingContext<'_>) {
        if let Some(open) = self.take(x) {
            let at = open.last();
            let rebuilt = open.ended(ended);
            self.finished(rebuilt, at, context);
        }
    }

    fn finished(&mut self, rebuilt: Rebuilt, at: Tick, context: &mut RecordingContext<'_>) {
        let Rebuilt { transaction, times, stages } = rebuilt;
        if let Some(sent) = SentMessage::of(&transaction).filter(|_| transaction.response.is_none()) {
            self.refused = Some((transaction.x, sent));
        }
        self.times = times;
        if stages == StageTimes::Recorded {
            self.stages = stages;
        }
        self.observe(at, context, |observer, signals| observer.transaction(transaction, signals));
    }

    /// Runs the observer at a recorded time, and turns its signals into rows.
    fn observe(
        &mut self,
        at: Tick,
        context: &mut RecordingContext<'_>,
        what: impl FnOnce(&mut Observer, &mut Vec<Signal>),
    ) {
        self.observer.at(at.moment());
        let mut signals = Vec::new();
        // A recorded clock has no thread that wakes the observer, so timeouts are checked before each step.
        if self.observer.next_look().is_some_and(|look| look <= at.us) {
            self.observer.look(&mut signals);
        }
        what(&mut self.observer, &mut signals);
        for signal in &signals {
            sink::rows(signal, |row| context.rows.push(self.as_recorded(row)));
        }
    }

    /// The row without what the lines don't say. The observer had to fill these with something.
    fn as_recorded(&self, mut row: Row) -> Row {
        if let Row::Call(call) = &mut row {
            if let Some(outcome) = self.at_end.filter(|_| call.status == Outcome::Disconnected) {
                call.status = outcome;
                call.error_message = None;
            }
            call.source = RowSource::Trace;
            if self.stages == StageTimes::Unknown || self.at_end.is_some() {
                call.upstream_us = None;
                call.first_byte_us = None;
            }
            if self.times == Times::Unknown {
                call.latency_us = None;
                call.exchange_us = None;
            }
        }
        row
    }
}
