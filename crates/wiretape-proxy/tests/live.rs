//! The live view over real sockets: a real WebSocket client, and raw HTTP for what it refuses.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use wiretape_proxy::live::{LiveError, LiveHub, LiveOptions, Origin, random_token};

type Client = WebSocketStream<TcpStream>;

const TOKEN: &str = "secret-token";
const VIEWER: &str = "https://viewer.example";

/// Far beyond what any step needs, so that only a hang fails by time.
const DEADLINE: Duration = Duration::from_secs(60);

fn options() -> LiveOptions {
    let mut options = LiveOptions::new(TOKEN.to_owned());
    options.port = Some(0);
    options.allowed_origins = vec![Origin::parse(VIEWER).unwrap()];
    options
}

fn start() -> LiveHub {
    LiveHub::start(options()).unwrap()
}

async fn connect_with(url: &str, origin: Option<&str>, stream: TcpStream) -> Result<Client, Error> {
    let mut request = url.into_client_request()?;
    if let Some(origin) = origin {
        let headers = request.headers_mut();
        headers.insert("origin", origin.parse().unwrap());
    }
    Ok(client_async(request, stream).await?.0)
}

async fn try_connect(hub: &LiveHub, path: &str, origin: Option<&str>) -> Result<Client, Error> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, hub.port())).await?;
    let url = format!("ws://127.0.0.1:{}{path}", hub.port());
    connect_with(&url, origin, stream).await
}

async fn connect(hub: &LiveHub, query: &str) -> Client {
    let path = format!("/{TOKEN}{query}");
    try_connect(hub, &path, None).await.unwrap()
}

async fn next(client: &mut Client) -> Message {
    let message = timeout(DEADLINE, client.next()).await;
    message.expect("no message in time").unwrap().unwrap()
}

async fn next_text(client: &mut Client) -> String {
    next(client).await.into_text().unwrap().to_string()
}

async fn next_json(client: &mut Client) -> Value {
    serde_json::from_str(&next_text(client).await).unwrap()
}

fn seqs(snapshot: &Value) -> Vec<u64> {
    let lines = snapshot["lines"].as_array().unwrap().iter();
    lines.map(|line| line["_seq"].as_u64().unwrap()).collect()
}

/// Reads to the end: how many appends came, and the close code.
async fn read_to_close(client: &mut Client) -> (usize, CloseCode) {
    let mut appends = 0;
    loop {
        match next(client).await {
            Message::Text(text) if text.starts_with(r#"{"type":"append""#) => appends += 1,
            Message::Close(frame) => return (appends, frame.unwrap().code),
            _ => {}
        }
    }
}

async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "{what}: not in time");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Sends a request unchanged and returns the response; of an upgrade, only the headers.
fn raw_http(port: u16, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut answer = String::new();
    while !answer.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut answer).unwrap(), 0, "{answer}");
    }
    if !answer.starts_with("HTTP/1.1 101 ") {
        reader.read_to_string(&mut answer).unwrap();
    }
    answer
}

