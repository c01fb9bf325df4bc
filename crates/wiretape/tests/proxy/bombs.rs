//! Bodies that decompress to far more than they are: they pass, and are not recorded beyond the limits.

use crate::proxy::{Proxy, Stopped};
use crate::wire::{LAST_CHUNK, Upstream, chunk, ok, post};
use std::time::Duration;

const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A call whose argument is a string of this many letters, compressed.
fn compressed(encoding: &str, letters: usize) -> Vec<u8> {
    let text = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"a\":\"{}\"}}}}",
        "x".repeat(letters)
    );
    compress(encoding, &text)
}

fn compress(encoding: &str, text: &str) -> Vec<u8> {
    use std::io::Write as _;
    if encoding == "zstd" {
        return zstd::encode_all(text.as_bytes(), 3).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Sends a compressed body through the proxy, and checks that the server gets it.
fn pass(options: &[&str], encoding: &str, body: &[u8]) -> Stopped {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, options);
    let mut client = proxy.connect();
    client.send(format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    client.send(body);
    let (_server, _, seen) = upstream.answer(ok("", RESULT));
    assert!(seen == body, "{} of {} bytes", seen.len(), body.len());
    assert_eq!(client.receive().1, RESULT.as_bytes());
    drop(client);
    proxy.stop()
}

fn check_omitted(stopped: &Stopped, bytes: usize, reason: &str) {
    let trace = stopped.trace();
    assert!(trace.raw("in").is_empty() && trace.text.len() < 10_000);
    let note = &trace.of_type("http").last().unwrap()["http"]["requestBody"];
    assert_eq!(note["bytes"], bytes);
    assert!(note["omitted"].as_str().unwrap().contains(reason), "{note}");
}

#[test]
fn a_body_larger_than_allowed_when_decompressed_is_not_recorded() {
    for encoding in ["gzip", "zstd"] {
        let body = compressed(encoding, 2_000_000);
        check_omitted(&pass(&["--max-body", "1MB"], encoding, &body), body.len(), "--max-body");
    }
}

#[test]
fn a_body_that_hardly_is_one_is_not_recorded() {
    for encoding in ["gzip", "zstd"] {
        let body = compressed(encoding, 50_000_000);
        check_omitted(&pass(&[], encoding, &body), body.len(), "200 times");
    }
}

/// A large one that is allowed is decompressed elsewhere, and recorded before its last bytes are passed on.
#[test]
fn a_large_body_is_recorded_whole() {
    for encoding in ["gzip", "zstd"] {
        let body = compressed(encoding, 3_000_000);
        let trace = pass(&[], encoding, &body).trace();
        assert_eq!(trace.raw("in").len(), 1, "{encoding}");
        assert!(trace.raw("in")[0].len() > 3_000_000);
    }
}

/// In pieces, too, with the last bytes after a large piece.
#[test]
fn a_large_body_in_pieces_is_recorded_whole() {
    let body = compressed("zstd", 3_000_000);
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n\r\n");
    let (begin, end) = body.split_at(body.len() - 5);
    client.send(chunk(begin));
    let mut server = upstream.accept();
    server.receive_head();
    assert!(server.receive_streamed(begin.len()) == begin);
    client.send([&chunk(end)[..], LAST_CHUNK].concat());
    assert!(server.receive_chunked().0 == end);
    server.send(ok("", RESULT));
    client.receive();
    drop(client);
    assert_eq!(proxy.stop().trace().raw("in").len(), 1);
}

/// Bodies that are never completed are held only as long as there is room for all of them.
#[test]
fn incomplete_bodies_share_their_memory() {
    const PIECE: usize = 100 * 1024 * 1024;
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--max-body", "200MiB"]);
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let mut client = proxy.connect();
            client.send(format!(
                "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                PIECE + 1
            ));
            let mut server = upstream.accept();
            let reading = std::thread::spawn(move || {
                server.receive_head();
                server.read_exactly(PIECE);
                server
            });
            client.send(vec![b'x'; PIECE]);
            (client, reading.join().unwrap())
        })
        .collect();
    drop(clients);
    let stopped = proxy.stop();
    let omitted =
        stopped.traces().iter().filter(|trace| trace.text.contains("too many bodies are incomplete")).count();
    assert_eq!(omitted, 1);
}

const READ: &str = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://w"}}"#;

/// A widget whose policy the rules extend, with this many letters.
fn widget(letters: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":[{{"uri":"ui://w","_meta":{{"ui":{{"csp":{{"connectDomains":[]}}}}}},"text":"{}"}}]}}}}"#,
        "x".repeat(letters)
    )
}

fn with_policy(text: &str) -> String {
    text.replace("[]", "[\"https://b.example\"]")
}

