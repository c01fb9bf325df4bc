//! The peers behave as the tests that use them rely on.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wiretape_testkit::payload::{self, MARKER, SMALL, Texture};
use wiretape_testkit::peer::{Peer, Pipeline, Writes};
use wiretape_testkit::{memory, traces};

const ECHO: &str = env!("CARGO_BIN_EXE_wt-echo");
const TEE: &str = env!("CARGO_BIN_EXE_wt-tee");
const LIMIT: Duration = Duration::from_secs(60);

fn echo(arguments: &[&str]) -> Command {
    let mut command = Command::new(ECHO);
    command.args(arguments);
    command
}

fn tee(directory: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(TEE);
    command
        .args(["record", "--out"])
        .arg(directory.path())
        .args(["--label", "t", "--", ECHO])
        .args(arguments);
    command
}

fn pipeline(messages: &[u8]) -> Pipeline<'_> {
    Pipeline { messages, length: SMALL, window: 100, writes: Writes::EachMessage }
}

fn spawn(mut command: Command) -> Peer {
    Peer::spawn(&mut command, LIMIT).expect("the peer starts")
}

#[test]
fn echoes_lines_of_any_size() {
    let mut peer = spawn(echo(&[]));
    peer.round_trip(&payload::small_call(1)).unwrap();
    for texture in Texture::ALL {
        peer.round_trip(&payload::large_message(2, texture, 1 << 20)).unwrap();
    }
    peer.send(b"no newline").unwrap();
    let (status, rest) = peer.finish().unwrap();
    assert!(status.success());
    assert_eq!(rest, b"no newline");
}

#[test]
fn pipelines_within_a_window() {
    let messages = payload::small_calls(5000);
    let mut peer = spawn(echo(&[]));
    for writes in [Writes::EachMessage, Writes::Bulk] {
        peer.pipeline(&Pipeline { writes, ..pipeline(&messages) }).unwrap();
    }
}

#[test]
fn a_peer_that_stops_fails_the_pipeline() {
    let mut peer = spawn(echo(&["--after", "10"]));
    peer.pipeline(&pipeline(&payload::small_calls(5000))).unwrap_err();
}

#[test]
fn a_peer_that_hangs_is_killed() {
    let mut peer = Peer::spawn(&mut echo(&["--sleep", "60"]), Duration::from_millis(100)).unwrap();
    let start = Instant::now();
    assert_eq!(peer.receive_line().unwrap(), b"");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn answers_initialize() {
    let mut peer = spawn(echo(&["--mcp"]));
    peer.send(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{}}\n").unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&peer.receive_line().unwrap()).unwrap();
    assert_eq!(answer["id"], "a");
    assert_eq!(answer["result"]["serverInfo"]["name"], "wt-echo");
}

#[test]
fn floods_then_echoes() {
    let mut peer = spawn(echo(&["--flood", "100000"]));
    peer.drain(100_000).unwrap();
    peer.send(b"still there\n").unwrap();
    let (status, rest) = peer.finish().unwrap();
    assert!(status.success());
    assert!(rest.ends_with(b"still there\n"));
}

#[test]
fn pollutes_stdout_and_speaks_on_stderr() {
    let output = echo(&["--pollute", "--stderr", "hello"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stdout, b"Server listening on stdio\n");
    assert_eq!(output.stderr, b"hello\n");
}

#[test]
fn ends_with_the_status_it_is_told() {
    let status = echo(&["--exit", "7"]).stdin(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(7));
    let (status, rest) = {
        let mut peer = spawn(echo(&["--exit", "3", "--after", "1"]));
        peer.send(b"one\ntwo\n").unwrap();
        peer.finish().unwrap()
    };
    assert_eq!((status.code(), rest.as_slice()), (Some(3), b"one\n".as_slice()));
    assert_eq!(echo(&["--no-such"]).stderr(Stdio::null()).status().unwrap().code(), Some(2));
}

#[cfg(unix)]
#[test]
fn ends_by_the_signal_it_is_told() {
    use std::os::unix::process::ExitStatusExt;

    for signal in [9, 15] {
        let status = echo(&["--signal", &signal.to_string()]).stdin(Stdio::null()).status().unwrap();
        assert_eq!(status.signal(), Some(signal));
    }
}

#[cfg(unix)]
#[test]
fn reports_and_survives_signals() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("signals");
    let mut peer = spawn(echo(&["--report-signals", file.to_str().unwrap()]));
    peer.round_trip(b"ready\n").unwrap();
    for name in ["INT", "TERM", "HUP"] {
        send_signal(&peer, name);
        wait_until(|| fs::read_to_string(&file).unwrap().contains(name));
    }
    peer.round_trip(b"alive\n").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "SIGINT\nSIGTERM\nSIGHUP\n");
}

#[cfg(unix)]
#[test]
fn ignores_sigterm_when_told() {
    let mut peer = spawn(echo(&["--ignore-sigterm"]));
    peer.round_trip(b"ready\n").unwrap();
    send_signal(&peer, "TERM");
    peer.round_trip(b"alive\n").unwrap();
}

#[cfg(unix)]
#[test]
fn a_grandchild_holds_stdout() {
    let start = Instant::now();
    let (status, _) = spawn(echo(&["--grandchild-holds-stdout", "1"])).finish().unwrap();
    assert!(status.success());
    assert!(start.elapsed() >= Duration::from_secs(1), "stdout stays open as long as the grandchild lives");
}

#[test]
fn the_floor_forwards_and_appends() {
    let directory = tempfile::tempdir().unwrap();
    let mut peer = spawn(tee(&directory, &["--exit", "5"]));
    peer.pipeline(&pipeline(&payload::small_calls(1000))).unwrap();
    let message = payload::large_message(1, Texture::Json, 1 << 20);
    peer.round_trip(&message).unwrap();
    if cfg!(target_os = "linux") {
        assert!(memory::peak_of_tree(peer.pid(), "wt-echo").is_some());
    }
    let (status, _) = peer.finish().unwrap();
    assert_eq!(status.code(), Some(5));
    let trace = traces::only_trace_in(directory.path()).unwrap();
    assert_eq!(traces::whole_lines_with(&trace, MARKER).unwrap(), 2002);
    assert_eq!(fs::metadata(trace).unwrap().len(), 2 * (1000 * SMALL + message.len()) as u64);
}

#[cfg(unix)]
fn send_signal(peer: &Peer, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), peer.pid().to_string()])
        .status()
        .expect("kill is there");
    assert!(status.success());
}

#[cfg(unix)]
fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
