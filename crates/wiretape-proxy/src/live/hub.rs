//! The server of the live view: its options, thread and connections.
//!
//! It has a thread and a runtime of its own, because the recorder has none: `wiretape record` uses blocking threads,
//! and a viewer must never delay them.

use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::handshake::{self, AccessPolicy, ReceivedRequest, Refusal};
use super::origin::Origin;
use super::ring::Ring;
use super::subscriber::{self, ViewerTiming};

/// The port that is tried first when none is given.
pub const DEFAULT_PORT: u16 = 7317;

/// The number of ports tried after a busy one before falling back to any free port.
const FOLLOWING_PORTS: u16 = 100;

/// The limit of simultaneous connections, viewers and handshakes together; more wait in the accept queue.
const MAX_CONNECTIONS: usize = 64;

// Short: the recorder can't exit before, and a viewer that doesn't read must not hold up the client that waits for it.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// The options of a [`LiveHub`]. Start from [`LiveOptions::new`].
#[derive(Clone)]
#[non_exhaustive]
pub struct LiveOptions {
    /// The port to try first, [`DEFAULT_PORT`] when `None`. If it is busy, one of the 100
    /// following is taken, or else any free one; 0 takes any free one at once.
    pub port: Option<u16>,
    /// The secret that viewers must present to connect; see [`random_token`].
    pub token: String,
    /// Origins of pages that may read the recording without the token.
    pub allowed_origins: Vec<Origin>,
    /// The size of the backlog for viewers that connect or lag (8 MiB).
    pub backlog_bytes: usize,
    /// Time between heartbeats (15 s).
    pub heartbeat: Duration,
    /// A viewer whose socket accepts no bytes for this long is dropped (10 s).
    pub write_timeout: Duration,
    /// How long a handshake may take (5 s).
    pub handshake_timeout: Duration,
    /// The limit of simultaneous viewers (16).
    pub max_subscribers: usize,
}

impl LiveOptions {
    /// The defaults, with this token.
    #[must_use]
    pub fn new(token: String) -> Self {
        Self {
            port: None,
            token,
            allowed_origins: Vec::new(),
            backlog_bytes: 8 * 1024 * 1024,
            heartbeat: Duration::from_secs(15),
            write_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(5),
            max_subscribers: 16,
        }
    }
}

/// Why the live view can't be served.
#[derive(Debug, Error)]
pub enum LiveError {
    /// No port could be bound.
    #[error("can't listen on 127.0.0.1:{port}")]
    Bind {
        /// The port that was tried.
        port: u16,
        /// The operating system's error.
        source: io::Error,
    },
    /// The server's thread or its event loop could not be created.
    #[error("can't start the live view's thread")]
    Thread(#[source] io::Error),
    /// The token is empty, or has characters that mean something in a URL.
    #[error("the token may only contain letters, digits, '-' and '_'")]
    Token,
    /// The system's random number generator failed.
    #[error("can't generate a random token")]
    Random(#[source] getrandom::Error),
}

/// A token of 128 random bits, in hexadecimal.
pub fn random_token() -> Result<String, LiveError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(LiveError::Random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Serves a growing trace to viewers on a loopback WebSocket. See the [module doc](super).
pub struct LiveHub {
    server: Arc<Server>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the hub shares with its thread.
struct Server {
    ring: Ring,
    access: AccessPolicy,
    timing: ViewerTiming,
    handshake_timeout: Duration,
    max_subscribers: usize,
    viewer_slots: Arc<Semaphore>,
}

impl LiveHub {
    /// Binds the port and starts the server's thread.
    pub fn start(options: LiveOptions) -> Result<Self, LiveError> {
        if !is_token(&options.token) {
            return Err(LiveError::Token);
        }
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Thread)?;
        // On the caller's thread, so that a failure is an error of `start` and the port is known when it returns.
        let (listener, port) = bind(options.port.unwrap_or(DEFAULT_PORT))?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener).map_err(LiveError::Thread)?
        };
        let server = Arc::new(Server::new(options, port));
        let serving = Arc::clone(&server);
        let thread = thread::Builder::new()
            .name("wiretape-live".to_owned())
            .spawn(move || runtime.block_on(serving.run(listener)))
            .map_err(LiveError::Thread)?;
        Ok(Self { server, thread: Mutex::new(Some(thread)) })
    }

    /// The address for viewers, with the token in it.
    #[must_use]
    pub fn url(&self) -> String {
        let AccessPolicy { port, token, .. } = &self.server.access;
        format!("ws://127.0.0.1:{port}/{token}")
    }

    /// The port that was bound.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.access.port
    }