fn rules(upstream: &Upstream) -> String {
    format!(
        "[[upstream]]\nurl = \"{}\"\nlisten = \"127.0.0.1:0\"\n\
         [[upstream.csp]]\nreport = false\nconnect-src = [\"https://b.example\"]\n",
        upstream.url()
    )
}

fn with_rules(upstream: &Upstream) -> Proxy {
    Proxy::by_file(&rules(upstream))
}

fn check_one_warning(stopped: &Stopped) {
    let warnings = stopped.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("Content-Security-Policy rules were not applied"), "{warnings:?}");
    assert!(warnings[0].contains("200 times"), "{warnings:?}");
}

/// It is decompressed only within the limits, and the client gets the server's bytes.
#[test]
fn a_widget_that_expands_too_much_passes_unchanged() {
    let upstream = Upstream::listen();
    let proxy = with_rules(&upstream);
    let mut client = proxy.connect();
    for encoding in ["gzip", "zstd"] {
        for (letters, is_bomb) in [(1_000_000, false), (20_000_000, true)] {
            let plain = widget(letters);
            let encoded = compress(encoding, &plain);
            client.send(post("", READ));
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                encoded.len()
            );
            upstream.answer([head.as_bytes(), &encoded].concat());
            let (head, body) = client.receive();
            if is_bomb {
                assert_eq!(head.get("content-encoding").as_deref(), Some(encoding));
                assert!(body == encoded, "{} of {} bytes", body.len(), encoded.len());
            } else {
                assert_eq!(head.get("content-encoding"), None);
                assert!(body == with_policy(&plain).as_bytes(), "{} bytes", body.len());
            }
        }
    }
    drop(client);
    check_one_warning(&proxy.stop());
}

/// In a stream, whose head has been sent, the client gets every event, uncompressed.
#[test]
fn an_event_that_expands_too_much_passes_unchanged() {
    for encoding in ["gzip", "zstd"] {
        let upstream = Upstream::listen();
        let proxy = with_rules(&upstream);
        let mut client = proxy.connect();
        client.send(post("", READ));
        let (small, bomb) =
            (format!("data: {}\n\n", widget(10)), format!("data: {}\n\n", widget(20_000_000)));
        let encoded = compress(encoding, &[&small[..], &bomb, &small].concat());
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: {encoding}\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        upstream.answer([head.as_bytes(), &chunk(&encoded), LAST_CHUNK].concat());
        let head = client.receive_head();
        assert_eq!(head.get("content-encoding"), None);
        let (body, _) = client.receive_chunked();
        let expected = [&with_policy(&small)[..], &bomb, &small].concat();
        assert!(body == expected.as_bytes(), "{encoding}: {} of {} bytes", body.len(), expected.len());
        drop(client);
        check_one_warning(&proxy.stop());
    }
}

/// A stream that decodes to far more than the sockets between the proxy and its client hold.
fn send_long_stream(upstream: &Upstream) {
    let encoded = compress("zstd", &format!("data: {}\n\n", "x".repeat(1000)).repeat(64_000));
    // With the length, the proxy knows the last frame when it gets it.
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: zstd\r\nContent-Length: {}\r\n\r\n",
        encoded.len()
    );
    upstream.answer([head.as_bytes(), &encoded].concat());
}

/// The server has sent everything, and the proxy still decodes.
#[test]
fn a_stream_in_pieces_is_cut_by_the_total_timeout() {
    let upstream = Upstream::listen();
    let proxy = Proxy::by_file(&format!("[limits]\ntotal-timeout = \"3s\"\n{}", rules(&upstream)));
    let mut client = proxy.connect();
    client.send(post("", READ));
    send_long_stream(&upstream);
    client.receive_head();
    std::thread::sleep(Duration::from_secs(4));
    let (rest, _) = client.receive_rest();
    assert!(!rest.ends_with(LAST_CHUNK), "not a clean end");
    assert_eq!(proxy.stop().trace().endings(), ["timeout"]);
}

#[test]
fn a_stream_in_pieces_is_complete_with_its_last_piece() {
    for is_patient in [true, false] {
        let upstream = Upstream::listen();
        let proxy = Proxy::by_file(&rules(&upstream));
        let mut client = proxy.connect();
        client.send(post("", READ));
        send_long_stream(&upstream);
        client.receive_head();
        if is_patient {
            assert_eq!(client.receive_chunked().0.len(), 64_000 * 1008);
        } else {
            // Until the proxy has read and recorded everything, and waits for the client.
            std::thread::sleep(Duration::from_secs(2));
        }
        drop(client);
        let expected = if is_patient { "complete" } else { "client-closed" };
        assert_eq!(proxy.stop().trace().endings(), [expected]);
    }
}
