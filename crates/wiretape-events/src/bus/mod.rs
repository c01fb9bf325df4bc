//! The bus: from exchanges that have ended to the sinks.
//!
//! Two steps, each behind a bounded queue: one thread turns exchanges into signals, and every sink has a thread of its own that
//! takes them. Whoever hands something over never waits: where there is no room it is dropped, and counted.

mod heartbeat;
mod queue;

pub use heartbeat::{Heart, Pulse};

use crate::event::{EventIds, SinkStatus};
use crate::observe::{Observer, ObserverOptions};
use crate::sink::{Signal, Sink, SinkError, What};
use crate::transaction::{Streamed, Transaction, TransactionSink, Violation};
use heartbeat::Heartbeat;
use queue::{Queue, QueueLimits, Taken};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Exchanges that wait to be looked at.
const EXCHANGES: QueueLimits =
    QueueLimits { items: 16 * 1024, weight: 16 * 1024 * 1024, gather: Duration::from_millis(5) };
/// Signals that wait for a sink.
const SIGNALS: QueueLimits =
    QueueLimits { items: 16 * 1024, weight: 16 * 1024 * 1024, gather: Duration::from_millis(5) };

/// Sinks may take this long at the end before the user is asked to wait for them.
const UNNOTICED: Duration = Duration::from_millis(300);

/// Called with the trouble of a sink, and with that of the bus itself.
pub type Report = Arc<dyn Fn(&str, &SinkError) + Send + Sync>;

/// What a bus does.
pub struct BusOptions {
    /// What is told, and how.
    pub observer: ObserverOptions,
    /// Where it goes.
    pub sinks: Vec<Box<dyn Sink>>,
    /// Told when a sink has trouble.
    pub report: Report,
    /// How long sinks may take, at the end, for what is still to be done.
    pub patience: Duration,
}

/// Carries what a proxy tells to the sinks.
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
    inputs: Queue<Input>,
    /// Exchanges for which there was no room.
    unseen: AtomicU64,
    seen: AtomicU64,
    outlets: Vec<Outlet>,
    report: Report,
    started: Instant,
    ids: Arc<EventIds>,
}

/// A sink, from outside.
struct Outlet {
    name: String,
    signals: Arc<Queue<Arc<Signal>>>,
    taken: AtomicU64,
    dropped: AtomicU64,
    /// What the sink has not brought to its end yet.
    held: AtomicU64,
    /// The user knows that it can't follow.
    told: AtomicU64,
}

impl Bus {
    /// Starts the threads.
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

    /// Begins to tell, now and then, how the proxy is.
    pub fn beat(&self, pulse: Pulse) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let heartbeat = Heartbeat::start(pulse, move |hearts| shared.beat(hearts))?;
        *lock(&self.heartbeat) = Some(heartbeat);
        Ok(())
    }

    /// Lets everything that was handed over reach its sinks, and ends the sinks. Returns how they ended; what a sink did not
    /// get done in time counts as dropped. If that takes a while, `on_wait` is called once with the names of the sinks that
    /// are not done.
    pub fn close(&self, on_wait: impl FnOnce(&[&str])) -> Vec<SinkStatus> {
        drop(lock(&self.heartbeat).take());
        self.shared.inputs.close();
        if let Some(observing) = lock(&self.observing).take() {
            // A thread that panicked has nothing more to say.
            let _ = observing.join();
        }
        for outlet in &self.shared.outlets {
            outlet.signals.close();
        }
        let sinking = std::mem::take(&mut *lock(&self.sinking));
        let deadline = Instant::now() + self.patience;
        if !wait_for(&sinking, deadline.min(Instant::now() + UNNOTICED)) {
            let names = self.shared.outlets.iter().zip(&sinking);
            let busy =
                names.filter(|(_, thread)| !thread.is_finished()).map(|(outlet, _)| outlet.name.as_str());
            on_wait(&busy.collect::<Vec<_>>());
            wait_for(&sinking, deadline);
        }
        self.status()
    }
}

