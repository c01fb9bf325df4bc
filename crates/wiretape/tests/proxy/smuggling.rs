//! Requests whose end is ambiguous. If the proxy and the server disagree on where one ends, a client can send the server
//! a request that no trace has.

use crate::http2::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PREFACE, RST_STREAM, SETTINGS, frame, kinds, literals,
};
use crate::proxy::{Proxy, Stopped};
use crate::wire::{Head, Upstream, ok};
use parking_lot::Mutex;
use std::io::Read as _;
use std::sync::Arc;

const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";

/// The method and the target of each request that a server got, whether it was complete or not.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// Answers until the test ends, and notes the requests.
fn serve(upstream: Upstream) -> Seen {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    std::thread::spawn(move || {
        loop {
            let (mut server, seen) = (upstream.accept(), Arc::clone(&noted));
            std::thread::spawn(move || {
                let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
                while let Some(length) = server.stream.read(&mut buffer).ok().filter(|length| *length > 0) {
                    bytes.extend_from_slice(&buffer[..length]);
                    // Not a client's request: the proxy asks whether the server knows HTTP/2.
                    if bytes.starts_with(b"PRI * HTTP/2.0") {
                        return server.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                    }
                    while let Some(rest) = next_request(&bytes, &seen) {
                        bytes.drain(..bytes.len() - rest);
                        server.send(ok("", RESULT));
                    }
                }
                // The beginning of a request counts: a server may act on it.
                if !bytes.is_empty() {
                    note(&bytes, &seen);
                }
            });
        }
    });
    seen
}

/// Notes the first request if it is complete, and returns how many bytes follow it.
fn next_request(bytes: &[u8], seen: &Seen) -> Option<usize> {
    let at = position(bytes, b"\r\n\r\n")? + 4;
    let (head, body) = (Head::parse(&bytes[..at]), &bytes[at..]);
    let length = match (head.get("content-length"), head.get("transfer-encoding")) {
        (Some(_), Some(_)) => panic!("two lengths: {head:?}"),
        (None, Some(encoding)) => {
            assert_eq!(encoding, "chunked");
            chunked_length(body)?
        }
        (length, None) => length.map_or(0, |length| length.parse().unwrap()),
    };
    let rest = body.len().checked_sub(length)?;
    note(bytes, seen);
    Some(rest)
}

fn note(request: &[u8], seen: &Seen) {
    let line = &request[..position(request, b"\r\n").unwrap_or(request.len())];
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ').map(str::to_owned);
    seen.lock().push((words.next().unwrap(), words.next().unwrap_or_default()));
}

fn chunked_length(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = at + position(&body[at..], b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[at..line]).unwrap(), 16).unwrap();
        at = line + 2 + size;
        // The proxy's last chunk may have trailers.
        if size == 0 {
            return Some(at + position(body.get(at - 2..)?, b"\r\n\r\n")? + 2);
        }
        assert_eq!(body.get(at..at + 2)?, b"\r\n");
        at += 2;
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Every request that the server saw is in a trace.
fn check(stopped: &Stopped, seen: &Seen) {
    let mut traced: Vec<(String, String)> = Vec::new();
    for trace in stopped.traces() {
        let word = |head: &serde_json::Value, key: &str| head[key].as_str().unwrap().to_owned();
        traced.extend(trace.heads("request").iter().map(|head| (word(head, "method"), word(head, "target"))));
    }
    for request in seen.lock().iter() {
        let at = traced.iter().position(|traced| traced == request);
        traced.swap_remove(at.unwrap_or_else(|| panic!("no trace has {request:?}; left: {traced:?}")));
    }
}

