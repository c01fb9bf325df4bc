//! Accepting, worker threads, signals, draining.
//!
//! The main thread accepts and gives each connection to a worker, where it stays with its upstream connections. A worker is one
//! thread with its own single-threaded runtime: a client's connection and its upstream's wake each other four times in each
//! exchange, which is a queue in memory on one thread and a system call between two (design note 0005).

use super::admin::Admin;
use crate::http::options::{
    AdminOptions, Draining, HostHeader, Limits, ListenerOptions, OAuthRewrite, ProxyOptions, Route,
};
use crate::http::policy::csp::Csp;
use crate::http::policy::host_guard::HostGuard;
use crate::http::policy::login::Login;
use crate::http::record::body_budget::BodyBudget;
use crate::http::record::exchange::redact_name;
use crate::http::record::streams::AwaitedAnswers;
use crate::http::record::traces::{LineCounts, SessionTrace, SessionTraces};
use crate::http::refusal::Refusal;
use crate::http::relay::connection::{self, Listener};
use crate::http::relay::upstream::Connector;
use crate::journal::Clock;
use crate::platform;
use crate::warning::{Warn, Warning};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use wiretape_events::event::SinkStatus;
use wiretape_events::sink::Exposition;
use wiretape_events::{Ended, TransactionSink};
use wiretape_trace::redact::{Redactor, SecretMemory};

