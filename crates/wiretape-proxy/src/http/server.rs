//! Listeners, worker threads, signals, draining.
//!
//! The main thread accepts and hands each connection to one of the workers, where all of it stays: a worker is one
//! thread with a runtime of its own, so that a client's connection and its upstream's never wake one another across
//! threads.

use super::admin::Admin;
use super::connection::{self, Listener};
use super::csp::Csp;
use super::draining::{AwaitedAnswers, Draining};
use super::exchange::redact_name;
use super::login::Login;
use super::options::{AdminOptions, Limits, ListenerOptions, OAuthRewrite, ProxyOptions, Route};
use super::refusal::Refusal;
use super::traces::{SessionTrace, TraceBook};
use super::upstream::Connector;
use crate::journal::Clock;
use crate::platform;
use crate::warning::{Warn, Warning};
use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use wiretape_events::event::SinkStatus;
use wiretape_events::sink::Exposition;
use wiretape_events::{Ended, TransactionSink};
use wiretape_trace::redact::Redactor;

/// A proxy could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// It can't listen.
    #[error("can't listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system doesn't give what is needed.
    #[error("can't start the proxy")]
    Start(#[source] io::Error),
}

/// Where a listener listens.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The listener.
    pub listener: ListenerOptions,
    /// The address that it got.
    pub address: SocketAddr,
}

/// What a proxy did.
#[derive(Debug, Clone, Default)]
pub struct ProxyOutcome {
    /// Exchanges that have ended.
    pub exchanges: u64,
    /// Exchanges that were cut off because draining took too long.
    pub cut_off: u64,
    /// Lines that could not be written to traces.
    pub lost: u64,
}

/// What everybody in a proxy shares.
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) clock: Clock,
    pub(super) redactor: Option<Redactor>,
    pub(super) sink: Option<Arc<dyn TransactionSink>>,
    pub(super) book: Option<TraceBook>,
    pub(super) connector: Connector,
    pub(super) awaited: AwaitedAnswers,
    warn: Warn,
    warned: Mutex<HashSet<String>>,
    exchanges: AtomicU64,
    /// Exchanges in flight, without streams that outlive requests.
    requests: AtomicUsize,
    cut_off: AtomicU64,
    arrivals: AtomicU64,
    ended: [AtomicU64; Ended::ALL.len()],
    malformed: AtomicU64,
    turned_away: AtomicU64,
    connections: AtomicUsize,
    stopping: AtomicBool,
    drain: watch::Sender<bool>,
}

impl Shared {
    fn new(options: &mut ProxyOptions) -> Self {
        let clock = Clock::start();
        let warn = Arc::clone(&options.warn);
        let redactor = options.redactor.take();
        let journal = options.traces.take();
        let book = journal.map(|journal| {
            TraceBook::new(journal, clock, redactor.is_some(), seldom(Arc::clone(&warn), clock))
        });
        Shared {
            limits: options.limits.clone(),
            clock,
            redactor,
            sink: options.sink.take(),
            book,
            connector: Connector::new(options.limits.connect),
            awaited: AwaitedAnswers::default(),
            warn,
            warned: Mutex::default(),
            exchanges: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            cut_off: AtomicU64::new(0),
            arrivals: AtomicU64::new(0),
            ended: Default::default(),
            malformed: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            drain: watch::Sender::new(false),
        }
    }