/// The lines of a head, the body, and the statuses of the responses.
const CASES: &[(&str, &str, &[u16])] = &[
    ("Content-Length: 4\r\nContent-Length: 35\r\n", SMUGGLED, &[400]),
    ("Content-Length: 4\r\nContent-Length: 4\r\n", "null", &[200]),
    ("Content-Length: 4, 35\r\n", SMUGGLED, &[400]),
    ("Content-Length: 4, 4\r\n", "null", &[400]),
    ("Content-Length: +4\r\n", SMUGGLED, &[400]),
    ("Content-Length: -4\r\n", SMUGGLED, &[400]),
    ("Content-Length: 0x4\r\n", SMUGGLED, &[400]),
    ("Content-Length: 4 4\r\n", SMUGGLED, &[400]),
    ("Content-Length:\r\n", SMUGGLED, &[400]),
    ("Content-Length: 18446744073709551620\r\n", SMUGGLED, &[400]),
    ("Content-Length : 35\r\n", SMUGGLED, &[400]),
    ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "4\r\nnull\r\n0\r\n\r\n", &[200]),
    ("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "4\r\nnull\r\n0\r\n\r\n", &[200]),
    ("Transfer-Encoding: chunked, identity\r\n", SMUGGLED, &[400]),
    ("Transfer-Encoding: identity\r\nContent-Length: 4\r\n", "null", &[400]),
    ("Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n", "null", &[400]),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", SMUGGLED, &[400]),
    ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", &[200]),
    ("Transfer-Encoding : chunked\r\nContent-Length: 4\r\n", "null", &[400]),
    ("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n", &[400]),
    ("Transfer-Encoding: \x0bchunked\r\nContent-Length: 4\r\n", "null", &[400]),
    ("Connection: content-length\r\nContent-Length: 35\r\n", SMUGGLED, &[200]),
    ("Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n", "4\r\nnull\r\n0\r\n\r\n", &[200]),
    ("X: a\r\n Content-Length: 35\r\n", SMUGGLED, &[400]),
    ("X: a\nContent-Length: 35\r\n", SMUGGLED, &[200]),
    ("X: a\rContent-Length: 35\r\n", SMUGGLED, &[400]),
    ("X: a\0\r\nContent-Length: 35\r\n", SMUGGLED, &[400]),
    ("X: a\n\nGET /smuggled HTTP/1.1\r\nHost: x\r\n", "", &[200, 200]),
    ("Transfer-Encoding: chunked\r\n", "10000000000000004\r\nnull\r\n0\r\n\r\n", &[400]),
    ("Transfer-Encoding: chunked\r\n", "0x4\r\nnull\r\n0\r\n\r\n", &[400]),
    ("Transfer-Encoding: chunked\r\n", "-4\r\nnull\r\n0\r\n\r\n", &[400]),
    ("Transfer-Encoding: chunked\r\n", "4 \r\nnull\r\n0\r\n\r\n", &[200]),
    ("Transfer-Encoding: chunked\r\n", "4;a\nb\r\nnull\r\n0\r\n\r\n", &[400]),
    ("Transfer-Encoding: chunked\r\n", "4\nnull\n0\n\n", &[400]),
    ("Transfer-Encoding: chunked\r\n", "4\r\nnullGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", &[400]),
    (
        "Transfer-Encoding: chunked\r\n",
        "0\r\nContent-Length: 35\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
        &[200, 200],
    ),
];

#[test]
fn the_server_sees_no_request_that_no_trace_has() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let seen = serve(upstream);
    let mut wrong = Vec::new();
    for (lines, body, statuses) in CASES {
        let mut client = proxy.connect();
        let head = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
        client.send(format!("{head}{lines}\r\n{body}"));
        let mut got = Vec::new();
        for _ in *statuses {
            got.push(client.receive().0.status());
        }
        // A request that was hidden in the other would be answered as well.
        client.finish_sending();
        let (rest, _) = client.receive_rest();
        got.extend(rest.starts_with(b"HTTP").then_some(0));
        if got != *statuses {
            wrong.push((*lines, *body, got));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    check(&proxy.stop(), &seen);
    assert!(seen.lock().len() >= CASES.iter().filter(|case| case.2[0] == 200).count());
}

/// HTTP/2 delimits requests by frames. What would delimit them in HTTP/1.1 must not reach the server as it is.
#[test]
fn a_request_of_http2_is_one_request_of_http1() {
    let injected = format!("a\r\n\r\n{SMUGGLED}");
    let cases: [&[(&str, &str)]; 9] = [
        &[("content-length", "35")],
        &[("content-length", "0")],
        &[("content-length", "4"), ("content-length", "35")],
        &[("content-length", "+35")],
        &[("transfer-encoding", "chunked")],
        &[("connection", "content-length")],
        &[("x", &injected)],
        &[(&injected, "x")],
        &[(":path", "/mcp HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled")],
    ];
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let seen = serve(upstream);
    for case in cases {
        let path = case.iter().find(|(name, _)| *name == ":path").map_or("/mcp", |(_, value)| value);
        let mut headers =
            vec![(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x")];
        headers.extend(case.iter().filter(|(name, _)| *name != ":path"));
        let mut client = proxy.connect();
        client.send(
            [
                PREFACE,
                &frame(SETTINGS, 0, 0, &[]),
                &frame(HEADERS, END_HEADERS, 1, &literals(&headers)),
                &frame(DATA, END_STREAM, 1, SMUGGLED.as_bytes()),
            ]
            .concat(),
        );
        // Until the request is answered or refused.
        let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
        while !kinds(&received).iter().any(|kind| [HEADERS, RST_STREAM, GOAWAY].contains(kind)) {
            match client.stream.read(&mut buffer) {
                Ok(length) if length > 0 => received.extend_from_slice(&buffer[..length]),
                _ => break,
            }
        }
    }
    check(&proxy.stop(), &seen);
    let mcp = ("POST".to_owned(), "/mcp".to_owned());
    assert!(seen.lock().first() == Some(&mcp) && seen.lock().iter().all(|request| *request == mcp));
}
