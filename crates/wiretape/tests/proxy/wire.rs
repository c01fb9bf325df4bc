//! HTTP/1.1 by hand, for both ends: nothing between a test and the bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// After this a test fails: generous, for the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A server that does nothing until its test does it.
pub(crate) struct Upstream {
    listener: TcpListener,
}

impl Upstream {
    pub(crate) fn listen() -> Self {
        Upstream { listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    /// Again where one has been before.
    pub(crate) fn listen_at(address: SocketAddr) -> Self {
        Upstream { listener: TcpListener::bind(address).unwrap() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// `http://127.0.0.1:1234/mcp`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address())
    }

    /// The next connection.
    pub(crate) fn accept(&self) -> Peer {
        self.listener.set_nonblocking(true).unwrap();
        let start = Instant::now();
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).unwrap();
                    return Peer::new(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
            assert!(start.elapsed() < LIMIT, "nobody connected");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Accepts a connection, hears a request on it and answers it.
    pub(crate) fn answer(&self, response: impl AsRef<[u8]>) -> (Peer, Head, Vec<u8>) {
        let mut peer = self.accept();
        let (head, body) = peer.receive();
        peer.send(response);
        (peer, head, body)
    }
}

/// One end of a connection.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// Bytes that were read and not yet consumed.
    ahead: Vec<u8>,
    /// It is to break, not to end.
    abrupt: bool,
}

impl Drop for Peer {
    /// Closing alone would not do while another test starts a process, which has all our sockets for a moment.
    fn drop(&mut self) {
        if !self.abrupt {
            // The other side may have gone before.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The other side said that it has no more to say.
    Closed,
    /// The connection broke.
    Reset,
}

impl Peer {
    fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        Peer { stream, ahead: Vec::new(), abrupt: false }
    }

    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// No more will be sent.
    pub(crate) fn finish_sending(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Breaks the connection: closing one while something is unread does. Something must be, therefore.
    pub(crate) fn reset(mut self) {
        self.abrupt = true;
        assert!(self.stream.peek(&mut [0]).unwrap() > 0);
    }

    /// Reads more; gives how much that was.
    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 64 * 1024];
        let length = self.stream.read(&mut buffer)?;
        self.ahead.extend_from_slice(&buffer[..length]);
        Ok(length)
    }

    fn more(&mut self, for_what: &str) {
        let length = self.fill().unwrap_or_else(|error| {
            panic!("{error} while waiting for {for_what} after {:?}", String::from_utf8_lossy(&self.ahead))
        });
        assert!(length > 0, "closed before {for_what}: {:?}", String::from_utf8_lossy(&self.ahead));
    }

    /// Reads up to and including these bytes.
    pub(crate) fn read_through(&mut self, end: &[u8]) -> Vec<u8> {
        let mut from = 0;
        loop {
            let found = self.ahead[from..].windows(end.len()).position(|window| window == end);
            if let Some(at) = found {
                return self.take(from + at + end.len());
            }
            from = self.ahead.len().saturating_sub(end.len() - 1);
            self.more(&format!("{:?}", String::from_utf8_lossy(end)));
        }
    }

    pub(crate) fn read_exactly(&mut self, length: usize) -> Vec<u8> {
        while self.ahead.len() < length {
            self.more("a body's end");
        }
        self.take(length)
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.ahead.split_off(length);
        std::mem::replace(&mut self.ahead, rest)
    }

    /// Reads a request's or response's head.
    pub(crate) fn receive_head(&mut self) -> Head {
        Head::parse(&self.read_through(b"\r\n\r\n"))
    }

    /// Reads a head, and a body whose length the head gives.
    pub(crate) fn receive(&mut self) -> (Head, Vec<u8>) {
        let head = self.receive_head();
        let body = match (head.get("content-length"), head.get("transfer-encoding")) {
            (_, Some(encoding)) if encoding == "chunked" => self.receive_chunked().0,
            (Some(length), _) => self.read_exactly(length.parse().unwrap()),
            _ => Vec::new(),
        };
        (head, body)
    }

    /// Reads chunks up to the last: the body, and the trailers.
    pub(crate) fn receive_chunked(&mut self) -> (Vec<u8>, Vec<u8>) {
        let mut body = Vec::new();
        loop {
            let chunk = self.receive_chunk();
            if chunk.is_empty() {
                return (body, self.receive_trailers());
            }
            body.extend(chunk);
        }
    }

    fn receive_trailers(&mut self) -> Vec<u8> {
        let mut trailers = Vec::new();
        loop {
            let line = self.read_through(b"\r\n");
            if line == b"\r\n" {
                return trailers;
            }
            trailers.extend(line);
        }
    }

    /// One chunk; nothing if it was the last, whose trailers are not read yet.
    pub(crate) fn receive_chunk(&mut self) -> Vec<u8> {
        let line = String::from_utf8(self.read_through(b"\r\n")).unwrap();
        let length = usize::from_str_radix(line.trim_end().split(';').next().unwrap(), 16).unwrap();
        if length == 0 {
            return Vec::new();
        }
        let mut chunk = self.read_exactly(length + 2);
        assert_eq!(chunk.split_off(length), b"\r\n");
        chunk
    }

    /// Reads chunks until the body has this many bytes.
    pub(crate) fn receive_streamed(&mut self, length: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < length {
            let chunk = self.receive_chunk();
            assert!(!chunk.is_empty(), "the stream ended: {:?}", String::from_utf8_lossy(&body));
            body.extend(chunk);
        }
        body
    }

    /// Reads until the connection ends, and says how it did.
    pub(crate) fn receive_rest(&mut self) -> (Vec<u8>, Ending) {
        loop {
            match self.fill() {
                Ok(0) => return (std::mem::take(&mut self.ahead), Ending::Closed),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return (std::mem::take(&mut self.ahead), Ending::Reset);
                }
                Err(error) => panic!("{error} while waiting for the end"),
            }
        }
    }
}

/// The head of a request or response, verbatim.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// The request line or status line.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = bytes.strip_suffix(b"\r\n\r\n").unwrap();
        let mut lines = split(text, b"\r\n").into_iter();
        let start = String::from_utf8_lossy(lines.next().unwrap()).into_owned();
        let header = |line: &[u8]| {
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            (String::from_utf8(line[..colon].to_vec()).unwrap(), line[colon + 1..].trim_ascii().to_vec())
        };
        Head { start, headers: lines.map(header).collect() }
    }

    /// All values of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&[u8]> {
        let matching = self.headers.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name));
        matching.map(|(_, value)| &value[..]).collect()
    }

    /// The only value of a header.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name} stands there {} times", all.len());
        all.first().map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// The headers' names as they were spelled, sorted.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

fn split<'a>(bytes: &'a [u8], by: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(by.len()).position(|window| window == by) {
        parts.push(&rest[..at]);
        rest = &rest[at + by.len()..];
    }
    parts.push(rest);
    parts
}

/// A request with a JSON body.
pub(crate) fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// A response with a JSON body.
pub(crate) fn ok(headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// The head of a stream of events.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A request that opens a stream of events.
pub(crate) const OPEN_STREAM: &str = "GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n";

/// The chunk that holds these bytes.
pub(crate) fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// The last chunk.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
