//! Which trace a session's lines go to: one file per session, or per client connection where there are no sessions.
//!
//! A trace is found by name (a session id, or the endpoint of HTTP+SSE) and held by each exchange that may still
//! write to it. Holding is a counter and not the `Arc` itself, because the `end` line has to be written at a definite
//! moment: when the session is over and its last exchange has written its last line.

use crate::journal::{Clock, Journal, JournalOptions, Observation};
use crate::warning::Warn;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use wiretape_trace::format::{LineEnd, Meta, Moment, Producer};
use wiretape_trace::name;

/// The limit of open traces; above it the longest idle ones are closed. Each holds a file open, and 1024 is a common limit of
/// descriptors.
const MAX_OPEN: usize = 800;

/// How many traces clients on other machines may begin at once, and how many a second afterwards. Each is a file, made by a
/// connection or a made-up session id; without a limit, anyone who can reach the proxy could use up the disk's inodes.
const REMOTE_BURST: u64 = 1000;
const REMOTE_INTERVAL_US: u64 = 1_000_000;

/// All traces that are being written.
pub(crate) struct SessionTraces {
    options: JournalOptions,
    clock: Clock,
    redacted: bool,
    warn: Warn,
    open: Mutex<OpenTraces>,
    /// Held while a trace with a name is begun, so that two workers can't begin two traces for one session.
    naming: Mutex<()>,
    /// Of all traces together.
    counts: Arc<LineCounts>,
    /// When the traces that clients on other machines have begun are paid for, in microseconds since the start.
    remote_paid_us: AtomicU64,
}

/// What was written to traces, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    pub(crate) written: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) lost: AtomicU64,
    /// Traces that were not begun, because clients on other machines began too many.
    pub(crate) refused: AtomicU64,
}

#[derive(Default)]
struct OpenTraces {
    next_number: u64,
    by_number: BTreeMap<u64, Arc<SessionTrace>>,
    by_name: BTreeMap<String, Arc<SessionTrace>>,
}

/// The trace of one session.
pub(crate) struct SessionTrace {
    number: u64,
    id: Arc<str>,
    clock: Clock,
    journal: Mutex<Journal>,
    counts: Arc<LineCounts>,
    session: OnceLock<String>,
    activity_us: AtomicU64,
    lifecycle: Mutex<Lifecycle>,
}

/// Whether a trace may end: not before the last exchange has written its last line.
#[derive(Default)]
struct Lifecycle {
    /// Exchanges that may still write.
    in_flight: usize,
    /// The reason to end once nothing is in flight.
    ending: Option<&'static str>,
    /// Whether the `end` line was written; nothing may follow it.
    ended: bool,
}

impl Lifecycle {
    /// Marks the trace as ended if it is to end and nothing is in flight. Returns the reason.
    fn end_if_idle(&mut self) -> Option<&'static str> {
        let reason = self.ending.filter(|_| self.in_flight == 0 && !self.ended)?;
        self.ended = true;
        Some(reason)
    }
}

impl SessionTraces {
    pub(crate) fn new(options: JournalOptions, clock: Clock, redacted: bool, warn: Warn) -> Self {
        SessionTraces {
            options,
            clock,
            redacted,
            warn,
            open: Mutex::default(),
            naming: Mutex::default(),
            counts: Arc::default(),
            remote_paid_us: AtomicU64::new(0),
        }
    }

