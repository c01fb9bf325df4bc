//! The rules of a file reach the proxy, and the trace holds what the server sent.

use crate::proxy::{Proxy, traces_in};
use crate::wire::{Upstream, ok, post};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;

fn file(upstream: &Upstream) -> String {
    format!(
        "[[csp]]\npaths = [\"/p/*\"]\nreport = false\nimg-src = [\"https://a.example\"]\n\
         [[upstream]]\nurl = \"{}\"\nlisten = \"127.0.0.1:0\"\n\
         [[upstream.csp]]\nreport = false\nconnect-src = [\"https://b.example\"]\n",
        upstream.url()
    )
}

#[test]
fn a_page_gets_the_policy_of_the_file() {
    let upstream = Upstream::listen();
    let proxy = Proxy::by_file(&file(&upstream));
    let mut client = proxy.connect();
    client.send("GET /p/x HTTP/1.1\r\nHost: x\r\n\r\n");
    let policy = "Content-Security-Policy: default-src 'self'";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n";
    upstream.answer(format!("{head}{policy}\r\n\r\n<p>"));
    let (head, body) = client.receive();
    let expected =
        "default-src 'self'; connect-src 'self' https://b.example; img-src 'self' https://a.example";
    assert_eq!((head.get("content-security-policy").as_deref(), &body[..]), (Some(expected), &b"<p>"[..]));
    let trace = format!("{:?}", proxy.stop().trace());
    assert!(trace.contains("default-src 'self'") && !trace.contains("b.example"), "{trace}");
}

#[test]
fn a_widget_gets_the_policy_of_the_file_and_the_trace_does_not() {
    let upstream = Upstream::listen();
    let proxy = Proxy::by_file(&file(&upstream));
    let mut client = proxy.connect();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://w"}}"#;
    client.send(post("", request));
    let before = r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"ui://w","_meta":{"ui":{"csp":{"connectDomains":[]}}}}]}}"#;
    upstream.answer(ok("", before));
    let (_, body) = client.receive();
    let after = before.replace("[]", "[\"https://b.example\"]");
    assert_eq!(String::from_utf8(body).unwrap(), after);
    let trace = format!("{:?}", proxy.stop().trace());
    assert!(trace.contains("connectDomains") && !trace.contains("b.example"), "{trace}");
}

/// The memory of secrets is shared by all clients, and is only for what is recorded.
#[test]
fn a_client_that_uses_a_method_as_its_secret_changes_nothing_for_others() {
    let upstream = Upstream::listen();
    let proxy = Proxy::by_file(&file(&upstream));
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"ui://w"}}"#;
    let before = r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"ui://w","_meta":{"ui":{"csp":{"connectDomains":[]}}}}]}}"#;
    let named = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"password":"resources/read"}}"#;
    let bearer = "Authorization: Bearer resources/read\r\n";
    for (first, is_recorded) in [(post(bearer, CALL), true), (post("", named), false)] {
        let mut other = proxy.connect();
        other.send(first);
        upstream.answer(ok("", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        other.receive();
        drop(other);
        let mut client = proxy.connect();
        client.send(post("", request));
        upstream.answer(ok("", before));
        let (_, body) = client.receive();
        assert_eq!(String::from_utf8(body).unwrap(), before.replace("[]", "[\"https://b.example\"]"));
        drop(client);
        if is_recorded {
            let traces = traces_in(&proxy.home().join("data/traces"));
            assert!(traces.iter().any(|trace| trace.raw("in") == [request]), "{traces:?}");
        }
    }
}
