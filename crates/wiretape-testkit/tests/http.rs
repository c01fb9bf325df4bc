//! The HTTP peers behave as the tests and benchmarks that use them rely on.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use wiretape_testkit::cpu;
use wiretape_testkit::load::{Amount, Clients, Driver};
use wiretape_testkit::service::Service;

const ECHO: &str = env!("CARGO_BIN_EXE_wt-http-echo");
/// Everything that can be between load and server.
const RELAYS: [&str; 3] = [
    env!("CARGO_BIN_EXE_wt-http-relay"),
    env!("CARGO_BIN_EXE_wt-tcp-relay"),
    env!("CARGO_BIN_EXE_wt-paired-relay"),
];
const LOAD: &str = env!("CARGO_BIN_EXE_wt-http-load");
const LIMIT: Duration = Duration::from_secs(60);

fn echo(arguments: &[&str]) -> Service {
    let mut command = Command::new(ECHO);
    command.args(arguments);
    Service::spawn(command, LIMIT).expect("the server starts")
}

fn relay(program: &str, upstream: &Service) -> Service {
    let mut command = Command::new(program);
    command.args(["proxy", "--upstream", &upstream.url(), "--listen", "127.0.0.1:0", "--traces", "."]);
    Service::spawn(command, LIMIT).expect("the relay starts")
}

fn load(service: &Service, connections: usize) -> Driver {
    Driver::spawn(Path::new(LOAD), &service.url(), Clients::Callers(connections), LIMIT)
        .expect("the load starts")
}

/// What comes back to a request on a connection of its own.
fn exchange(service: &Service, method: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(service.address()).expect("it listens");
    let length = body.len();
    write!(
        stream,
        "{method} /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers in UTF-8");
    answer
}

#[track_caller]
fn check(service: &Service, method: &str, body: &str, expected: &[&str]) {
    let answer = exchange(service, method, body);
    for part in expected {
        assert!(answer.contains(part), "{part} is missing in {answer}");
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"b":1.0,"a":"é"}}}"#;

#[test]
fn answers_as_an_mcp_server() {
    let server = echo(&[]);
    check(&server, "POST", INITIALIZE, &["200 OK", "mcp-session-id: ", "application/json", r#""id":"a""#]);
    check(&server, "POST", CALL, &["200 OK", r#""id":7,"#, r#""structuredContent":{"b":1.0,"a":"é"}"#]);
    check(&server, "POST", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, &["202 Accepted"]);
    check(&server, "POST", r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, &["200 OK", "-32601"]);
    check(&server, "POST", "no JSON", &["400 Bad Request"]);
    check(&server, "GET", "", &["405 Method Not Allowed"]);
    check(&server, "DELETE", "", &["200 OK"]);
}

#[test]
fn answers_with_events_when_told() {
    let server = echo(&["--sse"]);
    check(
        &server,
        "POST",
        INITIALIZE,
        &["mcp-session-id: ", "text/event-stream", "\r\n\r\nevent: message\ndata: {"],
    );
    check(&server, "POST", CALL, &["text/event-stream", r#""id":7,"#]);
}

#[test]
fn relays_pass_on() {
    let server = echo(&[]);
    for program in RELAYS {
        let relay = relay(program, &server);
        check(&relay, "POST", INITIALIZE, &["200 OK", "mcp-session-id: "]);
        check(&relay, "DELETE", "", &["200 OK"]);
    }
}

#[test]
fn streams_are_read_through_relays() {
    let server = echo(&["--ticks"]);
    check(&server, "POST", INITIALIZE, &["200 OK"]);
    for program in RELAYS {
        let relay = relay(program, &server);
        let mut load = Driver::spawn(Path::new(LOAD), &relay.url(), Clients::Listeners(5), LIMIT)
            .expect("it opens streams");
        let outcome = load.run(Amount::Time(Duration::from_millis(3000))).unwrap();
        assert!((5..=20).contains(&outcome.calls), "{outcome:?}");
        load.run(Amount::Calls(1)).unwrap_err();
    }
}

#[test]
fn load_counts_and_times_its_calls() {
    for mode in [&[] as &[&str], &["--sse"]] {
        let server = echo(mode);
        let relays = RELAYS.map(|program| relay(program, &server));
        for service in [&server].into_iter().chain(&relays) {
            let mut load = load(service, 3);
            let outcome = load.run(Amount::Calls(50)).unwrap();
            assert_eq!(outcome.calls, 150);
            assert!(0.0 < outcome.p50 && outcome.p50 <= outcome.p99 && outcome.p99 <= outcome.worst);
            let outcome = load.run(Amount::Time(Duration::from_millis(50))).unwrap();
            assert!(outcome.calls >= 3 && outcome.seconds >= 0.05, "{outcome:?}");
            load.finish().unwrap();
        }
    }
}

#[test]
fn load_through_a_relay_without_a_server_fails() {
    let server = echo(&[]);
    let [program, ..] = RELAYS;
    let relay = relay(program, &server);
    let mut load = load(&relay, 1);
    server.stop().unwrap();
    load.run(Amount::Calls(1)).unwrap_err();
    Driver::spawn(Path::new(LOAD), &relay.url(), Clients::Callers(1), LIMIT).unwrap_err();
}

#[test]
fn what_does_not_serve_is_an_error() {
    let mut command = Command::new(ECHO);
    command.arg("--no-such");
    let error = Service::spawn(command, LIMIT).unwrap_err();
    assert!(error.to_string().contains("usage"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn processes_are_pinned() {
    let server = echo(&[]);
    let processor = *cpu::processors().unwrap().last().expect("this process runs somewhere");
    cpu::pin_tree(server.pid(), processor).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{processor}\n")), "{status}");
    assert!(cpu::time_of_tree(server.pid()).is_some());
}
