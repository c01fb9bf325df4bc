//! From exchanges that have ended to what is told of them.

mod clock;
mod late;
mod program;
mod project;
mod request;
mod session;
mod snapshot;
mod subject;
mod widget;

pub(crate) use clock::{Now, now_ms};
pub(crate) use program::stateless_client;
pub(crate) use request::Verdict;
pub use snapshot::{Change, Snapshot, Snapshots};
pub(crate) use subject::subject;

use crate::event::{Event, EventIds, SchemaEvent, SessionEvent, VERSION};
use crate::line::{Line, LineWhat};
use crate::sink::Signal;
use crate::transaction::{Streamed, Transaction, Violation};
use clock::Clock;
use late::LateAnswers;
use request::Observed;
use session::{Ending, Sessions};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an observer does.
pub struct ObserverOptions {
    /// Whether anybody wants the lines of `--events`; the ends of sessions are told in any case.
    pub lines: bool,
    /// A session has ended when nothing was heard of it for so long.
    pub session_idle: Duration,
    /// What the servers offered when they were last seen.
    pub snapshots: Vec<Snapshot>,
    /// Gives events their ids.
    pub ids: Arc<EventIds>,
}

/// Turns exchanges into signals. It remembers sessions and lists, a bounded number of them.
pub struct Observer {
    lines: bool,
    ids: Arc<EventIds>,
    sessions: Sessions,
    snapshots: Snapshots,
    late: LateAnswers,
    session_idle: Duration,
    clock: Clock,
}

impl Observer {
    /// One that has seen nothing yet.
    pub fn new(options: ObserverOptions) -> Self {
        Observer {
            lines: options.lines,
            ids: options.ids,
            sessions: Sessions::new(options.session_idle),
            snapshots: Snapshots::new(options.snapshots),
            late: LateAnswers::default(),
            session_idle: options.session_idle,
            clock: Clock::default(),
        }
    }

    /// One for a recording: [`at`](Observer::at) tells it the time, and the sessions that have no name are called after this.
    pub(crate) fn of_recording(options: ObserverOptions, name: &str, now: Now) -> Self {
        let mut observer = Observer { clock: Clock::Recorded(now), ..Observer::new(options) };
        observer.sessions.name_after(name);
        observer
    }

    /// What follows was recorded at this time.
    pub(crate) fn at(&mut self, now: Now) {
        self.clock = Clock::Recorded(now);
    }

    /// When [`look`](Observer::look) should be called at the latest.
    pub fn next_look(&self) -> Option<Instant> {
        let late = self.late.pause(self.session_idle).map(|pause| self.clock.now().instant + pause);
        self.sessions.next_look().into_iter().chain(late).min()
    }

    /// An exchange has ended.
    pub fn transaction(&mut self, transaction: Transaction, signals: &mut Vec<Signal>) {
        let observed = Observed::of(transaction);
        for (id, outcome) in observed.cancels().collect::<Vec<_>>() {
            let session = observed.transaction.session_name().unwrap_or_default();
            let upstream = &observed.transaction.upstream;
            if let Some(cancelled) = self.late.cancel(upstream, &session, &id, outcome) {
                self.tell(cancelled, signals);
            }
        }
        if observed.is_stream()
            && let Some(session) = observed.transaction.session_name()
        {
            for left in self.late.leave(&observed.transaction.upstream, &session) {
                self.tell(left, signals);
            }
        }
        if let Some(whole) = self.late.hold(observed, self.clock.now().instant) {
            self.tell(whole, signals);
        }
    }

    /// An answer has come on a stream that a GET opened.
    pub fn streamed(&mut self, answer: Streamed, signals: &mut Vec<Signal>) {
        if let Some(whole) = self.late.answer(answer) {
            self.tell(whole, signals);
        }
    }

    fn tell(&mut self, mut observed: Observed, signals: &mut Vec<Signal>) {
        let now = self.clock.now();
        let visit = self.sessions.visit(&observed, now.instant);
        observed.session = visit.session.as_ref().map(|session| Arc::clone(&session.id));
        if let Some(session) = &visit.session {
            observed.learn_version(session.protocol_version.as_ref());
            if let Some(outcome) = self.sessions.take_cancelled(session, &observed) {
                observed.was_cancelled(outcome);
            }
        }
        let ended_ms = observed.transaction.ended_ms();
        let mut ended = visit.ended;
        if let Some(began) = visit.began {
            // One that is begun anew ends first.
            signals.extend(ended.take().map(|ending| end_line(&ending, ended_ms)));
            signals.push(self.session_event(&observed, began));
            let (upstream, session) = (&observed.transaction.upstream, observed.session.as_ref());
            signals.push(Signal::line(line(ended_ms, upstream, session, LineWhat::SessionStart)));
        }
        self.tell_changes(&observed, signals);
        if self.lines {
            self.tell_lines(&observed, signals);
        }
        signals.push(Signal::event(Event::Request(Box::new(observed.into_event(self.ids.next())))));
        signals.extend(ended.map(|ending| end_line(&ending, ended_ms)));
    }

