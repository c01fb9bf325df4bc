//! Much at once: memory stays flat, nothing is lost, and a client that doesn't read stops the server.

use crate::session::{Ended, Home, Session, echo, shell, traces_in};
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;
use wiretape_testkit::memory;
use wiretape_testkit::payload::{self, Texture};
use wiretape_trace::format::{Record, TraceReader};
use wiretape_trace::message::Direction::{self, ClientToServer, ServerToClient};

const MIB: u64 = 1 << 20;

/// What a recorder may take beside its own program, whatever passes through it.
const BASE: u64 = 6 * 1_000_000;
/// What a store takes beside it.
const STORE: u64 = 4 * 1_000_000;

/// A recorder without a store keeps quiet, and one with a store says no more than what that has missed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    Traces,
    TracesAndStore,
}

impl Keeping {
    const ALL: [Self; 2] = [Self::Traces, Self::TracesAndStore];

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Traces => &["--no-store"],
            Self::TracesAndStore => &[],
        }
    }

    fn limit(self) -> u64 {
        match self {
            Self::Traces => BASE,
            Self::TracesAndStore => BASE + STORE,
        }
    }

    fn check_quiet(self, ended: &Ended) {
        match self {
            Self::Traces => ended.check_quiet(),
            Self::TracesAndStore => check_quiet_but_for_the_store(ended),
        }
    }
}

/// What `wt-echo --flood` writes, again and again.
fn flood_block() -> Vec<u8> {
    (0..64).flat_map(payload::flood_line).collect()
}

/// The recorder's peak memory so far.
fn check_peak(session: &Session, limit: u64) {
    if cfg!(target_os = "linux") {
        let peak = memory::own_peak_of_tree(session.peer.pid(), "wt-echo").unwrap();
        assert!(peak <= limit, "{peak} bytes of memory, {limit} allowed");
    }
}

fn only_trace(home: &Home) -> PathBuf {
    let traces = traces_in(&home.traces_dir());
    assert_eq!(traces.len(), 1);
    traces[0].clone()
}

/// Hands over all messages of a trace that is too large to be held.
fn each_message(home: &Home, mut take: impl FnMut(Direction, &[u8])) {
    let mut reader = TraceReader::new(File::open(only_trace(home)).unwrap());
    while let Some(line) = reader.next_line().unwrap() {
        if let Record::Message(message) = line.record {
            take(message.dir.known().unwrap(), message.raw);
        }
    }
    assert_eq!(reader.notices(), []);
}

/// Lines that the store can't keep up with are reported, and nothing else is affected.
fn check_quiet_but_for_the_store(ended: &Ended) {
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(0), &b""[..]), "{}", ended.stderr);
    let of_store = |line: &str| line.starts_with("warning: wiretape: store: ");
    assert!(ended.stderr.lines().all(of_store), "{}", ended.stderr);
    assert!(ended.stderr.lines().count() <= 2, "{}", ended.stderr);
}

/// How large the trace is once it has stopped growing.
fn settled_size(home: &Home) -> u64 {
    const STILL: Duration = Duration::from_millis(500);
    let mut size = 0;
    loop {
        std::thread::sleep(STILL);
        let now = fs::metadata(only_trace(home)).unwrap().len();
        if now == size {
            return size;
        }
        size = now;
    }
}

#[test]
fn a_flood_waits_for_the_client_and_arrives_whole() {
    check_flood(Keeping::Traces);
}

#[test]
fn a_flood_waits_for_the_client_and_not_for_the_store() {
    check_flood(Keeping::TracesAndStore);
}

fn check_flood(keeping: Keeping) {
    const FLOOD: u64 = 120 * MIB;
    let home = Home::new();
    let block = flood_block();
    let blocks = FLOOD.div_ceil(block.len() as u64);
    let mut session = home.start(keeping.options(), &echo(&["--flood", &FLOOD.to_string()]));
    let first = session.peer.receive_exact(block.len()).unwrap();
    // Both pipes and the recorder hold 64 kB each; then the server has to wait.
    let size = settled_size(&home);
    assert!(size < MIB, "{size} bytes were recorded while nobody read");
    assert!(first == block);
    for _ in 1..blocks {
        assert!(session.peer.receive_exact(block.len()).unwrap() == block);
    }
    check_peak(&session, keeping.limit());
    keeping.check_quiet(&session.end());
    let mut expected = block.split_inclusive(|byte| *byte == b'\n').cycle();
    let mut count = 0;
    each_message(&home, |dir, raw| {
        assert!(dir == ServerToClient && raw == expected.next().unwrap().trim_ascii_end(), "message {count}");
        count += 1;
    });
    assert_eq!(count, blocks * 64);
}

/// A line there and back, and in the trace.
fn check_large_line(line: &[u8]) {
    Keeping::ALL.into_iter().for_each(|keeping| check_large_line_while(keeping, line));
}

fn check_large_line_while(keeping: Keeping, line: &[u8]) {
    let home = Home::new();
    let mut session = home.start(keeping.options(), &echo(&[]));
    session.round_trip(line);
    check_peak(&session, keeping.limit() + 4 * line.len() as u64);
    session.round_trip("{}\n");
    keeping.check_quiet(&session.end());
    let mut seen = Vec::new();
    each_message(&home, |dir, raw| {
        seen.push(dir);
        assert!(raw == b"{}" || raw == line.trim_ascii_end(), "{} bytes", raw.len());
    });
    assert_eq!(seen, [ClientToServer, ServerToClient, ClientToServer, ServerToClient]);
}

#[test]
fn a_line_of_100_mb_passes_in_bounded_memory() {
    let line = payload::large_message(1, Texture::Prose, 100_000_000);
    check_large_line(&line);
}

#[test]
fn a_line_of_brackets_passes_in_bounded_memory() {
    const DEPTH: usize = 8_000_000;
    let line = ["[".repeat(DEPTH), "]".repeat(DEPTH), "\n".to_owned()].concat();
    check_large_line(line.as_bytes());
}

#[test]
fn a_flood_of_stderr_passes() {
    const LINES: usize = 100_000;
    let home = Home::new();
    let script =
        format!("i=0; while [ $i -lt {} ]; do echo \"$1\" >&2; i=$((i+1)); done; echo '{{}}'", LINES / 100);
    // A shell is slow, so each of its lines is a hundred.
    let lines = vec!["a line of the server's log"; 100].join("\n");
    let session = home.start(&[], &shell(&script, [lines]));
    let ended = session.end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(0), &b"{}\n"[..]));
    assert_eq!(ended.stderr.lines().count(), LINES);
    assert_eq!(home.trace().stderr().len(), LINES);
}
