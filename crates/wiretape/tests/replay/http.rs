//! Over HTTP: streamable HTTP and HTTP+SSE, whatever the trace was recorded on.

use crate::servers::{self, everything, run_stateless, wiretape};
use crate::session::{Home, Sdk, Told, parts};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use wiretape_testkit::parts::Parts;
use wiretape_testkit::service::Service;

pub(crate) const STREAMABLE: (&str, &str) = ("streamable", "/mcp");
const SSE: (&str, &str) = ("sse", "/sse");

/// Plays traces over HTTP.
pub(crate) fn replay(home: &Home, traces: &[&Path], options: &[&str]) -> Service {
    let mut words = vec!["replay", "--listen", "127.0.0.1:0"];
    words.extend(traces.iter().map(|trace| trace.to_str().unwrap()));
    words.extend(options);
    wiretape(home, &words)
}

pub(crate) fn run(
    home: &Home,
    parts: &Parts,
    sdk: Sdk,
    (kind, path): (&str, &str),
    at: SocketAddr,
    scenario: &str,
) -> Told {
    home.run(parts, sdk, kind, &format!("http://{at}{path}"), scenario)
}

/// Records a scenario through the proxy; returns the client's output, and the trace of its session.
fn record(home: &Home, parts: &Parts, sdk: Sdk, transport: (&str, &str), scenario: &str) -> (Told, PathBuf) {
    let server = everything(parts, if transport == SSE { "sse" } else { "streamableHttp" });
    let told = servers::record(home, &server, |at| run(home, parts, sdk, transport, at, scenario));
    // A client that asks which era it is has a trace of its own for that.
    let largest = home.traces().into_iter().max_by_key(|trace| trace.metadata().unwrap().len());
    (told, largest.unwrap())
}

pub(crate) fn stop(service: Service) -> String {
    stop_with(service, 0)
}

/// Stops a replay that ends with this status.
pub(crate) fn stop_with(service: Service, expected: i32) -> String {
    let (status, said) = service.stop_with_output().unwrap();
    assert_eq!(status.code(), Some(expected), "{said}");
    said
}

/// What was recorded on one transport is played on each.
fn check(sdk: Sdk, recorded_on: (&str, &str), scenario: &str) {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let (recorded, trace) = record(&home, &parts, sdk, recorded_on, scenario);
    for transport in [STREAMABLE, SSE] {
        let service = replay(&home, &[&trace], &[]);
        let replayed = run(&home, &parts, sdk, transport, service.address(), scenario);
        let said = stop(service);
        assert!(!said.contains("missed:"), "{said}");
        replayed.check_same(&recorded);
    }
    let words = home.wiretape(&["replay", trace.to_str().unwrap()]);
    home.run_stdio(&parts, sdk, &words, scenario).check_same(&recorded);
}

#[test]
fn features_with_the_typescript_sdk() {
    check(Sdk::TypeScript, STREAMABLE, "features");
}

#[test]
fn features_with_the_typescript_sdk_recorded_over_sse() {
    check(Sdk::TypeScript, SSE, "features");
}

#[test]
fn features_with_the_python_sdk() {
    check(Sdk::Python, STREAMABLE, "features");
}

#[test]
fn features_with_the_first_python_sdk_recorded_over_sse() {
    check(Sdk::PythonFirst, SSE, "features");
}

/// Every tool, prompt and resource.
#[test]
fn everything_with_the_typescript_sdk() {
    check(Sdk::TypeScript, STREAMABLE, "all");
}

#[test]
fn everything_with_the_python_sdk_recorded_over_sse() {
    check(Sdk::Python, SSE, "all");
}

#[test]
fn two_clients_at_once_begin_at_the_beginning() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let (recorded, trace) = record(&home, &parts, Sdk::TypeScript, STREAMABLE, "features");
    let service = replay(&home, &[&trace], &["--strict", "--require-all"]);
    let at = service.address();
    std::thread::scope(|scope| {
        let client =
            |_| scope.spawn(|| run(&Home::new(), &parts, Sdk::TypeScript, STREAMABLE, at, "features"));
        let clients: Vec<_> = (0..3).map(client).collect();
        for client in clients {
            client.join().unwrap().check_same(&recorded);
        }
    });
    stop(service);
}

#[test]
fn several_traces_have_a_path_each() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let (recorded, trace) = record(&home, &parts, Sdk::Python, STREAMABLE, "features");
    let (one, two) = (home.path("one.jsonl"), home.path("two.jsonl"));
    std::fs::copy(&trace, &one).unwrap();
    std::fs::copy(&trace, &two).unwrap();
    let service = replay(&home, &[&one, &two], &[]);
    for transport in [("streamable", "/one/mcp"), ("sse", "/two/sse")] {
        run(&home, &parts, Sdk::Python, transport, service.address(), "features").check_same(&recorded);
    }
    stop(service);
}

#[test]
fn calls_are_cancelled() {
    let Some(parts) = parts() else { return };
    for sdk in [Sdk::TypeScript, Sdk::Python] {
        let home = Home::new();
        let (recorded, trace) = record(&home, &parts, sdk, STREAMABLE, "cancel");
        for transport in [STREAMABLE, SSE] {
            let service = replay(&home, &[&trace], &[]);
            run(&home, &parts, sdk, transport, service.address(), "cancel").check_same(&recorded);
            stop(service);
        }
    }
}

/// Several round trips, progress, errors; and a trace for each connection.
#[test]
fn the_stateless_era_is_played() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let recorded = servers::record(&home, &servers::of_both_eras(), |at| run_stateless(&parts, at));
    assert!(recorded.contains(r#"["version", "2026-07-28"]"#), "{recorded}");
    let traces = home.traces();
    let traces: Vec<&Path> = traces.iter().map(PathBuf::as_path).collect();
    let service = replay(&home, &traces, &["--merge", "--strict", "--require-all"]);
    let replayed = run_stateless(&parts, service.address());
    stop(service);
    for (replayed, recorded) in replayed.lines().zip(recorded.lines()) {
        assert_eq!(replayed, recorded);
    }
    assert_eq!(replayed.len(), recorded.len());
}
