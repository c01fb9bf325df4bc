//! Clients that open a stream of events each, and read it.

use std::io;
use std::net::SocketAddr;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::load::connection::initialize;
use crate::load::{Amount, Outcome, finished, request};

/// Open streams, each in a session of its own.
#[derive(Debug)]
pub struct Streams {
    streams: Vec<TcpStream>,
}

impl Streams {
    /// Opens `number` streams.
    pub async fn open(address: SocketAddr, number: usize) -> io::Result<Self> {
        let mut streams = Vec::with_capacity(number);
        let mut received = vec![0; 4096];
        for _ in 0..number {
            let (mut stream, session) = initialize(address, &mut received).await?;
            stream.write_all(&request::open_stream(address, &session)).await?;
            expect_stream(&mut stream).await?;
            streams.push(stream);
        }
        Ok(Self { streams })
    }

    /// Reads all streams for a time, and counts the events. A stream that ends is an error.
    pub async fn run(&mut self, amount: Amount) -> io::Result<Outcome> {
        let Amount::Time(time) = amount else {
            return Err(io::Error::other("streams are read for a time, not for a number of calls"));
        };
        let start = Instant::now();
        let tasks: Vec<_> =
            self.streams.drain(..).map(|stream| tokio::spawn(read_until(stream, start + time))).collect();
        let mut events = 0;
        for task in tasks {
            let (stream, read) = finished(task).await?;
            self.streams.push(stream);
            events += read;
        }
        Ok(Outcome::of_events(events, start.elapsed()))
    }
}

/// Reads the head, and perhaps the first event, which isn't counted.
async fn expect_stream(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while memmem::find(&head, b"\r\n\r\n").is_none() {
        if stream.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    if head.starts_with(b"HTTP/1.1 200 ") {
        return Ok(());
    }
    Err(io::Error::other(format!("not a stream: {}", String::from_utf8_lossy(&head))))
}

async fn read_until(mut stream: TcpStream, end: Instant) -> io::Result<(TcpStream, u64)> {
    let mut buffer = [0; 1024];
    let mut events = 0;
    while let Ok(read) = timeout_at(end, stream.read(&mut buffer)).await {
        let read = match read? {
            0 => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a stream has ended")),
            read => &buffer[..read],
        };
        // An event arrives in one piece, as it is small and written at once; the end of its data is unique.
        events += memmem::find_iter(read, b"\n\n").count() as u64;
    }
    Ok((stream, events))
}
