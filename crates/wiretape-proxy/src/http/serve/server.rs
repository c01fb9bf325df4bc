//! Accepting, worker threads, signals, draining.
//!
//! The main thread accepts and gives each connection to a worker, where it stays with its upstream connections. A worker is one
//! thread with its own single-threaded runtime: a client's connection and its upstream's wake each other four times in each
//! exchange, which is a queue in memory on one thread and a system call between two (design note 0005).

use super::admin::Admin;
use crate::http::options::{
    AdminOptions, Draining, HostHeader, ListenerOptions, OAuthRewrite, ProxyOptions, Route,
};
use crate::http::policy::csp::Csp;
use crate::http::policy::host_guard::HostGuard;
use crate::http::policy::login::Login;
use crate::http::record::connection::RecordedListener;
use crate::http::record::traces::SessionTraces;
use crate::http::refusal::Refusal;
use crate::http::relay::connection::{self, Listener};
use crate::http::relay::context::{ConnectionPermit, RelayContext};
use crate::platform;
use crate::warning::Warning;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener, TcpStream as StdStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};

/// Why a proxy could not be started, or ended by itself.
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
    /// A listener no longer accepts connections. The proxy ends, so that a supervisor can restart it.
    #[error("the listener at {address} failed")]
    ListenerFailed {
        /// The bound address.
        address: SocketAddr,
        /// The end of its task, usually a panic, which the panic hook has reported.
        #[source]
        source: io::Error,
    },
}

/// A listener with the address that it is bound to.
#[derive(Debug, Clone)]
pub struct BoundListener {
    /// The options of this listener, apart from the limits that all share.
    pub listener: ListenerOptions,
    /// The bound address, with the actual port if the configured one was 0.
    pub address: SocketAddr,
}

/// How a proxy's run ended, and its totals.
#[derive(Debug, Default)]
pub struct ProxyOutcome {
    /// The number of exchanges.
    pub exchanges: u64,
    /// The number of exchanges that were cut off because draining took too long.
    pub cut_off: u64,
    /// The number of lines that could not be written to traces.
    pub lost: u64,
    /// Why the proxy ended by itself; `None` if a signal stopped it.
    pub failure: Option<ProxyError>,
}

/// An accepted connection on its way to a worker.
struct AcceptedConnection {
    stream: StdStream,
    peer: SocketAddr,
    listener: Arc<Listener>,
    permit: ConnectionPermit,
    load: LoadGuard,
}

