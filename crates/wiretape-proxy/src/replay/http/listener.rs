//! The HTTP listener of a replay: accepts connections until a signal stops it.

use super::super::loaded_tape::{LoadedTape, NoticeCallback};
use super::super::real::RealServers;
use super::host_check::HostCheck;
use super::route::ReplayServer;
use crate::http::Signals;
use crate::live::Origin;
use crate::platform;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// The options of a replay over HTTP.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The origins of web pages that may send requests.
    pub allowed_origins: Vec<Origin>,
}

/// Why a replay over HTTP can't be started.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can't be bound.
    #[error("can't listen on {address}")]
    Listen {
        /// The address as configured, before a port was assigned.
        address: SocketAddr,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The runtime or the signal handlers could not be created.
    #[error("can't start the server")]
    Start(#[source] io::Error),
}

/// Plays tapes to HTTP clients until a signal stops it. Each tape has a path prefix. `ready` is called with the bound address.
/// Requests that were not recorded go to the real servers, if there are any.
pub fn listen(
    options: HttpOptions,
    loaded_tapes: Vec<(String, Arc<LoadedTape>)>,
    notify: &NoticeCallback,
    real: Option<Arc<RealServers>>,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ListenError> {
    platform::raise_file_limit();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ListenError::Start)?;
    runtime.block_on(async {
        let mut signals = Signals::catch().map_err(ListenError::Start)?;
        let address = options.listen;
        let failed = |source| ListenError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let host_check = HostCheck::new(address, options.allowed_origins);
        let server = Arc::new(ReplayServer::new(host_check, loaded_tapes, notify, real));
        ready(address);
        tokio::select! {
            () = accept(listener, server) => {}
            () = signals.next() => {}
        }
        Ok(())
    })
}

async fn accept(listener: TcpListener, server: Arc<ReplayServer>) {
    const RETRY_DELAY: Duration = Duration::from_millis(50);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&server)))),
            // Most likely out of file descriptors: wait for a connection to close instead of spinning.
            Err(_) => tokio::time::sleep(RETRY_DELAY).await,
        }
    }
}

async fn serve(stream: TcpStream, server: Arc<ReplayServer>) {
    // If it can't be set, the connection works, only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(server.answer(request).await) }
    });
    let mut server = http1::Builder::new();
    // Small bodies are copied behind their heads and written together: cheaper than a vectored write
    // (`cargo xtask bench --only replay`, the rows over HTTP).
    server.timer(TokioTimer::new()).writev(false);
    // The client may disconnect at any time; that is not an error.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}
