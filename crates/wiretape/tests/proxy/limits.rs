//! Limits: what is too much is refused in words, and counted.

use crate::disconnects::check_refusal;
#[cfg(target_os = "linux")]
use crate::proxy::say_skipped;
use crate::proxy::{Proxy, wait_until};
use crate::wire::{LAST_CHUNK, OPEN_STREAM, STREAM, Upstream, chunk, ok, post};
use serde_json::{Value, json};
use std::time::Duration;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

fn limited(upstream: &Upstream, limit: &[&str]) -> Proxy {
    Proxy::before(upstream, &[&["--admin", "127.0.0.1:0"], limit].concat())
}

fn ended(proxy: &Proxy, how: &str) -> u64 {
    proxy.ask("/status").1["ended"][how].as_u64().unwrap()
}

#[test]
fn a_body_whose_length_is_too_large() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--max-body", "1MB"]);
    let mut client = proxy.connect();
    client.send(format!("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", 5_000_000));
    // It sends everything before it looks for an answer, as many clients do.
    client.send(vec![b'x'; 5_000_000]);
    let (head, body) = client.receive();
    assert_eq!(head.status(), 413);
    let message = check_refusal(&body, &Value::Null, "too-large", 413);
    assert!(message.contains("--max-body"), "{message}");
    drop(client);
    wait_until("it is counted", || ended(&proxy, "too-large") == 1);
    assert_eq!(proxy.stop().trace().endings(), ["too-large"]);
}

#[test]
fn a_body_that_turns_out_to_be_too_large() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--max-body", "1MB"]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut server = upstream.accept();
    let reading = std::thread::spawn(move || server.receive_rest().0);
    for _ in 0..50 {
        client.send(chunk(vec![b'x'; 100_000]));
    }
    client.send(LAST_CHUNK);
    let (head, body) = client.receive();
    assert_eq!(head.status(), 413);
    check_refusal(&body, &Value::Null, "too-large", 413);
    assert!(reading.join().unwrap().len() < 1_100_000, "the server gets no more than is allowed");
    drop(client);
    wait_until("it is counted", || ended(&proxy, "too-large") == 1);
    assert_eq!(proxy.stop().trace().endings(), ["too-large"]);
}

#[test]
fn a_body_of_just_the_size_that_is_allowed() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--max-body", "1KiB"]);
    let mut client = proxy.connect();
    let body = "x".repeat(1024);
    client.send(post("", &body));
    let (_server, _, seen) = upstream.answer(ok("", RESULT));
    assert_eq!(seen, body.as_bytes());
    assert_eq!(client.receive().0.status(), 200);
}

#[test]
fn headers_that_are_too_large() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--max-headers", "8KiB"]);
    let mut client = proxy.connect();
    client.send(post(&format!("X-Large: {}\r\n", "x".repeat(10_000)), CALL));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 431);
    let message = check_refusal(&body, &Value::Null, "too-large", 431);
    assert!(message.contains("--max-headers"), "{message}");
    drop(client);
    // So large that they are never read to their end.
    let mut client = proxy.connect();
    client.send(post(&format!("X-Large: {}\r\n", "x".repeat(100_000)), CALL));
    assert_eq!(client.receive_head().status(), 431);
    drop(client);
    wait_until("both are counted", || {
        ended(&proxy, "too-large") == 1 && proxy.ask("/status").1["malformed"] == 1
    });
}

#[test]
fn what_is_not_http_is_refused_and_counted() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("\x01\x02\x03 this is not HTTP\r\n\r\n");
    assert_eq!(client.receive_head().status(), 400);
    wait_until("it is counted", || proxy.ask("/status").1["malformed"] == 1);
}

/// Who disagrees with the server on where a request ends could smuggle one past it.
#[test]
fn a_request_with_two_lengths_is_not_passed_on_with_both() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send([&chunk("{}")[..], LAST_CHUNK].concat());
    let (_server, seen, body) = upstream.answer(ok("", RESULT));
    assert_eq!((seen.get("content-length"), body.as_slice()), (None, &b"{}"[..]));
    drop(client);
    for lengths in
        ["Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 2, 3\r\n", "Content-Length: +2\r\n"]
    {
        let mut client = proxy.connect();
        client.send(format!("POST /mcp HTTP/1.1\r\nHost: x\r\n{lengths}\r\n{{}}"));
        assert_eq!(client.receive_head().status(), 400, "{lengths}");
    }
}

#[test]
fn more_connections_than_allowed() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--max-connections", "2"]);
    let open = || {
        let mut client = proxy.connect();
        client.send(post("", CALL));
        let mut server = upstream.accept();
        server.receive();
        (client, server)
    };
    let (first, second) = (open(), open());
    let mut third = proxy.connect();
    third.send(post("", CALL));
    let (head, body) = third.receive();
    assert_eq!((head.status(), head.get("retry-after").as_deref()), (503, Some("1")));
    let message = check_refusal(&body, &Value::Null, "refused", 503);
    assert!(message.contains("--max-connections"), "{message}");
    assert_eq!(proxy.ask("/status").1["connectionsTurnedAway"], 1);
    // The others are as they were, and when one goes there is room.
    drop(first);
    wait_until("one is gone", || proxy.ask("/status").1["connections"] == 1);
    let (mut client, mut server) = second;
    server.send(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
    open();
}

