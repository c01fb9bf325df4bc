//! Clients that open something and then say nothing: they must not hold one of `--max-connections`.

use crate::proxy::{Proxy, wait_until, wiretape};
use crate::wire::{OPEN_STREAM, Peer, STREAM, Upstream, chunk, ok};
use std::process::Stdio;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// HEADERS of stream 1 without END_HEADERS: CONTINUATION must follow.
const HALF_HEADERS: &[u8] = &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82];

const LIMITED: [&str; 4] = ["--header-timeout", "1s", "--admin", "127.0.0.1:0"];

fn connections(proxy: &Proxy) -> u64 {
    proxy.ask("/status").1["connections"].as_u64().unwrap()
}

/// The proxy ends the connection by itself, and its place is free again.
fn check_is_cut_off(proxy: &Proxy, mut client: Peer) {
    client.receive_rest();
    wait_until("its place is free", || connections(proxy) == 0);
}

#[test]
fn a_client_of_http2_that_sends_no_request_is_cut_off() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &LIMITED);
    for begun in [PREFACE, &[PREFACE, SETTINGS].concat(), &[PREFACE, SETTINGS, HALF_HEADERS].concat()] {
        let mut client = proxy.connect();
        client.send(begun);
        check_is_cut_off(&proxy, client);
    }
    assert!(proxy.stop().warnings().is_empty());
}

/// A stream may be silent for as long as it likes, over HTTP/2 as well.
#[test]
fn a_silent_stream_over_http2_is_no_idle_connection() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &LIMITED);
    let mut client = proxy.connect();
    client.send([PREFACE, SETTINGS].concat());
    // GET http /mcp, all from the static table but the path.
    let head = [&[0x82, 0x86, 0x04, 4][..], b"/mcp", &[0x01, 1], b"x"].concat();
    let length = u8::try_from(head.len()).unwrap();
    client.send([&[0, 0, length, 1, 0x05, 0, 0, 0, 1][..], &head].concat());
    let mut server = upstream.accept();
    let mut first = server.receive_head();
    if first.start.starts_with("PRI") {
        // The proxy finds out whether the server speaks HTTP/2.
        server.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        server = upstream.accept();
        first = server.receive_head();
    }
    assert_eq!(first.start, "GET /mcp HTTP/1.1");
    server.send(STREAM);
    server.send(chunk("data: 1\n\n"));
    client.read_through(b"data: 1\n\n");
    std::thread::sleep(std::time::Duration::from_secs(4));
    server.send(chunk("data: 2\n\n"));
    client.read_through(b"data: 2\n\n");
}

#[test]
fn a_silent_stream_over_http1_goes_on() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &LIMITED);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (mut server, ..) = upstream.answer(STREAM);
    client.receive_head();
    std::thread::sleep(std::time::Duration::from_secs(3));
    server.send(chunk("data: 1\n\n"));
    assert_eq!(client.receive_chunk(), b"data: 1\n\n");
}

fn tunnel(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    let mut client = proxy.connect();
    let address = upstream.address();
    client.send(format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    assert_eq!(client.receive_head().status(), 200);
    (client, upstream.accept())
}

#[test]
fn a_tunnel_in_which_nobody_says_anything_is_closed() {
    let upstream = Upstream::listen();
    let proxy = Proxy::start(&[&["--forward"][..], &LIMITED].concat());
    let (client, mut server) = tunnel(&proxy, &upstream);
    check_is_cut_off(&proxy, client);
    server.receive_rest();
    // One in which the server has said something is not empty.
    let (mut client, mut server) = tunnel(&proxy, &upstream);
    server.send("220 hello\r\n");
    client.read_through(b"\r\n");
    std::thread::sleep(std::time::Duration::from_secs(3));
    client.send("EHLO\r\n");
    assert_eq!(server.read_through(b"\r\n"), b"EHLO\r\n");
}

#[test]
fn half_a_handshake_of_tls_is_cut_off() {
    let home = tempfile::tempdir().unwrap();
    assert!(wiretape(home.path()).arg("ca").stdout(Stdio::null()).status().unwrap().success());
    let upstream = Upstream::listen();
    let proxy = Proxy::start_with(home, &[&["--forward", "--intercept"][..], &LIMITED].concat(), &[]);
    // The content type alone, and the beginning of a record with a ClientHello of 512 bytes.
    for begun in [&[0x16][..], &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]] {
        let (mut client, _server) = tunnel(&proxy, &upstream);
        client.send(begun);
        check_is_cut_off(&proxy, client);
    }
    assert!(proxy.stop().warnings().is_empty());
}

/// Idle connections of HTTP/1 are kept for the header's time, and used again.
#[test]
fn an_idle_connection_is_used_again() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--header-timeout", "30s"]);
    let mut client = proxy.connect();
    let request = crate::wire::post("", "{}");
    client.send(&request);
    let (mut server, ..) = upstream.answer(ok("", "{}"));
    client.receive();
    std::thread::sleep(std::time::Duration::from_secs(1));
    client.send(&request);
    server.receive();
    server.send(ok("", "{}"));
    assert_eq!(client.receive().0.status(), 200);
}
