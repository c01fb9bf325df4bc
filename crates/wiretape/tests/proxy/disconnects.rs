//! A peer disconnects in the middle: the other side notices, and the next exchange works.

use crate::proxy::{Proxy, wait_until};
use crate::wire::{Ending, LAST_CHUNK, OPEN_STREAM, Peer, STREAM, Upstream, chunk, ok, post};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const CALL: &str = r#"{"jsonrpc":"2.0","id":"call-7","method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":"call-7","result":{}}"#;

/// At once, but for machines that are busy.
const SOON: Duration = Duration::from_secs(10);

fn check_told_soon(server: &mut Peer) {
    let start = Instant::now();
    server.receive_rest();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// An error of the proxy's own.
pub(crate) fn check_refusal(body: &[u8], id: &Value, reason: &str, status: u16) -> String {
    let body: Value = serde_json::from_slice(body).unwrap();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), id));
    assert_eq!(body["error"]["code"], -32000);
    assert_eq!(body["error"]["data"], json!({ "source": "wiretape", "reason": reason, "status": status }));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("wiretape: "), "{message}");
    message.to_owned()
}

#[test]
fn a_client_that_goes_before_the_answer() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let mut server = upstream.accept();
    server.receive();
    drop(client);
    check_told_soon(&mut server);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in"), trace.endings()), (vec![CALL], vec!["client-closed"]));
}

#[test]
fn a_client_that_goes_in_the_middle_of_a_stream() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (mut server, ..) = upstream.answer(STREAM);
    server.send(chunk("data: {}\n\n"));
    client.receive_head();
    client.receive_chunk();
    drop(client);
    check_told_soon(&mut server);
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["open", "client-closed"]);
}

#[test]
fn a_client_that_goes_in_the_middle_of_its_request() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half\":");
    let mut server = upstream.accept();
    server.receive_head();
    assert_eq!(server.read_exactly(8), b"{\"half\":");
    drop(client);
    check_told_soon(&mut server);
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["client-closed"]);
    assert_eq!(trace.of_type("http")[0]["http"]["requestBody"], json!({ "bytes": 8, "text": "{\"half\":" }));
}

/// That it only won't send any more, and that it is gone, look the same: it counts as gone.
#[test]
fn a_client_that_closes_its_half_counts_as_gone() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let mut server = upstream.accept();
    server.receive();
    client.finish_sending();
    check_told_soon(&mut server);
    assert_eq!(client.receive_rest().0, b"");
}

#[test]
fn a_server_that_breaks_off_a_stream() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let mut server = upstream.accept();
    // An answer that comes before its question would be none; and the question stays unread, for the reset.
    server.stream.peek(&mut [0]).unwrap();
    server.send(STREAM);
    server.send(chunk("data: {}\n\n"));
    client.receive_head();
    assert_eq!(client.receive_chunk(), b"data: {}\n\n");
    server.reset();
    let (rest, _) = client.receive_rest();
    assert!(!rest.ends_with(LAST_CHUNK), "not a clean end: {:?}", String::from_utf8_lossy(&rest));
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["upstream-closed"]);
}

#[test]
fn a_server_that_closes_in_the_middle_of_a_body() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (server, ..) = upstream
        .answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"half\":");
    assert_eq!(client.receive_head().get("content-length").unwrap(), "100");
    assert_eq!(client.read_exactly(8), b"{\"half\":");
    drop(server);
    assert_eq!(client.receive_rest().0, b"");
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["upstream-closed"]);
    let told = trace.of_type("http")[0].clone();
    assert_eq!(told["http"]["responseBody"], json!({ "bytes": 8, "text": "{\"half\":" }));
}

#[test]
fn a_server_that_closes_instead_of_an_answer() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let mut server = upstream.accept();
    server.receive();
    drop(server);
    let (head, body) = client.receive();
    assert_eq!((head.status(), head.get("content-type").unwrap().as_str()), (502, "application/json"));
    check_refusal(&body, &json!("call-7"), "upstream-closed", 502);
    // The client's connection is still good.
    client.send(post("", CALL));
    let (_server, ..) = upstream.answer(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!(trace.raw("out").len(), 2);
    assert_eq!(trace.endings(), ["upstream-closed"]);
}