    /// The number of the next exchange.
    pub(super) fn next_exchange(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn request_began(&self) {
        self.requests.fetch_add(1, Ordering::AcqRel);
    }

    /// A request has its answer, or turned out to be a stream that nothing waits for.
    pub(super) fn request_ended(&self) {
        self.requests.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn requests_in_flight(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }

    /// An exchange was cut off because draining took too long.
    pub(super) fn count_cut_off(&self) {
        self.cut_off.fetch_add(1, Ordering::Relaxed);
    }

    /// What is still waited for.
    fn waits_for(&self) -> Draining {
        Draining {
            requests: self.requests_in_flight() + self.awaited.len(),
            connections: self.connections.load(Ordering::Acquire),
        }
    }

    /// The number of the next client connection.
    pub(super) fn next_connection(&self) -> u64 {
        self.arrivals.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// An exchange has ended.
    pub(super) fn count(&self, ended: Ended) {
        self.ended[ended as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Something came that was no request.
    pub(super) fn count_malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether what ends now was cut off by us.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Tells when the proxy is about to end.
    pub(super) fn drain(&self) -> watch::Receiver<bool> {
        self.drain.subscribe()
    }

    pub(super) fn is_draining(&self) -> bool {
        *self.drain.borrow()
    }

    /// A name as it may be written.
    pub(super) fn clean_name(&self, name: &str) -> String {
        redact_name(self.redactor.as_ref(), name).into_owned()
    }

    /// Warns, unless the same was said before.
    pub(super) fn warn_once(&self, warning: Warning) {
        const MAX: usize = 1000;
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() < MAX && warned.insert(warning.to_string()) {
            drop(warned);
            (self.warn)(warning);
        }
    }

    pub(super) fn end_trace(&self, trace: &Arc<SessionTrace>, reason: &'static str) {
        if let Some(book) = &self.book {
            book.end(trace, reason);
        }
    }

    pub(super) fn release_trace(&self, trace: &Arc<SessionTrace>) {
        if let Some(book) = &self.book {
            book.release(trace);
        }
    }

    /// The figures, for those who ask.
    pub(super) fn status(&self) -> serde_json::Value {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ended: serde_json::Map<_, _> = Ended::ALL
            .iter()
            .map(|ended| (ended.name().to_owned(), count(&self.ended[*ended as usize]).into()))
            .collect();
        serde_json::json!({
            "connections": self.connections.load(Ordering::Relaxed),
            "connectionsTurnedAway": count(&self.turned_away),
            "exchanges": count(&self.exchanges),
            "ended": ended,
            "malformed": count(&self.malformed),
            "draining": self.is_draining(),
            "traces": {
                "open": self.book.as_ref().map_or(0, TraceBook::open),
                "lostLines": self.book.as_ref().map_or(0, TraceBook::lost),
            },
            "sinks": self.sinks(),
        })
    }

    /// How the sinks are, the bus before them included.
    fn sinks(&self) -> Vec<SinkStatus> {
        self.sink.as_ref().map(|sink| sink.status()).unwrap_or_default()
    }

    /// The figures of the proxy itself, as Prometheus wants them.
    pub(super) fn write_metrics(&self, out: &mut Exposition) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        out.family("wiretape_connections", "gauge", "Client connections that are open.");
        out.sample("wiretape_connections", &[], self.connections.load(Ordering::Relaxed));
        out.family(
            "wiretape_connections_turned_away_total",
            "counter",
            "Client connections beyond --max-connections.",
        );
        out.sample("wiretape_connections_turned_away_total", &[], count(&self.turned_away));
        out.family(
            "wiretape_exchanges_total",
            "counter",
            "HTTP exchanges by how their connection ended. A client may close it after a good answer: wiretape_requests_total has the errors.",
        );
        for ended in Ended::ALL {
            out.sample(
                "wiretape_exchanges_total",
                &[("ended", ended.name())],
                count(&self.ended[ended as usize]),
            );
        }
        out.family(
            "wiretape_trace_lines_lost_total",
            "counter",
            "Lines that could not be written to traces.",
        );
        out.sample("wiretape_trace_lines_lost_total", &[], self.book.as_ref().map_or(0, TraceBook::lost));
        self.write_sink_metrics(out);
    }

    fn write_sink_metrics(&self, out: &mut Exposition) {
        let sinks = self.sinks();
        let mut each = |name: &str, kind: &str, help: &str, read: fn(&SinkStatus) -> u64| {
            out.family(name, kind, help);
            sinks.iter().for_each(|sink| out.sample(name, &[("sink", &sink.name)], read(sink)));
        };
        let taken = "What sinks have taken: exchanges (bus), and events and lines of --events (the others).";
        each("wiretape_events_taken_total", "counter", taken, |sink| sink.taken);
        each("wiretape_events_dropped_total", "counter", "What sinks never got, or lost.", |sink| {
            sink.dropped
        });
        each("wiretape_events_queued", "gauge", "What waits for sinks.", |sink| sink.queued);
    }

    fn outcome(&self) -> ProxyOutcome {
        ProxyOutcome {
            exchanges: self.exchanges.load(Ordering::Relaxed),
            cut_off: self.cut_off.load(Ordering::Relaxed),
            lost: self.book.as_ref().map_or(0, TraceBook::lost),
        }
    }
}

/// Every trace tells of its own trouble; when the disk is full, that is the same for all of them.
fn seldom(warn: Warn, clock: Clock) -> Warn {
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

/// Counts a connection while it lives.
pub(super) struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.connections.fetch_add(1, Ordering::AcqRel);
        let counted = Counted(Arc::clone(shared));
        (before < shared.limits.connections).then_some(counted)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection on its way to a worker.
struct Arrival {
    stream: StdStream,
    peer: SocketAddr,
    listener: Arc<Listener>,
    counted: Counted,
}

/// A thread that serves connections.
struct Worker {
    arrivals: mpsc::UnboundedSender<Arrival>,
    busy: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// Runs a proxy until a signal ends it. `ready` is called once it listens, with the address of the admin's port if
/// there is one.
pub fn run(
    mut options: ProxyOptions,
    ready: impl FnOnce(&[Bound], Option<SocketAddr>),
) -> Result<ProxyOutcome, ProxyError> {
    platform::raise_file_limit();
    let listeners = options.listeners.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let admin = options.admin.take().map(|admin| Ok((listen(admin.listen)?, admin))).transpose()?;
    let admin_address =
        admin.as_ref().map(|(admin, _)| admin.local_addr()).transpose().map_err(ProxyError::Start)?;
    let (drain, session_idle, count) = (options.drain, options.session_idle, options.workers.max(1));
    let on_drain = Arc::clone(&options.on_drain);
    let shared = Arc::new(Shared::new(&mut options));
    let runtime = runtime().map_err(ProxyError::Start)?;
    let stop = watch::Sender::new(false);
    let workers = (0..count)
        .map(|_| Worker::start(&shared, stop.subscribe()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(ProxyError::Start)?;
    let bound: Vec<Bound> = listeners
        .iter()
        .map(|(_, listener)| Bound { listener: listener.options.clone(), address: listener.address })
        .collect();
    runtime
        .block_on(async {
            let mut signals = Signals::catch()?;
            let accepting = start_accepting(&shared, listeners, &workers)?;
            start_housekeeping(&shared, session_idle, admin, &bound)?;
            ready(&bound, admin_address);
            signals.next().await;
            drain_connections(&shared, accepting, drain, &*on_drain, &mut signals).await;
            io::Result::Ok(())
        })
        .map_err(ProxyError::Start)?;
    shared.stopping.store(true, Ordering::Relaxed);
    stop.send_replace(true);
    for worker in workers {
        // A worker that panicked has nothing more to say.
        let _ = worker.thread.join();
    }
    drop(runtime);
    if let Some(book) = &shared.book {
        book.end_all("wiretape was stopped");
    }
    Ok(shared.outcome())
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn bind(options: &ListenerOptions) -> Result<(StdListener, Arc<Listener>), ProxyError> {
    let listener = listen(options.listen)?;
    let address = listener.local_addr().map_err(ProxyError::Start)?;
    let (target, login, csp) = match &options.route {
        Route::Reverse(reverse) => {
            let login = (reverse.oauth == OAuthRewrite::On).then(|| Login::new(&reverse.upstream)).flatten();
            let csp = Csp::new(&reverse.csp).map_err(ProxyError::Start)?;
            (Some(Arc::new(reverse.upstream.target())), login, csp)
        }
        Route::Forward(_) => (None, None, None),
    };
    Ok((
        listener,
        Arc::new(Listener {
            name: options.name.as_str().into(),
            options: options.clone(),
            address,
            target,
            login,
            csp,
        }),
    ))
}

fn listen(address: SocketAddr) -> Result<StdListener, ProxyError> {
    let listener = StdListener::bind(address).map_err(|source| ProxyError::Listen { address, source })?;
    listener.set_nonblocking(true).map_err(ProxyError::Start)?;
    Ok(listener)
}

impl Worker {
    fn start(shared: &Arc<Shared>, mut stop: watch::Receiver<bool>) -> io::Result<Self> {
        let (arrivals, mut waiting) = mpsc::unbounded_channel::<Arrival>();
        let busy = Arc::new(AtomicUsize::new(0));
        let runtime = runtime()?;
        let (shared, mine) = (Arc::clone(shared), Arc::clone(&busy));
        let thread = std::thread::Builder::new().name("wiretape-worker".to_owned()).spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        arrival = waiting.recv() => match arrival {
                            Some(arrival) => spawn_connection(&shared, &mine, arrival),
                            None => break,
                        },
                        _ = stop.wait_for(|stop| *stop) => break,
                    }
                }
            });
            // Dropping the runtime drops what is still going on, which tells its end.
        })?;
        Ok(Worker { arrivals, busy, thread })
    }
}

fn spawn_connection(shared: &Arc<Shared>, busy: &Arc<AtomicUsize>, arrival: Arrival) {
    let Arrival { stream, peer, listener, counted } = arrival;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let (shared, busy) = (Arc::clone(shared), Arc::clone(busy));
    tokio::spawn(async move {
        let drain = shared.drain();
        connection::serve(shared, listener, stream, peer, counted, drain).await;
        busy.fetch_sub(1, Ordering::Relaxed);
    });
}

fn start_accepting(
    shared: &Arc<Shared>,
    listeners: Vec<(StdListener, Arc<Listener>)>,
    workers: &[Worker],
) -> io::Result<Vec<tokio::task::JoinHandle<()>>> {
    let outlets: Arc<[_]> =
        workers.iter().map(|worker| (worker.arrivals.clone(), Arc::clone(&worker.busy))).collect();
    let mut accepting = Vec::new();
    for (socket, listener) in listeners {
        let socket = TcpListener::from_std(socket)?;
        let (shared, outlets) = (Arc::clone(shared), Arc::clone(&outlets));
        accepting.push(tokio::spawn(accept(shared, socket, listener, outlets)));
    }
    Ok(accepting)
}

type Outlet = (mpsc::UnboundedSender<Arrival>, Arc<AtomicUsize>);

async fn accept(shared: Arc<Shared>, socket: TcpListener, listener: Arc<Listener>, outlets: Arc<[Outlet]>) {
    const BREATH: Duration = Duration::from_millis(50);
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => match Counted::new(&shared) {
                Some(counted) => hand_over(stream, peer, &listener, counted, &outlets),
                None => {
                    shared.turned_away.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(turn_away(stream, Refusal::too_many_connections(shared.limits.connections)));
                }
            },
            // No more files, most likely: somebody must let go of one first.
            Err(error) => {
                shared.warn_once(Warning::CannotAccept { reason: error.to_string() });
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Gives a connection to the worker that has least to do.
fn hand_over(
    stream: TcpStream,
    peer: SocketAddr,
    listener: &Arc<Listener>,
    counted: Counted,
    outlets: &[Outlet],
) {
    let Ok(stream) = stream.into_std() else { return };
    let least = outlets.iter().min_by_key(|(_, busy)| busy.load(Ordering::Relaxed));
    if let Some((arrivals, busy)) = least {
        busy.fetch_add(1, Ordering::Relaxed);
        // A worker that is gone took its connections with it.
        let _ = arrivals.send(Arrival { stream, peer, listener: Arc::clone(listener), counted });
    }
}

/// Answers a connection that is one too many.
async fn turn_away(mut stream: TcpStream, refusal: Refusal) {
    const MOMENT: Duration = Duration::from_secs(1);
    let body = refusal.body(None);
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n",
        refusal.status.as_u16(),
        refusal.status.canonical_reason().unwrap_or_default(),
        body.len(),
    );
    // The client may be gone, or never read it: that is its own affair.
    let _ = tokio::time::timeout(MOMENT, async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&body).await?;
        stream.shutdown().await?;
        // Closing while something is unread would take the answer back.
        let mut sink = [0; 4096];
        while stream.read(&mut sink).await? > 0 {}
        io::Result::Ok(())
    })
    .await;
}

fn start_housekeeping(
    shared: &Arc<Shared>,
    session_idle: Duration,
    admin: Option<(StdListener, AdminOptions)>,
    bound: &[Bound],
) -> io::Result<()> {
    const ROUND: Duration = Duration::from_secs(10);
    let keeper = Arc::clone(shared);
    tokio::spawn(async move {
        let round = ROUND.min(session_idle).max(Duration::from_millis(10));
        loop {
            tokio::time::sleep(round).await;
            if let Some(book) = &keeper.book {
                book.end_silent(session_idle);
            }
        }
    });
    if let Some((listener, options)) = admin {
        let admin = Admin { shared: Arc::clone(shared), bound: bound.to_vec(), options };
        tokio::spawn(Arc::new(admin).serve(TcpListener::from_std(listener)?));
    }
    Ok(())
}

/// Stops accepting, and waits for what is in flight: for so long, or until a second signal comes.
async fn drain_connections(
    shared: &Arc<Shared>,
    accepting: Vec<tokio::task::JoinHandle<()>>,
    limit: Duration,
    on_drain: &(dyn Fn(Draining) + Send + Sync),
    signals: &mut Signals,
) {
    const LOOK: Duration = Duration::from_millis(10);
    // Most of what is in flight ends within this time, and needs no message.
    const GRACE: Duration = Duration::from_millis(300);
    for task in accepting {
        task.abort();
    }
    shared.drain.send_replace(true);
    let all_gone = async {
        while shared.connections.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    let report = async {
        tokio::time::sleep(GRACE).await;
        on_drain(shared.waits_for());
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = all_gone => {}
        () = report => {}
        () = tokio::time::sleep(limit) => {}
        () = signals.next() => {}
    }
}

/// The signals that end a proxy.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn catch() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn catch() -> io::Result<Self> {
        Ok(Signals {})
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
