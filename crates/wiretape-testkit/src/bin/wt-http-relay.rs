//! The floor that `wiretape proxy` is measured against: a reverse proxy that passes requests and responses on as they
//! stream, and does nothing else. Nothing is recorded, looked at or changed.
//!
//! `wt-http-relay proxy --upstream URL --listen ADDRESS --traces DIR`: the proxy's own command line, so that both are
//! run alike; the directory stays empty. It prints its URL.
//!
//! Each client connection has a connection to the server of its own, kept as long as it lives: cheaper than a pool
//! shared by all, and what a floor should be.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;

use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use wiretape_testkit::http;

const USAGE: &str = "usage: wt-http-relay proxy --upstream URL --listen ADDRESS --traces DIR";

fn main() -> io::Result<()> {
    let (listen, upstream) = parse(std::env::args().skip(1)).ok_or_else(|| io::Error::other(USAGE))?;
    http::runtime()?.block_on(serve(listen, upstream))
}

/// Where to listen, and where to pass everything on to.
fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(SocketAddr, SocketAddr)> {
    expect(&mut arguments, "proxy")?;
    expect(&mut arguments, "--upstream")?;
    let upstream = http::address_in(&arguments.next()?)?;
    expect(&mut arguments, "--listen")?;
    let listen = arguments.next()?.parse().ok()?;
    expect(&mut arguments, "--traces")?;
    arguments.next()?;
    arguments.next().is_none().then_some((listen, upstream))
}

fn expect(arguments: &mut impl Iterator<Item = String>, word: &str) -> Option<()> {
    (arguments.next()? == word).then_some(())
}

async fn serve(listen: SocketAddr, upstream: SocketAddr) -> io::Result<()> {
    let listener = http::listen(listen).await?;
    loop {
        let client = http::accept(&listener).await?;
        tokio::spawn(async move {
            // A client whose server can't be reached is hung up on.
            if let Ok(upstream) = connect(upstream).await {
                relay(client, upstream).await;
            }
        });
    }
}

async fn connect(address: SocketAddr) -> io::Result<SendRequest<Incoming>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let handshake = http1::Builder::new().writev(false).handshake(TokioIo::new(stream));
    let (sender, connection) = handshake.await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn relay(client: TcpStream, upstream: SendRequest<Incoming>) {
    // HTTP/1.1 has one request at a time, so it is always there when the next one comes.
    let upstream = &Mutex::new(Some(upstream));
    http::serve(client, service_fn(|request| pass_on(request, upstream))).await;
}

async fn pass_on(
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
