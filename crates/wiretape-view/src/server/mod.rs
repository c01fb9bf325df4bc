//! The local web server: the page, and its JSON API.
//!
//! It listens on loopback only and requires the token of this run. Requests that pages of other
//! sites could send are refused: another `Host`, another `Origin`, a missing token.

mod answer;
mod bring;
mod guard;
mod live;
mod page;
mod routes;
mod watch;

use crate::library::Library;
use guard::Guard;
pub use guard::PageAddress;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use wiretape_library::TraceDirectory;

/// The options of `wiretape view`.
pub struct ViewOptions {
    /// The address to listen on; must be a loopback address.
    pub listen: SocketAddr,
    /// The directory of recorded traces.
    pub directory: Arc<TraceDirectory>,
    /// Traces given on the command line.
    pub given: Vec<PathBuf>,
    /// The path of the store, which need not exist.
    pub store: Option<PathBuf>,
}

/// Why the server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The address is one that others can reach.
    #[error("{0} is reachable from other machines; the page is only served on loopback addresses")]
    NotLoopback(SocketAddr),
    /// The address can't be bound.
    #[error("can't listen on {address}")]
    Listen {
        /// The address as configured, before a port was assigned.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// There is no randomness for a token.
    #[error("can't get random numbers from the system: {0}")]
    Random(getrandom::Error),
    /// Another system call failed.
    #[error("the server failed")]
    Failed(#[from] io::Error),
}

/// The state that all request handlers share.
pub(crate) struct App {
    pub(crate) library: Library,
    pub(crate) guard: Guard,
}

/// Serves until a signal stops the program; `ready` is called with the address to open.
pub fn serve(options: ViewOptions, ready: impl FnOnce(&PageAddress)) -> Result<(), ViewError> {
    if !options.listen.ip().is_loopback() {
        return Err(ViewError::NotLoopback(options.listen));
    }
    // One thread is enough: queries run on the blocking pool.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let address = options.listen;
        let failed = |source| ViewError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let guard = Guard::new(address).map_err(ViewError::Random)?;
        let address = guard.page();
        let app =
            Arc::new(App { library: Library::new(options.directory, options.given, options.store), guard });
        let mut stopped = std::pin::pin!(stopped());
        // Polled once before the address is published, which installs the handlers: a signal that comes right after must not
        // kill the process before it has deleted its files.
        tokio::select! {
            biased;
            () = &mut stopped => return Ok(()),
            () = std::future::ready(()) => {}
        }
        ready(&address);
        tokio::select! {
            served = async { axum::serve(listener, routes::router(app)).await } => Ok(served?),
            () = stopped => Ok(()),
        }
    })
}

/// Waits for a signal to stop, including a closed terminal. Temporary files are deleted afterwards.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => {}
                () = hung_up() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // If handlers can't be installed, the signals terminate the program directly.
    let _ = tokio::signal::ctrl_c().await;
}

/// Waits until the terminal is closed, unless SIGHUP is ignored, as with `nohup`.
#[cfg(unix)]
async fn hung_up() {
    use tokio::signal::unix::{SignalKind, signal};
    if !is_ignored(SignalKind::hangup().as_raw_value())
        && let Ok(mut hangup) = signal(SignalKind::hangup())
    {
        hangup.recv().await;
        return;
    }
    std::future::pending::<()>().await;
}

/// Whether a signal is ignored, according to `/proc`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
