//! The bus: carries completed exchanges to the sinks.
//!
//! Two stages, each behind a bounded queue: one thread turns exchanges into signals, and each sink consumes
//! signals on its own thread. Producers never wait: what doesn't fit into a queue is dropped and counted.
//! Turning an exchange into signals on the worker that served it would be simpler, but would take the time
//! from other connections; a single thread also keeps all sessions and lists in one place without locks.

mod heartbeat;

pub use heartbeat::{HeartbeatOptions, ListenerHealth};

use crate::event::{EventIds, SinkStatus};
use crate::observe::{Observer, ObserverOptions, now_ms};
use crate::queue::{Queue, QueueLimits, TakeResult};
use crate::sink::{Signal, SignalBody, Sink, SinkError};
use crate::transaction::{Streamed, Transaction, TransactionSink, Violation};
use heartbeat::Heartbeat;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wiretape_trace::format::Moment;

/// The queue of exchanges waiting for the observer: 0.8 s of traffic at 20,000 exchanges a second. The weight
/// keeps large messages from taking more than 16 MiB; `gather` bounds the wake-ups, see [`Queue`].
const EXCHANGES: QueueLimits =
    QueueLimits { items: 16 * 1024, weight: 16 * 1024 * 1024, gather: Duration::from_millis(5) };
/// The queue of signals waiting for one sink.
const SIGNALS: QueueLimits =
    QueueLimits { items: 16 * 1024, weight: 16 * 1024 * 1024, gather: Duration::from_millis(5) };

/// The number of signals that the observer hands to the sinks at once. Many, as each hand-over takes the lock of every
/// sink's queue; not all of a burst of exchanges, which may make more than a queue has room for.
const HANDED_OVER_AT_ONCE: usize = 256;

/// Sinks may take this long to finish at shutdown before the user is asked to wait; most take a few
/// milliseconds, and a message that disappears at once would only be noise.
const QUIET_WAIT: Duration = Duration::from_millis(300);

/// Called with the errors of a sink (its name comes first), and with those of the bus itself.
pub type Report = Arc<dyn Fn(&str, &SinkError) + Send + Sync>;

/// The configuration of a [`Bus`].
pub struct BusOptions {
    /// Configures the observer: which signals are made from exchanges.
    pub observer: ObserverOptions,
    /// The sinks, each of which gets its own queue and thread.
    pub sinks: Vec<Box<dyn Sink>>,
    /// Called when a sink fails or drops signals, from the sink's thread.
    pub report: Report,
    /// How long [`close`](Bus::close) waits for the sinks to finish.
    pub patience: Duration,
}

/// Hands what a proxy reports to the sinks, without ever blocking the proxy.
pub struct Bus {
    shared: Arc<Shared>,
    observing: Mutex<Option<JoinHandle<()>>>,
    sinking: Mutex<Vec<JoinHandle<()>>>,
    heartbeat: Mutex<Option<Heartbeat>>,
    patience: Duration,
}

#[expect(clippy::large_enum_variant, reason = "nearly all of them are the large one")]
enum Input {
    Transaction(Transaction),
    Streamed(Streamed),
    Violation(Violation),
}

struct Shared {
    inputs: Queue<Vec<Input>>,
    /// Exchanges that were dropped because the queue was full.
    unseen: AtomicU64,
    // The counters are independent statistics that order nothing, so `Relaxed` is enough for all of them.
    seen: AtomicU64,
    outlets: Vec<Outlet>,
    report: Report,
    started: Instant,
    ids: Arc<EventIds>,
}

/// One sink, as seen by the threads that feed it.
struct Outlet {
    name: String,
    signals: Arc<Queue<Vec<Arc<Signal>>>>,
    taken: AtomicU64,
    dropped: AtomicU64,
    /// Signals the sink has accepted but not completed: buffered rows, events in a spool.
    held: AtomicU64,
    /// How many dropped signals the user already knows about. 0 means no warning was printed yet.
    reported: AtomicU64,
}

impl Bus {
    /// Starts the observer's thread and one thread per sink.
    pub fn start(options: BusOptions) -> std::io::Result<Self> {
        let outlets = options.sinks.iter().map(|sink| Outlet::new(sink.name())).collect();
        let shared = Arc::new(Shared {
            inputs: Queue::new(EXCHANGES),
            unseen: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            outlets,
            report: options.report,
            started: Instant::now(),
            ids: Arc::clone(&options.observer.ids),
        });
        let mut sinking = Vec::new();
        for (at, sink) in options.sinks.into_iter().enumerate() {
            let shared = Arc::clone(&shared);
            let name = format!("wiretape-{}", sink.name());
            sinking.push(spawn(name, move || shared.run_sink(at, sink))?);
        }
        let observer = Observer::new(options.observer);
        let mine = Arc::clone(&shared);
        let observing = spawn("wiretape-events".to_owned(), move || mine.observe(observer))?;
        Ok(Bus {
            shared,
            observing: Mutex::new(Some(observing)),
            sinking: Mutex::new(sinking),
            heartbeat: Mutex::default(),
            patience: options.patience,
        })
    }

