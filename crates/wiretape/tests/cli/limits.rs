//! Files from others: what decompresses to too much costs neither memory nor time, and a pending call costs little memory.

#![cfg(unix)]

use crate::environment::TestEnvironment;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use wiretape_testkit::memory::own_peak_of_tree;
use wiretape_trace::compress::{Compression, Compressor};

/// The address space that a command gets, in kilobytes: less than the bomb becomes.
const ADDRESS_SPACE: &str = "2000000";

/// 3 GB of one letter in a few hundred kilobytes. One frame is compressed, and then repeated, which is as good for a decoder.
fn bomb() -> Vec<u8> {
    let mut frame = Compressor::new(Vec::new(), Compression::Zstd).unwrap();
    for _ in 0..64 {
        frame.write_all(&[b'A'; 1 << 20]).unwrap();
    }
    let bomb = frame.finish().unwrap().repeat(48);
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    bomb
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = Compressor::new(Vec::new(), Compression::Zstd).unwrap();
    frame.write_all(bytes).unwrap();
    frame.finish().unwrap()
}

/// Runs a command with little address space, and returns what it wrote to standard error.
fn run(env: &TestEnvironment, args: &[&str]) -> String {
    let wiretape = env.command(args);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v \"$0\"; exec \"$@\"", ADDRESS_SPACE]).arg(wiretape.get_program());
    limited.args(wiretape.get_args()).stdin(Stdio::null());
    for (name, value) in wiretape.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(dir) = wiretape.get_current_dir() {
        limited.current_dir(dir);
    }
    let output = limited.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code < 100), "{args:?}: {} {stderr}", output.status);
    stderr
}

#[test]
fn a_small_file_that_decompresses_to_gigabytes_is_read_up_to_a_limit() {
    let env = TestEnvironment::new();
    let meta = b"{\"v\":1,\"type\":\"meta\",\"id\":\"b0b0b0b0\",\"startedAt\":\"2026-05-12T23:10:00.000Z\",\"label\":\"bomb\",\"command\":[]}\n";
    env.file("bomb.jsonl.zst", [zstd(meta), bomb()].concat());
    let path = env.path("bomb.jsonl.zst");
    let path = path.to_str().unwrap();
    let report = env.path("report.html");
    let report = report.to_str().unwrap();
    let commands: [&[&str]; 13] = [
        &["ls"],
        &["prune", "--older-than", "1d", "--dry-run"],
        &["export", "html", "-o", report, path],
        &["show", "latest"],
        &["search", "needle"],
        &["stats", path],
        &["calls", path],
        &["lint", path],
        &["diff", path, path],
        &["export", "--to", "csv", path],
        &["store", "load", path],
        &["replay", path],
        &["verify", path, "--", "true"],
    ];
    let env = &env;
    let heard: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = commands.iter().map(|args| scope.spawn(move || run(env, args))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let limit = "after line 1: the file decompresses to more than 1000 times its size; the rest was not read";
    for (args, stderr) in commands.iter().zip(&heard).skip(3) {
        assert!(stderr.contains(limit), "{args:?}: {stderr}");
    }
}

#[test]
fn a_file_that_is_no_trace_is_only_looked_into() {
    let env = TestEnvironment::new();
    env.file("bomb.jsonl.zst", bomb());
    let stderr = run(&env, &["ls"]);
    assert!(stderr.contains("bomb.jsonl.zst is not a trace: line 1 is too long"), "{stderr}");
}

/// How many calls the traces have whose memory is compared.
const CALLS: u64 = 200_000;

/// The limit of a pending call's memory, and what an allocator may add to it by rounding up.
const BYTES_PER_CALL: u64 = 300;
const MARGIN: u64 = 30;

#[test]
fn a_pending_call_takes_300_bytes() {
    let env = TestEnvironment::new();
    let ask = |id: u64| {
        format!(
            r#"{{"dir":"in","us":{id},"raw":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}}}"#
        )
    };
    let answer =
        |id: u64| format!(r#"{{"dir":"out","us":{id},"raw":{{"jsonrpc":"2.0","id":{id},"result":{{}}}}}}"#);
    let pending: Vec<String> = (1..=CALLS).map(ask).collect();
    let answered: Vec<String> = (1..=CALLS).flat_map(|id| [ask(id), answer(id)]).collect();
    let pending = pending.join("\n") + "\n";
    let ended =
        env.file("ended.jsonl", format!("{pending}{{\"type\":\"end\",\"us\":{CALLS},\"exitCode\":0}}\n"));
    let pending = env.file("pending.jsonl", pending);
    let answered = env.file("answered.jsonl", answered.join("\n") + "\n");
    for command in ["stats", "lint", "calls"] {
        let peak = |trace: &Path| peak(env.command(&[command, trace.to_str().unwrap()]));
        let answered = peak(&answered);
        // At the end of the file, and at an `end` line.
        for trace in [&pending, &ended] {
            let more = peak(trace).saturating_sub(answered) / CALLS;
            assert!(more <= BYTES_PER_CALL + MARGIN, "{command}: {more} bytes per pending call");
        }
    }
}

/// The peak of a command's own memory, in bytes.
fn peak(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    // The kernel forgets the peak when the process ends, so it is read until then.
    while child.try_wait().unwrap().is_none() {
        peak = own_peak_of_tree(child.id(), "").unwrap_or_default().max(peak);
        thread::sleep(Duration::from_millis(1));
    }
    assert!(peak > 1_000_000, "{peak}");
    peak
}
