//! What the proxy hands on: every exchange once, however it ended. The proxy runs in this process, and a signal ends it: so
//! this is the only test here.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use wiretape_events::{Ended, Streamed, Transaction, TransactionSink, Violation};
use wiretape_proxy::http::{
    HostHeader, Limits, ListenerOptions, OAuthRewrite, ProxyOptions, ReverseOptions, Route, run,
};
use wiretape_proxy::journal::JournalOptions;
use wiretape_trace::redact::{RedactionKey, Redactor, Rules};

#[derive(Default)]
struct Kept(Mutex<Vec<Transaction>>);

impl TransactionSink for Kept {
    fn finished(&self, transaction: Transaction) {
        self.0.lock().unwrap().push(transaction);
    }

    fn streamed(&self, _: Streamed) {}

    fn violated(&self, _: Violation) {}
}

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;

/// Answers requests on one connection after another; one for `/hang` is reported, and never answered.
fn serve(listener: &TcpListener, hanging: &mpsc::Sender<()>) {
    for stream in listener.incoming().map_while(Result::ok) {
        let hanging = hanging.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            while let Some((path, _)) = read_message(&mut reader) {
                if path.contains("/hang") {
                    hanging.send(()).unwrap();
                    std::thread::sleep(Duration::from_secs(60));
                }
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n";
                let answer = format!("{head}Content-Length: {}\r\n\r\n{ANSWER}", ANSWER.len());
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
    }
}

/// The first line and the body of a message.
fn read_message(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|length| *length > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, body))
}

fn post(stream: &mut TcpStream, path: &str, body: &str) {
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
}

fn options(upstream: SocketAddr, traces: &std::path::Path, sink: Arc<Kept>) -> ProxyOptions {
    let listener = ListenerOptions {
        name: "here".to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        route: Route::Reverse(ReverseOptions {
            upstream: format!("http://{upstream}/mcp").parse().unwrap(),
            host: HostHeader::Keep,
            allowed_hosts: Vec::new(),
            oauth: OAuthRewrite::Off,
            csp: Vec::new(),
        }),
    };
    ProxyOptions {
        listeners: vec![listener],
        admin: None,
        limits: Limits { body: 1000, ..Limits::default() },
        traces: Some(JournalOptions { dir: traces.to_owned(), max_bytes: None, max_files: None, tee: None }),
        session_idle: Duration::from_secs(60),
        redactor: Some(Redactor::new(&Rules::default(), &RedactionKey::new([1; 32])).unwrap()),
        drain: Duration::from_secs(10),
        on_drain: Arc::new(|_| {}),
        workers: 1,
        warn: Arc::new(|_| {}),
        sink: Some(sink),
    }
}

#[test]
fn every_exchange_is_handed_on_once() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream_address = upstream.local_addr().unwrap();
    let (hang, hanging) = mpsc::channel();
    std::thread::spawn(move || serve(&upstream, &hang));
    let traces = tempfile::tempdir().unwrap();
    let kept = Arc::new(Kept::default());
    let options = options(upstream_address, traces.path(), Arc::clone(&kept));
    let (ready, listening) = mpsc::channel();
    let proxy = std::thread::spawn(move || {
        run(options, move |bound, _| ready.send(bound[0].address).unwrap()).unwrap();
    });
    let address = listening.recv().unwrap();

    let mut client = TcpStream::connect(address).unwrap();
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"password":"hunter2"}}"#;
    post(&mut client, "/mcp?token=s3cr3t-in-the-query", call);
    let mut reader = BufReader::new(client.try_clone().unwrap());
    assert_eq!(read_message(&mut reader).unwrap().1, ANSWER.as_bytes());
    post(&mut client, "/mcp", &"x".repeat(1001));
    assert!(read_message(&mut reader).unwrap().0.contains(" 413 "));
    let mut impatient = TcpStream::connect(address).unwrap();
    post(&mut impatient, "/hang", call);
    while kept.0.lock().unwrap().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    // It must have got as far as the upstream.
    hanging.recv().unwrap();
    drop((impatient, client, reader));
    while kept.0.lock().unwrap().len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
    proxy.join().unwrap();

    let mut all = std::mem::take(&mut *kept.0.lock().unwrap());
    all.sort_by_key(|one| one.x);
    let ends: Vec<_> = all.iter().map(|one| (one.x, one.ended, one.status)).collect();
    assert_eq!(
        ends,
        [(1, Ended::Complete, Some(200)), (2, Ended::TooLarge, Some(413)), (3, Ended::ClientClosed, None)]
    );
    let first = &all[0];
    assert_eq!((first.listener.as_deref(), &*first.method), (Some("here"), "POST"));
    assert_eq!(first.session.as_deref(), Some("s1"));
    assert_eq!(first.response.as_deref(), Some(ANSWER.as_bytes()));
    assert_eq!((first.request_bytes, first.response_bytes), (call.len() as u64, ANSWER.len() as u64));
    assert!(first.timings.connected_us <= first.timings.answered_us);
    assert!(first.timings.first_byte_us.unwrap() <= first.timings.ended_us);
    // The client that left was waiting for the server: the stages that it didn't see have no times.
    let left = &all[2].timings;
    assert!(left.connected_us.is_some());
    assert_eq!((left.answered_us, left.first_byte_us, left.responded_us), (None, None, None));
    let told = format!("{all:?}");
    assert!(!told.contains("hunter2") && !told.contains("s3cr3t"), "{told}");
}
