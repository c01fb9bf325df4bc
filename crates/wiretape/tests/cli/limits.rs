//! Files from others: what decompresses to too much costs neither memory nor time.

#![cfg(unix)]

use crate::environment::TestEnvironment;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
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
    let commands: [&[&str]; 12] = [
        &["ls"],
        &["prune", "--older-than", "1d", "--dry-run"],
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
    for (args, stderr) in commands.iter().zip(&heard).skip(2) {
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
