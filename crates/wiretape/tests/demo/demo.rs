//! `wiretape demo`.

use crate::environment::Environment;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use wiretape_trace::format::{Record, TraceReader};
use wiretape_trace::message::{Direction, Envelope};

/// Parts of the secrets that cross the wire: whatever is cut or escaped, these would be left.
const SECRETS: [&str; 2] = ["battery staple", "0dEm0T0kEn"];

fn demo(environment: &Environment, args: &[&str]) -> (Output, String) {
    let output = environment.wiretape(&[&["demo"], args].concat()).output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output, told)
}

fn only_trace(folder: &Path) -> PathBuf {
    let mut traces = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let trace = traces.next().expect("there is a trace");
    assert_eq!(traces.next(), None);
    trace
}

/// What a trace holds, in the fewest words: `> ping` from the client, `< ping` from the server.
fn told_by(trace: &Path) -> Vec<String> {
    let bytes = fs::read(trace).unwrap();
    let mut reader = TraceReader::new(&bytes[..]);
    let mut told = Vec::new();
    while let Some(line) = reader.next_line().unwrap() {
        told.push(match &line.record {
            Record::Meta(meta) => format!("meta {}", meta.label),
            Record::Message(message) => {
                let envelope = Envelope::scan(message.raw);
                assert_eq!(envelope.defects, [], "{}", String::from_utf8_lossy(message.raw));
                let arrow = if message.dir.known() == Some(Direction::ClientToServer) { ">" } else { "<" };
                let what = envelope.method.as_deref().unwrap_or("response");
                format!("{arrow} {what}").trim_end().to_owned()
            }
            Record::Stderr(_) => continue,
            Record::End(end) => format!("end {:?}", end.exit_code),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(reader.notices(), []);
    told
}

const SESSION: [&str; 27] = [
    "meta demo",
    "> initialize",
    "< response",
    "> notifications/initialized",
    "> tools/list",
    "< response",
    "> tools/call",
    "< response",
    "> tools/call",
    "< notifications/progress",
    "< notifications/progress",
    "< notifications/progress",
    "< response",
    "> tools/call",
    "< response",
    "> tools/call",
    "< notifications/message",
    "< response",
    "> resources/read",
    "< response",
    "> prompts/get",
    "< response",
    "> tools/uninstall",
    "< response",
    "> ping",
    "< response",
    "end Some(0)",
];

#[test]
fn every_message_is_in_the_trace_and_no_secret_is_anywhere() {
    let environment = Environment::new();
    let (output, told) = demo(&environment, &[]);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let trace = only_trace(&environment.path().join("traces"));
    assert_eq!(told_by(&trace), SESSION);
    for secret in SECRETS {
        assert!(!told.contains(secret), "{told}");
        for file in environment.files() {
            let content = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
            assert!(!content.contains(secret), "{} holds a secret", file.display());
        }
    }
    for expected in ["[REDACTED:password:", "[REDACTED:github:", "show latest", "stats latest", " ls"] {
        assert!(told.contains(expected), "{expected} is missing in {told}");
    }
    assert!(told.contains(&trace.display().to_string()), "{told}");
}

#[test]
fn what_it_says_to_type_next_works() {
    let environment = Environment::new();
    for args in [&[][..], &["--out", "elsewhere"]] {
        let (_, told) = demo(&environment, args);
        let (_, next) = told.split_once("Next:\n").unwrap();
        let mut hints = 0;
        for line in next.lines().filter(|line| !line.contains("npx")) {
            let command = line.trim_start().split("  ").next().unwrap();
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            if words[0] == "view" {
                shows_a_page(environment.wiretape(&words));
                hints += 1;
                continue;
            }
            let output = environment.wiretape(&words).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!output.stdout.is_empty(), "{command}");
            hints += 1;
        }
        assert_eq!(hints, 4, "{told}");
    }
    only_trace(&environment.path().join("elsewhere"));
}

/// The server prints its address, and runs until it is stopped.
fn shows_a_page(mut command: Command) {
    let mut server = command.arg("--no-open").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(server.try_wait().unwrap().is_none(), "{line}");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(line.contains("http://127.0.0.1:") && line.contains("#token="), "{line}");
}

#[test]
fn without_a_place_for_the_trace_it_says_so() {
    let environment = Environment::new();
    fs::write(environment.path().join("file"), "").unwrap();
    let (output, told) = demo(&environment, &["--out", "file/traces"]);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("file"), "{told}");
}

#[test]
fn rules_that_are_off_are_admitted() {
    let environment = Environment::new();
    fs::write(environment.path().join("config.toml"), "[redact]\ndisable = [\"github\"]\n").unwrap();
    let (output, told) = demo(&environment, &[]);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("secrets are in the trace"), "{told}");
}
