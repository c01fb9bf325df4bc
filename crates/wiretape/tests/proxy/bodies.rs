//! Bodies pass byte for byte, however they are framed.

use crate::proxy::Proxy;
use crate::wire::{LAST_CHUNK, Upstream, chunk, ok, post};

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n":1.0,"n":12345678901234567890}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"packed":true}}"#;

/// `RESULT` in various encodings.
const GZIP: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0xca, 0x2a, 0xce, 0xcf, 0x2b,
    0x2a, 0x48, 0x56, 0xb2, 0x52, 0x32, 0xd2, 0x33, 0x50, 0xd2, 0x51, 0xca, 0x4c, 0x51, 0xb2, 0x32, 0xd4,
    0x51, 0x2a, 0x4a, 0x2d, 0x2e, 0xcd, 0x29, 0x51, 0xb2, 0xaa, 0x56, 0x2a, 0x48, 0x4c, 0xce, 0x4e, 0x05,
    0x0a, 0x96, 0x14, 0x95, 0xa6, 0xd6, 0xd6, 0x02, 0x00, 0x0a, 0x44, 0xff, 0xac, 0x31, 0x00, 0x00, 0x00,
];
const DEFLATE: &[u8] = &[
    0x78, 0x9c, 0xab, 0x56, 0xca, 0x2a, 0xce, 0xcf, 0x2b, 0x2a, 0x48, 0x56, 0xb2, 0x52, 0x32, 0xd2, 0x33,
    0x50, 0xd2, 0x51, 0xca, 0x4c, 0x51, 0xb2, 0x32, 0xd4, 0x51, 0x2a, 0x4a, 0x2d, 0x2e, 0xcd, 0x29, 0x51,
    0xb2, 0xaa, 0x56, 0x2a, 0x48, 0x4c, 0xce, 0x4e, 0x05, 0x0a, 0x96, 0x14, 0x95, 0xa6, 0xd6, 0xd6, 0x02,
    0x00, 0x77, 0x99, 0x0f, 0xd9,
];
const BROTLI: &[u8] = &[
    0x1b, 0x30, 0x00, 0xf8, 0x8d, 0xd4, 0x62, 0xcd, 0x19, 0xee, 0x44, 0x90, 0xb7, 0xd4, 0x2f, 0xff, 0x0c,
    0xb1, 0x7a, 0x41, 0x33, 0xf5, 0x27, 0x74, 0x52, 0x12, 0x51, 0x28, 0x6a, 0x1d, 0xcc, 0x48, 0xe5, 0x18,
    0xca, 0x7f, 0xde, 0x5d, 0xcc, 0xd6, 0x85, 0x93, 0x46, 0x20, 0xa5, 0xb6, 0x93, 0xfe, 0x07,
];

#[test]
fn a_message_and_its_answer() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (_server, head, body) = upstream.answer(ok("", RESULT));
    assert_eq!(head.get("content-length").unwrap(), CALL.len().to_string());
    assert_eq!(body, CALL.as_bytes());
    let (head, body) = client.receive();
    assert_eq!(head.get("content-length").unwrap(), RESULT.len().to_string());
    assert_eq!(body, RESULT.as_bytes());
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![CALL], vec![RESULT]));
}

#[test]
fn chunks_stay_chunks() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut server = upstream.accept();
    let head = server.receive_head();
    assert_eq!(
        (head.get("transfer-encoding").as_deref(), head.get("content-length")),
        (Some("chunked"), None)
    );
    // Each piece gets through before the next is sent.
    for piece in CALL.as_bytes().chunks(7) {
        client.send(chunk(piece));
        assert_eq!(server.receive_streamed(piece.len()), piece);
    }
    client.send(LAST_CHUNK);
    assert_eq!(server.receive_chunk(), b"");
    server.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    let head = client.receive_head();
    assert_eq!(
        (head.get("transfer-encoding").as_deref(), head.get("content-length")),
        (Some("chunked"), None)
    );
    for piece in RESULT.as_bytes().chunks(11) {
        server.send(chunk(piece));
        assert_eq!(client.receive_streamed(piece.len()), piece);
    }
    server.send(LAST_CHUNK);
    assert_eq!(client.receive_chunk(), b"");
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![CALL], vec![RESULT]));
}

