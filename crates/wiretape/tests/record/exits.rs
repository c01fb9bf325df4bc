//! How a session ends: by the server, by the client, or before it began.

use crate::session::{Ended, Home, echo, pid_in, server, shell, wait_until};
use std::ffi::OsString;
use std::time::{Duration, Instant};
use wiretape_testkit::payload;
use wiretape_testkit::process;

/// A session in which the client says nothing.
fn silent(home: &Home, server: &[OsString]) -> Ended {
    home.start(&[], server).end()
}

#[test]
fn the_exit_status_passes_on() {
    for code in [0, 1, 3, 127, 255] {
        let home = Home::new();
        let ended = silent(&home, &echo(&["--exit", &code.to_string()]));
        assert_eq!(ended.code, Some(code));
        home.trace().check_ended(code.into());
    }
}

#[test]
fn death_by_signal_n_is_128_and_n() {
    for signal in [1, 3, 6, 9, 15] {
        let home = Home::new();
        let ended = silent(&home, &echo(&["--signal", &signal.to_string()]));
        assert_eq!(ended.code, Some(128 + signal));
        let trace = home.trace();
        trace.check_ended((128 + signal).into());
        assert_eq!(trace.end().unwrap().signal, Some(signal));
    }
}

#[test]
fn what_cannot_start_is_127_with_a_complete_trace() {
    let home = Home::new();
    let not_executable = home.path("notes.txt");
    std::fs::write(&not_executable, "not a program").unwrap();
    for program in ["/no/such/server", "no-such-server-anywhere", not_executable.to_str().unwrap(), "/"] {
        let home = Home::new();
        let ended = silent(&home, &server([program, "--flag"]));
        assert_eq!((ended.code, ended.stdout.as_slice()), (Some(127), &b""[..]), "{program}");
        assert!(ended.stderr.contains(&format!("error: can't start `{program}`")), "{}", ended.stderr);
        assert!(ended.stderr.contains("hint:"), "{}", ended.stderr);
        let trace = home.trace();
        trace.check_ended(127);
        assert_eq!(trace.meta.command, [program, "--flag"]);
        assert!(
            trace
                .end()
                .unwrap()
                .reason
                .as_ref()
                .is_some_and(|reason| reason.contains("could not be started"))
        );
    }
}

#[test]
fn usage_errors_are_2_and_create_nothing() {
    for arguments in [
        &["record"][..],
        &["record", "--"],
        &["record", "cat"],
        &["record", "--no-such-option", "--", "cat"],
        &["record", "--max-bytes", "many", "--", "cat"],
        &["record", "--max-files", "2", "--", "cat"],
        &["record", "--max-bytes", "1MB", "--max-files", "0", "--", "cat"],
        &["record", "--redact", "(", "--", "cat"],
        &["record", "--redact", "x", "--no-redact", "--", "cat"],
        &["record", "--serve", "70000", "--", "cat"],
        &["record", "--allow-origin", "https://viewer.example", "--", "cat"],
        &["record", "--serve", "--allow-origin", "*", "--", "cat"],
        &["record", "--config", "no-such-file.toml", "--", "cat"],
    ] {
        let home = Home::new();
        let mut command = home.wiretape();
        command.args(arguments);
        let ended = home.start_command(command).end();
        assert_eq!((ended.code, ended.stdout.as_slice()), (Some(2), &b""[..]), "{arguments:?}");
        assert!(ended.stderr.starts_with("error:"), "{arguments:?}: {}", ended.stderr);
        assert!(!home.data_dir().exists(), "{arguments:?} created something");
    }
}

#[test]
fn our_end_of_input_is_the_servers() {
    let home = Home::new();
    let mut session = home.start(&[], &shell("cat >/dev/null; echo '{\"last\":\"words\"}'; exit 9", [""; 0]));
    session.send("{}\n");
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(9), &b"{\"last\":\"words\"}\n"[..]));
    home.trace().check_ended(9);
}

#[test]
fn a_server_that_ends_ends_us_though_our_input_is_open() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&["--after", "1", "--exit", "4"]));
    session.send("{}\n");
    assert_eq!(session.receive_line(), "{}");
    // The end of the output, while the input is still open.
    assert_eq!(session.peer.receive_line().unwrap(), b"");
    assert_eq!(session.end().code, Some(4));
    home.trace().check_ended(4);
}

