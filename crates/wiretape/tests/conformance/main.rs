//! The official conformance suite, without the proxy, through it, and against its recordings: every scenario must
//! have the same result.
//!
//! The suite tests servers and clients. Here both are known to pass, so any failure is the proxy's. A server is
//! behind a reverse proxy; a client uses a forward proxy, and each of the suite's servers is behind a reverse one,
//! through which the client must be able to log in.
//!
//! `cargo xtask setup` installs the suite and `cargo xtask test` says where; a bare `cargo test` skips these.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

#[path = "../shared/lint.rs"]
mod lint;
mod peers;
mod suite;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use wiretape_testkit::bins;
use wiretape_testkit::parts::{Parts, VARIABLE};
use wiretape_testkit::service::Service;

use crate::peers::{LIMIT, Proxy, Server};
use crate::suite::{Results, Suite};

/// The parts, if there are any to be had.
fn parts() -> Option<Parts> {
    let parts = Parts::from_environment();
    if parts.is_none() {
        say(&format!("SKIPPED: {VARIABLE} is not set; `cargo xtask test` runs this with the real suite"));
    }
    parts
}

/// Past the test runner, which keeps what passing tests print to itself.
fn say(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

fn wiretape_proxy(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    command
        .arg("proxy")
        .args(arguments)
        .args(["--listen", "127.0.0.1:0", "--traces"])
        .arg(home.join("traces"));
    command.env("WIRETAPE_DATA_DIR", home.join("data")).current_dir(home);
    command
}

/// The suite against a server of ours.
fn check_server(revision: &str, required: usize) {
    let Some(parts) = parts() else { return };
    let home = tempfile::tempdir().unwrap();
    let suite = Suite::new(&parts, revision, home.path());
    // One for each, so that no notification for one reaches the other.
    let (alone, recorded) = (Server::start(), Server::start());
    let proxy = Proxy::start(&mut wiretape_proxy(home.path(), &["--upstream", recorded.url()]));
    let behind_proxy = format!("{}/mcp", proxy.origin());
    let results =
        both(|| suite.test_server("direct", alone.url()), || suite.test_server("recorded", &behind_proxy));
    check("server", revision, &results, required, &[]);
    check_recorded(home.path());
    drop(proxy);
    let replay = Service::spawn(wiretape_replay(home.path()), LIMIT).unwrap();
    let replayed = suite.test_server("replayed", &replay.url());
    check("recording of a server", revision, &(results.0, replayed), required, &OTHERWISE);
    let said = replay.output();
    assert!(!said.contains("missed:"), "{said}");
}

/// All that was recorded, as one server.
fn wiretape_replay(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
    command.args(["replay", "--listen", "127.0.0.1:0", "--merge"]).args(traces(home));
    command.env("WIRETAPE_DATA_DIR", home.join("data")).current_dir(home);
    command
}

fn traces(home: &Path) -> Vec<PathBuf> {
    fs::read_dir(home.join("traces")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The suite against a client of ours.
fn check_client(revision: &str, required: usize) {
    let Some(parts) = parts() else { return };
    let home = tempfile::tempdir().unwrap();
    let suite = Suite::new(&parts, revision, home.path());
    let client = bins::path("wt-conformance-client");
    let proxy = Proxy::start(&mut wiretape_proxy(home.path(), &["--forward"]));
    let results = both(
        || suite.test_client("direct", &client, None),
        || suite.test_client("recorded", &client, Some(proxy.origin())),
    );
    check("client", revision, &results, required, &[]);
    check_recorded(home.path());
}

/// The suite against a client of ours that finds a reverse proxy wherever it goes.
fn check_client_behind_reverse_proxies(revision: &str, required: usize) {
    let Some(parts) = parts() else { return };
    let home = tempfile::tempdir().unwrap();
    let suite = Suite::new(&parts, revision, home.path());
    let client = bins::path("wt-conformance-client");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/behind-proxy.sh");
    let words = [&script, home.path(), Path::new(env!("CARGO_BIN_EXE_wiretape")), &client];
    let command = words.map(|word| word.to_str().unwrap()).join(" ");
    // One after the other: with a proxy for each, there are many processes already, and the suite has short timeouts.
    let direct = suite.test_client("direct", &client, None);
    let results = (direct, suite.test_client("recorded", Path::new(&command), None));
    check("client behind reverse proxies", revision, &results, required, &[]);
    check_recorded(home.path());
}

/// Runs two things at once.
fn both<T: Send>(one: impl FnOnce() -> T + Send, other: impl FnOnce() -> T) -> (T, T) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().expect("what went wrong was said there"), other)
    })
}

