//! The exchanges of a recording: put together again, observed as the proxy's are, and made rows of.

use super::exchange::{Note, Open, Rebuilt, Times};
use super::timeline::{Tick, Timeline};
use crate::event::EventIds;
use crate::observe::{Observer, ObserverOptions, Snapshot};
use crate::sink::Signal;
use crate::store::row::Row;
use crate::store::sink;
use crate::transaction::Streamed;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use wiretape_trace::format::Ended;
use wiretape_trace::message::Direction;

/// As long as the proxy's, unless that was told otherwise.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// Exchanges that have their answers may wait for the line that tells of their end; in traces that were written before there were
/// such lines, it never comes.
const MAX_ANSWERED: usize = 64;

/// The exchanges of a recording.
pub(super) struct Exchanges {
    observer: Observer,
    open: BTreeMap<u64, Open>,
    /// Those of them that have their answers, the oldest first.
    answered: VecDeque<u64>,
    /// What was sent last and not answered: it may be sent again.
    refused: Option<(u64, Bytes)>,
    /// Whether it is known how long that took which is observed.
    times: Times,
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchanges").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

/// What the exchanges of a recording have in common, and where their rows go.
pub(super) struct Surroundings<'a> {
    pub(super) server: &'a Arc<str>,
    pub(super) trace: Option<&'a Arc<str>>,
    pub(super) timeline: &'a Timeline,
    pub(super) rows: &'a mut Vec<Row>,
}

impl Exchanges {
    /// Those of a recording of this name, with what servers offered before it.
    pub(super) fn new(name: &str, snapshots: Vec<Snapshot>, timeline: &Timeline) -> Self {
        let options = ObserverOptions {
            lines: false,
            session_idle: SESSION_IDLE,
            snapshots,
            ids: Arc::new(EventIds::new()),
        };
        let name: String = name.chars().take(8).collect();
        Exchanges {
            observer: Observer::of_recording(options, &name, timeline.now(timeline.last())),
            open: BTreeMap::new(),
            answered: VecDeque::new(),
            refused: None,
            times: Times::Known,
        }
    }

    /// A message.
    pub(super) fn message(
        &mut self,
        note: &Note<'_>,
        dir: Direction,
        raw: &[u8],
        at: Tick,
        mut around: Surroundings<'_>,
    ) {
        let Some(open) = self.line(note, at, &around) else { return };
        let was_answered = open.is_answered();
        let on_stream = open.message(note, dir, raw);
        let (is_over, is_answered) = (open.is_over(), open.is_answered());
        if let Some(stream) = on_stream {
            let streamed = Streamed {
                upstream: stream.upstream,
                session: stream.session,
                message: Bytes::copy_from_slice(raw),
                at: around.timeline.now(at).instant,
            };
            self.observe(at, &mut around, |observer, signals| observer.streamed(streamed, signals));
        }
        if is_over {
            self.end_untold(note.x, Ended::Complete, &mut around);
        } else if is_answered && !was_answered {
            self.answered.push_back(note.x);
            self.make_room(&mut around);
        }
    }

    /// An event that is no message.
    pub(super) fn event(&mut self, note: &Note<'_>, text: &str, at: Tick, around: &Surroundings<'_>) {
        if let Some(open) = self.line(note, at, around) {
            open.event(note, text);
        }
    }

    /// A line about an exchange itself.
    pub(super) fn about(&mut self, note: &Note<'_>, at: Tick, mut around: Surroundings<'_>) {
        if self.line(note, at, &around).is_none() {
            return;
        }
        if let Some(ended) = note.ended()
            && let Some(open) = self.take(note.x)
        {
            let rebuilt = open.told(note, ended, around.timeline);
            self.finished(rebuilt, at, &mut around);
        }
    }

    /// The recording has come to its end, and with it all sessions.
    pub(super) fn end(&mut self, at: Tick, mut around: Surroundings<'_>) {
        self.end_open(&mut around);
        self.observe(at, &mut around, Observer::finish);
    }

