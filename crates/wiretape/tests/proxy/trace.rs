//! The contents of a trace, for tests to examine.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A trace, read without any knowledge of the format beyond JSON on lines.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) path: PathBuf,
    /// The whole lines.
    pub(crate) lines: Vec<Value>,
    /// As it is on the disk.
    pub(crate) text: String,
}

impl Trace {
    pub(crate) fn open(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines: Vec<Value> = whole.map(|line| serde_json::from_str(line).unwrap()).collect();
        let trace = Trace { path: path.to_owned(), lines, text };
        let seqs: Vec<u64> = trace.lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
        assert!(seqs.is_sorted_by(|a, b| a < b), "seq must rise: {trace:?}");
        trace
    }

    /// The payloads of one direction, `in` or `out`, verbatim.
    pub(crate) fn raw(&self, dir: &str) -> Vec<&str> {
        const KEY: &str = ",\"raw\":";
        let wanted = format!("\"dir\":\"{dir}\"");
        let payload = |line: &'_ str| {
            let at = line.find(KEY)?;
            line[..at].contains(&wanted).then_some(at + KEY.len())
        };
        let lines = self.text.lines();
        lines.filter_map(|line| payload(line).map(|at| line[at..].strip_suffix('}').unwrap())).collect()
    }

    /// The lines of a type.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    /// The lines that have messages.
    pub(crate) fn messages(&self) -> Vec<&Value> {
        self.lines.iter().filter(|line| line.get("raw").is_some()).collect()
    }

    /// How its exchanges ended, if a line says so.
    pub(crate) fn endings(&self) -> Vec<&str> {
        self.of_type("http").iter().filter_map(|line| line["http"]["ended"].as_str()).collect()
    }

    /// The heads of its requests, or of its responses.
    pub(crate) fn heads(&self, which: &str) -> Vec<&Value> {
        self.lines.iter().filter_map(|line| line["http"].get(which)).collect()
    }

    /// Why it ended.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.lines.last()?["reason"].as_str()
    }
}