/// Why a proxy could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A listener's address can't be bound.
    #[error("can't listen on {address}")]
    Listen {
        /// The address as configured, before a port was assigned.
        address: SocketAddr,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A thread, a runtime or a signal handler could not be created.
    #[error("can't start the proxy")]
    Start(#[source] io::Error),
}

/// A listener with the address that it is bound to.
#[derive(Debug, Clone)]
pub struct BoundListener {
    /// The options of this listener, apart from the limits that all share.
    pub listener: ListenerOptions,
    /// The bound address, with the actual port if the configured one was 0.
    pub address: SocketAddr,
}

/// The totals of a proxy's run.
#[derive(Debug, Clone, Default)]
pub struct ProxyOutcome {
    /// The number of exchanges.
    pub exchanges: u64,
    /// The number of exchanges that were cut off because draining took too long.
    pub cut_off: u64,
    /// The number of lines that could not be written to traces.
    pub lost: u64,
}

/// The state that all workers and connections of a proxy share.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) redactor: Option<Redactor>,
    /// Values that clients and servers have named as secrets. Shared by all sessions: a secret in one is a secret in
    /// every other.
    pub(crate) memory: SecretMemory,
    pub(crate) sink: Option<Arc<dyn TransactionSink>>,
    pub(crate) traces: Option<SessionTraces>,
    pub(crate) connector: Connector,
    pub(crate) awaited: AwaitedAnswers,
    pub(crate) bodies: Arc<BodyBudget>,
    warn: Warn,
    warned: Mutex<HashSet<String>>,
    exchanges: AtomicU64,
    /// Exchanges in flight, except streams that outlive requests.
    requests: AtomicUsize,
    /// Streams that outlive requests.
    streams: AtomicUsize,
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
        let traces = journal.map(|journal| {
            SessionTraces::new(
                journal,
                clock,
                redactor.is_some(),
                at_most_once_a_minute(Arc::clone(&warn), clock),
            )
        });
        Shared {
            limits: options.limits.clone(),
            clock,
            redactor,
            memory: SecretMemory::default(),
            sink: options.sink.take(),
            traces,
            connector: Connector::new(options.limits.connect),
            awaited: AwaitedAnswers::default(),
            bodies: BodyBudget::new(options.limits.body),
            warn,
            warned: Mutex::default(),
            exchanges: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            streams: AtomicUsize::new(0),
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
    pub(crate) fn next_exchange(&self) -> u64 {
        self.exchanges.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn request_began(&self) {
        self.requests.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts a request as one that has opened a stream, which may stay open for days: draining must not wait for it.
    pub(crate) fn request_became_stream(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
        self.request_ended();
    }

    pub(crate) fn stream_ended(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a request as answered.
    pub(crate) fn request_ended(&self) {
        self.requests.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn requests_in_flight(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }

    /// Counts an exchange that was cut off because draining took too long.
    pub(crate) fn count_cut_off(&self) {
        self.cut_off.fetch_add(1, Ordering::Relaxed);
    }

    /// What draining still waits for.
    fn draining_status(&self) -> Draining {
        Draining {
            requests: self.requests_in_flight() + self.awaited.len(),
            connections: self.connections.load(Ordering::Acquire),
        }
    }

    /// The number of the next client connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.arrivals.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Counts an exchange by how it ended.
    pub(crate) fn count(&self, ended: Ended) {
        self.ended[ended as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes that were not an HTTP request.
    pub(crate) fn count_malformed(&self) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether exchanges that end from now on were cut off by the proxy.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Becomes `true` when the proxy begins to drain.
    pub(crate) fn drain(&self) -> watch::Receiver<bool> {
        self.drain.subscribe()
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.drain.borrow()
    }

    /// Redacts a name, for the trace and the sinks.
    pub(crate) fn clean_name(&self, name: &str) -> String {
        redact_name(self.redactor.as_ref(), name).into_owned()
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

    /// The counters as JSON, for the admin's status page.
    pub(crate) fn status(&self) -> serde_json::Value {
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
                "open": self.traces.as_ref().map_or(0, SessionTraces::open),
                "lostLines": self.traces.as_ref().map_or(0, SessionTraces::lost),
            },
            "sinks": self.sinks(),
        })
    }

    /// The state of the sinks and of the bus that feeds them.
    fn sinks(&self) -> Vec<SinkStatus> {
        self.sink.as_ref().map(|sink| sink.status()).unwrap_or_default()
    }

    /// Writes the proxy's own counters in the Prometheus text format.
    pub(crate) fn write_metrics(&self, out: &mut Exposition) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        out.family("wiretape_connections", "gauge", "Open client connections.");
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
            "HTTP exchanges by how they ended. A client may close its connection after a successful response: for errors use wiretape_requests_total.",
        );
        for ended in Ended::ALL {
            out.sample(
                "wiretape_exchanges_total",
                &[("ended", ended.name())],
                count(&self.ended[ended as usize]),
            );
        }
        self.write_load_metrics(out);
        self.write_trace_metrics(out);
        self.write_sink_metrics(out);
    }

    fn write_load_metrics(&self, out: &mut Exposition) {
        let mut gauge = |name: &str, help: &str, value: usize| {
            out.family(name, "gauge", help);
            out.sample(name, &[], value);
        };
        let in_flight = "Requests that are not answered yet, except streams.";
        gauge("wiretape_requests_in_flight", in_flight, self.requests_in_flight());
        let streams = "Open streams that outlive requests, such as those that a GET opens.";
        gauge("wiretape_streams", streams, self.streams.load(Ordering::Relaxed));
        let largest = "The value of --max-connections.";
        gauge("wiretape_connections_limit", largest, self.limits.connections);
    }

    fn write_trace_metrics(&self, out: &mut Exposition) {
        let zero = LineCounts::default();
        let counts = self.traces.as_ref().map_or(&zero, SessionTraces::counts);
        let mut counter = |name: &str, help: &str, value: &AtomicU64| {
            out.family(name, "counter", help);
            out.sample(name, &[], value.load(Ordering::Relaxed));
        };
        counter("wiretape_trace_lines_total", "Lines that were written to traces.", &counts.written);
        counter("wiretape_trace_bytes_total", "Bytes that were written to traces.", &counts.bytes);
        let lost = "Lines that could not be written to traces.";
        counter("wiretape_trace_lines_lost_total", lost, &counts.lost);
        let refused = "Traces that were not begun, because clients on other machines began too many.";
        counter("wiretape_traces_refused_total", refused, &counts.refused);
        out.family("wiretape_traces_open", "gauge", "Traces that are being written.");
        out.sample("wiretape_traces_open", &[], self.traces.as_ref().map_or(0, SessionTraces::open));
    }

    fn write_sink_metrics(&self, out: &mut Exposition) {
        let sinks = self.sinks();
        let mut each = |name: &str, kind: &str, help: &str, read: fn(&SinkStatus) -> u64| {
            out.family(name, kind, help);
            sinks.iter().for_each(|sink| out.sample(name, &[("sink", &sink.name)], read(sink)));
        };
        let taken = "Accepted by each sink: exchanges (bus), or events and lines of --events (other sinks).";
        each("wiretape_events_taken_total", "counter", taken, |sink| sink.taken);
        each("wiretape_events_dropped_total", "counter", "Dropped before or by each sink.", |sink| {
            sink.dropped
        });
        each("wiretape_events_queued", "gauge", "Queued for each sink.", |sink| sink.queued);
    }

    fn outcome(&self) -> ProxyOutcome {
        ProxyOutcome {
            exchanges: self.exchanges.load(Ordering::Relaxed),
            cut_off: self.cut_off.load(Ordering::Relaxed),
            lost: self.traces.as_ref().map_or(0, SessionTraces::lost),
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

/// Counts a connection against `--max-connections` until it is dropped.
pub(crate) struct ConnectionPermit(Arc<Shared>);

impl ConnectionPermit {
    fn new(shared: &Arc<Shared>) -> Option<Self> {
        // Counted first and taken back by `Drop` if there is no room: a check before the count could let two
        // connections in.
        let before = shared.connections.fetch_add(1, Ordering::AcqRel);
        let permit = ConnectionPermit(Arc::clone(shared));
        (before < shared.limits.connections).then_some(permit)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An accepted connection on its way to a worker.
struct AcceptedConnection {
    stream: StdStream,
    peer: SocketAddr,
    listener: Arc<Listener>,
    permit: ConnectionPermit,
}

/// A thread that serves connections.
struct Worker {
    arrivals: mpsc::UnboundedSender<AcceptedConnection>,
    /// The number of connections that it has.
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// Runs a proxy until a signal stops it. `ready` is called once all listeners are bound, with the address of the admin port if
/// there is one.
pub fn run(
    mut options: ProxyOptions,
    ready: impl FnOnce(&[BoundListener], Option<SocketAddr>),
) -> Result<ProxyOutcome, ProxyError> {
    // Before anything is opened: each client needs two or three descriptors, and the soft limit is often 1024.
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
    let bound: Vec<BoundListener> = listeners
        .iter()
        .map(|(_, listener)| BoundListener { listener: listener.options.clone(), address: listener.address })
        .collect();
    runtime
        .block_on(async {
            // Before the listeners are announced, so that a signal right after `ready` already drains.
            let mut signals = Signals::catch()?;
            let accepting = start_accepting(&shared, listeners, &workers)?;
            start_housekeeping(&shared, session_idle, admin, &bound)?;
            ready(&bound, admin_address);
            signals.next().await;
            drain_connections(&shared, accepting, drain, &*on_drain, &mut signals).await;
            io::Result::Ok(())
        })
        .map_err(ProxyError::Start)?;
    // From here on, exchanges that are dropped were cut off by us, not by their clients.
    shared.stopping.store(true, Ordering::Relaxed);
    stop.send_replace(true);
    for worker in workers {
        // The panic hook has reported a worker's panic; the others still have to be joined.
        let _ = worker.thread.join();
    }
    // The admin port and housekeeping end before the traces do, or they could touch a trace that has ended.
    drop(runtime);
    if let Some(traces) = &shared.traces {
        traces.end_all("wiretape was stopped");
    }
    Ok(shared.outcome())
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn bind(options: &ListenerOptions) -> Result<(StdListener, Arc<Listener>), ProxyError> {
    let listener = listen(options.listen)?;
    let address = listener.local_addr().map_err(ProxyError::Start)?;
    let host_guard = match &options.route {
        Route::Reverse(reverse) if reverse.host == HostHeader::Rewrite => {
            Some(HostGuard::new(address, &reverse.allowed_hosts))
        }
        _ => None,
    };
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
            host_guard,
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
        // Unbounded, because `ConnectionPermit` already limits what can be in it.
        let (arrivals, mut waiting) = mpsc::unbounded_channel::<AcceptedConnection>();
        let load = Arc::new(AtomicUsize::new(0));
        let runtime = runtime()?;
        let (shared, mine) = (Arc::clone(shared), Arc::clone(&load));
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
            // Dropping the runtime drops the exchanges that are still in flight, and their `Drop` records that they were cut off.
        })?;
        Ok(Worker { arrivals, load, thread })
    }
}

fn spawn_connection(shared: &Arc<Shared>, load: &Arc<AtomicUsize>, arrival: AcceptedConnection) {
    let AcceptedConnection { stream, peer, listener, permit } = arrival;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let (shared, load) = (Arc::clone(shared), Arc::clone(load));
    tokio::spawn(async move {
        let drain = shared.drain();
        connection::serve(shared, listener, stream, peer, permit, drain).await;
        load.fetch_sub(1, Ordering::Relaxed);
    });
}

fn start_accepting(
    shared: &Arc<Shared>,
    listeners: Vec<(StdListener, Arc<Listener>)>,
    workers: &[Worker],
) -> io::Result<Vec<tokio::task::JoinHandle<()>>> {
    let workers: Arc<[_]> =
        workers.iter().map(|worker| (worker.arrivals.clone(), Arc::clone(&worker.load))).collect();
    let mut accepting = Vec::new();
    for (socket, listener) in listeners {
        let socket = TcpListener::from_std(socket)?;
        let (shared, workers) = (Arc::clone(shared), Arc::clone(&workers));
        accepting.push(tokio::spawn(accept(shared, socket, listener, workers)));
    }
    Ok(accepting)
}

type WorkerQueue = (mpsc::UnboundedSender<AcceptedConnection>, Arc<AtomicUsize>);

async fn accept(
    shared: Arc<Shared>,
    socket: TcpListener,
    listener: Arc<Listener>,
    workers: Arc<[WorkerQueue]>,
) {
    const RETRY_DELAY: Duration = Duration::from_millis(50);
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => match ConnectionPermit::new(&shared) {
                Some(permit) => assign(stream, peer, &listener, permit, &workers),
                None => {
                    shared.turned_away.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(refuse_connection(
                        stream,
                        Refusal::too_many_connections(shared.limits.connections),
                    ));
                }
            },
            // Most likely out of file descriptors: wait for a connection to close instead of spinning.
            Err(error) => {
                shared.warn_once(Warning::CannotAccept { reason: error.to_string() });
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Gives a connection to the worker with the fewest.
fn assign(
    stream: TcpStream,
    peer: SocketAddr,
    listener: &Arc<Listener>,
    permit: ConnectionPermit,
    workers: &[WorkerQueue],
) {
    let Ok(stream) = stream.into_std() else { return };
    let least = workers.iter().min_by_key(|(_, load)| load.load(Ordering::Relaxed));
    if let Some((arrivals, load)) = least {
        load.fetch_add(1, Ordering::Relaxed);
        // Sending fails only when the worker has ended; then the connection is closed.
        let _ = arrivals.send(AcceptedConnection { stream, peer, listener: Arc::clone(listener), permit });
    }
}

/// Responds with 503 to a connection above `--max-connections`, without parsing its request.
async fn refuse_connection(mut stream: TcpStream, refusal: Refusal) {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let body = refusal.body(None);
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n",
        refusal.status.as_u16(),
        refusal.status.canonical_reason().unwrap_or_default(),
        body.len(),
    );
    // Best effort: the client may be gone, or never read the response.
    let _ = tokio::time::timeout(TIMEOUT, async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&body).await?;
        stream.shutdown().await?;
        // Closing with unread bytes would reset the connection and discard the response.
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
    bound: &[BoundListener],
) -> io::Result<()> {
    const INTERVAL: Duration = Duration::from_secs(10);
    let keeper = Arc::clone(shared);
    tokio::spawn(async move {
        // A short idle limit, as in tests, needs shorter rounds.
        let interval = INTERVAL.min(session_idle).max(Duration::from_millis(10));
        loop {
            tokio::time::sleep(interval).await;
            if let Some(traces) = &keeper.traces {
                traces.end_idle(session_idle);
            }
        }
    });
    if let Some((listener, options)) = admin {
        let admin = Admin { shared: Arc::clone(shared), bound: bound.to_vec(), options };
        tokio::spawn(Arc::new(admin).serve(TcpListener::from_std(listener)?));
    }
    Ok(())
}

/// Stops accepting, and waits until nothing is in flight, at most for `limit` or until a second signal.
async fn drain_connections(
    shared: &Arc<Shared>,
    accepting: Vec<tokio::task::JoinHandle<()>>,
    limit: Duration,
    on_drain: &(dyn Fn(Draining) + Send + Sync),
    signals: &mut Signals,
) {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    // Most exchanges end within this time; then the user needs no message about them.
    const GRACE: Duration = Duration::from_millis(300);
    for task in accepting {
        // The sockets close with their tasks, so that a restarted proxy can bind the port while this one drains.
        task.abort();
    }
    shared.drain.send_replace(true);
    let all_gone = async {
        while shared.connections.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let report = async {
        tokio::time::sleep(GRACE).await;
        on_drain(shared.draining_status());
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = all_gone => {}
        () = report => {}
        () = tokio::time::sleep(limit) => {}
        () = signals.next() => {}
    }
}

/// The signals that stop a proxy.
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