#[test]
fn a_server_that_does_not_speak_http() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (_server, ..) = upstream.answer("SSH-2.0-whatever\r\n\r\n");
    let (head, body) = client.receive();
    assert_eq!(head.status(), 502);
    let message = check_refusal(&body, &json!("call-7"), "upstream-closed", 502);
    assert!(message.contains("not HTTP"), "{message}");
}

#[test]
fn a_server_that_ends_and_comes_back() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0"]);
    assert_eq!(proxy.ask("/ready").0, 200);
    let _probe = upstream.accept();
    let address = upstream.address();
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (server, ..) = upstream.answer(ok("", RESULT));
    client.receive();
    drop((server, upstream));
    wait_until("nobody is there", || std::net::TcpStream::connect(address).is_err());
    for _ in 0..2 {
        client.send(post("", CALL));
        let (head, body) = client.receive();
        assert_eq!(head.status(), 502);
        let message = check_refusal(&body, &json!("call-7"), "unreachable", 502);
        assert!(message.contains(&address.to_string()), "{message}");
    }
    assert_eq!(proxy.ask("/ready").0, 503);
    let upstream = Upstream::listen_at(address);
    client.send(post("", CALL));
    let (_server, ..) = upstream.answer(ok("", RESULT));
    let (head, body) = client.receive();
    assert_eq!((head.status(), body.as_slice()), (200, RESULT.as_bytes()));
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!(trace.raw("in"), [CALL; 4]);
    assert_eq!(trace.raw("out").len(), 4);
    assert_eq!(trace.endings(), ["unreachable"; 2]);
}

#[test]
fn a_connection_that_the_server_closed_meanwhile_costs_nothing() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    for n in 0..20 {
        let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}");
        client.send(post("", &call));
        // It is closed as soon as the answer has been sent.
        let (server, _, body) = upstream.answer(ok("", RESULT));
        assert_eq!(body, call.as_bytes());
        drop(server);
        assert_eq!(client.receive().0.status(), 200, "request {n}");
    }
}

#[test]
fn a_server_that_closes_its_half_after_the_answer() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (mut first, ..) = upstream.answer(ok("Connection: close\r\n", RESULT));
    first.finish_sending();
    assert_eq!(client.receive().1, RESULT.as_bytes());
    assert_eq!(first.receive_rest(), (Vec::new(), Ending::Closed));
    client.send(post("", CALL));
    let (_second, ..) = upstream.answer(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

#[test]
fn nothing_of_a_connection_is_left_when_both_are_gone() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0"]);
    for _ in 0..10 {
        let mut client = proxy.connect();
        client.send(OPEN_STREAM);
        let (mut server, ..) = upstream.answer(STREAM);
        client.receive_head();
        drop(client);
        server.receive_rest();
    }
    wait_until("all connections are gone", || proxy.ask("/status").1["connections"] == 0);
    let status = proxy.ask("/status").1;
    assert_eq!(status["ended"]["client-closed"], 10);
    assert_eq!(status["traces"]["open"], 0);
}

/// A server may close a connection that waits, and what is sent at that moment is lost. So one that has waited nearly as
/// long as the server allows is not used again.
#[test]
fn a_connection_that_the_server_is_about_to_close() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let length = RESULT.len();
    let short =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nkeep-alive: timeout=1\r\n\r\n{RESULT}");
    client.send(post("", CALL));
    let (_first, ..) = upstream.answer(short);
    client.receive();
    client.send(post("", CALL));
    let (mut second, ..) = upstream.answer(ok("", RESULT));
    client.receive();
    client.send(post("", CALL));
    second.receive();
    second.send(ok("", RESULT));
    client.receive();
    proxy.stop();
}
