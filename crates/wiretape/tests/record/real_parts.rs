//! Real servers and real SDK clients: with the recorder between them, everything is as it is without.
//!
//! `cargo xtask setup` installs the parts and `cargo xtask test` says where; a bare `cargo test` skips these, and
//! says so.

use crate::session::{Home, say_skipped, server, traces_in};
use crate::trace::{Trace, What};
use crate::{agreement, lint};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wiretape_testkit::bins;
use wiretape_testkit::parts::{Parts, VARIABLE};
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

/// The parts, if there are any to be had.
pub(crate) fn parts() -> Option<Parts> {
    let parts = Parts::from_environment();
    match &parts {
        Some(parts) => assert!(
            parts.python().exists() && parts.npm().join("node_modules").is_dir(),
            "{VARIABLE} is {}, where the parts are not installed: run `cargo xtask setup`",
            parts.root().display()
        ),
        None => say_skipped(&format!(
            "{VARIABLE} is not set; `cargo xtask test` runs this with real servers and SDKs"
        )),
    }
    parts
}

fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/clients").join(name)
}

pub(crate) fn python_client(parts: &Parts, what: &str) -> Vec<OsString> {
    vec![parts.python().into(), client("client.py").into(), what.into()]
}

fn typescript_client(parts: &Parts, what: &str, directory: &Path) -> Vec<OsString> {
    let sdk = parts.npm().join("node_modules/@modelcontextprotocol/sdk");
    vec!["node".into(), client("client.mjs").into(), sdk.into(), what.into(), directory.into()]
}

pub(crate) fn words(command: &Command) -> Vec<OsString> {
    server(std::iter::once(command.get_program()).chain(command.get_args()))
}

/// Put together here, so that no scanner takes this file for a leak.
pub(crate) fn secret() -> String {
    ["gl", "pat-x7Kq2mVt9RwZ4nBs8LpC"].concat()
}

/// The client's output for a session with this server command.
pub(crate) fn run(home: &Home, client: &[OsString], server: &[OsString]) -> String {
    let mut command = Command::new(&client[0]);
    command.args(&client[1..]).args(server);
    command.env("WIRETAPE_DATA_DIR", home.data_dir()).env("A_SECRET", secret()).current_dir(home.path("."));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The bytes that crossed a wire in one direction.
fn wire(home: &Home, side: &str, dir: Direction) -> Vec<u8> {
    let suffix = if dir == ClientToServer { "in" } else { "out" };
    fs::read(home.path(&format!("{side}.{suffix}"))).unwrap()
}

/// What lint finds in these sessions.
const KNOWN: [lint::Known; 1] =
    [("unknown-tool-called", "the clients call a tool that is not there, to see the error")];

/// Runs the same session without and with the recorder, and compares everything that can be seen.
fn check_same(client: &[OsString], server_command: &[OsString], steps: &[&str]) {
    let home = Home::new();
    let direct = run(&home, client, server_command);
    let tap = |side: &str| server([bins::path("wt-wire"), home.path(side)]);
    let recorder = words(&home.record(&[], &[tap("server"), server_command.to_vec()].concat()));
    let recorded = run(&home, client, &[tap("client"), recorder].concat());
    for (recorded, direct) in recorded.lines().zip(direct.lines()) {
        assert_eq!(recorded, direct);
    }
    assert_eq!(recorded.len(), direct.len());
    for step in steps {
        assert!(direct.contains(&format!("[\"{step}\",")), "the client never came to {step:?}: {direct}");
    }
    let trace = home.trace();
    check_trace(&home, &trace);
    check_order(&trace);
    lint::check(&traces_in(&home.traces_dir()), &KNOWN);
    agreement::check_files(&traces_in(&home.traces_dir()));
}

/// The wire on both sides of the recorder, and the trace: the same bytes, but for the secret.
fn check_trace(home: &Home, trace: &Trace) {
    for dir in [ClientToServer, ServerToClient] {
        let bytes = wire(home, "client", dir);
        assert!(bytes == wire(home, "server", dir), "{dir:?}: the recorder changed something");
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let messages = trace.messages(dir);
        assert_eq!(messages.len(), lines.len(), "{dir:?}");
        for (raw, line) in messages.into_iter().zip(lines) {
            check_message(raw, line);
        }
    }
    let path = traces_in(&home.traces_dir()).remove(0);
    assert!(!fs::read_to_string(path).unwrap().contains(&secret()));
    assert_eq!(trace.notices, []);
    assert!(trace.end().is_some());
}

/// What the trace has, with the secret put back, is what the wire had.
fn check_message(raw: &[u8], line: &[u8]) {
    let (mut raw, line) =
        (String::from_utf8(raw.to_vec()).unwrap(), String::from_utf8(line.to_vec()).unwrap());
    if line.contains(&secret()) {
        let start = raw.find("[REDACTED:").expect("the secret was taken out");
        let end = start + raw[start..].find(']').unwrap() + 1;
        raw.replace_range(start..end, &secret());
    }
    assert_eq!(raw, line);
}

/// No response comes before its request.
pub(crate) fn check_order(trace: &Trace) {
    let mut asked = BTreeSet::new();
    let mut answered = 0;
    for entry in &trace.entries {
        let What::Message { dir, raw, .. } = &entry.what else { continue };
        let message: Value = serde_json::from_slice(raw).unwrap();
        let Some(id) = message.get("id").map(Value::to_string) else { continue };
        if message.get("method").is_some() {
            asked.insert((*dir, id));
        } else {
            let asker = if *dir == ClientToServer { ServerToClient } else { ClientToServer };
            assert!(asked.remove(&(asker, id)), "an answer before its question: {message}");
            answered += 1;
        }
    }
    assert!(answered > 3);
}

#[test]
fn python_client_and_server_everything() {
    let Some(parts) = parts() else { return };
    check_same(
        &python_client(&parts, "everything"),
        &words(&parts.server_everything()),
        &[
            "secret",
            "bad arguments",
            "no such tool",
            "progress",
            "resource",
            "no such resource",
            "prompt",
            "together",
        ],
    );
}

#[test]
fn python_client_and_server_time() {
    let Some(parts) = parts() else { return };
    check_same(
        &python_client(&parts, "time"),
        &words(&parts.server_time()),
        &["version", "tools", "convert", "bad zone", "no such tool"],
    );
}

#[test]
fn typescript_client_and_server_everything() {
    let Some(parts) = parts() else { return };
    check_same(
        &typescript_client(&parts, "everything", Path::new(".")),
        &words(&parts.server_everything()),
        &["secret", "bad arguments", "progress", "resource", "no such resource", "prompt", "together"],
    );
}

#[test]
fn typescript_client_and_server_filesystem() {
    let Some(parts) = parts() else { return };
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    check_same(
        &typescript_client(&parts, "filesystem", &directory),
        &words(&parts.server_filesystem(&directory)),
        &["tools", "write", "read", "edit", "list", "outside", "missing"],
    );
}