/// A thread that serves connections.
struct Worker {
    arrivals: mpsc::UnboundedSender<AcceptedConnection>,
    /// The number of connections that it has.
    load: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// Counts a connection as a worker's load until it is dropped, also by a panic of the connection's task.
struct LoadGuard(Arc<AtomicUsize>);

impl LoadGuard {
    fn new(load: &Arc<AtomicUsize>) -> Self {
        load.fetch_add(1, Ordering::Relaxed);
        LoadGuard(Arc::clone(load))
    }
}

impl Drop for LoadGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The task that accepts the connections of one listener. It ends only by a panic, or when it is aborted.
struct AcceptTask {
    address: SocketAddr,
    handle: tokio::task::JoinHandle<()>,
}

/// Runs a proxy until a signal stops it, or a listener fails. `ready` is called once all listeners are bound, with the address of the admin port if
/// there is one. An error means that the proxy could not be started; a later failure is in the outcome, with the totals until then.
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
    let context = Arc::new(RelayContext::new(&mut options));
    let runtime = runtime().map_err(ProxyError::Start)?;
    let stop = watch::Sender::new(false);
    let workers = (0..count)
        .map(|_| Worker::start(&context, stop.subscribe()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(ProxyError::Start)?;
    let bound: Vec<BoundListener> = listeners
        .iter()
        .map(|(_, listener)| BoundListener { listener: listener.options.clone(), address: listener.address })
        .collect();
    let failure = runtime
        .block_on(async {
            // Before the listeners are announced, so that a signal right after `ready` already drains.
            let mut signals = Signals::catch()?;
            let mut accepting = start_accepting(&context, listeners, &workers)?;
            start_housekeeping(&context, session_idle, admin, &bound)?;
            ready(&bound, admin_address);
            // A closed port must not go unnoticed. What is in flight, also on other listeners, is drained in both cases.
            let failure = tokio::select! {
                () = signals.next() => None,
                failure = wait_for_failure(&mut accepting) => Some(failure),
            };
            drain_connections(&context, accepting, drain, &*on_drain, &mut signals).await;
            io::Result::Ok(failure)
        })
        .map_err(ProxyError::Start)?;
    context.recorder.stop();
    stop.send_replace(true);
    for worker in workers {
        // The panic hook has reported a worker's panic; the others still have to be joined.
        let _ = worker.thread.join();
    }
    // The admin port and housekeeping end before the traces do, or they could touch a trace that has ended.
    drop(runtime);
    if let Some(traces) = &context.recorder.traces {
        traces.end_all("wiretape was stopped");
    }
    Ok(outcome(&context, failure))
}

fn outcome(context: &RelayContext, failure: Option<ProxyError>) -> ProxyOutcome {
    let recorder = &context.recorder;
    ProxyOutcome {
        exchanges: recorder.counters.exchanges.begun(),
        cut_off: recorder.counters.exchanges.cut_off(),
        lost: recorder.traces.as_ref().map_or(0, SessionTraces::lost),
        failure,
    }
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
    let upstream = match &options.route {
        Route::Reverse(reverse) => Some(reverse.upstream.to_string()),
        Route::Forward(_) => None,
    };
    let recorded = RecordedListener { name: options.name.as_str().into(), upstream };
    Ok((
        listener,
        Arc::new(Listener {
            recorded: Arc::new(recorded),
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
    fn start(context: &Arc<RelayContext>, mut stop: watch::Receiver<bool>) -> io::Result<Self> {
        // Unbounded, because `ConnectionPermit` already limits what can be in it.
        let (arrivals, mut waiting) = mpsc::unbounded_channel::<AcceptedConnection>();
        let load = Arc::new(AtomicUsize::new(0));
        let runtime = runtime()?;
        let context = Arc::clone(context);
        let thread = std::thread::Builder::new().name("wiretape-worker".to_owned()).spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        arrival = waiting.recv() => match arrival {
                            Some(arrival) => spawn_connection(&context, arrival),
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

fn spawn_connection(context: &Arc<RelayContext>, arrival: AcceptedConnection) {
    let AcceptedConnection { stream, peer, listener, permit, load } = arrival;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let context = Arc::clone(context);
    tokio::spawn(async move {
        let _load = load;
        let drain = context.drain();
        connection::serve(context, listener, stream, peer, permit, drain).await;
    });
}

fn start_accepting(
    context: &Arc<RelayContext>,
    listeners: Vec<(StdListener, Arc<Listener>)>,
    workers: &[Worker],
) -> io::Result<Vec<AcceptTask>> {
    let workers: Arc<[_]> =
        workers.iter().map(|worker| (worker.arrivals.clone(), Arc::clone(&worker.load))).collect();
    let mut accepting = Vec::new();
    for (socket, listener) in listeners {
        let socket = TcpListener::from_std(socket)?;
        let (context, workers) = (Arc::clone(context), Arc::clone(&workers));
        let address = listener.address;
        let handle = tokio::spawn(accept(context, socket, listener, workers));
        accepting.push(AcceptTask { address, handle });
    }
    Ok(accepting)
}

/// Resolves when one of the tasks has ended. None of them may be polled again afterwards.
async fn wait_for_failure(accepting: &mut [AcceptTask]) -> ProxyError {
    poll_fn(|cx| {
        for AcceptTask { address, handle } in &mut *accepting {
            if let Poll::Ready(ended) = Pin::new(handle).poll(cx) {
                let source = ended.map_or_else(io::Error::from, |()| io::Error::other("its task ended"));
                return Poll::Ready(ProxyError::ListenerFailed { address: *address, source });
            }
        }
        Poll::Pending
    })
    .await
}

type WorkerQueue = (mpsc::UnboundedSender<AcceptedConnection>, Arc<AtomicUsize>);

async fn accept(
    context: Arc<RelayContext>,
    socket: TcpListener,
    listener: Arc<Listener>,
    workers: Arc<[WorkerQueue]>,
) {
    const RETRY_DELAY: Duration = Duration::from_millis(50);
    loop {
        match socket.accept().await {
            Ok((stream, peer)) => match ConnectionPermit::new(&context) {
                Some(permit) => assign(stream, peer, &listener, permit, &workers),
                None => {
                    context.connections().count_turned_away();
                    tokio::spawn(refuse_connection(
                        stream,
                        Refusal::too_many_connections(context.limits.connections),
                    ));
                }
            },
            // Most likely out of file descriptors: wait for a connection to close instead of spinning.
            Err(error) => {
                context.recorder.warn_once(Warning::CannotAccept { reason: error.to_string() });
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
    // A worker that has ended has no load: without the filter, it would get every connection.
    let running = workers.iter().filter(|(arrivals, _)| !arrivals.is_closed());
    if let Some((arrivals, load)) = running.min_by_key(|(_, load)| load.load(Ordering::Relaxed)) {
        let (listener, load) = (Arc::clone(listener), LoadGuard::new(load));
        // Sending fails only when the worker has just ended; then the connection is closed.
        let _ = arrivals.send(AcceptedConnection { stream, peer, listener, permit, load });
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
    context: &Arc<RelayContext>,
    session_idle: Duration,
    admin: Option<(StdListener, AdminOptions)>,
    bound: &[BoundListener],
) -> io::Result<()> {
    const INTERVAL: Duration = Duration::from_secs(10);
    let keeper = Arc::clone(&context.recorder);
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
        let admin = Admin { context: Arc::clone(context), bound: bound.to_vec(), options };
        tokio::spawn(Arc::new(admin).serve(TcpListener::from_std(listener)?));
    }
    Ok(())
}

/// Stops accepting, and waits until nothing is in flight, at most for `limit` or until a second signal.
async fn drain_connections(
    context: &Arc<RelayContext>,
    accepting: Vec<AcceptTask>,
    limit: Duration,
    on_drain: &(dyn Fn(Draining) + Send + Sync),
    signals: &mut Signals,
) {
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    // Most exchanges end within this time; then the user needs no message about them.
    const GRACE: Duration = Duration::from_millis(300);
    for task in accepting {
        // The sockets close with their tasks, so that a restarted proxy can bind the port while this one drains.
        task.handle.abort();
    }
    context.begin_draining();
    let all_gone = async {
        while context.connections().open() > 0 {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let report = async {
        tokio::time::sleep(GRACE).await;
        on_drain(draining_status(context));
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = all_gone => {}
        () = report => {}
        () = tokio::time::sleep(limit) => {}
        () = signals.next() => {}
    }
}

/// What draining still waits for.
fn draining_status(context: &RelayContext) -> Draining {
    Draining { requests: context.recorder.pending_requests(), connections: context.connections().open() }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn accept_task(port: u16, work: impl Future<Output = ()> + Send + 'static) -> AcceptTask {
        AcceptTask { address: SocketAddr::from(([127, 0, 0, 1], port)), handle: tokio::spawn(work) }
    }

    #[tokio::test]
    async fn a_panic_of_one_listener_is_a_failure() {
        let mut accepting = vec![
            accept_task(1, std::future::pending()),
            accept_task(2, async {
                tokio::task::yield_now().await;
                panic!("as a test");
            }),
        ];
        let failure = wait_for_failure(&mut accepting).await;
        assert_eq!(failure.to_string(), "the listener at 127.0.0.1:2 failed");
        let cause = std::error::Error::source(&failure).unwrap().to_string();
        assert!(cause.contains("panic"), "{cause}");
    }

    #[tokio::test]
    async fn listeners_that_run_are_no_failure() {
        let mut accepting = vec![accept_task(1, std::future::pending())];
        let wait = Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, wait_for_failure(&mut accepting)).await.is_err());
        assert!(tokio::time::timeout(wait, wait_for_failure(&mut [])).await.is_err());
    }

    #[tokio::test]
    async fn a_panic_of_a_connection_releases_its_load() {
        let load = Arc::new(AtomicUsize::new(0));
        let guard = LoadGuard::new(&load);
        assert_eq!(load.load(Ordering::Relaxed), 1);
        let task = tokio::spawn(async move {
            let _load = guard;
            panic!("as a test");
        });
        assert!(task.await.is_err());
        assert_eq!(load.load(Ordering::Relaxed), 0);
    }
}
