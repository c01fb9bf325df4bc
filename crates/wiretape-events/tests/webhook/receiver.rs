//! An HTTP receiver on loopback that answers as scripted.

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// So long nothing takes; only a test that fails waits for it.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What to do with a request.
pub(crate) enum Reply {
    Status(u16),
    /// With `Retry-After`.
    Later(u16, String),
    /// With other lines in the head, and with a body.
    Full(u16, String, String),
    /// No answer until the other side gives up.
    Stall,
    /// The connection is closed when the request has been read.
    HangUp,
}

/// A request that has come.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) lines: Vec<String>,
    pub(crate) at: SystemTime,
    /// Whether it was answered with 2xx.
    pub(crate) taken: bool,
}

impl Request {
    pub(crate) fn ids(&self) -> Vec<String> {
        self.lines.iter().map(|line| id_in(line)).collect()
    }
}

pub(crate) fn id_in(line: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(line).unwrap();
    event["event_id"].as_str().unwrap().to_owned()
}

type Decide = Box<dyn FnMut(&Request) -> Reply + Send>;
type Wrap = Box<dyn Fn(TcpStream) -> Box<dyn Stream> + Send + Sync>;

pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    decide: Mutex<Decide>,
    wrap: Wrap,
    requests: Mutex<Vec<Request>>,
    came: Condvar,
    connections: Mutex<Vec<TcpStream>>,
    closed: AtomicBool,
}

impl Receiver {
    pub(crate) fn start(decide: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), decide)
    }

    /// One reply after the other, then 200.
    pub(crate) fn with_replies(replies: Vec<Reply>) -> Self {
        let mut replies = replies.into_iter();
        Self::start(move |_| replies.next().unwrap_or(Reply::Status(200)))
    }

    pub(crate) fn start_at(
        address: SocketAddr,
        decide: impl FnMut(&Request) -> Reply + Send + 'static,
    ) -> Self {
        Self::start_wrapped(address, decide, Box::new(|stream| Box::new(stream)))
    }

    pub(crate) fn start_wrapped(
        address: SocketAddr,
        decide: impl FnMut(&Request) -> Reply + Send + 'static,
        wrap: Wrap,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            decide: Mutex::new(Box::new(decide)),
            wrap,
            requests: Mutex::default(),
            came: Condvar::new(),
            connections: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        Receiver { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/events?key=hidden-query", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The ids that were taken, in order.
    pub(crate) fn taken(&self) -> Vec<String> {
        self.requests().iter().filter(|request| request.taken).flat_map(Request::ids).collect()
    }

    /// Waits until something is true of the requests.
    pub(crate) fn wait_until(&self, is_true: impl Fn(&[Request]) -> bool) {
        let end = Instant::now() + LONG;
        let mut requests = self.shared.requests.lock().unwrap();
        while !is_true(&requests) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not come true: {} requests", requests.len());
            requests = self.shared.came.wait_timeout(requests, left).unwrap().0;
        }
    }

    /// Breaks all connections and takes no more.
    pub(crate) fn stop(self) -> Vec<Request> {
        self.shared.close(self.address);
        self.requests()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.close(self.address);
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            if self.closed.load(Ordering::SeqCst) {
                return;
            }
            self.connections.lock().unwrap().push(stream.try_clone().unwrap());
            let shared = Arc::clone(self);
            thread::spawn(move || shared.serve(stream));
        }
    }

    fn close(&self, address: SocketAddr) {
        if self.closed.swap(true, Ordering::SeqCst) {
            return;
        }
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes `accept`; when connecting fails, the listener is gone.
        let end = Instant::now() + LONG;
        while TcpStream::connect(address).is_ok() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn serve(&self, stream: TcpStream) {
        let connection = stream.try_clone().unwrap();
        let mut stream = BufReader::new((self.wrap)(stream));
        while let Some(mut request) = read_request(&mut stream) {
            let reply = (self.decide.lock().unwrap())(&request);
            let answer = match &reply {
                Reply::Status(status) => Some(answer(*status, "", "")),
                Reply::Later(status, after) => {
                    Some(answer(*status, &format!("Retry-After: {after}\r\n"), ""))
                }
                Reply::Full(status, head, body) => Some(answer(*status, head, body)),
                Reply::Stall | Reply::HangUp => None,
            };
            request.taken = answer.as_ref().is_some_and(|answer| answer.starts_with("HTTP/1.1 2"));
            self.requests.lock().unwrap().push(request);
            let sent = answer.map(|answer| stream.get_mut().write_all(answer.as_bytes()).is_ok());
            self.came.notify_all();
            match reply {
                // Ends when the other side closes.
                Reply::Stall => drop(stream.read(&mut [0])),
                Reply::HangUp => drop(connection.shutdown(Shutdown::Both)),
                _ if sent == Some(true) => continue,
                _ => {}
            }
            return;
        }
    }
}

fn answer(status: u16, head: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} Whatever\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn read_request(stream: &mut BufReader<Box<dyn Stream>>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    assert!(line.starts_with("POST "), "{line}");
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).ok()?;
    let mut text = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    let lines = text.lines().map(str::to_owned).collect();
    Some(Request { path, headers, lines, at: SystemTime::now(), taken: false })
}
