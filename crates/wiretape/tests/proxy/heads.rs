//! Heads pass as they are, but for what belongs to one hop.

use crate::proxy::Proxy;
use crate::wire::{Head, LAST_CHUNK, Upstream, chunk, ok, post};

/// What the server gets to see of a request, and the client of the response.
fn exchange(options: &[&str], request: &[u8], response: &[u8]) -> (Head, Head) {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, options);
    let mut client = proxy.connect();
    client.send(request);
    let (_server, seen, _) = upstream.answer(response);
    (seen, client.receive_head())
}

fn request_for(target: &str) -> Head {
    let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    exchange(&[], request.as_bytes(), ok("", "{}").as_bytes()).0
}

#[test]
fn targets_pass_as_they_are() {
    for target in [
        "/",
        "/mcp",
        "//double//slash/",
        "/a/../b/./c",
        "/%zz/%2F%2f/%00?%",
        "/mcp?a=1&a=2&&=&b=%20+%2B",
        "/mcp?",
        "/a;b=c,d/'(x)*!$&@:~|^{}\"\\",
        "/caf\u{e9}?q=\u{1f600}",
        "/x?y=http://other.example/z?w",
    ] {
        assert_eq!(request_for(target).start, format!("GET {target} HTTP/1.1"));
    }
}

#[test]
fn any_method_passes() {
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "X-Own"] {
        let request = format!("{method} /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        let (seen, _) = exchange(&[], request.as_bytes(), ok("", "{}").as_bytes());
        assert_eq!(seen.start, format!("{method} /mcp HTTP/1.1"));
    }
    let (seen, _) =
        exchange(&[], b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(seen.start, "OPTIONS * HTTP/1.1");
}

#[test]
fn headers_of_requests_pass_and_none_is_added() {
    let request = b"POST /mcp HTTP/1.1\r\nHOST: Some.Host:99\r\nCoNtEnT-TyPe: application/json\r\n\
        content-length: 2\r\nMcp-Param-X: =?base64?eA==?=\r\nMCP-PARAM-unknown: \xff\xfe caf\xe9\r\n\
        Mcp-Protocol-Version: 2025-06-18\r\nX-Twice: 1\r\nx-empty:\r\nX-Twice: 2\r\nAccept: a/b;q=0.5, */*\r\n\
        Authorization: Bearer xyz\r\nOrigin: http://page.example\r\n\r\n{}";
    let (seen, _) = exchange(&[], request, ok("", "{}").as_bytes());
    assert_eq!(
        seen.names(),
        [
            "Accept",
            "Authorization",
            "CoNtEnT-TyPe",
            "HOST",
            "MCP-PARAM-unknown",
            "Mcp-Param-X",
            "Mcp-Protocol-Version",
            "Origin",
            "X-Twice",
            "X-Twice",
            "content-length",
            "x-empty",
        ]
    );
    assert_eq!(seen.all("mcp-param-unknown"), [b"\xff\xfe caf\xe9"]);
    assert_eq!(seen.all("x-twice"), [b"1", b"2"]);
    assert_eq!(seen.get("host").unwrap(), "Some.Host:99");
    assert_eq!(seen.get("authorization").unwrap(), "Bearer xyz");
    assert_eq!(seen.get("accept").unwrap(), "a/b;q=0.5, */*");
    assert_eq!(seen.get("x-empty").unwrap(), "");
}

#[test]
fn headers_of_responses_pass_and_none_is_added() {
    let response =
        b"HTTP/1.1 200 OK\r\ncontent-TYPE: text/plain\r\nSet-Cookie: a=1; Path=/\r\nContent-Length: 2\r\n\
        Mcp-Session-Id: s1\r\nSet-Cookie: b=2\r\nX-Odd: \xe9\r\nset-cookie: c=3\r\n\r\nhi";
    let (_, got) = exchange(&[], post("", "{}").as_bytes(), response);
    assert_eq!(got.start, "HTTP/1.1 200 OK");
    let mut names: Vec<String> = got.names().iter().map(|name| name.to_ascii_lowercase()).collect();
    names.sort();
    let expected = [
        "content-length",
        "content-type",
        "mcp-session-id",
        "set-cookie",
        "set-cookie",
        "set-cookie",
        "x-odd",
    ];
    assert_eq!(names, expected);
    assert!(got.names().contains(&"content-TYPE"), "{got:?}");
    assert_eq!(got.all("set-cookie"), [&b"a=1; Path=/"[..], b"b=2", b"c=3"]);
    assert_eq!(got.all("x-odd"), [b"\xe9"]);
}

#[test]
fn the_servers_own_date_and_server_pass() {
    let date = "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nServer: mine/1\r\nVia: 1.1 other\r\n";
    let (_, got) = exchange(&[], post("", "{}").as_bytes(), ok(date, "{}").as_bytes());
    assert_eq!(got.get("date").unwrap(), "Tue, 01 Jan 2030 00:00:00 GMT");
    assert_eq!(got.get("server").unwrap(), "mine/1");
    assert_eq!(got.get("via").unwrap(), "1.1 other");
}

#[test]
fn host_can_be_rewritten() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--rewrite-host"]);
    let mut client = proxy.connect();
    client.send(post("", "{}").replace("Host: x", "Host: localhost"));
    let (_server, seen, _) = upstream.answer(ok("", "{}"));
    assert_eq!(seen.get("host").unwrap(), upstream.address().to_string());
}

