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
fn the_python_sdk_can_be_imported() {
    let Some(parts) = Parts::from_environment() else {
        return;
    };
    let status = Command::new(parts.python()).args(["-c", "import mcp.client.stdio"]).status();
    assert!(status.expect("Python runs").success());
}
