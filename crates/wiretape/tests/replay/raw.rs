//! HTTP on raw sockets, from clients that don't use an SDK.

use crate::session::Home;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;
use wiretape_trace::format::{LineEnd, Meta, Moment, TraceWriter};
use wiretape_trace::message::Direction;

/// No answer takes nearly as long.
const LIMIT: Duration = Duration::from_secs(60);

/// A trace of these messages, a millisecond after the other.
pub(crate) fn trace(home: &Home, said: &[(Direction, &str)]) -> PathBuf {
    paced_trace(home, said, Duration::from_millis(1))
}

/// A trace of these messages, each so long after the one before.
pub(crate) fn paced_trace(home: &Home, said: &[(Direction, &str)], pace: Duration) -> PathBuf {
    let pace = u64::try_from(pace.as_micros()).unwrap();
    let path = home.path("trace.jsonl");
    let meta = Meta { label: "wire".to_owned(), ..Meta::default() };
    let at = |us| Moment { wall_ms: 1_778_626_800_000, us };
    let mut writer = TraceWriter::new(Vec::new(), at(0), &meta).unwrap();
    for ((dir, raw), us) in said.iter().zip((1..).map(|n| n * pace)) {
        writer.message(at(us), *dir, raw.as_bytes()).unwrap();
    }
    std::fs::write(&path, writer.end(at(1_000_000), &LineEnd::default()).unwrap()).unwrap();
    path
}

/// A whole answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }
}

/// Sends a request and reads what comes until the connection ends.
pub(crate) fn ask(at: SocketAddr, method: &str, target: &str, headers: &[&str], body: &str) -> Answer {
    let mut stream = open(at, method, target, headers, body);
    let mut bytes = Vec::new();
    // A connection that is broken on purpose may end in an error.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn open(at: SocketAddr, method: &str, target: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let host = format!("Host: {at}");
    let usual = [&host, "Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let is_given = |usual: &&str| {
        let name = usual.split(':').next().unwrap();
        headers.iter().any(|header| header.split(':').next() == Some(name))
    };
    let usual = usual.into_iter().filter(|usual| !is_given(usual));
    // One without a value is not sent.
    let headers = headers.iter().copied().chain(usual).filter(|header| !header.ends_with(':'));
    let headers: String = headers.map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

pub(crate) fn post(at: SocketAddr, headers: &[&str], body: &str) -> Answer {
    ask(at, "POST", "/mcp", headers, body)
}

/// Begins a session, and gives the header that belongs to it.
pub(crate) fn session(at: SocketAddr, hello: &str) -> String {
    let hello = post(at, &[], hello);
    assert_eq!(hello.status, 200, "{}", hello.body);
    format!("Mcp-Session-Id: {}", hello.header("mcp-session-id").unwrap())
}

/// An answer that is read as it comes.
pub(crate) struct Stream {
    stream: TcpStream,
    /// What has come so far, with the head.
    pub(crate) heard: String,
}

impl Stream {
    /// Sends a request.
    pub(crate) fn open(at: SocketAddr, method: &str, target: &str, headers: &[&str], body: &str) -> Self {
        Stream { stream: open(at, method, target, headers, body), heard: String::new() }
    }

    /// Reads until this has come.
    pub(crate) fn until(&mut self, expected: &str) {
        while !self.heard.contains(expected) {
            assert!(self.read() > 0, "{expected} never came: {}", self.heard);
        }
    }

    /// Where the messages of HTTP+SSE go, as the stream says.
    pub(crate) fn endpoint(&mut self) -> String {
        self.until("/messages?sessionId=");
        let from = self.heard.find("/messages?sessionId=").unwrap();
        while !self.heard[from..].contains('\n') {
            assert!(self.read() > 0, "{}", self.heard);
        }
        self.heard[from..].lines().next().unwrap().to_owned()
    }

    /// Reads until the connection ends, in whatever way.
    pub(crate) fn rest(mut self) -> String {
        while self.read() > 0 {}
        self.heard
    }

    fn read(&mut self) -> usize {
        let mut chunk = [0; 4096];
        let n = match self.stream.read(&mut chunk) {
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error}: {}", self.heard),
        };
        self.heard.push_str(std::str::from_utf8(&chunk[..n]).unwrap());
        n
    }
}
