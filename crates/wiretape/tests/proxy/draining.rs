//! The end: what is in flight comes to its own, for as long as is allowed.

use crate::proxy::{Proxy, SIGINT, SIGTERM, wait_until};
use crate::wire::{LAST_CHUNK, OPEN_STREAM, Peer, STREAM, Upstream, chunk, ok, post};
use std::time::{Duration, Instant};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// At once, but for machines that are busy.
const SOON: Duration = Duration::from_secs(20);

fn drained(upstream: &Upstream, limit: &str) -> Proxy {
    Proxy::before(upstream, &["--admin", "127.0.0.1:0", "--drain", limit])
}

fn wait_for_draining(proxy: &Proxy) {
    wait_until("it drains", || proxy.ask("/status").1["draining"] == true);
}

/// A stream that a request has opened, with one event sent.
fn open_with(proxy: &Proxy, upstream: &Upstream, request: &str, event: &str) -> (Peer, Peer) {
    let mut client = proxy.connect();
    client.send(request);
    let (mut server, ..) = upstream.answer(STREAM);
    server.send(chunk(event));
    client.receive_head();
    client.receive_chunk();
    (client, server)
}

/// A call whose answer comes as events and is not there yet.
fn open(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    open_with(proxy, upstream, &post("", CALL), "data: {}\n\n")
}

/// A stream that a GET has opened in a session of streamable HTTP.
fn listen(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    let request = OPEN_STREAM.replace("\r\n\r\n", "\r\nMcp-Session-Id: s1\r\n\r\n");
    open_with(proxy, upstream, &request, "data: {}\n\n")
}

/// A stream of HTTP+SSE, with its endpoint.
fn open_sse(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    open_with(proxy, upstream, OPEN_STREAM, "event: endpoint\ndata: /messages?sessionId=a1\n\n")
}

/// A request over HTTP+SSE, which is merely accepted.
fn post_sse(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    let mut client = proxy.connect();
    client.send(post("", CALL).replace("/mcp", "/messages?sessionId=a1"));
    let (server, ..) = upstream.answer("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.receive().0.status(), 202);
    (client, server)
}

#[test]
fn a_request_in_flight_is_finished() {
    for signal in [SIGTERM, SIGINT] {
        let upstream = Upstream::listen();
        let proxy = drained(&upstream, "10m");
        let mut idle = proxy.connect();
        idle.send(post("", CALL));
        let (_served, ..) = upstream.answer(ok("", RESULT));
        idle.receive();
        let mut client = proxy.connect();
        client.send(post("", CALL));
        let mut server = upstream.accept();
        server.receive();
        proxy.signal(signal);
        wait_for_draining(&proxy);
        assert_eq!(proxy.ask("/ready").0, 503);
        assert_eq!(proxy.ask("/healthz").0, 200);
        assert_eq!(idle.receive_rest().0, b"", "a connection that waits is closed");
        assert!(std::net::TcpStream::connect(proxy.address()).is_err(), "nobody new is let in");
        server.send(ok("", RESULT));
        assert_eq!(client.receive().1, RESULT.as_bytes());
        let stopped = proxy.wait();
        assert_eq!(stopped.status.code(), Some(0), "{}", stopped.stderr);
        assert!(stopped.stderr.contains("stopped after 2 exchanges"), "{}", stopped.stderr);
        assert!(stopped.warnings().is_empty(), "{}", stopped.stderr);
        assert_eq!(stopped.traces().len(), 2);
    }
}

#[test]
fn a_stream_is_cut_when_the_time_is_over() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "1s");
    let (mut client, mut server) = open(&proxy, &upstream);
    proxy.signal(SIGTERM);
    let (rest, _) = client.receive_rest();
    assert!(!rest.ends_with(LAST_CHUNK), "not a clean end");
    server.receive_rest();
    let stopped = proxy.wait();
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("cut off 1 exchange in flight"), "{}", stopped.stderr);
    let trace = stopped.trace();
    assert_eq!(trace.endings(), ["stopped"]);
    assert_eq!(trace.of_type("end").len(), 1);
}

/// Every client of the 2025 revisions holds such a stream open: waiting for it would always take the whole limit.
#[test]
fn streams_that_no_request_waits_for_end_at_once() {
    for open in [listen, open_sse] {
        let upstream = Upstream::listen();
        let proxy = drained(&upstream, "10m");
        let (mut client, mut server) = open(&proxy, &upstream);
        let start = Instant::now();
        proxy.signal(SIGTERM);
        assert_eq!(client.receive_chunked().0, b"", "a clean end");
        server.receive_rest();
        let stopped = proxy.wait();
        assert!(start.elapsed() < SOON);
        assert!(stopped.status.success());
        assert!(!stopped.stderr.contains("waiting for"), "{}", stopped.stderr);
        assert!(stopped.warnings().is_empty(), "{}", stopped.stderr);
        assert_eq!(stopped.trace().endings(), ["open", "stopped"]);
    }
}

