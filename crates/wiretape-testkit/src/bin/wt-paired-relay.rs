//! What a proxy could cost that forwards HTTP/1.1 as the bytes it is: each client connection is paired with one to the
//! server, a framer follows along, and heads and bodies are handed to a counter where a recorder would be. Bytes are
//! forwarded after they were handed over. `docs/design/0012-paired-connections.md` has the figures.
//!
//! `wt-paired-relay proxy --upstream URL --listen ADDRESS …` prints its URL.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use wiretape_testkit::framer::{FramingError, Pair, Piece};
use wiretape_testkit::http;
use wiretape_testkit::relay::Addresses;

/// The size of a read, in bytes: a head and a small body, as hyper reads them.
const BUFFER: usize = 8 * 1024;

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
            if let Ok(upstream) = addresses.connect().await {
                // After an error both connections are closed: what follows can't be understood.
                let _ = relay(client, upstream).await;
            }
        });
    }
}

async fn relay(mut client: TcpStream, mut upstream: TcpStream) -> io::Result<()> {
    // Never contended, since both directions are in one task.
    let pair = &Mutex::new(Pair::default());
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = upstream.split();
    let requests = pump(from_client, to_server, |bytes| {
        pair.lock().expect("no holder of the lock panics").from_client(bytes, &mut count)
    });
    let responses = pump(from_server, to_client, |bytes| {
        pair.lock().expect("no holder of the lock panics").from_server(bytes, &mut count)
    });
    tokio::try_join!(requests, responses)?;
    Ok(())
}

async fn pump(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    follow: impl Fn(&[u8]) -> Result<(), FramingError>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        let bytes = &buffer[..read];
        follow(bytes).map_err(|error| io::Error::other(format!("{error:?}")))?;
        to.write_all(bytes).await?;
    }
}

/// The bytes of all heads and bodies: in the place of a recorder.
static COUNTED: AtomicU64 = AtomicU64::new(0);

fn count(piece: Piece<'_>) {
    let (Piece::Head(bytes) | Piece::Body(bytes)) = piece else { return };
    COUNTED.fetch_add(bytes.len() as u64, Ordering::Relaxed);
}