    /// Nothing more is known of the recording.
    pub(super) fn finish(&mut self, at: Tick, mut around: Surroundings<'_>) {
        self.end_open(&mut around);
        self.observe(at, &mut around, Observer::give_up);
    }

    fn end_open(&mut self, around: &mut Surroundings<'_>) {
        for x in self.open.keys().copied().collect::<Vec<_>>() {
            let is_answered = self.open.get(&x).is_some_and(Open::is_answered);
            let ended = if is_answered { Ended::Complete } else { Ended::Stopped };
            self.end_untold(x, ended, around);
        }
    }

    /// The exchange that a line is about. Of one that began before the recording nothing can be said.
    fn line(&mut self, note: &Note<'_>, at: Tick, around: &Surroundings<'_>) -> Option<&mut Open> {
        if note.begins() {
            let mut open = Open::begin(note, around.server, around.trace.cloned(), at);
            if let Some(message) = note.again.and_then(|x| self.sent_by(x)) {
                open.repeat(message);
            }
            self.open.insert(note.x, open);
        }
        let open = self.open.get_mut(&note.x)?;
        open.note(note, at);
        Some(open)
    }

    /// What an exchange has sent that another sends again. What the first was answered is nothing to the message any more.
    fn sent_by(&mut self, x: u64) -> Option<Bytes> {
        if let Some(open) = self.take(x) {
            return open.into_request();
        }
        // In traces that were written before, it has ended by now.
        self.refused.as_ref().filter(|(refused, _)| *refused == x).map(|(_, message)| message.clone())
    }

    fn make_room(&mut self, around: &mut Surroundings<'_>) {
        while self.answered.len() > MAX_ANSWERED
            && let Some(x) = self.answered.pop_front()
        {
            self.end_untold(x, Ended::Complete, around);
        }
    }

    fn take(&mut self, x: u64) -> Option<Open> {
        self.answered.retain(|answered| *answered != x);
        self.open.remove(&x)
    }

    fn end_untold(&mut self, x: u64, ended: Ended, around: &mut Surroundings<'_>) {
        if let Some(open) = self.take(x) {
            let at = open.last();
            let rebuilt = open.ended(ended, around.timeline);
            self.finished(rebuilt, at, around);
        }
    }

    fn finished(&mut self, rebuilt: Rebuilt, at: Tick, around: &mut Surroundings<'_>) {
        let Rebuilt { transaction, times } = rebuilt;
        if let Some(request) = transaction.request.clone().filter(|_| transaction.response.is_none()) {
            self.refused = Some((transaction.x, request));
        }
        self.times = times;
        self.observe(at, around, |observer, signals| observer.transaction(transaction, signals));
    }

    /// Lets the observer do something at this time, and makes rows of what it tells.
    fn observe(
        &mut self,
        at: Tick,
        around: &mut Surroundings<'_>,
        what: impl FnOnce(&mut Observer, &mut Vec<Signal>),
    ) {
        let now = around.timeline.now(at);
        self.observer.at(now);
        let mut signals = Vec::new();
        if self.observer.next_look().is_some_and(|look| look <= now.instant) {
            self.observer.look(&mut signals);
        }
        what(&mut self.observer, &mut signals);
        for signal in &signals {
            sink::rows(signal, |row| around.rows.push(as_recorded(row, self.times)));
        }
    }
}

/// A row without what a trace doesn't say.
fn as_recorded(mut row: Row, times: Times) -> Row {
    match &mut row {
        Row::Call(call) => {
            call.operation.listener = None;
            call.event = None;
            call.upstream_us = None;
            call.first_byte_us = None;
            call.latency_us = call.latency_us.filter(|_| times == Times::Known);
        }
        Row::Session(session) => session.listener = None,
        Row::SessionEnd { .. } | Row::Schema(_) | Row::Violation(_) | Row::Trace { .. } => {}
    }
    row
}