#[test]
fn a_subscription_of_the_stateless_revision_ends_at_once() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#;
    let (mut client, _server) = open_with(&proxy, &upstream, &post("", subscribe), "data: {}\n\n");
    proxy.signal(SIGTERM);
    assert_eq!(client.receive_chunked().0, b"");
    assert!(proxy.wait().status.success());
}

/// While another session's call is in flight, a stream that only listens is not kept.
#[test]
fn a_listening_stream_does_not_wait_for_calls() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let (mut listener, _server) = listen(&proxy, &upstream);
    let (_client, _call) = open(&proxy, &upstream);
    proxy.signal(SIGTERM);
    assert_eq!(listener.receive_chunked().0, b"");
    wait_until("it says what it waits for", || proxy.stderr().contains("waiting for 1 request;"));
    assert!(proxy.stderr().contains("press Ctrl-C again to stop now"), "{}", proxy.stderr());
    proxy.signal(SIGTERM);
    assert!(proxy.wait().status.success());
}

#[test]
fn an_answer_over_http_sse_is_waited_for() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let (mut client, mut server) = open_sse(&proxy, &upstream);
    let _posted = post_sse(&proxy, &upstream);
    proxy.signal(SIGTERM);
    wait_until("it says what it waits for", || proxy.stderr().contains("waiting for 1 request;"));
    let event = format!("data: {RESULT}\n\n");
    server.send(chunk(&event));
    assert_eq!(client.receive_chunk(), event.as_bytes());
    assert_eq!(client.receive_chunked().0, b"");
    let stopped = proxy.wait();
    assert!(stopped.status.success());
    assert!(stopped.warnings().is_empty(), "{}", stopped.stderr);
}

/// It still gets its events, until it ends by itself.
#[test]
fn a_call_gets_its_events_while_there_is_time() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let (mut client, mut server) = open(&proxy, &upstream);
    proxy.signal(SIGTERM);
    wait_for_draining(&proxy);
    server.send(chunk("data: 2\n\n"));
    assert_eq!(client.receive_chunk(), b"data: 2\n\n");
    server.send(LAST_CHUNK);
    assert_eq!(client.receive_chunked().0, b"");
    let stopped = proxy.wait();
    assert!(stopped.status.success());
    assert_eq!(stopped.trace().endings(), ["complete"]);
}

#[test]
fn a_second_signal_ends_at_once() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let (_client, _server) = open(&proxy, &upstream);
    proxy.signal(SIGTERM);
    wait_for_draining(&proxy);
    let start = Instant::now();
    proxy.signal(SIGINT);
    let stopped = proxy.wait();
    assert!(start.elapsed() < SOON);
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.stderr);
    assert_eq!(stopped.trace().endings(), ["stopped"]);
}

/// Browsers and clients connect ahead of time.
#[test]
fn a_connection_that_never_said_anything_is_not_waited_for() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "10m");
    let mut client = proxy.connect();
    wait_until("it is accepted", || proxy.ask("/status").1["connections"] == 1);
    proxy.signal(SIGTERM);
    assert!(proxy.wait().status.success());
    assert_eq!(client.receive_rest().0, b"");
}

#[test]
fn all_traces_have_an_end() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "1s");
    let mut streams: Vec<_> = (0..5).map(|_| open(&proxy, &upstream)).collect();
    for n in 0..5 {
        let mut client = proxy.connect();
        client.send(post(&format!("Mcp-Session-Id: s{n}\r\n"), CALL));
        let (server, ..) = upstream.answer(ok("", RESULT));
        client.receive();
        streams.push((client, server));
    }
    assert_eq!(proxy.stop().traces().len(), 10);
}

#[test]
fn the_admin_tells_how_it_is() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "1s");
    assert_eq!(proxy.ask("/healthz").0, 200);
    let (status, ready) = proxy.ask("/ready");
    assert_eq!((status, &ready["ready"]), (200, &true.into()));
    assert_eq!(ready["upstreams"][0]["url"], upstream.url());
    assert_eq!(proxy.ask("/version").1["name"], "wiretape");
    let status = proxy.ask("/status").1;
    assert_eq!((&status["exchanges"], &status["draining"]), (&0.into(), &false.into()));
    assert_eq!(proxy.ask("/other").0, 404);
}

#[test]
fn the_admin_does_not_answer_web_pages() {
    let upstream = Upstream::listen();
    let proxy = drained(&upstream, "1s");
    for (headers, expected) in [
        ("Host: evil.example\r\n", 403),
        ("Host: evil.example:80\r\n", 403),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost:1\r\n", 200),
        ("Host: 127.0.0.1:1\r\n", 200),
        ("Host: [::1]:1\r\n", 200),
    ] {
        assert_eq!(proxy.ask_with("/status", headers).0, expected, "{headers}");
    }
}
