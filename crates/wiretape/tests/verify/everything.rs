//! The server that has everything: sampling, elicitation, roots, progress, resources, prompts; over each transport.

use crate::session::{Home, Sdk, parts};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use wiretape_testkit::bins;
use wiretape_testkit::parts::Parts;
use wiretape_testkit::service::Service;

/// After this a process is killed and its test fails: generous, for the machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

/// How often an unchanged server must be clean.
const TIMES: usize = 10;

fn verify(home: &Home, traces: &[PathBuf], server: &[String]) -> String {
    let words = home.wiretape(&["verify", "--allow-writes"]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(traces).args(server);
    command.env("WIRETAPE_DATA_DIR", home.path("data")).current_dir(home.path(""));
    let output = command.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}");
    told
}

#[test]
fn over_stdio() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    home.record(&parts, Sdk::TypeScript, "features");
    let command = parts.server_everything();
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut server = vec!["--".to_owned()];
    server.extend(words.map(|word| word.to_str().unwrap().to_owned()));
    for _ in 0..TIMES {
        verify(&home, &[home.trace()], &server);
    }
}

fn everything(parts: &Parts, transport: &str) -> Service {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let mut command = parts.server_everything_over(transport);
    command.env("PORT", port.to_string());
    Service::spawn_at(command, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), LIMIT).unwrap()
}

/// Records what a client says through the proxy; returns the traces.
fn record(home: &Home, server: &Service, client: impl FnOnce(SocketAddr)) -> Vec<PathBuf> {
    let upstream = format!("http://{}", server.address());
    let words = home.wiretape(&[
        "proxy",
        "--no-redact",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        &upstream,
        "--drain",
        "5s",
    ]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("WIRETAPE_DATA_DIR", home.path("data"));
    let proxy = Service::spawn(command, LIMIT).unwrap();
    client(proxy.address());
    assert!(proxy.stop().unwrap().success());
    home.traces()
}

fn check_over(transport: &str, kind: &str, path: &str) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let server = everything(&parts, transport);
    let traces = record(&home, &server, |at| {
        home.run(&parts, Sdk::TypeScript, kind, &format!("http://{at}{path}"), "features");
    });
    for _ in 0..3 {
        verify(&home, &traces, &["--url".to_owned(), format!("http://{}{path}", server.address())]);
    }
}

#[test]
fn over_streamable_http() {
    check_over("streamableHttp", "streamable", "/mcp");
}

#[test]
fn over_sse() {
    check_over("sse", "sse", "/sse");
}

/// Several round trips, progress, errors; and a trace for each connection.
#[test]
fn of_the_stateless_era() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let mut command = Command::new(bins::path("wt-conformance-server"));
    command.args(["--listen", "127.0.0.1:0"]);
    let server = Service::spawn(command, LIMIT).unwrap();
    let traces = record(&home, &server, |at| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay/clients/stateless.py");
        let output =
            Command::new(parts.python()).arg(script).arg(format!("http://{at}/mcp")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    for _ in 0..3 {
        verify(&home, &traces, &["--url".to_owned(), format!("http://{}/mcp", server.address())]);
    }
}
