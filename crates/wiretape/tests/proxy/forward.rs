//! A forward proxy, which clients are configured to use.

use crate::disconnects::check_refusal;
use crate::proxy::{Proxy, wiretape};
use crate::wire::{Peer, Upstream, ok, post};
use serde_json::{Value, json};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A client with a tunnel to a server.
fn tunnel(proxy: &Proxy, upstream: &Upstream) -> Peer {
    let mut client = proxy.connect();
    let address = upstream.address();
    client.send(format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let head = client.receive_head();
    assert_eq!((head.status(), head.headers.len()), (200, 0), "{head:?}");
    client
}

#[test]
fn a_request_that_names_its_server_is_recorded() {
    let upstreams = [Upstream::listen(), Upstream::listen()];
    let proxy = Proxy::start(&["--forward"]);
    let mut client = proxy.connect();
    for upstream in &upstreams {
        let address = upstream.address();
        let request = post("Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\n", CALL)
            .replace("/mcp", &format!("http://{address}/mcp?a=1"))
            .replace("Host: x", &format!("Host: {address}"));
        client.send(request);
        let (_server, seen, body) = upstream.answer(ok("", RESULT));
        assert_eq!(seen.start, "POST /mcp?a=1 HTTP/1.1");
        assert_eq!(seen.get("host").unwrap(), address.to_string());
        assert_eq!((seen.get("proxy-connection"), seen.get("proxy-authorization")), (None, None));
        assert_eq!(body, CALL.as_bytes());
        assert_eq!(client.receive().1, RESULT.as_bytes());
    }
    drop(client);
    let traces = proxy.stop().traces();
    let targets: Vec<&Value> =
        traces.iter().flat_map(|trace| trace.heads("request")).map(|head| &head["target"]).collect();
    let expected = upstreams.map(|upstream| json!(format!("http://{}/mcp?a=1", upstream.address())));
    assert_eq!(targets, expected.iter().collect::<Vec<_>>());
    let messages: usize = traces.iter().map(|trace| trace.messages().len()).sum();
    assert_eq!(messages, 4);
}

#[test]
fn http_in_a_tunnel_is_recorded() {
    let upstream = Upstream::listen();
    let proxy = Proxy::start(&["--forward"]);
    let mut client = tunnel(&proxy, &upstream);
    let mut server = upstream.accept();
    for _ in 0..2 {
        client.send(post("", CALL));
        let (head, body) = server.receive();
        assert_eq!((head.start.as_str(), body.as_slice()), ("POST /mcp HTTP/1.1", CALL.as_bytes()));
        server.send(ok("", RESULT));
        assert_eq!(client.receive().1, RESULT.as_bytes());
    }
    drop(client);
    let trace = proxy.stop().trace();
    assert_eq!((trace.raw("in"), trace.raw("out")), (vec![CALL; 2], vec![RESULT; 2]));
    assert_eq!(trace.lines[0]["command"], json!([format!("http://{}", upstream.address())]));
}

#[test]
fn tls_in_a_tunnel_passes_unread() {
    let upstream = Upstream::listen();
    let proxy = Proxy::start(&["--forward"]);
    for _ in 0..2 {
        let mut client = tunnel(&proxy, &upstream);
        let mut server = upstream.accept();
        client.send(b"\x16\x03\x01\x00\x02hi");
        assert_eq!(server.read_exactly(7), b"\x16\x03\x01\x00\x02hi");
        server.send(b"\x16\x03\x03 back");
        assert_eq!(client.read_exactly(8), b"\x16\x03\x03 back");
        drop(client);
        server.receive_rest();
    }
    let stopped = proxy.stop();
    assert_eq!(stopped.warnings().len(), 1, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("wiretape ca"), "{}", stopped.stderr);
    assert!(stopped.traces().is_empty());
}

#[test]
fn a_server_that_speaks_first_is_heard() {
    let upstream = Upstream::listen();
    let proxy = Proxy::start(&["--forward"]);
    let mut client = tunnel(&proxy, &upstream);
    let mut server = upstream.accept();
    server.send("220 hello\r\n");
    assert_eq!(client.read_through(b"\n"), b"220 hello\r\n");
    client.send("EHLO\r\n");
    assert_eq!(server.read_through(b"\n"), b"EHLO\r\n");
}

#[test]
fn a_tunnel_to_nowhere_is_refused() {
    let upstream = Upstream::listen();
    let address = upstream.address();
    drop(upstream);
    let proxy = Proxy::start(&["--forward"]);
    let mut client = proxy.connect();
    client.send(format!("CONNECT {address} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 502);
    check_refusal(&body, &Value::Null, "unreachable", 502);
}

#[test]
fn a_client_that_takes_the_proxy_for_the_server_is_told() {
    let proxy = Proxy::start(&["--forward"]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 400);
    let message = check_refusal(&body, &Value::Null, "refused", 400);
    assert!(message.contains("HTTP_PROXY"), "{message}");
}

#[test]
fn a_request_for_the_proxy_itself_is_refused() {
    let proxy = Proxy::start(&["--forward"]);
    let port = proxy.address().port();
    for authority in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let mut client = proxy.connect();
        client.send(format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
        assert_eq!(client.receive().0.status(), 400);
    }
}

#[test]
fn connect_is_for_forward_proxies() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\n", upstream.address()));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 400);
    let message = check_refusal(&body, &Value::Null, "refused", 400);
    assert!(message.contains("--forward"), "{message}");
}

/// A proxy that other machines could reach. The tests reach it from here all the same.
fn open_proxy(options: &[&str], environment: &[(&str, &str)]) -> Proxy {
    let options = [&["--forward", "--listen", "0.0.0.0:0", "--admin", "127.0.0.1:0"], options].concat();
    Proxy::start_listening(tempfile::tempdir().unwrap(), &options, environment)
}

fn connect(proxy: &Proxy, authority: &str, headers: &str) -> Peer {
    let mut client = proxy.connect();
    client.send(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{headers}\r\n"));
    client
}

/// Otherwise the network could read the admin port, other services of this machine, and a cloud's metadata.
#[test]
fn other_machines_can_not_reach_what_only_this_one_can() {
    let upstream = Upstream::listen();
    let proxy = open_proxy(&[], &[]);
    let port = upstream.address().port();
    let near = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
    let odd = ["127.1:80", "0.0.0.0:80", "169.254.169.254:80", "[::ffff:127.0.0.1]:80"].map(str::to_owned);
    for authority in near.iter().chain(&odd) {
        let (head, body) = connect(&proxy, authority, "").receive();
        assert_eq!(head.status(), 403, "{authority}");
        let message = check_refusal(&body, &Value::Null, "refused", 403);
        assert!(message.contains("--allow-private-targets"), "{message}");
        let mut client = proxy.connect();
        client.send(format!("GET http://{authority}/status HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
        assert_eq!(client.receive().0.status(), 403, "{authority}");
    }
    let proxy = open_proxy(&["--allow-private-targets"], &[]);
    let mut client = connect(&proxy, &near[0], "");
    assert_eq!(client.receive_head().status(), 200);
    upstream.accept();
}

#[test]
fn a_password_is_required_and_goes_nowhere() {
    // "bob:sesame7654", and what it is in Base64.
    let (credentials, given) = ("bob:sesame7654", "Ym9iOnNlc2FtZTc2NTQ=");
    let upstream = Upstream::listen();
    let options = ["--forward", "--no-redact"];
    let environment = [("WIRETAPE_PROXY_AUTH", credentials)];
    let proxy = Proxy::start_with(tempfile::tempdir().unwrap(), &options, &environment);
    let address = upstream.address();
    for headers in ["", "Proxy-Authorization: Basic Ym9iOndyb25n\r\n"] {
        let (head, body) = connect(&proxy, &address.to_string(), headers).receive();
        assert_eq!(head.status(), 407);
        assert!(head.get("proxy-authenticate").unwrap().starts_with("Basic "));
        check_refusal(&body, &Value::Null, "refused", 407);
    }
    let headers = format!("Proxy-Authorization: Basic {given}\r\n");
    let mut client = proxy.connect();
    client.send(
        post(&headers, CALL)
            .replace("/mcp", &format!("http://{address}/mcp"))
            .replace("Host: x", &format!("Host: {address}")),
    );
    let (_server, seen, _) = upstream.answer(ok("", RESULT));
    assert_eq!((seen.get("proxy-authorization"), client.receive().0.status()), (None, 200));
    // In a tunnel it was given once, to open it.
    let mut tunneled = connect(&proxy, &address.to_string(), &headers);
    assert_eq!(tunneled.receive_head().status(), 200);
    let mut server = upstream.accept();
    tunneled.send(post("", CALL));
    server.receive();
    server.send(ok("", RESULT));
    assert_eq!(tunneled.receive().0.status(), 200);
    drop((client, tunneled));
    let traces = proxy.stop().traces();
    assert_eq!(traces.len(), 2);
    assert!(traces.iter().all(|trace| !trace.text.contains(given) && !trace.text.contains("sesame")));
}

#[test]
fn a_password_that_is_none_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("auth"), "sesame7654\n").unwrap();
    let mut command = wiretape(home.path());
    let output = command.args(["proxy", "--forward", "--auth-file", "auth"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("USER:PASSWORD"), "{told}");
    assert!(!told.contains("sesame"), "{told}");
}
