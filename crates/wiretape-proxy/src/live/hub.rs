//! The server: its options, its thread, its connections.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdTcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::handshake::{self, Gate, Received, Refusal};
use super::origin::Origin;
use super::ring::Ring;
use super::subscriber::{self, Pace};

/// The port that is tried first when none is given.
pub const DEFAULT_PORT: u16 = 7317;

/// How many ports after a busy one are tried before any free one is taken.
const FOLLOWING_PORTS: u16 = 100;

/// Connections at once, viewers and handshakes together; more wait to be accepted.
const MAX_CONNECTIONS: usize = 64;

const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// How a [`LiveHub`] serves. Start from [`LiveOptions::new`].
#[derive(Clone)]
#[non_exhaustive]
pub struct LiveOptions {
    /// The port to try first, [`DEFAULT_PORT`] when `None`. If it is busy, one of the 100
    /// following is taken, or else any free one; 0 takes any free one at once.
    pub port: Option<u16>,
    /// What viewers must know to connect; see [`random_token`].
    pub token: String,
    /// Origins of pages that may read the recording without the token.
    pub allowed_origins: Vec<Origin>,
    /// How much of the recording is held for viewers that connect or lag (8 MiB).
    pub backlog_bytes: usize,
    /// Time between heartbeats (15 s).
    pub heartbeat: Duration,
    /// A viewer whose socket takes nothing for so long is dropped (10 s).
    pub write_timeout: Duration,
    /// How long a handshake may take (5 s).
    pub handshake_timeout: Duration,
    /// Viewers at once (16).
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
        /// What the system said.
        source: io::Error,
    },
    /// The server's thread or its event loop could not be made.
    #[error("can't start the live view's thread")]
    Thread(#[source] io::Error),
    /// The token is empty, or has characters that mean something in a URL.
    #[error("the token must be made of letters, digits, '-' and '_'")]
    Token,
    /// The system has no randomness to give.
    #[error("can't make a random token")]
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

/// What the hub shares with its thread.
struct Server {
    ring: Ring,
    gate: Gate,
    pace: Pace,
    handshake_timeout: Duration,
    max_subscribers: usize,
    seats: Arc<Semaphore>,
}

impl LiveHub {
    /// Binds the port and starts the server's thread.
    pub fn start(options: LiveOptions) -> Result<Self, LiveError> {
        if !is_token(&options.token) {
            return Err(LiveError::Token);
        }
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Thread)?;
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
        let Gate { port, token, .. } = &self.server.gate;
        format!("ws://127.0.0.1:{port}/{token}")
    }

    /// The port that was bound.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.gate.port
    }

    /// How many viewers are connected.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.server.max_subscribers - self.server.seats.available_permits()
    }

    /// Hands on the next line of the trace: a JSON object without its newline. Copies the line and
    /// returns; it never waits for a viewer.
    pub fn publish(&self, line: &[u8]) {
        self.server.ring.push(line);
    }

    /// Sends what is pending, closes all viewers, and ends the thread. Takes about a second at most
    /// when a viewer doesn't answer. What is published afterwards is ignored.
    pub fn finish(&self) {
        self.server.ring.finish();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic there was reported by the panic hook, and must not spread to the recorder.
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
            gate: Gate { port, token: options.token, allowed_origins: options.allowed_origins },
            pace: Pace { heartbeat: options.heartbeat, write_timeout: options.write_timeout },
            handshake_timeout: options.handshake_timeout,
            max_subscribers: options.max_subscribers,
            seats: Arc::new(Semaphore::new(options.max_subscribers)),
        }
    }

    /// Accepts connections until the recording is over, then waits a little for them to end.
    async fn run(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.ring.until_finished() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok((stream, _)) => drop(connections.spawn(Arc::clone(&self).connection(stream))),
                        // Out of file descriptors, most likely: they may come back.
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
            Ok((received, _seat)) => {
                let since = handshake::since(&received.request);
                subscriber::serve(stream, received.rest, &self.ring, since, self.pace).await;
            }
            // A peer that doesn't take its refusal needs no other.
            Err(refusal) => drop(timeout(self.handshake_timeout, refusal.send(stream)).await),
        }
    }

    /// The handshake: after it, the stream is a WebSocket with a seat.
    async fn welcome(&self, stream: &mut TcpStream) -> Result<(Received, OwnedSemaphorePermit), Refusal> {
        let received = handshake::receive(stream).await?;
        let response = self.gate.admit(&received.request)?;
        let seat = Arc::clone(&self.seats).try_acquire_owned().map_err(|_| {
            let text =
                format!("There are {} viewers already. Close one and try again.", self.max_subscribers);
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
        })?;
        let unsent = |_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "The upgrade failed.");
        stream.set_nodelay(true).map_err(unsent)?;
        handshake::upgrade(stream, &response).await.map_err(unsent)?;
        Ok((received, seat))
    }
}

fn is_token(token: &str) -> bool {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !token.is_empty() && token.bytes().all(is_safe)
}

/// Binds `first`, a following port, or any free one. Ports that the system reserves count as busy.
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