#[test]
fn what_belongs_to_one_hop_stays_there() {
    let headers = "Connection: keep-alive, X-Mine\r\nKeep-Alive: timeout=5\r\nX-Mine: 1\r\nX-Other: 2\r\n";
    let (seen, got) = exchange(&[], post(headers, "{}").as_bytes(), ok(headers, "{}").as_bytes());
    for head in [seen, got] {
        assert_eq!(head.get("x-other").unwrap(), "2");
        for gone in ["connection", "keep-alive", "x-mine"] {
            assert_eq!(head.get(gone), None, "{head:?}");
        }
    }
}

#[test]
fn statuses_pass_with_their_reasons() {
    for status in [
        "200 OK",
        "200 Very Well Indeed",
        "201 Created",
        "207 Multi-Status",
        "299 Own",
        "301 Moved Permanently",
        "304 Not Modified",
        "400 Bad Request",
        "401 Unauthorized",
        "404 Session Gone",
        "418 I'm a teapot",
        "429 Too Many Requests",
        "499 Odd",
        "500 Internal Server Error",
        "503 Come Back Later",
        "599 Last",
    ] {
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let (_, got) = exchange(&[], post("", "{}").as_bytes(), response.as_bytes());
        assert_eq!(got.start, format!("HTTP/1.1 {status}"));
    }
}

#[test]
fn many_headers_are_not_too_many() {
    let many: String = (0..90).map(|n| format!("X-Header-{n}: {n}\r\n")).collect();
    let (seen, got) = exchange(&[], post(&many, "{}").as_bytes(), ok(&many, "{}").as_bytes());
    assert_eq!(got.start, "HTTP/1.1 200 OK");
    assert_eq!(seen.headers.len(), 93);
    assert_eq!(got.headers.len(), 92);
}

#[test]
fn interim_responses_do_not_hide_the_last_one() {
    let response = format!("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n{}", ok("", "{}"));
    let (_, got) = exchange(&[], post("", "{}").as_bytes(), response.as_bytes());
    assert_eq!(got.start, "HTTP/1.1 200 OK");
}

#[test]
fn trailers_pass_in_both_directions() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(chunk("{}"));
    client.send("0\r\nX-Sum: 7\r\n\r\n");
    let mut server = upstream.accept();
    let head = server.receive_head();
    assert_eq!(head.get("te").unwrap(), "trailers");
    let (body, trailers) = server.receive_chunked();
    assert_eq!(
        (body.as_slice(), String::from_utf8(trailers).unwrap().to_lowercase()),
        (&b"{}"[..], "x-sum: 7\r\n".to_owned())
    );
    server.send("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n");
    server.send(chunk("hello"));
    server.send("0\r\nX-Sum: 8\r\n\r\n");
    client.receive_head();
    let (body, trailers) = client.receive_chunked();
    assert_eq!(
        (body.as_slice(), String::from_utf8(trailers).unwrap().to_lowercase()),
        (&b"hello"[..], "x-sum: 8\r\n".to_owned())
    );
}

#[test]
fn another_protocol_passes_through() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n");
    let (mut server, seen, _) = upstream.answer(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x01\x02first",
    );
    assert_eq!(seen.get("upgrade").unwrap(), "websocket");
    assert!(seen.get("connection").unwrap().eq_ignore_ascii_case("upgrade"));
    let got = client.receive_head();
    assert_eq!(got.status(), 101);
    assert_eq!(got.get("upgrade").unwrap(), "websocket");
    assert_eq!(client.read_exactly(7), b"\x01\x02first");
    client.send(b"\xff\x00 back");
    assert_eq!(server.read_exactly(7), b"\xff\x00 back");
    drop(client);
    server.receive_rest();
    let trace = proxy.stop().trace();
    assert_eq!(trace.endings(), ["upgraded"]);
}

#[test]
fn a_client_of_http_1_0_is_served() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("GET /mcp HTTP/1.0\r\n\r\n");
    let mut server = upstream.accept();
    let seen = server.receive_head();
    assert_eq!(seen.start, "GET /mcp HTTP/1.1");
    assert_eq!(seen.get("host").unwrap(), upstream.address().to_string());
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    server.send(chunk("one "));
    server.send(chunk("two"));
    server.send(LAST_CHUNK);
    let got = client.receive_head();
    assert_eq!((got.status(), got.get("transfer-encoding")), (200, None));
    assert_eq!(client.receive_rest().0, b"one two");
}

#[test]
fn a_server_of_http_1_0_is_understood() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("", "{}"));
    let (server, ..) = upstream.answer("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end");
    drop(server);
    let (head, body) = client.receive();
    assert_eq!((head.status(), body.as_slice()), (200, &b"until the end"[..]));
}
