//! A client of HTTP/2 without TLS, frame by frame.

use crate::proxy::Proxy;
use crate::wire::{Peer, Upstream, ok};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Headers, each a literal that enters no table.
pub(crate) fn literals(headers: &[(&str, &str)]) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    headers.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

/// The kinds of the frames that were received.
pub(crate) fn kinds(mut bytes: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = bytes {
        kinds.push(*kind);
        bytes = rest.get(u32::from_be_bytes([0, *a, *b, *c]) as usize..).unwrap_or_default();
    }
    kinds
}

/// The next frame's kind, flags, stream and payload.
fn receive_frame(peer: &mut Peer) -> (u8, u8, u32, Vec<u8>) {
    let head = peer.read_exactly(9);
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (head[3], head[4], stream, peer.read_exactly(length as usize))
}

/// The bodies of streams 1, 3 and so on, once all have ended. Their statuses are 200.
fn receive_bodies(peer: &mut Peer, streams: usize) -> Vec<Vec<u8>> {
    const STATUS_200: u8 = 0x88;
    let mut bodies = vec![Vec::new(); streams];
    let mut open = streams;
    while open > 0 {
        let (kind, flags, stream, payload) = receive_frame(peer);
        let at = (stream as usize).saturating_sub(1) / 2;
        match kind {
            HEADERS => assert_eq!(payload[0], STATUS_200),
            DATA => bodies[at].extend(payload),
            _ => {}
        }
        open -= usize::from(kind <= HEADERS && flags & END_STREAM != 0);
    }
    bodies
}

/// A server that knows HTTP/1.1 only, and sends back what it got.
fn serve(mut server: Peer) {
    let head = server.receive_head();
    if head.start == "PRI * HTTP/2.0" {
        return server.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    assert_eq!(head.start, "POST /mcp?a=%2f HTTP/1.1");
    assert_eq!(head.get("host").unwrap(), "my.host:1");
    let body = match head.get("content-length") {
        Some(length) => server.read_exactly(length.parse().unwrap()),
        None => server.receive_chunked().0,
    };
    server.send(ok("", &String::from_utf8(body).unwrap()));
    server.receive_rest();
}

#[test]
fn requests_side_by_side_on_one_connection() {
    const STREAMS: usize = 5;
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    // Until the test ends.
    std::thread::spawn(move || {
        loop {
            let server = upstream.accept();
            std::thread::spawn(move || serve(server));
        }
    });
    let mut client = proxy.connect();
    client.send(PREFACE);
    client.send(frame(SETTINGS, 0, 0, &[]));
    let call = |n: usize| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}");
    for n in 0..STREAMS {
        let stream = u32::try_from(n).unwrap() * 2 + 1;
        let headers = literals(&[
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/mcp?a=%2f"),
            (":authority", "my.host:1"),
            ("content-type", "application/json"),
            ("mcp-session-id", "s"),
        ]);
        client.send(frame(HEADERS, END_HEADERS, stream, &headers));
        client.send(frame(DATA, END_STREAM, stream, call(n).as_bytes()));
    }
    let bodies = receive_bodies(&mut client, STREAMS);
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(String::from_utf8_lossy(body), call(n));
    }
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in").len(), trace.raw("out").len()), (STREAMS, STREAMS));
    assert_eq!(trace.heads("request")[0]["version"], "2");
}
