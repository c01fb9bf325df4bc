//! The traces that a recorder wrote, examined without any knowledge of the format beyond "one record per line".

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem, memrchr};

use crate::payload::{FIRST_MARKED, MARK_DIGITS, MARKER};

/// Every `.jsonl` file in `directory` and its subdirectories.
pub fn all_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(all_in(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The only `.jsonl` file in `directory`. None, or more than one, is an error.
pub fn only_trace_in(directory: &Path) -> io::Result<PathBuf> {
    let found = all_in(directory)?;
    match found.as_slice() {
        [only] => Ok(only.clone()),
        _ => {
            Err(io::Error::other(format!("{} traces in {}, expected one", found.len(), directory.display())))
        }
    }
}

/// The number of complete lines of the file that contain `marker`. A torn last line doesn't count.
pub fn whole_lines_with(file: &Path, marker: &str) -> io::Result<usize> {
    Ok(count_whole_lines(&fs::read(file)?, marker))
}

fn count_whole_lines(bytes: &[u8], marker: &str) -> usize {
    let marker = memmem::Finder::new(marker);
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n") && marker.find(line).is_some())
        .count()
}

/// How the calls of [`crate::payload::marked_call`] occur in traces: each should be on two complete lines, its
/// request and its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Calls that occur on at least one line.
    pub calls: u64,
    /// The total number of lines.
    pub lines: u64,
    /// Lines in excess of two per call.
    pub surplus: u64,
}

impl Marks {
    /// Searches all traces in `directory`.
    pub fn in_traces(directory: &Path) -> io::Result<Self> {
        let mut lines = BTreeMap::new();
        for trace in all_in(directory)? {
            count_marks(&fs::read(trace)?, &mut lines);
        }
        Ok(Self::of(&lines))
    }

    fn of(lines: &BTreeMap<u64, u64>) -> Self {
        Self {
            calls: lines.len() as u64,
            lines: lines.values().sum(),
            surplus: lines.values().map(|count| count.saturating_sub(2)).sum(),
        }
    }

    /// The number of missing lines, given the number of answered calls.
    pub fn missing(&self, calls: u64) -> u64 {
        (2 * calls).saturating_sub(self.lines - self.surplus)
    }
}

/// Counts the complete lines that contain each marked call.
fn count_marks(trace: &[u8], lines: &mut BTreeMap<u64, u64>) {
    let whole = memrchr(b'\n', trace).map_or(0, |newline| newline + 1);
    let mut rest = &trace[..whole];
    let marker = memmem::Finder::new(MARKER);
    while let Some(found) = marker.find(rest) {
        rest = &rest[found + MARKER.len()..];
        if let Some(number) = number_behind(rest) {
            *lines.entry(number).or_default() += 1;
            // A line counts once, however often it contains the mark.
            rest = memchr(b'\n', rest).map_or(&[], |newline| &rest[newline..]);
        }
    }
}

fn number_behind(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.strip_prefix(b"-")?.get(..MARK_DIGITS)?;
    let number: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    (number >= FIRST_MARKED).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_looked_for_on_two_lines() {
        let mut lines = BTreeMap::new();
        let line = |number: u64, end: &str| {
            format!("{{\"a\":\"{MARKER}-{number}\",\"b\":\"{MARKER}-{number}\"}}{end}")
        };
        let [one, two, three, four] = [1, 2, 3, 4].map(|number| FIRST_MARKED + number);
        let trace =
            [line(one, "\n"), line(two, "\n"), line(one, "\n"), line(three, "\n"), line(three, "")].concat();
        count_marks(trace.as_bytes(), &mut lines);
        count_marks(line(four, "\n").repeat(3).as_bytes(), &mut lines);
        count_marks(format!("{MARKER}\n{MARKER}-12\n").as_bytes(), &mut lines);
        let marks = Marks::of(&lines);
        assert_eq!(marks, Marks { calls: 4, lines: 7, surplus: 1 });
        assert_eq!(marks.missing(4), 2);
    }

    #[test]
    fn a_torn_line_and_a_foreign_line_do_not_count() {
        assert_eq!(count_whole_lines(b"{\"x\":\"mark\"}\nmark mark\nother\nmark", "mark"), 2);
        assert_eq!(count_whole_lines(b"", "mark"), 0);
    }
}
