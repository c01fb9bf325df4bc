//! Each committed trace opens and reads the same for ever.

use crate::environment::TestEnvironment;
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let mut traces: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    traces.sort();
    traces
}

#[test]
fn every_trace_reads_the_same_for_ever() {
    let env = TestEnvironment::new();
    let traces = fixtures();
    assert!(traces.len() >= 13, "{traces:?}");
    for trace in traces {
        let name = trace.file_name().unwrap().to_str().unwrap();
        std::fs::copy(&trace, env.path(name)).unwrap();
        let path = format!("traces/{name}");
        let stem = name.strip_suffix(".jsonl").unwrap();
        insta::assert_snapshot!(format!("{stem}-show-json"), env.run(&["show", "--json", &path]));
        insta::assert_snapshot!(format!("{stem}-stats-json"), env.run(&["stats", "--json", &path]));
        insta::assert_snapshot!(format!("{stem}-show"), env.run(&["show", &path]));
    }
}

#[test]
fn payloads_come_out_as_they_went_in() {
    let env = TestEnvironment::new();
    for trace in fixtures() {
        let content = std::fs::read_to_string(&trace).unwrap();
        let output = env.command(&["show", "--raw"]).arg(&trace).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        for payload in shown.lines() {
            assert!(content.contains(&format!("\"raw\":{payload}}}")), "{payload} of {}", trace.display());
        }
        let messages = content.lines().filter(|line| line.ends_with("}}") || line.ends_with("]}"));
        let messages = messages.filter(|line| line.contains("\"raw\":")).count();
        assert_eq!(shown.lines().count(), messages, "{}", trace.display());
    }
}

#[test]
fn compressed_traces_read_like_plain_ones() {
    use std::io::Write as _;
    use wiretape_trace::compress::{Compression, Compressor};
    let env = TestEnvironment::new();
    let plain =
        std::fs::read(fixtures().into_iter().find(|path| path.ends_with("wiretape.jsonl")).unwrap()).unwrap();
    env.file("plain.jsonl", &plain);
    let expected = env.run(&["show", "--json", "traces/plain.jsonl"]);
    for (name, compression) in [("a.jsonl.gz", Compression::Gzip), ("b.jsonl.zst", Compression::Zstd)] {
        let mut compressor = Compressor::new(Vec::new(), compression).unwrap();
        compressor.write_all(&plain).unwrap();
        env.file(name, compressor.finish().unwrap());
        assert_eq!(env.run(&["show", "--json", &format!("traces/{name}")]), expected);
        assert!(env.run(&["show", &format!("traces/{name}")]).contains("exit 0 · 2026-07-01"));
    }
}
