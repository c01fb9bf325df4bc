//! What recording needs and all exchanges of a proxy share: the clock, redaction, the traces, the sink, the counters.

use super::body_budget::BodyBudget;
use super::counters::Counters;
use super::exchange::Redaction;
use super::redaction::stable_name;
use super::streams::AwaitedAnswers;
use super::traces::{SessionTrace, SessionTraces};
use crate::http::options::ProxyOptions;
use crate::journal::Clock;
use crate::warning::{Warn, Warning};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wiretape_events::TransactionSink;
use wiretape_trace::redact::{Redactor, SecretMemory};

/// Records the exchanges of one proxy.
pub(crate) struct Recorder {
    pub(crate) clock: Clock,
    pub(crate) redactor: Option<Redactor>,
    /// Values that clients and servers have named as secrets. Shared by all sessions: a secret in one is a secret in
    /// every other.
    pub(crate) memory: SecretMemory,
    pub(crate) sink: Option<Arc<dyn TransactionSink>>,
    pub(crate) traces: Option<SessionTraces>,
    pub(crate) awaited: AwaitedAnswers,
    pub(crate) counters: Counters,
    pub(crate) bodies: Arc<BodyBudget>,
    /// The limit of a body in bytes (`--max-body`), also for what it decompresses to.
    pub(crate) max_body: u64,
    stopping: AtomicBool,
    warn: Warn,
    warned: Mutex<HashSet<String>>,
}

impl Recorder {
    /// A recorder with these options. Takes those that it alone needs out of them.
    pub(crate) fn new(options: &mut ProxyOptions) -> Self {
        let clock = Clock::start();
        let warn = Arc::clone(&options.warn);
        let redactor = options.redactor.take();
        let journal = options.traces.take();
        let traces = journal.map(|journal| {
            SessionTraces::new(
                journal,
                clock,
                redactor.is_some(),
                at_most_once_a_minute(Arc::clone(&warn), clock),
            )
        });
        Recorder {
            clock,
            redactor,
            memory: SecretMemory::default(),
            sink: options.sink.take(),
            traces,
            awaited: AwaitedAnswers::default(),
            counters: Counters::default(),
            bodies: BodyBudget::new(options.limits.body),
            max_body: options.limits.body,
            stopping: AtomicBool::new(false),
            warn,
            warned: Mutex::default(),
        }
    }

    /// Whether exchanges that end from now on were cut off by the proxy.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// From here on, exchanges that are dropped were cut off by us, not by their clients.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// The number of requests without a response, also of those whose responses arrive on another stream.
    pub(crate) fn pending_requests(&self) -> usize {
        self.counters.exchanges.requests_in_flight() + self.awaited.len()
    }

    /// How to redact what is recorded; `None` if nothing is redacted.
    pub(crate) fn redaction(&self) -> Option<Redaction<'_>> {
        self.redactor.as_ref().map(|redactor| Redaction { redactor, memory: &self.memory })
    }

    /// Redacts a name, for the trace and the sinks. The result is always the same.
    pub(crate) fn clean_name(&self, name: &str) -> String {
        stable_name(self.redaction(), name)
    }

    /// Warns, unless the same text was reported before.
    pub(crate) fn warn_once(&self, warning: Warning) {
        // Texts contain host names from clients: without a limit they could grow this set for ever.
        const MAX: usize = 1000;
        let mut warned = self.warned.lock();
        if warned.len() < MAX && warned.insert(warning.to_string()) {
            // Before the callback, which may be slow or warn again.
            drop(warned);
            (self.warn)(warning);
        }
    }

    pub(crate) fn end_trace(&self, trace: &Arc<SessionTrace>, reason: &'static str) {
        if let Some(traces) = &self.traces {
            traces.end(trace, reason);
        }
    }

    pub(crate) fn release_trace(&self, trace: &Arc<SessionTrace>) {
        if let Some(traces) = &self.traces {
            traces.release(trace);
        }
    }
}

/// Limits warnings to one a minute: every session's trace reports a full disk, and they all mean the same.
fn at_most_once_a_minute(warn: Warn, clock: Clock) -> Warn {
    const MINUTE_US: u64 = 60_000_000;
    let next = AtomicU64::new(0);
    Arc::new(move |warning: Warning| {
        let now = clock.now().us;
        if now >= next.load(Ordering::Relaxed) {
            next.store(now + MINUTE_US, Ordering::Relaxed);
            warn(warning);
        }
    })
}