#[test]
fn a_grandchild_that_holds_the_pipe_is_not_waited_for() {
    let home = Home::new();
    let start = Instant::now();
    let ended = silent(&home, &echo(&["--grandchild-holds-stdout", "300", "--exit", "5"]));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(ended.code, Some(5));
    home.trace().check_ended(5);
}

/// It left the process group, so it is none of our business; but it has the server's output.
#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_holds_the_pipe_is_not_waited_for() {
    let home = Home::new();
    let pid_file = home.path("pid");
    let script = "setsid sh -c 'echo $$ >\"$1\"; exec sleep 300' sh \"$1\" &
                  while [ ! -s \"$1\" ]; do sleep 0.05; done; echo '{}'; exit 6";
    let start = Instant::now();
    let ended = silent(&home, &shell(script, [&pid_file]));
    let daemon = pid_in(&pid_file);
    let alive = process::is_running(daemon);
    process::signal(daemon, 9).unwrap();
    assert!(alive, "who leaves the group is left alone");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(6), &b"{}\n"[..]));
    home.trace().check_ended(6);
}

/// The server writes and ends at once; the client looks later than the recorder waits for grandchildren.
#[test]
fn last_bytes_wait_for_a_client_that_reads_late() {
    // What one pipe holds, and what is spread over both pipes and the recorder.
    let sessions = [60_000, 150_000].map(|bytes| {
        let home = Home::new();
        let burst = payload::large_message(1, payload::Texture::Prose, bytes);
        std::fs::write(home.path("burst"), &burst).unwrap();
        let session = home.start(&[], &server(["cat", "burst"]));
        (home, session, burst)
    });
    std::thread::sleep(Duration::from_millis(4500));
    for (home, session, burst) in sessions {
        let ended = session.end();
        assert_eq!(ended.code, Some(0));
        assert!(ended.stdout == burst, "{} of {} bytes", ended.stdout.len(), burst.len());
        home.trace().check_ended(0);
    }
}

#[test]
fn a_client_that_stops_reading_ends_the_server() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&["--flood", "10000000000"]));
    session.peer.drain(100_000).unwrap();
    session.peer.close_stdout();
    // Its input stays open: only the broken pipe can end it.
    wait_until("the recording has ended", || home.trace().end().is_some());
    assert!(session.end().code.is_some_and(|code| code != 0));
}

#[test]
fn a_server_that_closes_its_input_is_not_waited_for() {
    let home = Home::new();
    let go = home.path("go");
    let script = "exec <&-; echo '{\"closed\":true}'; while [ ! -e \"$1\" ]; do sleep 0.05; done; exit 3";
    let mut session = home.start(&[], &shell(script, [&go]));
    assert_eq!(session.receive_line(), "{\"closed\":true}");
    // The client sees the failure as it would without us.
    wait_until("the client's pipe is broken", || session.peer.send(b"{\"anybody\":\"there?\"}\n").is_err());
    std::fs::write(&go, "").unwrap();
    assert_eq!(session.end().code, Some(3));
    home.trace().check_ended(3);
}

#[test]
fn a_server_that_never_reads_can_still_end() {
    let home = Home::new();
    let go = home.path("go");
    let script = "while [ ! -e \"$1\" ]; do sleep 0.05; done; echo '{}'; exit 6";
    let mut session = home.start(&[], &shell(script, [&go]));
    // More than the server's pipe holds, less than both pipes and the recorder.
    session.send(payload::large_message(1, payload::Texture::Prose, 150_000));
    std::fs::write(&go, "").unwrap();
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(6), &b"{}\n"[..]));
    home.trace().check_ended(6);
}

/// What was forwarded is in the trace, also what was no whole line when the server ended.
#[test]
fn half_a_line_is_in_the_trace_at_the_end() {
    let home = Home::new();
    let mut session = home.start(&[], &shell("head -c 5; exit 2", [""; 0]));
    session.send("{\"hal");
    assert_eq!(session.peer.receive_exact(5).unwrap(), b"{\"hal");
    assert_eq!(session.peer.receive_line().unwrap(), b"", "the server has ended, and our input has not");
    assert_eq!(session.end().code, Some(2));
    let trace = home.trace();
    trace.check_ended(2);
    let halves: Vec<_> =
        trace.texts().iter().map(|line| (line["dir"].as_str(), line["text"].as_str())).collect();
    assert!(halves.contains(&(Some("out"), Some("{\"hal"))), "{halves:?}");
    assert!(halves.contains(&(Some("in"), Some("{\"hal"))), "{halves:?}");
}