/// A complete upgrade request but for what is being tested.
fn upgrade_request(path: &str, headers: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\n{headers}Connection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

#[tokio::test]
async fn snapshot_then_appends() {
    let hub = start();
    hub.publish(br#"{"type":"meta"}"#);
    hub.publish(b"{}");
    let mut client = connect(&hub, "").await;
    let snapshot = next_text(&mut client).await;
    assert_eq!(snapshot, r#"{"type":"snapshot","lastSeq":2,"lines":[{"type":"meta","_seq":1},{"_seq":2}]}"#);
    for n in 3..=5 {
        hub.publish(format!(r#"{{"n":{n}}}"#).as_bytes());
        let append = next_text(&mut client).await;
        let expected = format!(r#"{{"type":"append","line":{{"n":{n},"_seq":{n}}}}}"#);
        assert_eq!(append, expected);
    }
}

#[tokio::test]
async fn empty_recording_has_an_empty_snapshot() {
    let hub = start();
    let mut client = connect(&hub, "").await;
    let expected = r#"{"type":"snapshot","lastSeq":0,"lines":[]}"#;
    assert_eq!(next_text(&mut client).await, expected);
    hub.publish(b"{}");
    assert_eq!(next_json(&mut client).await["line"]["_seq"], 1);
}

#[tokio::test]
async fn since_resumes() {
    let hub = start();
    (0..5).for_each(|_| hub.publish(b"{}"));
    for (query, expected) in [
        ("?since=3", vec![4, 5]),
        ("?since=5", vec![]),
        ("?since=99", vec![]),
        ("?since=0", vec![1, 2, 3, 4, 5]),
        ("?since=", vec![1, 2, 3, 4, 5]),
        ("?since=-1", vec![1, 2, 3, 4, 5]),
    ] {
        let snapshot = next_json(&mut connect(&hub, query).await).await;
        assert_eq!(snapshot["lastSeq"], 5, "{query}");
        assert_eq!(seqs(&snapshot), expected, "{query}");
        assert_eq!(snapshot.get("dropped"), None, "{query}");
    }
}

#[tokio::test]
async fn resumed_viewers_get_what_comes_next() {
    let hub = start();
    (0..3).for_each(|_| hub.publish(b"{}"));
    let mut clients = Vec::new();
    for query in ["?since=2", "?since=99"] {
        let mut client = connect(&hub, query).await;
        next_json(&mut client).await;
        clients.push(client);
    }
    hub.publish(b"{}");
    for client in &mut clients {
        assert_eq!(next_json(client).await["line"]["_seq"], 4);
    }
}

#[tokio::test]
async fn heartbeats_come_while_idle_and_while_busy() {
    let mut options = options();
    options.heartbeat = Duration::from_millis(20);
    let hub = LiveHub::start(options).unwrap();
    let mut client = connect(&hub, "").await;
    next_json(&mut client).await;
    for _ in 0..2 {
        let heartbeat = next_text(&mut client).await;
        assert_eq!(heartbeat, r#"{"type":"heartbeat"}"#);
    }
    loop {
        hub.publish(b"{}");
        if next_json(&mut client).await["type"] == "heartbeat" {
            break;
        }
    }
}

#[tokio::test]
async fn the_wire_bytes_survive() {
    let hub = start();
    let line = r#"{"z":12345678901234567890,"a":1.0,"a":-0,"raw":"é\u00e9\/","b":{"k":1,"k":2}}"#;
    hub.publish(line.as_bytes());
    let mut client = connect(&hub, "").await;
    let members = line.strip_suffix('}').unwrap();
    let snapshot = next_text(&mut client).await;
    assert!(snapshot.contains(&format!(r#"[{members},"_seq":1}}]"#)), "{snapshot}");
    hub.publish(line.as_bytes());
    let append = next_text(&mut client).await;
    let expected = format!(r#"{{"type":"append","line":{members},"_seq":2}}}}"#);
    assert_eq!(append, expected);
}

#[tokio::test]
async fn long_lines_survive_fragmentation() {
    let hub = start();
    let line = format!(r#"{{"text":"{}"}}"#, "a€😀".repeat(200_000));
    hub.publish(line.as_bytes());
    let mut client = connect(&hub, "").await;
    let spliced = line.replace("\"}", r#"","_seq":1}"#);
    let expected = format!(r#"{{"type":"snapshot","lastSeq":1,"lines":[{spliced}]}}"#);
    assert!(next_text(&mut client).await == expected);
    hub.publish(line.as_bytes());
    let spliced = line.replace("\"}", r#"","_seq":2}"#);
    let expected = format!(r#"{{"type":"append","line":{spliced}}}"#);
    assert!(next_text(&mut client).await == expected);
}

#[tokio::test]
async fn invalid_utf8_is_repaired_for_the_viewer() {
    let hub = start();
    hub.publish(b"{\"a\":\"\xff\"}");
    let snapshot = next_json(&mut connect(&hub, "").await).await;
    assert_eq!(snapshot["lines"][0]["a"], "\u{fffd}");
}

#[tokio::test]
async fn backlog_is_bounded_and_says_what_is_missing() {
    let mut options = options();
    options.backlog_bytes = 10_000;
    let hub = LiveHub::start(options).unwrap();
    let line = format!(r#"{{"pad":"{}"}}"#, "x".repeat(1000));
    (0..100).for_each(|_| hub.publish(line.as_bytes()));
    let snapshot = next_json(&mut connect(&hub, "").await).await;
    let held = seqs(&snapshot);
    assert!((5..=11).contains(&held.len()), "{held:?}");
    assert_eq!(*held.last().unwrap(), 100);
    assert_eq!(snapshot["dropped"], held[0] - 1);
    let snapshot = next_json(&mut connect(&hub, "?since=80").await).await;
    assert_eq!(snapshot["dropped"], held[0] - 81);
}

#[tokio::test]
async fn a_slow_viewer_is_dropped_while_a_fast_one_gets_all() {
    const LINES: usize = 600;
    let mut options = options();
    options.backlog_bytes = 512 * 1024;
    options.write_timeout = DEADLINE;
    let hub = LiveHub::start(options).unwrap();

    // A small receive buffer, so that the kernel doesn't hide that the viewer stopped reading.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let address = (Ipv4Addr::LOCALHOST, hub.port()).into();
    let stream = socket.connect(address).await.unwrap();
    let mut slow = connect_with(&hub.url(), None, stream).await.unwrap();
    let mut fast = connect(&hub, "").await;
    next_json(&mut fast).await;

    let line = format!(r#"{{"pad":"{}"}}"#, "x".repeat(64 * 1024));
    for n in 1..=LINES {
        hub.publish(line.as_bytes());
        let append = next_json(&mut fast).await;
        assert_eq!(append["line"]["_seq"], n);
    }
    let (received, code) = read_to_close(&mut slow).await;
    assert_eq!(code, CloseCode::Again);
    assert!(received < LINES, "{received}");
    wait_until("slow viewer gone", || hub.subscribers() == 1).await;
    hub.publish(b"{}");
    assert_eq!(next_json(&mut fast).await["line"]["_seq"], LINES + 1);
}

#[tokio::test]
async fn a_viewer_that_stops_reading_is_dropped() {
    let mut options = options();
    options.write_timeout = Duration::from_millis(50);
    let hub = LiveHub::start(options).unwrap();
    let _stalled = connect(&hub, "").await;
    let line = format!(r#"{{"pad":"{}"}}"#, "x".repeat(256 * 1024));
    wait_until("stalled viewer gone", || {
        hub.publish(line.as_bytes());
        hub.subscribers() == 0
    })
    .await;
}

#[tokio::test]
async fn finish_sends_what_is_pending_and_closes_with_1000() {
    const LINES: usize = 100;
    let hub = Arc::new(start());
    let mut client = connect(&hub, "").await;
    next_json(&mut client).await;
    (0..LINES).for_each(|_| hub.publish(br#"{"type":"message"}"#));
    let finishing = {
        let hub = Arc::clone(&hub);
        thread::spawn(move || hub.finish())
    };
    let ending = read_to_close(&mut client).await;
    assert_eq!(ending, (LINES, CloseCode::Normal));
    drop(client);
    finishing.join().unwrap();
    hub.finish();
    hub.publish(b"{}");
    assert!(try_connect(&hub, &format!("/{TOKEN}"), None).await.is_err());
}

#[tokio::test]
async fn finish_does_not_wait_for_silent_peers() {
    let hub = start();
    let _viewer = connect(&hub, "").await;
    let _idle = TcpStream::connect((Ipv4Addr::LOCALHOST, hub.port())).await.unwrap();
    let start = Instant::now();
    drop(hub);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn viewers_may_ping_and_talk_and_leave() {
    let hub = start();
    let mut client = connect(&hub, "").await;
    next_json(&mut client).await;
    client.send(Message::text("ignored")).await.unwrap();
    client.send(Message::Ping("p".into())).await.unwrap();
    assert_eq!(next(&mut client).await, Message::Pong("p".into()));
    client.close(None).await.unwrap();
    assert!(next(&mut client).await.is_close());
    wait_until("viewer gone", || hub.subscribers() == 0).await;

    let mut chatty = connect(&hub, "").await;
    next_json(&mut chatty).await;
    // The server may hang up before all of it is written.
    let _ = chatty.send(Message::text("x".repeat(1 << 20))).await;
    wait_until("chatty viewer gone", || hub.subscribers() == 0).await;
}

#[tokio::test]
async fn too_many_viewers_get_503() {
    let mut options = options();
    options.max_subscribers = 1;
    let hub = LiveHub::start(options).unwrap();
    let mut first = connect(&hub, "").await;
    next_json(&mut first).await;
    let refused = try_connect(&hub, &format!("/{TOKEN}"), None).await;
    assert!(matches!(refused, Err(Error::Http(answer)) if answer.status() == 503));
    drop(first);
    wait_until("seat free", || hub.subscribers() == 0).await;
    next_json(&mut connect(&hub, "").await).await;
}

#[tokio::test]
async fn who_may_connect() {
    let hub = start();
    let own = format!("http://127.0.0.1:{}", hub.port());
    let other_port = format!("http://127.0.0.1:{}", hub.port() ^ 1);
    let with_token = format!("/{TOKEN}");
    let in_query = format!("/?since=0&token={TOKEN}");
    let in_second_segment = format!("/x/{TOKEN}");
    let too_long = format!("/{TOKEN}x");
    for (path, origin, admitted) in [
        (with_token.as_str(), None, true),
        (&in_query, None, true),
        (&with_token, Some(own.as_str()), true),
        ("/", Some(VIEWER), true),
        ("/?since=0", Some("HTTPS://Viewer.Example:443"), true),
        ("/", None, false),
        ("/secret-tokem", None, false),
        ("/secret", None, false),
        ("/?token=", None, false),
        (&too_long, None, false),
        (&in_second_segment, None, false),
        ("/", Some(own.as_str()), false),
        (&with_token, Some("https://evil.example"), false),
        (&with_token, Some("http://viewer.example"), false),
        (&with_token, Some("https://viewer.example.evil.example"), false),
        (&with_token, Some(other_port.as_str()), false),
        (&with_token, Some("null"), false),
    ] {
        match try_connect(&hub, path, origin).await {
            Ok(mut client) => {
                assert!(admitted, "{path} {origin:?} was let in");
                next_json(&mut client).await;
            }
            Err(Error::Http(answer)) => {
                assert_eq!(answer.status(), 403, "{path} {origin:?}");
                assert!(!admitted, "{path} {origin:?} was refused");
            }
            Err(error) => panic!("{path} {origin:?}: {error}"),
        }
    }
}

#[test]
fn refusals_say_what_to_do() {
    let hub = start();
    let port = hub.port();
    let path = format!("/{TOKEN}");
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let evil = format!("{host}Origin: https://evil.example\r\n");
    let twice = format!("{host}{host}");
    let huge = format!("{host}X-Pad: {}\r\n", "x".repeat(100_000));
    let plain = format!("GET / HTTP/1.1\r\n{host}\r\n");
    for (request, status, hint) in [
        (upgrade_request(&path, "Host: evil.example\r\n"), 403, "Connect to ws://127.0.0.1:"),
        (upgrade_request(&path, "Host: 127.0.0.1:1\r\n"), 403, "Connect to ws://127.0.0.1:"),
        (upgrade_request(&path, ""), 403, "Host header"),
        (upgrade_request(&path, &twice), 400, "host header must come once"),
        (upgrade_request(&path, &evil), 403, "--allow-origin https://evil.example"),
        (upgrade_request("/", &host), 403, "token"),
        (upgrade_request(&path, &huge), 431, "headers"),
        (plain, 426, "ws:// address"),
        (format!("POST / HTTP/1.1\r\n{host}\r\n"), 400, "not a WebSocket request"),
        ("\x16\x03\x01 nonsense\r\n\r\n".to_owned(), 400, "not a WebSocket request"),
    ] {
        let answer = raw_http(port, &request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(hint), "{hint}: {answer}");
        assert!(!answer.contains(TOKEN), "{answer}");
    }
}

#[test]
fn all_loopback_names_are_our_host() {
    let hub = start();
    for name in ["127.0.0.1", "localhost", "LocalHost", "[::1]"] {
        let host = format!("Host: {name}:{}\r\n", hub.port());
        let answer = raw_http(hub.port(), &format!("GET / HTTP/1.1\r\n{host}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    }
}

#[test]
fn a_slow_handshake_gets_408() {
    let mut options = options();
    options.handshake_timeout = Duration::from_secs(1);
    let hub = LiveHub::start(options).unwrap();
    let answer = raw_http(hub.port(), "GET / HTTP/1.1\r\n");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[test]
fn a_busy_port_yields_the_next_free_one() {
    let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = busy.local_addr().unwrap().port();
    let mut options = options();
    options.port = Some(port);
    let hub = LiveHub::start(options).unwrap();
    assert_ne!(hub.port(), port);
    // Others may hold some of the next ports too, but hardly all; at the very end there are none.
    if port < 65_000 {
        assert!((port..=port + 100).contains(&hub.port()), "{}", hub.port());
    }
    assert_eq!(hub.url(), format!("ws://127.0.0.1:{}/{TOKEN}", hub.port()));
}

#[test]
fn port_0_takes_any_free_one() {
    // Below 1024 would mean that the ports after 0 were tried in turn.
    assert!(start().port() >= 1024);
}

#[test]
fn tokens_are_random_and_checked() {
    let token = random_token().unwrap();
    assert_eq!(token.len(), 32);
    assert_ne!(token, random_token().unwrap());
    for bad in ["", "a/b", "a?b", "ä"] {
        let refused = LiveHub::start(LiveOptions::new(bad.to_owned()));
        assert!(matches!(refused, Err(LiveError::Token)), "{bad}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_lines_without_a_viewer() {
    let hub = start();
    let line = format!(r#"{{"pad":"{}"}}"#, "x".repeat(200));
    (0..100_000).for_each(|_| hub.publish(line.as_bytes()));
    let snapshot = next_json(&mut connect(&hub, "").await).await;
    let held = seqs(&snapshot);
    assert_eq!(snapshot["lastSeq"], 100_000);
    assert_eq!(snapshot["dropped"], held[0] - 1);
    assert!(held.is_sorted() && *held.last().unwrap() == 100_000);
    assert!(held.len() * line.len() <= 8 << 20);
}
