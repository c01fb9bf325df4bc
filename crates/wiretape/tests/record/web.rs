//! An HTTP server that does what a test says, however odd: one request a connection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    /// By their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn is(&self, method: &str) -> bool {
        self.json()["method"] == method
    }
}

/// Where an answer is written. The connection ends when it is dropped.
pub(crate) struct Reply(TcpStream);

impl Reply {
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).is_ok()
    }

    /// A whole answer.
    pub(crate) fn whole(&mut self, status: &str, headers: &str, body: &str) {
        self.write(format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        ));
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.whole("200 OK", "Content-Type: application/json\r\n", body);
    }

    pub(crate) fn accepted(&mut self) {
        self.whole("202 Accepted", "", "");
    }

    /// The head of a stream, which continues until the connection ends.
    pub(crate) fn events(&mut self) {
        self.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n");
    }

    /// Another hold on the same answer.
    pub(crate) fn again(&self) -> Reply {
        Reply(self.0.try_clone().unwrap())
    }

    /// Closes the connection, even if it has other handles.
    pub(crate) fn close(self) {
        self.0.shutdown(std::net::Shutdown::Both).unwrap();
    }

    /// Waits until the client has closed the connection.
    pub(crate) fn wait_for_close(&mut self) {
        let _ = self.0.read(&mut [0]);
    }

    /// The usual answers of a server with sessions; whether this was one of them.
    pub(crate) fn usual(&mut self, seen: &Seen) -> bool {
        match seen.method.as_str() {
            "POST" if seen.is("initialize") => self.whole(
                "200 OK",
                "Content-Type: application/json\r\nMcp-Session-Id: session-1\r\n",
                &format!(
                    r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}}}}}}"#,
                    seen.json()["id"]
                ),
            ),
            "POST" if seen.json().get("id").is_none() || seen.json().get("method").is_none() => self.accepted(),
            "GET" => self.whole("405 Method Not Allowed", "", ""),
            "DELETE" => self.whole("200 OK", "", ""),
            _ => return false,
        }
        true
    }
}

/// The server.
pub(crate) struct Web {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Web {
    pub(crate) fn start(answer: impl Fn(&Seen, &mut Reply) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    all.lock().unwrap().push(request.clone());
                    answer(&request, &mut Reply(stream));
                });
            }
        });
        Web { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// `POST initialize`, `GET`, …
    pub(crate) fn log(&self) -> Vec<String> {
        let line = |seen: &Seen| match seen.json()["method"].as_str() {
            Some(method) => format!("{} {method}", seen.method),
            None => seen.method.clone(),
        };
        self.seen().iter().map(line).collect()
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { method, target, headers, body })
}
