//! The local web server: the page, and the JSON API that it asks.
//!
//! It listens on this machine only, and lets nobody in who doesn't know the token of this run. What pages of other
//! sites could try is refused: another `Host`, another `Origin`, a request without the token.

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

/// What to serve, and where.
pub struct ViewOptions {
    /// Where to listen; the address must be of this machine alone.
    pub listen: SocketAddr,
    /// The traces of this machine.
    pub directory: Arc<TraceDirectory>,
    /// Traces that are to be opened at once.
    pub given: Vec<PathBuf>,
    /// The store of events, whether or not it is there.
    pub store: Option<PathBuf>,
}

/// The server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The address is one that others can reach.
    #[error("{0} can be reached from other machines; the page is for this one only")]
    NotLoopback(SocketAddr),
    /// Nobody can listen there.
    #[error("can't listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// There is no randomness for a token.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
    /// Something else of the system failed.
    #[error("the server failed")]
    Failed(#[from] io::Error),
}

/// Whoever answers requests.
pub(crate) struct App {
    pub(crate) library: Library,
    pub(crate) guard: Guard,
}

/// Serves until the program is told to stop; `ready` is told the address to open.
pub fn serve(options: ViewOptions, ready: impl FnOnce(&PageAddress)) -> Result<(), ViewError> {
    if !options.listen.ip().is_loopback() {
        return Err(ViewError::NotLoopback(options.listen));
    }
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
        ready(&address);
        tokio::select! {
            served = async { axum::serve(listener, routes::router(app)).await } => Ok(served?),
            () = stopped() => Ok(()),
        }
    })
}

/// Waits for the signal that ends a program; a terminal that is closed is one, too. Files of our own go away then.
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
    // If signals can't be waited for, they end the program by themselves.
    let _ = tokio::signal::ctrl_c().await;
}

/// Waits until the terminal is closed, unless somebody wants us to stay then, as `nohup` does.
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

/// Whether a signal is ignored, as far as the system tells.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