#[test]
fn empty_bodies_of_all_kinds() {
    for (response, expected) in [
        ("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 202),
        ("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 202),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204),
        ("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", 304),
    ] {
        let upstream = Upstream::listen();
        let proxy = Proxy::before(&upstream, &[]);
        let mut client = proxy.connect();
        let message = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        client.send(post("", message));
        let (mut server, ..) = upstream.answer(response);
        let (head, body) = client.receive();
        assert_eq!((head.status(), body.as_slice()), (expected, &b""[..]));
        // The connection is whole: another exchange fits on it.
        client.send(post("", CALL));
        assert_eq!(server.receive().1, CALL.as_bytes());
        server.send(ok("", RESULT));
        assert_eq!(client.receive().1, RESULT.as_bytes());
        drop(client);
        let trace = proxy.stop().trace();
        assert_eq!(trace.raw("in"), [message, CALL]);
        assert_eq!(trace.raw("out"), [RESULT]);
        let statuses: Vec<_> = trace.heads("response").iter().map(|head| head["status"].clone()).collect();
        assert_eq!(statuses, [expected, 200]);
    }
}

#[test]
fn a_head_alone_keeps_the_length_of_its_body() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("HEAD /mcp HTTP/1.1\r\nHost: x\r\n\r\n");
    let (mut server, ..) = upstream.answer("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nX-A: 1\r\n\r\n");
    let head = client.receive_head();
    assert_eq!(head.get("content-length").unwrap(), "1234");
    client.send(post("", CALL));
    server.receive();
    server.send(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

#[test]
fn what_was_not_modified_keeps_the_length_of_its_body() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n");
    let (mut server, ..) = upstream.answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n");
    let head = client.receive_head();
    assert_eq!(head.status(), 304);
    client.send(post("", CALL));
    server.receive();
    server.send(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

#[test]
fn encodings_pass_and_are_undone_in_the_trace() {
    for (encoding, bytes) in [("gzip", GZIP), ("deflate", DEFLATE), ("br", BROTLI)] {
        let upstream = Upstream::listen();
        let proxy = Proxy::before(&upstream, &[]);
        let mut client = proxy.connect();
        client.send(post("Accept-Encoding: gzip, deflate, br\r\n", CALL));
        let mut response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
            bytes.len()
        )
        .into_bytes();
        response.extend(bytes);
        let (_server, seen, _) = upstream.answer(response);
        assert_eq!(seen.get("accept-encoding").unwrap(), "gzip, deflate, br");
        let (head, body) = client.receive();
        assert_eq!(head.get("content-encoding").unwrap(), encoding);
        assert_eq!(body, bytes);
        drop(client);
        assert_eq!(proxy.stop().trace().raw("out"), [RESULT], "{encoding}");
    }
}

/// A body that isn't what its headers say passes all the same.
#[test]
fn a_broken_encoding_passes_as_it_is() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (_server, ..) = upstream.answer(ok("Content-Encoding: gzip\r\n", "this is not gzip"));
    assert_eq!(client.receive().1, b"this is not gzip");
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!(trace.raw("out"), [""; 0]);
    assert_eq!(trace.of_type("http").last().unwrap()["http"]["responseBody"]["bytes"], 16);
}

#[test]
fn a_request_can_be_encoded_too() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        GZIP.len()
    ));
    client.send(GZIP);
    let (_server, _, body) = upstream.answer(ok("", "{}"));
    assert_eq!(body, GZIP);
    client.receive();
    drop(client);
    assert_eq!(proxy.stop().trace().raw("in"), [RESULT]);
}

#[test]
fn bytes_of_any_kind_pass() {
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| (n * 31 % 251) as u8).collect();
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(format!(
        "PUT /file HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n",
        bytes.len()
    ));
    client.send(&bytes);
    let mut response =
        format!("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n", bytes.len())
            .into_bytes();
    response.extend(&bytes);
    let (_server, _, body) = upstream.answer(response);
    assert!(body == bytes);
    assert!(client.receive().1 == bytes);
    drop(client);
    let trace = proxy.stop().trace();
    let line = trace.of_type("http")[0].clone();
    assert_eq!(line["http"]["requestBody"]["bytes"], 100_000);
    assert_eq!(line["http"]["responseBody"]["bytes"], 100_000);
}

#[test]
fn a_connection_is_used_again() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let mut server = None;
    for n in 0..20 {
        let (call, result) = (
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{{}}}}"),
        );
        client.send(post("", &call));
        let server = server.get_or_insert_with(|| upstream.accept());
        assert_eq!(server.receive().1, call.as_bytes());
        server.send(ok("", &result));
        assert_eq!(client.receive().1, result.as_bytes());
    }
}

#[test]
fn requests_that_do_not_wait_are_answered_in_order() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let call = |n: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\"}}");
    let result = |n: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{{}}}}");
    client.send((0..10).map(|n| post("", &call(n))).collect::<String>());
    let mut server = upstream.accept();
    for n in 0..10 {
        assert_eq!(server.receive().1, call(n).as_bytes());
        server.send(ok("", &result(n)));
    }
    for n in 0..10 {
        assert_eq!(client.receive().1, result(n).as_bytes());
    }
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let request = post("Expect: 100-continue\r\n", CALL);
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    client.send(format!("{head}\r\n\r\n"));
    assert_eq!(client.receive_head().start, "HTTP/1.1 100 Continue");
    client.send(body);
    let (_server, _, body) = upstream.answer(ok("", RESULT));
    assert_eq!(body, CALL.as_bytes());
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

#[test]
fn an_answer_may_come_before_the_request_has_ended() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"json");
    let mut server = upstream.accept();
    server.receive_head();
    server.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    let (head, body) = client.receive();
    assert_eq!((head.status(), body.as_slice()), (401, &b"no"[..]));
}
