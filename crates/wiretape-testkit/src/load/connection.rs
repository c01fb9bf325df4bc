//! One connection and its session, with one call in flight at a time.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::load::Amount;
use crate::load::request::{self, Call};
use crate::load::response::{self, Response};

/// The initial size of the receive buffer, in bytes. Answers are small; it grows for a longer one.
const BUFFER: usize = 4096;

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    call: Call,
    received: Vec<u8>,
}

impl Connection {
    /// Connects and initializes a session. Connections with different numbers use different ids.
    pub(super) async fn open(address: SocketAddr, number: usize) -> io::Result<Self> {
        let mut received = vec![0; BUFFER];
        let (stream, session) = initialize(address, &mut received).await?;
        Ok(Self { stream, call: Call::new(address, &session, number), received })
    }

    /// Calls until the amount is reached. Returns the connection, and the latency of each call in nanoseconds.
    pub(super) async fn run(mut self, amount: Amount) -> io::Result<(Self, Vec<u32>)> {
        let mut latencies = Vec::new();
        let start = Instant::now();
        let mut now = start;
        while !reached(amount, start, now, latencies.len()) {
            let sent = Instant::now();
            self.call_once().await?;
            now = Instant::now();
            // A `u32` holds up to 4.29 s. A longer latency means that something hung, however long it took.
            latencies.push(u32::try_from((now - sent).as_nanos()).unwrap_or(u32::MAX));
        }
        Ok((self, latencies))
    }

    async fn call_once(&mut self) -> io::Result<()> {
        self.call.advance();
        self.stream.write_all(self.call.bytes()).await?;
        let answer = receive(&mut self.stream, &mut self.received).await?;
        expect(answer.status, 200)?;
        if self.call.is_answered_by(&answer.body) {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&answer.body);
        Err(io::Error::other(format!("not the answer to call {}: {body}", self.call.id())))
    }
}

/// Connects and initializes a session; the connection and the session's id.
pub(super) async fn initialize(
    address: SocketAddr,
    received: &mut Vec<u8>,
) -> io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&request::initialize(address)).await?;
    let answer = receive(&mut stream, received).await?;
    let session = answer.session.ok_or_else(|| io::Error::other("initialize gave no session"))?;
    stream.write_all(&request::initialized(address, &session)).await?;
    expect(receive(&mut stream, received).await?.status, 202)?;
    Ok((stream, session))
}

fn reached(amount: Amount, start: Instant, now: Instant, calls: usize) -> bool {
    match amount {
        Amount::Time(time) => now - start >= time,
        Amount::Calls(most) => calls as u64 >= most,
    }
}

fn expect(status: u16, expected: u16) -> io::Result<()> {
    if status == expected {
        return Ok(());
    }
    Err(io::Error::other(format!("status {status}, expected {expected}")))
}

/// Reads one complete response. There is never more than one in flight, so nothing follows it.
async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Response> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let count = stream.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
        }
        filled += count;
        if let Some(response) = response::parse(&buffer[..filled])? {
            return Ok(response);
        }
    }
}
