//! Whom a request is for: the check of `Host` where it is replaced, and heads that could be read in two ways.

use crate::disconnects::check_refusal;
use crate::proxy::Proxy;
use crate::wire::{Peer, Upstream, ok, post};
use serde_json::Value;

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A client that calls the proxy by a name.
fn ask(proxy: &Proxy, host: &str) -> Peer {
    let mut client = proxy.connect();
    client.send(post("", CALL).replace("Host: x", &format!("Host: {host}")));
    client
}

/// A web page whose name leads to this machine sends that name.
#[test]
fn a_host_that_is_replaced_is_checked_first() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--rewrite-host", "--allow-host", "mcp.example.com"]);
    for host in ["localhost", "127.0.0.1:80", "[::1]:3004", "MCP.example.com:8443"] {
        let mut client = ask(&proxy, host);
        let (_server, seen, _) = upstream.answer(ok("", RESULT));
        assert_eq!(seen.get("host").unwrap(), upstream.address().to_string());
        assert_eq!(client.receive().0.status(), 200);
    }
    for host in ["evil.example:3004", "mcp.example.com.evil.example"] {
        let (head, body) = ask(&proxy, host).receive();
        assert_eq!(head.status(), 421);
        let message = check_refusal(&body, &Value::Null, "refused", 421);
        assert!(message.contains("--allow-host"), "{message}");
    }
    assert!(!proxy.stop().stderr.contains("evil"));
}

/// On other listeners the server sees the client's `Host`, and decides itself.
#[test]
fn a_host_that_is_kept_is_the_servers_business() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(
        post("Connection: host, X-Mine\r\nX-Mine: 1\r\n", CALL).replace("Host: x", "Host: evil.example"),
    );
    let (_server, seen, _) = upstream.answer(ok("", RESULT));
    assert_eq!((seen.get("host").as_deref(), seen.get("x-mine")), (Some("evil.example"), None));
}

#[test]
fn two_hosts_are_refused() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send(post("Host: y\r\n", CALL));
    let (head, body) = client.receive();
    assert_eq!(head.status(), 400);
    check_refusal(&body, &Value::Null, "refused", 400);
}

#[test]
fn an_upgrade_to_http2_is_not_passed_on() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    let upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    client.send(post(upgrade, CALL));
    let (_server, seen, body) = upstream.answer(ok("", RESULT));
    let names = ["connection", "upgrade", "http2-settings"];
    assert!(names.iter().all(|name| seen.get(name).is_none()), "{seen:?}");
    assert_eq!(body, CALL.as_bytes());
    assert_eq!(client.receive().1, RESULT.as_bytes());
}

/// It is the client's mistake, not the server's.
#[test]
fn a_chunk_that_is_none_is_a_bad_request() {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &[]);
    let mut client = proxy.connect();
    client.send("POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut server = upstream.accept();
    server.receive_head();
    client.send("2\r\n{}\r\nnonsense\r\n");
    let (head, body) = client.receive();
    assert_eq!(head.status(), 400);
    let message = check_refusal(&body, &Value::Null, "refused", 400);
    assert!(message.contains("chunks"), "{message}");
    server.receive_rest();
    drop(client);
    assert_eq!(proxy.stop().trace().endings(), ["refused"]);
}
