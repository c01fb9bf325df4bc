//! The real servers that `cargo xtask setup` installs start and answer. Without them there is nothing to test.

use std::process::{Command, Stdio};
use std::time::Duration;

use wiretape_testkit::parts::Parts;
use wiretape_testkit::peer::Peer;

fn check_initialize(server: impl FnOnce(&Parts) -> Command) {
    let Some(parts) = Parts::from_environment() else {
        return;
    };
    let mut command = server(&parts);
    let mut peer = Peer::spawn(command.stderr(Stdio::null()), Duration::from_secs(60)).expect("it starts");
    peer.send(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\
        \"capabilities\":{},\"clientInfo\":{\"name\":\"testkit\",\"version\":\"1\"}}}\n",
    )
    .expect("it listens");
    let answer = peer.receive_line().expect("it answers");
    let answer: serde_json::Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
}

#[test]
fn everything() {
    check_initialize(Parts::server_everything);
}

#[test]
fn filesystem() {
    check_initialize(|parts| parts.server_filesystem(parts.root()));
}

#[test]
fn time() {
    check_initialize(Parts::server_time);
}

#[test]
fn both_python_sdks_can_be_imported() {
    let Some(parts) = Parts::from_environment() else {
        return;
    };
    for python in [parts.python(), parts.python_v1()] {
        let status = Command::new(python).args(["-c", "import mcp.client.stdio"]).status();
        assert!(status.expect("Python runs").success());
    }
}

#[test]
fn the_conformance_suite_knows_both_eras() {
    let Some(parts) = Parts::from_environment() else {
        return;
    };
    let output = parts.conformance().arg("list").output().expect("Node runs");
    let list = String::from_utf8(output.stdout).expect("the list is text");
    assert!(list.contains("server-initialize") && list.contains("server-stateless"), "{list}");
}
