//! Turns completed exchanges into signals.
//!
//! This is where meaning is added: which session an exchange belongs to, whether a list has changed, how a
//! request ended. It is driven by values only (exchanges and a clock), so the same code serves the proxy and
//! the loading of recorded traces. Threads and queues are left to the bus.

mod clock;
mod late;
mod program;
mod project;
mod request;
mod session;
mod snapshot;
mod subject;
mod widget;

pub(crate) use clock::now_ms;
pub(crate) use program::stateless_client;
pub(crate) use request::Verdict;
pub use snapshot::{Change, Snapshot, Snapshots};
pub(crate) use subject::{subject, subject_of};

use crate::event::{Event, EventId, EventIds, SchemaEvent, SessionEvent, VERSION};
use crate::line::{Line, LineWhat};
use crate::sink::Signal;
use crate::transaction::{Streamed, Transaction, Violation};
use clock::micros;
use late::LateAnswers;
use request::Observed;
use session::{Ending, Sessions};
use std::sync::Arc;
use std::time::Duration;
use wiretape_trace::format::Moment;

/// The configuration of an [`Observer`].
pub struct ObserverOptions {
    /// Whether a sink wants the lines of `--events`. The ends of sessions are emitted in any case, because
    /// they have no event.
    pub lines: bool,
    /// A session counts as ended after this much time without an exchange.
    pub session_idle: Duration,
    /// The last known lists of the servers, so that a change while no proxy was running is noticed.
    pub snapshots: Vec<Snapshot>,
    /// The source of event ids, shared with the heartbeat.
    pub ids: Arc<EventIds>,
}

/// Turns exchanges into signals. It remembers a bounded number of sessions, lists and unanswered requests.
pub struct Observer {
    lines: bool,
    ids: Arc<EventIds>,
    sessions: Sessions,
    snapshots: Snapshots,
    late: LateAnswers,
    session_idle: Duration,
    now: Moment,
}

impl Observer {
    /// An observer that knows only the snapshots it is given.
    pub fn new(options: ObserverOptions) -> Self {
        Observer {
            lines: options.lines,
            ids: options.ids,
            sessions: Sessions::new(options.session_idle),
            snapshots: Snapshots::new(options.snapshots),
            late: LateAnswers::default(),
            session_idle: options.session_idle,
            now: Moment::default(),
        }
    }

    /// An observer for a recording: sessions without a name are named after `name`, so that loading the same
    /// trace twice yields the same sessions.
    pub(crate) fn of_recording(options: ObserverOptions, name: &str) -> Self {
        let mut observer = Observer::new(options);
        observer.sessions.name_after(name);
        observer
    }

    /// Sets the time of what follows: the machine's in a running proxy, the lines' in a recording. Decides
    /// only what has expired, so it may count from another origin than the exchanges.
    pub fn at(&mut self, now: Moment) {
        self.now = now;
    }

    /// When [`look`](Observer::look) has to be called at the latest, in microseconds of the clock that
    /// [`at`](Observer::at) sets; `None` if nothing can expire.
    pub fn next_look(&self) -> Option<u64> {
        let late = self.late.pause(self.session_idle).map(|pause| self.now.us.saturating_add(micros(pause)));
        self.sessions.next_look().into_iter().chain(late).min()
    }

    /// Observes a completed exchange.
    pub fn transaction(&mut self, transaction: Transaction, signals: &mut Vec<Signal>) {
        let observed = Observed::of(transaction);
        let sent = observed.sent_at();
        for (id, outcome) in observed.cancels().collect::<Vec<_>>() {
            let session = observed.transaction.session_name().unwrap_or_default();
            let upstream = &observed.transaction.upstream;
            if let Some(cancelled) = self.late.cancel(upstream, &session, &id, (outcome, sent)) {
                self.emit(cancelled, signals);
            }
        }
        // The answers of an HTTP+SSE session arrive on its GET stream. When that stream has ended, they can't
        // arrive any more.
        if observed.is_stream()
            && let Some(session) = observed.transaction.session_name()
        {
            for abandoned in self.late.take_of_closed_stream(&observed.transaction.upstream, &session) {
                self.emit(abandoned, signals);
            }
        }
        if let Some(whole) = self.late.hold(observed, self.now.us) {
            self.emit(whole, signals);
        }
    }

