//! The rules of a file reach the proxy, and the trace holds what the server sent.

use crate::proxy::Proxy;
use crate::wire::{Upstream, ok, post};

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