/// Whether all threads have finished by then. There is no join with a deadline; at the end of a program a millisecond is
/// no matter.
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
        self.shared.give(Input::Transaction(transaction), weight);
    }

    fn streamed(&self, answer: Streamed) {
        let weight = answer.message.len();
        self.shared.give(Input::Streamed(answer), weight);
    }

    fn violated(&self, violation: Violation) {
        let weight = violation.blocked_uri.len() + violation.directive.len();
        self.shared.give(Input::Violation(violation), weight);
    }

    fn status(&self) -> Vec<SinkStatus> {
        self.shared.status()
    }
}

impl Shared {
    fn give(&self, input: Input, weight: usize) {
        if !self.inputs.give(input, weight) {
            self.unseen.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn observe(&self, mut observer: Observer) {
        let mut inputs = Vec::new();
        loop {
            let taken = self.inputs.take(&mut inputs, observer.next_look());
            let mut signals = Vec::new();
            for input in inputs.drain(..) {
                match input {
                    Input::Transaction(transaction) => {
                        self.seen.fetch_add(1, Ordering::Relaxed);
                        observer.transaction(transaction, &mut signals);
                    }
                    Input::Streamed(answer) => observer.streamed(answer, &mut signals),
                    Input::Violation(violation) => observer.violation(violation, &mut signals),
                }
            }
            match taken {
                Taken::Closed => observer.finish(&mut signals),
                Taken::Items | Taken::Nothing => observer.look(&mut signals),
            }
            self.tell(signals);
            if taken == Taken::Closed {
                return;
            }
        }
    }

    fn beat(&self, hearts: Vec<Heart>) {
        let status = self.status();
        let (requests, uptime) = (self.seen.load(Ordering::Relaxed), self.started.elapsed());
        let signals =
            hearts.into_iter().map(|heart| heart.signal(requests, uptime, status.clone(), &self.ids));
        self.tell(signals.collect());
    }

    fn tell(&self, signals: Vec<Signal>) {
        for signal in signals {
            let weight = signal_weight(&signal);
            let signal = Arc::new(signal);
            for outlet in &self.outlets {
                if !outlet.signals.give(Arc::clone(&signal), weight) {
                    outlet.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn run_sink(&self, at: usize, mut sink: Box<dyn Sink>) {
        let outlet = &self.outlets[at];
        let mut signals = Vec::new();
        loop {
            let deadline = sink.wake_in().map(|time| Instant::now() + time);
            let result = match outlet.signals.take(&mut signals, deadline) {
                Taken::Items => {
                    outlet.taken.fetch_add(signals.len() as u64, Ordering::Relaxed);
                    sink.take(&signals)
                }
                Taken::Nothing => sink.wake(),
                Taken::Closed => {
                    self.note(outlet, sink.finish());
                    // What it could not finish by now, it has told.
                    outlet.held.store(0, Ordering::Relaxed);
                    return;
                }
            };
            signals.clear();
            outlet.held.store(sink.held(), Ordering::Relaxed);
            self.note(outlet, result);
            self.tell_of_drops(outlet);
        }
    }

    fn note(&self, outlet: &Outlet, result: Result<(), SinkError>) {
        if let Err(error) = result {
            outlet.dropped.fetch_add(error.lost, Ordering::Relaxed);
            outlet.told.fetch_add(error.lost, Ordering::Relaxed);
            (self.report)(&outlet.name, &error);
        }
    }

    /// The first time that a sink can't follow, the user is told; how much it was is told at the end.
    fn tell_of_drops(&self, outlet: &Outlet) {
        let dropped = outlet.dropped.load(Ordering::Relaxed);
        if dropped > 0 && outlet.told.fetch_max(dropped, Ordering::Relaxed) == 0 {
            let message =
                "can't follow: events are dropped, and counted (see /status, and the end)".to_owned();
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
            told: AtomicU64::new(0),
        }
    }
}

/// About how many bytes an exchange keeps from being freed.
fn weight(transaction: &Transaction) -> usize {
    let length = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
    1024 + length(&transaction.request) + length(&transaction.response)
}

fn signal_weight(signal: &Signal) -> usize {
    match &signal.what {
        What::Event(event) => 1024 + event.weight(),
        What::Line(_) => 512,
    }
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(run)
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
