//! Streams of events: every byte as it came, and when it came.

use crate::proxy::Proxy;
use crate::wire::{LAST_CHUNK, OPEN_STREAM, Peer, STREAM, Upstream, chunk, post};

/// A stream that a GET has opened: both its ends.
fn open(proxy: &Proxy, upstream: &Upstream) -> (Peer, Peer) {
    let mut client = proxy.connect();
    client.send(OPEN_STREAM);
    let (server, ..) = upstream.answer(STREAM);
    assert_eq!(client.receive_head().get("content-type").unwrap(), "text/event-stream");
    (client, server)
}

/// Each piece arrives before the next is sent, as it is.
fn check_passes(pieces: &[&str]) {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let (mut client, mut server) = open(&proxy, &upstream);
    for piece in pieces {
        server.send(chunk(piece));
        let got = client.receive_streamed(piece.len());
        assert_eq!(String::from_utf8(got).unwrap(), *piece);
    }
    server.send(LAST_CHUNK);
    assert_eq!(client.receive_chunked().0, b"");
}

#[test]
fn nothing_is_held_back() {
    check_passes(&[
        "id: 1\nretry: 3000\ndata:\n\n",
        ": a comment\n\n",
        "event: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n",
        "data: {\ndata: \"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\r\n\r\n",
        "d",
        "ata: half",
        " an event\r",
        "\n",
        "\n",
        "data: \u{1f600} unfinished",
    ]);
}

#[test]
fn any_line_ends_pass() {
    check_passes(&["data: 1\r\rdata: 2\r\n\r\n", "\u{feff}data: 3\n\n", "\0\n\n", "id:\0\n\n"]);
}

#[test]
fn the_answer_to_a_post_can_be_a_stream() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#));
    let (mut server, ..) = upstream.answer(STREAM);
    client.receive_head();
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (id, message) in [(1, progress), (2, progress), (3, result)] {
        let event = format!("event: message\nid: {id}\ndata: {message}\n\n");
        server.send(chunk(&event));
        assert_eq!(client.receive_streamed(event.len()), event.as_bytes());
    }
    server.send(LAST_CHUNK);
    assert_eq!(client.receive_chunked().0, b"");
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!(trace.raw("out"), [progress, progress, result]);
    let ids: Vec<_> = trace.messages()[1..].iter().map(|line| line["http"]["sse"]["id"].clone()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

/// What a client has seen is in the trace by then.
#[test]
fn an_event_is_recorded_before_it_arrives() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let (mut client, mut server) = open(&proxy, &upstream);
    for n in 0..50 {
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{{}}}}\n\n");
        server.send(chunk(&event));
        client.receive_streamed(event.len());
        assert_eq!(proxy.traces()[0].messages().len(), n + 1);
    }
}

#[test]
fn a_stream_is_taken_up_again_where_it_broke() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM.replace("\r\n\r\n", "\r\nLast-Event-ID: a/b=7\r\nMcp-Session-Id: s\r\n\r\n"));
    let (mut server, seen, _) = upstream.answer(STREAM);
    assert_eq!(seen.get("last-event-id").unwrap(), "a/b=7");
    assert_eq!(seen.get("mcp-session-id").unwrap(), "s");
    client.receive_head();
    server.send(chunk("id: 8\ndata: {}\n\n"));
    assert_eq!(client.receive_streamed(16), b"id: 8\ndata: {}\n\n");
    drop(client);
    server.receive_rest();
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["open", "client-closed"]);
    assert!(trace.lines[1]["session"] == "s", "{trace:?}");
}

#[test]
fn an_endpoint_leads_back_to_the_proxy() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(OPEN_STREAM.replace("Host: x", "Host: my.proxy:1"));
    let (mut server, ..) = upstream.answer(STREAM);
    client.receive_head();
    server.send(chunk(format!("event: endpoint\ndata: http://{}/messages?id=1\n\n", upstream.address())));
    let expected = "event: endpoint\ndata: http://my.proxy:1/messages?id=1\n\n";
    assert_eq!(client.receive_streamed(expected.len()), expected.as_bytes());
    // Only the first event can be one.
    let later = format!("event: endpoint\ndata: http://{}/\n\n", upstream.address());
    server.send(chunk(&later));
    assert_eq!(client.receive_streamed(later.len()), later.as_bytes());
}

#[test]
fn other_endpoints_pass_as_they_are() {
    check_passes(&["event: endpoint\ndata: /messages?id=1\n\n", "data: {}\n\n"]);
    check_passes(&["event: endpoint\ndata: http://other.example/messages\n\n"]);
}

/// Its first event has no end: it passes nevertheless.
#[test]
fn an_unfinished_endpoint_is_not_swallowed() {
    for head in [STREAM, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 29\r\n\r\n"] {
        let upstream = Upstream::listen();
        let proxy = Proxy::before(&upstream, &[]);
        let mut client = proxy.connect();
        client.send(OPEN_STREAM);
        let (mut server, ..) = upstream.answer(head);
        let (whole, framed) = ("event: endpoint\ndata: /message", head == STREAM);
        let whole = &whole[..29];
        server.send(if framed {
            [&chunk(whole)[..], LAST_CHUNK].concat()
        } else {
            whole.as_bytes().to_vec()
        });
        assert_eq!(client.receive().1, whole.as_bytes());
    }
}

/// HTTP+SSE: the stream and what is posted belong together.
#[test]
fn what_is_posted_to_an_endpoint_belongs_to_its_stream() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let (mut stream, mut server) = open(&proxy, &upstream);
    let endpoint = "event: endpoint\ndata: /messages?id=1\n\n";
    server.send(chunk(endpoint));
    stream.receive_streamed(endpoint.len());
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
    let mut client = proxy.connect();
    client.send(post("", call).replace("/mcp", "/messages?id=1"));
    let (_posted, ..) = upstream.answer("HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted");
    assert_eq!(client.receive().1, b"Accepted");
    let event = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    server.send(chunk(event));
    stream.receive_streamed(event.len());
    drop((stream, client));
    let trace = proxy.stop().trace();
    assert_eq!(trace.raw("in"), [call]);
    assert_eq!(trace.raw("out"), [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    assert_eq!(trace.of_type("text")[0]["text"], "/messages?id=1");
}

#[test]
fn a_session_can_be_deleted() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("DELETE /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: s\r\n\r\n");
    let (_server, seen, body) = upstream.answer("HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!((seen.start.as_str(), body.as_slice()), ("DELETE /mcp HTTP/1.1", &b""[..]));
    assert_eq!(client.receive_head().status(), 204);
    crate::proxy::wait_until("the trace has ended", || proxy.traces()[0].reason().is_some());
    assert_eq!(proxy.traces()[0].reason(), Some("the client ended the session"));
}