    /// How many viewers are connected.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.server.max_subscribers - self.server.viewer_slots.available_permits()
    }

    /// Publishes the next line of the trace, a JSON object without its newline. Copies the line and returns without waiting for
    /// any viewer.
    pub fn publish(&self, line: &[u8]) {
        self.server.ring.push(line);
    }

    /// Sends pending lines, closes all viewers and ends the thread. Takes at most about a second when a viewer doesn't respond.
    /// Lines published afterwards are ignored.
    pub fn finish(&self) {
        self.server.ring.finish();
        let mut thread = self.thread.lock();
        if let Some(thread) = thread.take() {
            // The panic hook has reported a panic of the thread; it must not spread to the recorder.
            let _ = thread.join();
        }
    }
}

impl Drop for LiveHub {
    fn drop(&mut self) {
        self.finish();
    }
}

impl fmt::Debug for LiveHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveHub").field("port", &self.port()).finish_non_exhaustive()
    }
}

impl Server {
    fn new(options: LiveOptions, port: u16) -> Self {
        Self {
            ring: Ring::new(options.backlog_bytes),
            access: AccessPolicy { port, token: options.token, allowed_origins: options.allowed_origins },
            timing: ViewerTiming { heartbeat: options.heartbeat, write_timeout: options.write_timeout },
            handshake_timeout: options.handshake_timeout,
            max_subscribers: options.max_subscribers,
            viewer_slots: Arc::new(Semaphore::new(options.max_subscribers)),
        }
    }

    /// Accepts connections until the recording ends, then waits up to [`FINISH_TIMEOUT`] for them to close.
    async fn run(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.ring.until_finished() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => drop(connections.spawn(Arc::clone(&self).connection(stream))),
                        // Most likely out of file descriptors: wait for some to be closed instead of spinning.
                        Err(_) => sleep(Duration::from_millis(100)).await,
                    }
                }
            }
        }
        drop(listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(FINISH_TIMEOUT, ended).await;
    }

    async fn connection(self: Arc<Self>, mut stream: TcpStream) {
        let welcome = tokio::select! {
            () = self.ring.until_finished() => return,
            welcome = timeout(self.handshake_timeout, self.welcome(&mut stream)) => welcome,
        };
        let late = Refusal::new(StatusCode::REQUEST_TIMEOUT, "The request took too long.");
        match welcome.unwrap_or(Err(late)) {
            Ok((received, _slot)) => {
                let since = handshake::since(&received.request);
                subscriber::serve(stream, received.rest, &self.ring, since, self.timing).await;
            }
            // A peer that doesn't read its refusal is dropped without another.
            Err(refusal) => drop(timeout(self.handshake_timeout, refusal.send(stream)).await),
        }
    }

    /// The handshake. Afterwards the stream is a WebSocket that holds one of the viewer slots.
    async fn welcome(
        &self,
        stream: &mut TcpStream,
    ) -> Result<(ReceivedRequest, OwnedSemaphorePermit), Refusal> {
        let received = handshake::receive(stream).await?;
        let response = self.access.admit(&received.request)?;
        // After the checks: a stranger must not be able to take all slots.
        let slot = Arc::clone(&self.viewer_slots).try_acquire_owned().map_err(|_| {
            let text =
                format!("{} viewers are already connected. Close one and try again.", self.max_subscribers);
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
        })?;
        let unsent = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The upgrade failed.");
        stream.set_nodelay(true).map_err(unsent)?;
        handshake::upgrade(stream, &response).await.map_err(unsent)?;
        Ok((received, slot))
    }
}

fn is_token(token: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !token.is_empty() && token.bytes().all(is_safe)
}

/// Binds `first`, one of the following ports, or any free one. Ports that the system reserves count as busy.
fn bind(first: u16) -> Result<(StdTcpListener, u16), LiveError> {
    let candidates = match first {
        0 => 0..=0,
        _ => first..=first.saturating_add(FOLLOWING_PORTS),
    };
    for port in candidates {
        match listen(port) {
            Err(error) if is_taken(&error) => {}
            bound => return bound.map_err(|source| LiveError::Bind { port, source }),
        }
    }
    listen(0).map_err(|source| LiveError::Bind { port: 0, source })
}

fn listen(port: u16) -> io::Result<(StdTcpListener, u16)> {
    let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, PermissionDenied};
    matches!(error.kind(), AddrInUse | PermissionDenied)
}