    /// Observes an answer that arrived on a stream opened by a GET.
    pub fn streamed(&mut self, answer: Streamed, signals: &mut Vec<Signal>) {
        if let Some(whole) = self.late.answer(answer, self.now.us) {
            self.emit(whole, signals);
        }
    }

    fn emit(&mut self, mut observed: Observed, signals: &mut Vec<Signal>) {
        let visit = self.sessions.visit(&observed, self.now.us);
        observed.session = visit.session.as_ref().map(|session| Arc::clone(&session.id));
        if let Some(session) = &visit.session {
            observed.learn_version(session.protocol_version.as_ref());
            if let Some((outcome, sent)) = self.sessions.take_cancelled(session, &observed) {
                observed.mark_cancelled(outcome, sent);
            }
        }
        let ended_ms = observed.transaction.ended_ms();
        let mut ended = visit.ended;
        if let Some(began) = visit.began {
            // A session that is replaced by a new `initialize` ends before the new one begins.
            signals.extend(ended.take().map(|ending| end_line(&ending, ended_ms)));
            signals.push(self.session_event(&observed, began));
            let (upstream, session) = (&observed.transaction.upstream, observed.session.as_ref());
            signals.push(Signal::line(line(ended_ms, upstream, session, LineWhat::SessionStart)));
        }
        // The order is part of the contract: a session begins before its requests, changes come before the request that revealed them, and the session ends last.
        self.emit_changes(&observed, signals);
        if self.lines {
            self.emit_lines(&observed, signals);
        }
        let id = self.request_id(&observed.transaction);
        signals.push(Signal::event(Event::Request(Box::new(observed.into_event(id)))));
        signals.extend(ended.map(|ending| end_line(&ending, ended_ms)));
    }

    /// The id of the event about an exchange. If it is recorded, loading its trace yields the same.
    fn request_id(&self, transaction: &Transaction) -> EventId {
        let of_trace = |trace: &Arc<str>| EventId::of_exchange(trace, transaction.x);
        transaction.trace.as_ref().map_or_else(|| self.ids.next(), of_trace)
    }

    /// Observes a policy violation that a browser reported.
    pub fn violation(&mut self, violation: Violation, signals: &mut Vec<Signal>) {
        let Violation { blocked_uri, directive, session, upstream } = violation;
        let session = session.map(Arc::from);
        let what = LineWhat::CspViolation { blocked_uri, directive };
        let mut line = line(self.now.wall_ms, &upstream, session.as_ref(), what);
        line.csp_applied = true;
        signals.push(Signal::line(line));
    }

    /// Ends sessions that were idle for too long, and gives up on answers that won't arrive. To be called
    /// when no exchange does it.
    pub fn look(&mut self, signals: &mut Vec<Signal>) {
        let now = self.now;
        for unanswered in self.late.give_up(self.session_idle, now.us) {
            self.emit(unanswered, signals);
        }
        for ending in self.sessions.end_silent(now.us) {
            signals.push(end_line(&ending, now.wall_ms));
        }
    }

    /// Ends everything: no more exchanges will follow.
    pub fn finish(&mut self, signals: &mut Vec<Signal>) {
        self.give_up(signals);
        let now = self.now.wall_ms;
        for ending in self.sessions.end_all() {
            signals.push(end_line(&ending, now));
        }
    }

    /// Gives up on all pending answers. Sessions stay open, because a recording may continue in another file.
    pub(crate) fn give_up(&mut self, signals: &mut Vec<Signal>) {
        for unanswered in self.late.give_up(Duration::ZERO, self.now.us) {
            self.emit(unanswered, signals);
        }
    }

    fn session_event(&self, observed: &Observed, began: session::Introductions) -> Signal {
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
            listener: transaction.listener.clone().unwrap_or_default(),
            trace: transaction.trace.clone(),
        }))
    }

    fn emit_changes(&mut self, observed: &Observed, signals: &mut Vec<Signal>) {
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

    fn emit_lines(&self, observed: &Observed, signals: &mut Vec<Signal>) {
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
        // A page or widget that was served, as opposed to a redirect or an error page.
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

/// Formats milliseconds since 1970 as `2026-04-02T10:15:30.142Z`.
pub(crate) fn iso(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    format!("{time:.3}")
}