    /// Whether a client may begin a trace; counts it if so.
    pub(crate) fn may_begin(&self, client: IpAddr) -> bool {
        if client.to_canonical().is_loopback() {
            return true;
        }
        let now = self.clock.now().us;
        let pay = |paid: u64| {
            let next = paid.max(now) + REMOTE_INTERVAL_US;
            (next <= now + REMOTE_BURST * REMOTE_INTERVAL_US).then_some(next)
        };
        let may = self.remote_paid_us.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok();
        if !may {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Begins a trace of the traffic with `url`, and holds it open for the first exchange.
    pub(crate) fn begin(&self, label: &str, url: &str) -> Arc<SessionTrace> {
        let id = uuid::Uuid::new_v4().to_string();
        let meta = Meta {
            label: name::clean_label(label),
            command: vec![url.to_owned()],
            id: Some(id.clone()),
            producer: Some(Producer {
                name: "wiretape".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            transport: Some("http".to_owned()),
            redacted: Some(self.redacted),
            ..Meta::default()
        };
        // The trace format counts microseconds from the start of each trace, not of the proxy.
        let clock = self.clock.restarted();
        let journal = Journal::begin(self.options.clone(), meta, clock.now(), None, Arc::clone(&self.warn));
        let (lines, bytes) = journal.written();
        self.counts.written.fetch_add(lines, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut traces = self.open.lock();
        traces.next_number += 1;
        let trace = Arc::new(SessionTrace {
            number: traces.next_number,
            id: id.into(),
            clock,
            journal: Mutex::new(journal),
            counts: Arc::clone(&self.counts),
            session: OnceLock::new(),
            activity_us: AtomicU64::new(self.clock.now().us),
            lifecycle: Mutex::new(Lifecycle { in_flight: 1, ..Lifecycle::default() }),
        });
        traces.by_number.insert(trace.number, Arc::clone(&trace));
        let surplus = traces.by_number.len().saturating_sub(MAX_OPEN);
        // Before others are ended, which takes the same lock.
        drop(traces);
        if surplus > 0 {
            self.end_longest_idle(surplus);
        }
        trace
    }

    /// Finds a trace by name, and holds it open for an exchange.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<SessionTrace>> {
        let trace = self.open.lock().by_name.get(name).cloned()?;
        trace.hold().then_some(trace)
    }

    /// Finds a trace by name or begins one, if `begin` does, and holds it open for an exchange.
    pub(crate) fn named_or(
        &self,
        name: String,
        begin: impl FnOnce() -> Option<Arc<SessionTrace>>,
    ) -> Option<Arc<SessionTrace>> {
        self.named(&name).or_else(|| {
            let _naming = self.naming.lock();
            // Again under the lock: another worker may have begun it since the first look.
            self.named(&name).or_else(|| {
                let trace = begin()?;
                self.bind(name, &trace);
                Some(trace)
            })
        })
    }

    /// Gives a trace a name.
    pub(crate) fn bind(&self, name: String, trace: &Arc<SessionTrace>) {
        self.open.lock().by_name.insert(name, Arc::clone(trace));
    }

    /// Ends a trace, now or as soon as nothing is in flight.
    pub(crate) fn end(&self, trace: &Arc<SessionTrace>, reason: &'static str) {
        let mut life = trace.lifecycle.lock();
        life.ending = Some(reason);
        let over = life.end_if_idle();
        drop(life);
        self.finish_if(trace, over);
    }

    /// Releases the hold of an exchange that has written its last line.
    pub(crate) fn release(&self, trace: &Arc<SessionTrace>) {
        trace.activity_us.store(self.clock.now().us, Ordering::Relaxed);
        let mut life = trace.lifecycle.lock();
        life.in_flight -= 1;
        let over = life.end_if_idle();
        drop(life);
        self.finish_if(trace, over);
    }

    fn finish_if(&self, trace: &Arc<SessionTrace>, over: Option<&'static str>) {
        if let Some(reason) = over {
            self.finish(trace, reason);
        }
    }

    /// Ends the traces of sessions that have been idle for this long.
    pub(crate) fn end_idle(&self, idle: Duration) {
        let now = self.clock.now().us;
        let idle = u64::try_from(idle.as_micros()).unwrap_or(u64::MAX);
        let silent = |trace: &Arc<SessionTrace>| now.saturating_sub(trace.last_activity()) >= idle;
        for trace in self.idle_traces().into_iter().filter(silent) {
            self.end(&trace, "the session was idle for too long");
        }
    }

    fn end_longest_idle(&self, count: usize) {
        let mut idle_traces = self.idle_traces();
        idle_traces.sort_by_key(|trace| trace.last_activity());
        for trace in idle_traces.into_iter().take(count) {
            self.end(&trace, "too many sessions were open");
        }
    }

    /// The traces in which nothing is in flight.
    fn idle_traces(&self) -> Vec<Arc<SessionTrace>> {
        let traces = self.open.lock();
        let idle_traces = |trace: &&Arc<SessionTrace>| trace.lifecycle.lock().in_flight == 0;
        traces.by_number.values().filter(idle_traces).cloned().collect()
    }

    /// Ends all open traces, with the reason in their `end`.
    pub(crate) fn end_all(&self, reason: &'static str) {
        let all: Vec<_> = self.open.lock().by_number.values().cloned().collect();
        for trace in all {
            let over = !std::mem::replace(&mut trace.lifecycle.lock().ended, true);
            self.finish_if(&trace, over.then_some(reason));
        }
    }

    fn finish(&self, trace: &Arc<SessionTrace>, reason: &'static str) {
        let mut traces = self.open.lock();
        traces.by_number.remove(&trace.number);
        // Out of the maps before the `end` line, so that no new exchange finds a trace that is being closed.
        traces.by_name.retain(|_, named| named.number != trace.number);
        drop(traces);
        let at = trace.clock.now();
        let end = LineEnd { reason: Some(reason.to_owned()), ..LineEnd::default() };
        trace.write(|journal| journal.end(at, end));
    }

    /// The number of traces that are being written.
    pub(crate) fn open(&self) -> usize {
        self.open.lock().by_number.len()
    }

    /// The number of lines that could not be written so far.
    pub(crate) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// What was written so far.
    pub(crate) fn counts(&self) -> &LineCounts {
        &self.counts
    }
}

impl SessionTrace {
    /// Holds the trace open for an exchange. `false` if it has already ended.
    pub(crate) fn hold(&self) -> bool {
        let mut life = self.lifecycle.lock();
        // Checked and counted under one lock: otherwise a trace could end between the two.
        life.in_flight += usize::from(!life.ended);
        !life.ended
    }

    /// The id in the `meta` line of the first part.
    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The session's id, if it has one.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.get().map(String::as_str)
    }

    /// Sets the session's id, once; later calls are ignored.
    pub(crate) fn set_session(&self, session: &str) {
        let _ = self.session.set(session.to_owned());
    }

    /// A time of the proxy's clock on the trace's.
    pub(crate) fn on_own_clock(&self, at: Moment) -> Moment {
        Moment { us: at.us.saturating_sub(self.clock.origin_us()), ..at }
    }

    /// Writes a line. It has reached the kernel when this returns.
    pub(crate) fn append(&self, at: Moment, observation: Observation<'_>) {
        self.write(|journal| journal.append(at, std::iter::once(observation)));
    }

    /// Runs `write` with the journal, and counts the lines that it loses.
    fn write(&self, write: impl FnOnce(&mut Journal)) {
        let mut journal = self.journal.lock();
        let (lost, (lines, bytes)) = (journal.lost(), journal.written());
        write(&mut journal);
        let lost = journal.lost().saturating_sub(lost);
        let (lines_now, bytes_now) = journal.written();
        self.counts.written.fetch_add(lines_now - lines, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes_now - bytes, Ordering::Relaxed);
        if lost > 0 {
            self.counts.lost.fetch_add(lost, Ordering::Relaxed);
        }
    }

    fn last_activity(&self) -> u64 {
        self.activity_us.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(dir: &std::path::Path) -> SessionTraces {
        let options = JournalOptions { dir: dir.to_owned(), max_bytes: None, max_files: None, tee: None };
        SessionTraces::new(options, Clock::start(), true, Arc::new(|_| {}))
    }

    fn last_line(dir: &std::path::Path) -> String {
        let path = std::fs::read_dir(dir).unwrap().next().unwrap().unwrap().path();
        std::fs::read_to_string(path).unwrap().lines().last().unwrap().to_owned()
    }

    #[test]
    fn a_trace_ends_once_nothing_is_in_flight() {
        let dir = tempfile::tempdir().unwrap();
        let book = book(dir.path());
        let trace = book.begin("x", "http://localhost/");
        book.bind("session".to_owned(), &trace);
        book.end(&trace, "over");
        assert!(last_line(dir.path()).contains("meta"));
        assert!(book.named("session").is_some());
        book.release(&trace);
        assert!(last_line(dir.path()).contains("meta"));
        book.release(&trace);
        assert!(last_line(dir.path()).contains("\"reason\":\"over\""));
        assert!(book.named("session").is_none());
        assert!(!trace.hold());
        assert_eq!(book.open(), 0);
    }

    #[test]
    fn lines_count_as_lost_while_the_trace_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let book = book(&file.join("traces"));
        let trace = book.begin("x", "http://localhost/");
        let text = Observation::Stderr { text: b"x" };
        trace.append(trace.clock.now(), text);
        trace.append(trace.clock.now(), text);
        assert_eq!(book.lost(), 2);
        book.end_all("over");
        assert_eq!(book.lost(), 3, "the last line is lost, too");
    }

    #[test]
    fn clients_on_other_machines_can_not_make_files_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let book = book(dir.path());
        let begun = |client: &str| {
            let client = client.parse().unwrap();
            (0..2 * REMOTE_BURST).filter(|_| book.may_begin(client)).count() as u64
        };
        assert_eq!(begun("127.0.0.1"), 2 * REMOTE_BURST);
        let remote = begun("10.0.0.7");
        assert!((REMOTE_BURST..REMOTE_BURST + 100).contains(&remote), "{remote}");
        assert_eq!(book.counts().refused.load(Ordering::Relaxed), 2 * REMOTE_BURST - remote);
        assert_eq!(begun("::1"), 2 * REMOTE_BURST);
    }

    #[test]
    fn silent_sessions_end_and_busy_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let book = book(dir.path());
        let busy = book.begin("busy", "http://localhost/");
        let silent = book.begin("silent", "http://localhost/");
        book.release(&silent);
        book.end_idle(Duration::ZERO);
        assert_eq!(book.open(), 1);
        book.release(&busy);
        book.end_idle(Duration::from_secs(60));
        assert_eq!(book.open(), 1);
    }

    #[test]
    fn no_more_files_are_open_than_a_process_may_have() {
        let dir = tempfile::tempdir().unwrap();
        let book = book(dir.path());
        let begin = || book.begin("x", "http://localhost/");
        let busy: Vec<_> = (0..MAX_OPEN + 5).map(|_| begin()).collect();
        assert_eq!(book.open(), MAX_OPEN + 5, "traces with an exchange in flight stay");
        busy.iter().for_each(|trace| book.release(trace));
        begin();
        assert_eq!(book.open(), MAX_OPEN);
    }
}
