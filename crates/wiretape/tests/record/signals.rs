//! Signals are passed on, groups are reaped, and a recorder that is killed leaves a trace and no orphan.

use crate::session::{Home, Session, echo, pid_in, server, shell, traces_in, wait_until};
use crate::trace::Trace;
use std::fs;
use std::path::PathBuf;
use wiretape_library::{Liveness, liveness};
use wiretape_testkit::payload::{self, SMALL};
use wiretape_testkit::peer::{Pipeline, Writes};
use wiretape_testkit::process;
use wiretape_trace::format::Notice;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

fn signal(session: &Session, number: i32) {
    process::signal(session.peer.pid(), number).unwrap();
}

/// Starts `wt-echo` from a shell that first runs `script`, with a file for a process number as `$1`.
fn echo_after(home: &Home, script: &str) -> (Session, PathBuf) {
    let pid_file = home.path("pid");
    let mut arguments = server([&pid_file]);
    arguments.extend(echo(&[]));
    let session = home.start(&[], &shell(&format!("{script}\nexec \"$2\""), arguments));
    (session, pid_file)
}

fn only_trace(home: &Home) -> PathBuf {
    traces_in(&home.traces_dir()).pop().unwrap()
}

#[test]
fn signals_are_passed_on_every_time_they_come() {
    let home = Home::new();
    let report = home.path("signals");
    let mut session = home.start(&[], &echo(&["--report-signals", report.to_str().unwrap()]));
    session.round_trip("{}\n");
    let mut expected = String::new();
    for (number, name) in [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")].repeat(3) {
        signal(&session, number);
        expected.push_str(name);
        expected.push('\n');
        wait_until("the server has had the signal", || fs::read_to_string(&report).unwrap() == expected);
    }
    session.round_trip("{}\n");
    session.end().check_quiet();
    home.trace().check_ended(0);
}

#[test]
fn a_signal_that_ends_the_server_ends_us() {
    for number in [SIGINT, SIGTERM, SIGHUP] {
        let home = Home::new();
        let mut session = home.start(&[], &echo(&[]));
        session.round_trip("{}\n");
        signal(&session, number);
        // The end of the output, while our input is still open.
        assert_eq!(session.peer.receive_line().unwrap(), b"");
        assert_eq!(session.end().code, Some(128 + number));
        let trace = home.trace();
        trace.check_ended((128 + number).into());
        assert_eq!(trace.end().unwrap().signal, Some(number));
    }
}

#[test]
fn the_whole_group_is_reaped() {
    for grandchild in ["exec sleep 300", "trap '' TERM; exec sleep 300"] {
        let home = Home::new();
        let script = format!("({grandchild}) >/dev/null 2>&1 & echo $! >\"$1\"");
        let (mut session, pid_file) = echo_after(&home, &script);
        session.round_trip("{}\n");
        let grandchild = pid_in(&pid_file);
        assert!(process::is_running(grandchild));
        session.end().check_quiet();
        wait_until("the grandchild is gone", || !process::is_running(grandchild));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_does_not_outlive_a_recorder_that_is_killed() {
    let home = Home::new();
    // It minds neither the end of its input nor any signal that can be ignored.
    let script = "trap '' TERM HUP INT PIPE; echo $$ >\"$1\"
                  i=0; while [ $i -lt 300 ]; do sleep 1; i=$((i + 1)); done";
    let (session, pid_file) = echo_after(&home, script);
    let server = pid_in(&pid_file);
    signal(&session, SIGKILL);
    wait_until("the server is gone", || !process::is_running(server));
}

#[test]
fn a_trace_tells_whether_its_recorder_runs() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    session.round_trip("{}\n");
    let trace = only_trace(&home);
    assert_eq!(liveness(&trace), Liveness::Running);
    session.end().check_quiet();
    assert_eq!(liveness(&trace), Liveness::Stopped);
    let mut session = home.start(&["--label", "killed"], &echo(&[]));
    session.round_trip("{}\n");
    let trace = only_trace(&home);
    assert_eq!(liveness(&trace), Liveness::Running);
    session.peer.kill().unwrap();
    wait_until("the lock is gone", || liveness(&trace) == Liveness::Stopped);
}

/// What is left after `kill -9`: a trace that opens, with nothing missing but its end.
fn check_killed(home: &Home, session: Session) -> Trace {
    session.peer.kill().unwrap();
    let trace = home.trace();
    assert_eq!(trace.notices, [Notice::MissingEnd]);
    trace
}

#[test]
fn every_round_trip_is_there_after_kill_9() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    let messages: Vec<Vec<u8>> = (1..=200).map(payload::small_call).collect();
    messages.iter().for_each(|message| session.round_trip(message));
    let trace = check_killed(&home, session);
    trace.check_echoed(&messages.iter().map(|message| message.trim_ascii_end()).collect::<Vec<_>>());
}

#[test]
fn ten_thousand_pipelined_messages_are_there_after_kill_9() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    let messages = payload::small_calls(10_000);
    let pipeline = Pipeline { messages: &messages, length: SMALL, window: 500, writes: Writes::EachMessage };
    session.peer.pipeline(&pipeline).unwrap();
    let trace = check_killed(&home, session);
    trace.check_echoed(
        &messages.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).collect::<Vec<_>>(),
    );
}

/// Killed in full flow: at least what the client has seen is there.
#[test]
fn what_was_forwarded_is_there_after_kill_9() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&["--flood", "1000000000"]));
    let mut seen: Vec<Vec<u8>> = (0..3000).map(|_| session.peer.receive_line().unwrap()).collect();
    signal(&session, SIGKILL);
    seen.extend(std::iter::from_fn(|| {
        Some(session.peer.receive_line().unwrap()).filter(|line| line.ends_with(b"\n"))
    }));
    drop(session);
    let trace = home.trace();
    assert!(trace.notices.contains(&Notice::MissingEnd));
    let recorded = trace.messages(ServerToClient);
    assert!(recorded.len() >= seen.len(), "{} of {} lines", recorded.len(), seen.len());
    assert!(recorded.iter().zip(&seen).all(|(recorded, seen)| *recorded == seen.trim_ascii_end()));
    assert!(trace.messages(ClientToServer).is_empty());
}