    /// Starts a thread that sends a heartbeat to every sink at a fixed interval.
    pub fn beat(&self, options: HeartbeatOptions) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let heartbeat = Heartbeat::start(options, move |listeners| shared.beat(listeners))?;
        *self.heartbeat.lock() = Some(heartbeat);
        Ok(())
    }

    /// Drains the queues and finishes the sinks. Returns the final status of each; what a sink did not
    /// complete within [`BusOptions::patience`] is still counted as queued. If it takes noticeable time,
    /// `on_wait` is called once with the names of the sinks that are still busy.
    pub fn close(&self, on_wait: impl FnOnce(&[&str])) -> Vec<SinkStatus> {
        // In the order of the flow: no more heartbeats, then no more exchanges, then, once the observer has
        // emitted its last signals, no more signals. Any other order would lose what is between two stages.
        drop(self.heartbeat.lock().take());
        self.shared.inputs.close();
        if let Some(observing) = self.observing.lock().take() {
            // A panicked observer has nothing left to emit; the sinks still have to write what they have.
            let _ = observing.join();
        }
        for outlet in &self.shared.outlets {
            outlet.signals.close();
        }
        let sinking = std::mem::take(&mut *self.sinking.lock());
        let deadline = Instant::now() + self.patience;
        if !wait_for(&sinking, deadline.min(Instant::now() + QUIET_WAIT)) {
            let names = self.shared.outlets.iter().zip(&sinking);
            let busy =
                names.filter(|(_, thread)| !thread.is_finished()).map(|(outlet, _)| outlet.name.as_str());
            on_wait(&busy.collect::<Vec<_>>());
            wait_for(&sinking, deadline);
        }
        self.status()
    }
}

