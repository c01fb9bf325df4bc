//! Clients that flood the proxy with frames of HTTP/2: it survives, and serves the others.

use crate::http2::{
    CONTINUATION, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, frame,
    kinds, literals,
};
use crate::proxy::{Proxy, wait_until};
use crate::wire::{Peer, Upstream, ok, post};
use std::io::{Read as _, Write as _};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
/// The number of frames, or of pairs of frames, that make a flood.
const FLOOD: u32 = 20_000;

/// Answers whatever comes, until the test ends.
fn serve(upstream: Upstream) {
    std::thread::spawn(move || {
        loop {
            let mut server = upstream.accept();
            std::thread::spawn(move || {
                // Requests of the flood end before they are sent, or anywhere in the middle.
                while server.stream.peek(&mut [0]).is_ok_and(|length| length > 0) {
                    server.receive();
                    server.send(ok("", RESULT));
                }
            });
        }
    });
}

fn call(client: &mut Peer) {
    client.send(post("", CALL));
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

/// Sends a preface, some frames, and a flood, while another client makes calls. Returns whether the proxy has closed the
/// connection.
fn flood(first: &[u8], nth: impl Fn(u32) -> Vec<u8>) -> bool {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0"]);
    serve(upstream);
    let mut other = proxy.connect();
    call(&mut other);
    let client = proxy.connect();
    // Read all the time: otherwise the proxy would only wait until its answers are read.
    let mut reading = client.stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut received = Vec::new();
        // A connection that is closed with unread frames is reset.
        let _ = reading.read_to_end(&mut received);
        received
    });
    let mut stream = &client.stream;
    let mut is_open = stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[]), first].concat()).is_ok();
    for round in 0..20 {
        let frames: Vec<u8> = (0..FLOOD / 20).flat_map(|n| nth(round * (FLOOD / 20) + n)).collect();
        is_open = is_open && stream.write_all(&frames).is_ok();
        call(&mut other);
    }
    drop(client);
    let received = reader.join().unwrap();
    wait_until("the flood is over", || proxy.ask("/status").1["connections"] == 1);
    call(&mut other);
    call(&mut proxy.connect());
    #[cfg(target_os = "linux")]
    {
        let peak = wiretape_testkit::memory::own_peak_of_tree(proxy.pid(), "").unwrap();
        assert!(peak < 64 * 1024 * 1024, "{peak} bytes of memory");
    }
    drop(other);
    let stopped = proxy.stop();
    assert!(!stopped.stderr.contains("panicked"), "{}", stopped.stderr);
    kinds(&received).contains(&GOAWAY) || !is_open
}

fn request() -> Vec<u8> {
    literals(&[(":method", "GET"), (":scheme", "http"), (":path", "/mcp"), (":authority", "x")])
}

/// CVE-2023-44487: requests that are cancelled at once cost the client nothing.
#[test]
fn rapid_resets() {
    let request = request();
    let cancel = 8_u32.to_be_bytes();
    assert!(flood(&[], |n| {
        let stream = 2 * n + 1;
        let headers = frame(HEADERS, END_HEADERS | END_STREAM, stream, &request);
        [headers, frame(RST_STREAM, 0, stream, &cancel)].concat()
    }));
}

/// CVE-2024-27316: headers that never end.
#[test]
fn continuations() {
    let first = frame(HEADERS, END_STREAM, 1, &request());
    let value = "x".repeat(100);
    assert!(flood(&first, |n| frame(CONTINUATION, 0, 1, &literals(&[(&format!("x-{n}"), &value)]))));
}

/// CVE-2019-9512 and CVE-2019-9515: each is answered, but nothing is kept.
#[test]
fn pings_and_settings() {
    flood(&[], |n| frame(PING, 0, 0, &u64::from(n).to_be_bytes()));
    flood(&[], |_| frame(SETTINGS, 0, 0, &[]));
}