    /// A browser has blocked something.
    pub fn violation(&mut self, violation: Violation, signals: &mut Vec<Signal>) {
        let Violation { blocked_uri, directive, session, upstream } = violation;
        let session = session.map(Arc::from);
        let what = LineWhat::CspViolation { blocked_uri, directive };
        let mut line = line(self.clock.now().wall_ms, &upstream, session.as_ref(), what);
        line.csp_applied = true;
        signals.push(Signal::line(line));
    }

    /// Time has passed: sessions may have fallen silent.
    pub fn look(&mut self, signals: &mut Vec<Signal>) {
        let now = self.clock.now();
        for unanswered in self.late.give_up(self.session_idle, now.instant) {
            self.tell(unanswered, signals);
        }
        for ending in self.sessions.end_silent(now.instant) {
            signals.push(end_line(&ending, now.wall_ms));
        }
    }

    /// Nothing more will come.
    pub fn finish(&mut self, signals: &mut Vec<Signal>) {
        self.give_up(signals);
        let now = self.clock.now().wall_ms;
        for ending in self.sessions.end_all() {
            signals.push(end_line(&ending, now));
        }
    }

    /// No answer will come any more; sessions may go on.
    pub(crate) fn give_up(&mut self, signals: &mut Vec<Signal>) {
        for unanswered in self.late.give_up(Duration::ZERO, self.clock.now().instant) {
            self.tell(unanswered, signals);
        }
    }

    fn session_event(&self, observed: &Observed, began: session::Began) -> Signal {
        let transaction = &observed.transaction;
        Signal::event(Event::Session(SessionEvent {
            v: VERSION,
            event_id: self.ids.next(),
            ts: transaction.ended_ms(),
            started_at: transaction.timings.started.wall_ms,
            session_id: observed.session.clone().unwrap_or_default(),
            client_name: began.client.name,
            client_version: began.client.version,
            client_platform: began.client.platform,
            upstream: Arc::clone(&transaction.upstream),
            protocol_version: observed.protocol_version.clone(),
            server_name: began.server.name,
            server_version: began.server.version,
            listener: Arc::clone(&transaction.listener),
            trace: transaction.trace.clone(),
        }))
    }

    fn tell_changes(&mut self, observed: &Observed, signals: &mut Vec<Signal>) {
        let upstream = &observed.transaction.upstream;
        let reader = observed.session.as_deref().unwrap_or_default();
        for listed in observed.lists() {
            for Change { kind, items } in self.snapshots.observe(upstream, reader, &listed) {
                signals.push(Signal::event(Event::Schema(SchemaEvent {
                    v: VERSION,
                    event_id: self.ids.next(),
                    ts: observed.transaction.ended_ms(),
                    mcp_method: listed.kind.method(),
                    upstream: Arc::clone(upstream),
                    items,
                    change_type: kind,
                    session: observed.session.clone(),
                })));
            }
        }
    }

    fn tell_lines(&self, observed: &Observed, signals: &mut Vec<Signal>) {
        let transaction = &observed.transaction;
        let mut push = |what| {
            let mut line =
                line(transaction.ended_ms(), &transaction.upstream, observed.session.as_ref(), what);
            line.csp_applied = transaction.csp_applied;
            signals.push(Signal::line(line));
        };
        for call in &observed.calls {
            if let Some(what) = call.line(transaction, observed.status_of(call)) {
                push(what);
            }
        }
        if transaction.is_html && transaction.status.is_some_and(|status| (200..300).contains(&status)) {
            let path = transaction.target.split('?').next().unwrap_or_default().to_owned();
            push(LineWhat::WidgetServe { path });
        }
        for path in observed.calls.iter().flat_map(widget::served) {
            push(LineWhat::WidgetServe { path });
        }
    }
}

fn end_line(ending: &Ending, at_ms: i64) -> Signal {
    Signal::line(line(at_ms, &ending.upstream, Some(&ending.session), LineWhat::SessionEnd))
}

fn line(at_ms: i64, upstream: &Arc<str>, session: Option<&Arc<str>>, what: LineWhat) -> Line {
    Line {
        ts: iso(at_ms),
        what,
        session: session.cloned().unwrap_or_default(),
        upstream: Arc::clone(upstream),
        csp_applied: false,
    }
}

/// `2026-04-02T10:15:30.142Z`.
pub(crate) fn iso(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    format!("{time:.3}")
}