/// A listener whose queue is full lets connections wait for ever.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_can_not_be_reached_in_time() {
    use std::net::TcpStream;
    let upstream = Upstream::listen();
    let address = upstream.address();
    let mut queue = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(2)) {
        queue.push(stream);
        if queue.len() > 10_000 {
            return say_skipped("the queue of a listener doesn't fill up here");
        }
    }
    let proxy = limited(&upstream, &["--connect-timeout", "1s"]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 504);
    let message = check_refusal(&body, &json!(7), "timeout", 504);
    assert!(message.contains("--connect-timeout"), "{message}");
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in"), trace.endings()), (vec![CALL], vec!["timeout"]));
}

#[test]
fn a_server_that_does_not_answer_in_time() {
    for (option, told) in [("--idle-timeout", "--idle-timeout"), ("--total-timeout", "--total-timeout")] {
        let upstream = Upstream::listen();
        let proxy = limited(&upstream, &[option, "1s"]);
        let mut client = proxy.connect();
        client.send(post("", CALL));
        let mut server = upstream.accept();
        server.receive();
        let (head, body) = client.receive();
        assert_eq!(head.status(), 504);
        let message = check_refusal(&body, &json!(7), "timeout", 504);
        assert!(message.contains(told), "{message}");
        // Nobody waits for its answer any more.
        server.receive_rest();
        drop(client);
        assert_eq!(proxy.stop().trace().endings(), ["timeout"]);
    }
}

#[test]
fn a_stream_that_falls_silent_is_cut() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--idle-timeout", "5s"]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (mut server, ..) = upstream.answer(STREAM);
    server.send(chunk("data: {}\n\n"));
    client.receive_head();
    assert_eq!(client.receive_chunk(), b"data: {}\n\n");
    let (rest, _) = client.receive_rest();
    assert!(!rest.ends_with(LAST_CHUNK), "not a clean end");
    server.receive_rest();
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["open", "timeout"]);
    let told = trace.of_type("http").last().unwrap()["http"]["error"].as_str().unwrap().to_owned();
    assert!(told.contains("--idle-timeout"), "{told}");
}

/// Whatever comes counts, the answer's head as well.
#[test]
fn a_stream_with_pauses_that_are_allowed_goes_on() {
    const PAUSE: Duration = Duration::from_secs(4);
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--idle-timeout", "7s"]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let mut server = upstream.accept();
    server.receive();
    std::thread::sleep(PAUSE);
    server.send(STREAM);
    client.receive_head();
    std::thread::sleep(PAUSE);
    server.send([&chunk("data: {}\n\n")[..], LAST_CHUNK].concat());
    assert_eq!(client.receive_chunked().0, b"data: {}\n\n");
}

#[test]
fn a_stream_that_goes_on_for_too_long_is_cut() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--total-timeout", "5s"]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (server, ..) = upstream.answer(STREAM);
    let sending = std::thread::spawn(move || {
        use std::io::Write as _;
        let mut stream = &server.stream;
        while stream.write_all(&chunk("data: {}\n\n")).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    client.receive_head();
    let (rest, _) = client.receive_rest();
    assert!(!rest.ends_with(LAST_CHUNK), "not a clean end");
    assert!(rest.windows(8).any(|window| window == b"data: {}"), "events came");
    sending.join().unwrap();
    assert_eq!(proxy.stop().trace().endings(), ["open", "timeout"]);
}

/// A possible HTTP/2 preface is waited for only while the client is connected.
#[test]
fn a_client_that_goes_after_one_letter_is_gone() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("PRI");
    wait_until("it is accepted", || proxy.ask("/status").1["connections"] == 1);
    drop(client);
    wait_until("it is gone", || proxy.ask("/status").1["connections"] == 0);
}

#[test]
fn a_head_that_takes_too_long() {
    let upstream = Upstream::listen();
    let proxy = limited(&upstream, &["--header-timeout", "1s"]);
    for begun in ["", "P", "PRI * HT", "POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow"] {
        let mut client = proxy.connect();
        client.send(begun);
        client.receive_rest();
    }
    wait_until("all are gone", || proxy.ask("/status").1["connections"] == 0);
    assert!(proxy.ask("/status").1["malformed"].as_u64().unwrap() >= 1);
    // Between requests, too.
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (_server, ..) = upstream.answer(ok("", RESULT));
    assert_eq!(client.receive().1, RESULT.as_bytes());
    assert_eq!(client.receive_rest().0, b"");
}