/// Scenarios that apply to a server but not to its recording: a replayed answer arrives at once, so there is no
/// stream to poll.
const OTHERWISE: [&str; 1] = ["server-sse-polling"];

fn check(
    role: &str,
    revision: &str,
    (direct, recorded): &(Results, Results),
    required: usize,
    except: &[&str],
) {
    assert_eq!(direct.required().count(), required, "{direct}");
    let failing: Vec<&str> = direct.required().filter(|name| !direct.passes(name)).collect();
    assert!(failing.is_empty(), "these fail without the proxy: {failing:?}\n{direct}");
    let names: BTreeSet<&str> = direct.names().chain(recorded.names()).collect();
    let names = names.into_iter().filter(|name| !except.contains(name));
    let differing = names.filter(|name| direct[name] != recorded[name]);
    let differing: Vec<String> = differing.map(|name| recorded.explain(name)).collect();
    assert!(differing.is_empty(), "{role}: it is different:\n{}", differing.join("\n"));
    let passing = recorded.required().filter(|name| recorded.passes(name)).count();
    let reported: Vec<&str> = recorded.reported().collect();
    let passing_reported = reported.iter().filter(|name| recorded.passes(name)).count();
    say(&format!(
        "{role}, {revision}: as without Wiretape, {passing} of {required} required scenarios pass, \
         and {passing_reported} of {} reported ones",
        reported.len()
    ));
}

/// It did go through the proxy, and what lint finds in the traces is what the suite does on purpose.
fn check_recorded(home: &Path) {
    lint::check(&traces(home), &KNOWN);
}

/// What lint finds in the suite's sessions.
const KNOWN: [lint::Known; 16] = [
    // The server under test.
    ("event-id-reused", "its SDK numbers the events of each stream from 0, the one that primes it included"),
    // The suite's client, which tests how a server refuses.
    ("request-meta-missing", "requests without what every request must have"),
    ("client-info-missing", "the same"),
    ("removed-method", "methods that are gone"),
    ("params-shape", "input responses of the wrong type"),
    ("request-state-not-echoed", "a state that was tampered with"),
    ("method-header", "headers that are missing or differ from the body"),
    ("name-header", "the same"),
    ("param-header", "the same"),
    ("version-header", "the same"),
    ("unknown-tool-called", "tools of extensions that the server under test doesn't have"),
    // The suite's servers, which test how a client gets on.
    ("header-annotation-invalid", "tools that a client must leave out"),
    ("result-type-missing", "an answer as of an earlier revision"),
    ("cache-fields-missing", "the same"),
    ("session-id-given", "a session id in answer to a request of 2026-07-28"),
    ("invalid-arguments-accepted", "a tool that takes any arguments, whatever its schema says"),
];

#[test]
fn server_2025_11_25() {
    check_server("2025-11-25", 30);
}

#[test]
fn server_2026_07_28() {
    check_server("2026-07-28", 37);
}

#[test]
fn client_2025_11_25() {
    check_client("2025-11-25", 18);
}

#[test]
fn client_2026_07_28() {
    check_client("2026-07-28", 32);
}

#[test]
fn client_2025_11_25_behind_reverse_proxies() {
    check_client_behind_reverse_proxies("2025-11-25", 18);
}

#[test]
fn client_2026_07_28_behind_reverse_proxies() {
    check_client_behind_reverse_proxies("2026-07-28", 32);
}
