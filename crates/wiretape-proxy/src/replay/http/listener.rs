//! The listener: connections in, until a signal ends it.

use super::super::deck::{Deck, Tell};
use super::super::real::RealServers;
use super::gate::Gate;
use super::route::Site;
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

/// Where to listen, and whom to answer.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The address.
    pub listen: SocketAddr,
    /// Pages on the web that may ask.
    pub allowed_origins: Vec<Origin>,
}

/// A listener can't listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can't be had.
    #[error("can't listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system doesn't give what is needed.
    #[error("can't start the server")]
    Start(#[source] io::Error),
}

/// Plays tapes to the clients that come, until a signal ends us. Each stands under a prefix of the path. `ready` is called with
/// the address once clients can come. What was not recorded the real servers are asked, if there are any.
pub fn listen(
    options: HttpOptions,
    decks: Vec<(String, Arc<Deck>)>,
    tell: &Tell,
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
        let gate = Gate::new(address, options.allowed_origins);
        let site = Arc::new(Site::new(gate, decks, tell, real));
        ready(address);
        tokio::select! {
            () = accept(listener, site) => {}
            () = signals.next() => {}
        }
        Ok(())
    })
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    const BREATH: Duration = Duration::from_millis(50);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&site)))),
            // No more files, most likely: somebody must let go of one first.
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}

async fn serve(stream: TcpStream, site: Arc<Site>) {
    // A connection that can't be set up this way works all the same.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(request).await) }
    });
    let mut server = http1::Builder::new();
    // Small answers are copied behind their heads and written with them: cheaper than to gather the two on each write.
    server.timer(TokioTimer::new()).writev(false);
    // Who asks may go when he likes.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}
