//! An upstream, a proxy before it, and what the proxy hands on.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::time::{Duration, Instant};
use wiretape_events::{Streamed, Transaction, TransactionSink, Violation};
use wiretape_proxy::http::csp::{Directive, Directives, Mode, Rule};
use wiretape_proxy::http::{
    HostHeader, Limits, ListenerOptions, OAuthRewrite, ProxyOptions, ReverseOptions, Route, run,
};
use wiretape_trace::redact::{RedactionKey, Redactor, Rules};

/// After this a test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(90);

/// A message of HTTP: its first line, its headers in lower case, and its body.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) first: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn read(reader: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
            Some(line.trim_end().to_owned())
        };
        let first = line()?;
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut message = Message { first, headers, body: Vec::new() };
        message.body = if message.header("transfer-encoding") == Some("chunked") {
            read_chunks(reader)?
        } else {
            let length = message.header("content-length").map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            body
        };
        Some(message)
    }
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// An answer of the upstream's.
pub(crate) fn answer(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// What the proxy has handed on.
#[derive(Default)]
struct Kept {
    transactions: Mutex<Vec<Transaction>>,
    violations: Mutex<Vec<Violation>>,
}

impl TransactionSink for Kept {
    fn finished(&self, transaction: Transaction) {
        self.transactions.lock().unwrap().push(transaction);
    }

    fn streamed(&self, _: Streamed) {}

    fn violated(&self, violation: Violation) {
        self.violations.lock().unwrap().push(violation);
    }
}

/// A proxy, and the server behind it.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    kept: Arc<Kept>,
    asked: Arc<Mutex<Vec<Message>>>,
}

impl Proxy {
    /// With these rules, before a server that answers so.
    pub(crate) fn start(
        rules: Vec<Rule>,
        answer: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        let options_for = upstream.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || serve(&upstream, &heard, &Arc::new(answer)));
        let kept = Arc::new(Kept::default());
        let options = options(options_for, rules, Arc::clone(&kept));
        let (ready, listening) = mpsc::channel();
        std::thread::spawn(move || {
            run(options, move |bound, _| ready.send(bound[0].address).unwrap()).unwrap()
        });
        Proxy { address: listening.recv().unwrap(), kept, asked }
    }

    /// Sends a request, with `Host` and `Content-Length`, and reads the answer.
    pub(crate) fn ask(&self, first: &str, headers: &str, body: &str) -> Message {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (host, length) = (self.address, body.len());
        let head = format!("{first} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n");
        // One that is refused may be answered before it is read.
        let _ = stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice());
        Message::read(&mut BufReader::new(stream)).unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Message {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Asks with a message of JSON-RPC.
    pub(crate) fn call(&self, method: &str) -> Message {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
        self.ask("POST /mcp", "Content-Type: application/json\r\n", &body)
    }

    /// What the upstream was asked.
    pub(crate) fn asked(&self) -> MutexGuard<'_, Vec<Message>> {
        self.asked.lock().unwrap()
    }

    /// So many exchanges, as they were handed on, in order.
    pub(crate) fn transactions(&self, count: usize) -> Vec<Transaction> {
        wait_until("the exchanges are handed on", || self.kept.transactions.lock().unwrap().len() >= count);
        let mut all = self.kept.transactions.lock().unwrap().clone();
        all.sort_by_key(|transaction| transaction.x);
        assert_eq!(all.len(), count);
        all
    }

    pub(crate) fn violations(&self) -> Vec<Violation> {
        self.kept.violations.lock().unwrap().clone()
    }
}

fn serve(
    listener: &TcpListener,
    heard: &Arc<Mutex<Vec<Message>>>,
    answer: &Arc<impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static>,
) {
    for stream in listener.incoming().map_while(Result::ok) {
        let (heard, answer) = (Arc::clone(heard), Arc::clone(answer));
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            while let Some(message) = Message::read(&mut reader) {
                let answer = answer(&message);
                heard.lock().unwrap().push(message);
                if reader.get_mut().write_all(&answer).is_err() {
                    break;
                }
            }
        });
    }
}

fn options(upstream: SocketAddr, csp: Vec<Rule>, sink: Arc<Kept>) -> ProxyOptions {
    let listener = ListenerOptions {
        name: "here".to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        route: Route::Reverse(ReverseOptions {
            upstream: format!("http://{upstream}/mcp").parse().unwrap(),
            host: HostHeader::Keep,
            allowed_hosts: Vec::new(),
            oauth: OAuthRewrite::On,
            csp,
        }),
    };
    ProxyOptions {
        listeners: vec![listener],
        admin: None,
        limits: Limits::default(),
        traces: None,
        session_idle: LIMIT,
        redactor: Some(Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap()),
        drain: Duration::ZERO,
        on_drain: Arc::new(|_| {}),
        workers: 1,
        warn: Arc::new(|_| {}),
        sink: Some(sink),
    }
}

/// A rule.
pub(crate) fn rule(paths: &[&str], mode: Mode, directives: &[(&str, &[&str])]) -> Rule {
    let mut found = Directives::default();
    for (name, sources) in directives {
        let sources = sources.iter().map(|source| source.parse().unwrap());
        found.add(Directive::named(name).unwrap(), sources);
    }
    Rule {
        paths: paths.iter().map(|path| path.parse().unwrap()).collect(),
        mode,
        directives: found,
        report: None,
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "it never came so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