/// Whether all threads finished by the deadline. The standard library has no join with a timeout, so this
/// polls; a millisecond doesn't matter while the program exits.
fn wait_for(threads: &[JoinHandle<()>], deadline: Instant) -> bool {
    loop {
        let done = threads.iter().all(JoinHandle::is_finished);
        if done || Instant::now() >= deadline {
            return done;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl TransactionSink for Bus {
    fn finished(&self, transaction: Transaction) {
        let weight = weight(&transaction);
        self.shared.offer(Input::Transaction(transaction), weight);
    }

    fn streamed(&self, answer: Streamed) {
        let weight = answer.message.len();
        self.shared.offer(Input::Streamed(answer), weight);
    }

    fn violated(&self, violation: Violation) {
        let weight = violation.blocked_uri.len() + violation.directive.len();
        self.shared.offer(Input::Violation(violation), weight);
    }

    fn status(&self) -> Vec<SinkStatus> {
        self.shared.status()
    }
}

impl Shared {
    fn offer(&self, input: Input, weight: usize) {
        if !self.inputs.offer(input, weight) {
            self.unseen.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn observe(&self, mut observer: Observer) {
        let mut inputs = Vec::new();
        loop {
            let next_look =
                observer.next_look().and_then(|us| self.started.checked_add(Duration::from_micros(us)));
            let taken = self.inputs.take(&mut inputs, next_look);
            let mut signals = Vec::new();
            for input in inputs.drain(..) {
                observer.at(self.now());
                match input {
                    Input::Transaction(transaction) => {
                        self.seen.fetch_add(1, Ordering::Relaxed);
                        observer.transaction(transaction, &mut signals);
                    }
                    Input::Streamed(answer) => observer.streamed(answer, &mut signals),
                    Input::Violation(violation) => observer.violation(violation, &mut signals),
                }
                if signals.len() >= HANDED_OVER_AT_ONCE {
                    self.emit(std::mem::take(&mut signals));
                }
            }
            observer.at(self.now());
            match taken {
                TakeResult::Closed => observer.finish(&mut signals),
                TakeResult::Items | TakeResult::Nothing => observer.look(&mut signals),
            }
            self.emit(signals);
            if taken == TakeResult::Closed {
                // Signals are emitted after `finish`, which may still produce some.
                return;
            }
        }
    }

    /// The time since the bus was started, for the observer.
    fn now(&self) -> Moment {
        let us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        Moment { wall_ms: now_ms(), us }
    }

    fn beat(&self, listeners: Vec<ListenerHealth>) {
        let status = self.status();
        let (requests, uptime) = (self.seen.load(Ordering::Relaxed), self.started.elapsed());
        let signals =
            listeners.into_iter().map(|health| health.signal(requests, uptime, status.clone(), &self.ids));
        self.emit(signals.collect());
    }

    fn emit(&self, signals: Vec<Signal>) {
        if signals.is_empty() {
            return;
        }
        // One allocation shared by all sinks; the JSON inside is also serialized only once.
        let weigh = |signal: Signal| (signal_weight(&signal), Arc::new(signal));
        let signals: Vec<(usize, Arc<Signal>)> = signals.into_iter().map(weigh).collect();
        for outlet in &self.outlets {
            let shared = signals.iter().map(|(weight, signal)| (Arc::clone(signal), *weight));
            let dropped = outlet.signals.offer_all(shared);
            outlet.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    fn run_sink(&self, at: usize, mut sink: Box<dyn Sink>) {
        let outlet = &self.outlets[at];
        let mut signals = Vec::new();
        loop {
            let deadline = sink.wake_in().map(|time| Instant::now() + time);
            let result = match outlet.signals.take(&mut signals, deadline) {
                TakeResult::Items => {
                    let result = sink.take(&signals);
                    // Not before: what counts as taken survives a kill, if the sink writes to disk.
                    outlet.taken.fetch_add(signals.len() as u64, Ordering::Relaxed);
                    result
                }
                TakeResult::Nothing => sink.wake(),
                TakeResult::Closed => {
                    self.record_result(outlet, sink.finish());
                    // `finish` has reported what it couldn't complete, or that it is kept for the next start:
                    // nothing is in flight any more.
                    outlet.held.store(0, Ordering::Relaxed);
                    return;
                }
            };
            signals.clear();
            outlet.held.store(sink.held(), Ordering::Relaxed);
            self.record_result(outlet, result);
            self.report_drops(outlet);
        }
    }

    fn record_result(&self, outlet: &Outlet, result: Result<(), SinkError>) {
        if let Err(error) = result {
            // Both counters, because the sink itself reports these losses: without the second, `report_drops`
            // would announce them once more.
            outlet.dropped.fetch_add(error.lost, Ordering::Relaxed);
            outlet.reported.fetch_add(error.lost, Ordering::Relaxed);
            (self.report)(&outlet.name, &error);
        }
    }

    /// Warns once, the first time that a sink can't keep up. The total is reported at shutdown, and in
    /// `/status`.
    fn report_drops(&self, outlet: &Outlet) {
        // `fetch_max` and not a flag: it also marks the drops as known, so that one atomic answers whether
        // this is the first warning.
        let dropped = outlet.dropped.load(Ordering::Relaxed);
        if dropped > 0 && outlet.reported.fetch_max(dropped, Ordering::Relaxed) == 0 {
            let message =
                "can't keep up: events are being dropped; /status and the shutdown report have the count"
                    .to_owned();
            (self.report)(&outlet.name, &SinkError { message, lost: 0 });
        }
    }

    fn status(&self) -> Vec<SinkStatus> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let bus = SinkStatus {
            name: "bus".to_owned(),
            taken: count(&self.seen),
            queued: self.inputs.len() as u64,
            dropped: count(&self.unseen),
        };
        let outlets = self.outlets.iter().map(|outlet| SinkStatus {
            name: outlet.name.clone(),
            taken: count(&outlet.taken),
            queued: outlet.signals.len() as u64 + count(&outlet.held),
            dropped: count(&outlet.dropped),
        });
        std::iter::once(bus).chain(outlets).collect()
    }
}

impl Outlet {
    fn new(name: &str) -> Self {
        Outlet {
            name: name.to_owned(),
            signals: Arc::new(Queue::new(SIGNALS)),
            taken: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            held: AtomicU64::new(0),
            reported: AtomicU64::new(0),
        }
    }
}

/// About how many bytes an exchange keeps allocated: its messages, and 1 KiB for the rest.
fn weight(transaction: &Transaction) -> usize {
    let length = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
    1024 + length(&transaction.request) + length(&transaction.response)
}

fn signal_weight(signal: &Signal) -> usize {
    match &signal.what {
        SignalBody::Event(event) => 1024 + event.weight(),
        SignalBody::Line(_) => 512,
    }
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(run)
}
