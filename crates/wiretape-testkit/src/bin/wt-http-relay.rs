//! The floor that `wiretape proxy` is measured against: a reverse proxy that streams requests and responses through,
//! and does nothing else. Nothing is recorded, inspected or changed.
//!
//! `wt-http-relay proxy --upstream URL --listen ADDRESS …` prints its URL.
//!
//! Each client connection has its own connection to the server for as long as it lives, which is cheaper than a
//! shared pool, as a floor should be.

use std::io;
use std::sync::Mutex;

use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use wiretape_testkit::http;
use wiretape_testkit::relay::Addresses;

fn main() -> io::Result<()> {
    let addresses = Addresses::from_arguments()?;
    http::runtime()?.block_on(serve(addresses))
}

async fn serve(addresses: Addresses) -> io::Result<()> {
    let listener = http::listen(addresses.listen).await?;
    loop {
        let client = http::accept(&listener).await?;
        tokio::spawn(async move {
            // If the server can't be reached, the client's connection is closed.
            if let Ok(upstream) = connect(addresses).await {
                relay(client, upstream).await;
            }
        });
    }
}

async fn connect(addresses: Addresses) -> io::Result<SendRequest<Incoming>> {
    let stream = addresses.connect().await?;
    let handshake = http1::Builder::new().writev(false).handshake(TokioIo::new(stream));
    let (sender, connection) = handshake.await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn relay(client: TcpStream, upstream: SendRequest<Incoming>) {
    // HTTP/1.1 has one request at a time, so the sender is always back when the next one arrives.
    let upstream = &Mutex::new(Some(upstream));
    http::serve(client, service_fn(|request| forward(request, upstream))).await;
}

async fn forward(
    request: Request<Incoming>,
    upstream: &Mutex<Option<SendRequest<Incoming>>>,
) -> io::Result<Response<Incoming>> {
    let taken = upstream.lock().expect("no holder of the lock panics").take();
    let mut sender = taken.ok_or_else(|| io::Error::other("two requests at a time"))?;
    sender.ready().await.map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    *upstream.lock().expect("no holder of the lock panics") = Some(sender);
    Ok(response)
}
