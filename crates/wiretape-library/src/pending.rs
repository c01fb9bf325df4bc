//! The calls in flight, in all recordings that are running.
//!
//! They are derived from the traces, so that recording has no cost for it. A call may have been opened at any time, also in an
//! earlier part of a rotated recording, so all parts are read from the beginning. A caller that asks again keeps its
//! [`PendingCalls`], which then reads only what was written since.

use crate::catalog::{Catalog, CatalogEntry};
use crate::liveness::running_now;
use crate::open::{self, FileReader, TraceFileError};
use crate::recording::Recording;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use wiretape_analyze::call::Call;
use wiretape_analyze::reading::{Analysis, Closed, Meaning, Reading, Seen};

/// A call in flight.
#[derive(Debug, Clone)]
pub struct PendingCall {
    /// The file with its request, which may be an earlier part of a rotated recording.
    pub entry: CatalogEntry,
    /// When the request was observed, in microseconds since 1970.
    pub at_us: i64,
    /// The call as of now: its duration is its age, and its number is that in the file.
    pub call: Call,
}

/// The calls in flight at one moment.
#[derive(Debug, Default)]
pub struct PendingSnapshot {
    /// The calls, oldest first.
    pub calls: Vec<PendingCall>,
    /// The number of running recordings.
    pub recordings: u64,
    /// The running recordings that can't be read.
    pub unreadable: Vec<TraceFileError>,
}

/// Finds the calls in flight, and remembers how far each recording was read.
#[derive(Default)]
pub struct PendingCalls {
    /// By the file that is being written.
    recordings: HashMap<PathBuf, FollowedRecording>,
}

impl PendingCalls {
    /// The calls that are in flight now in the recordings of a directory.
    pub fn now(&mut self, catalog: &Catalog) -> PendingSnapshot {
        let mut snapshot = PendingSnapshot::default();
        // Recordings that have ended stay in `before`, and are dropped with it.
        let mut before = std::mem::take(&mut self.recordings);
        for entry in catalog.entries.iter().filter(|entry| entry.is_running()) {
            snapshot.recordings += 1;
            match FollowedRecording::up_to_now(&entry.path, &mut before) {
                Ok(recording) => {
                    snapshot.calls.extend(recording.pending(entry, catalog));
                    self.recordings.insert(entry.path.clone(), recording);
                }
                Err(error) => snapshot.unreadable.push(error),
            }
        }
        snapshot.calls.sort_by_key(|pending| Reverse(pending.call.duration_us));
        snapshot
    }
}

impl fmt::Debug for PendingCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.recordings.keys()).finish()
    }
}

/// A running recording, interpreted as far as it was read.
#[derive(Default)]
struct FollowedRecording {
    reading: Reading<Requests>,
    /// The files that were read; the last one may grow.
    parts: Vec<PathBuf>,
    reader: Option<FileReader>,
}

impl FollowedRecording {
    /// Reads the recording that writes `path`, from where it was left in `before`.
    fn up_to_now(path: &Path, before: &mut HashMap<PathBuf, Self>) -> Result<Self, TraceFileError> {
        if let Some(mut known) = before.remove(path) {
            known.read_on()?;
            return Ok(known);
        }
        let parts = parts_of(path)?;
        // If it was rotated since, the earlier parts are known under the name of the last of them.
        let known = parts.iter().rposition(|part| before.contains_key(part));
        let mut recording = known.and_then(|at| before.remove(&parts[at])).unwrap_or_default();
        // More may have been written to that part before it was rotated.
        recording.read_on()?;
        for part in parts.into_iter().skip(known.map_or(0, |at| at + 1)) {
            recording.open(part)?;
        }
        Ok(recording)
    }

    fn open(&mut self, part: PathBuf) -> Result<(), TraceFileError> {
        self.reader = Some(open::follow(&part)?);
        self.reading.analysis_mut().begin_part(self.parts.len());
        self.parts.push(part);
        self.read_on()
    }

    fn read_on(&mut self) -> Result<(), TraceFileError> {
        let (Some(reader), Some(path)) = (&mut self.reader, self.parts.last()) else { return Ok(()) };
        while let Some(line) = open::next_line(reader, path)? {
            self.reading.observe(&line);
        }
        Ok(())
    }

    fn pending(&self, entry: &CatalogEntry, catalog: &Catalog) -> Vec<PendingCall> {
        let entry_of = |part: usize| {
            let path = self.parts.get(part).filter(|path| **path != entry.path);
            let other = path.and_then(|path| catalog.entries.iter().find(|other| other.path == *path));
            other.unwrap_or(entry).clone()
        };
        let pending = self.reading.pending(running_now());
        pending
            .map(|(call, origin)| PendingCall {
                entry: entry_of(origin.part),
                at_us: origin.at_us,
                call: Call { number: call.number - origin.requests_before, ..call },
            })
            .collect()
    }
}

/// The files of the recording that writes `path`, in order.
fn parts_of(path: &Path) -> Result<Vec<PathBuf>, TraceFileError> {
    let mut recordings = Recording::of_traces(vec![(path.to_owned(), open::head(path)?)]);
    let mut recording = recordings.pop().expect("one trace belongs to one recording");
    recording.find_parts()?;
    Ok(recording.parts.into_iter().map(|part| part.path).collect())
}

/// Remembers of each open call where its request is.
#[derive(Debug, Default)]
struct Requests {
    part: usize,
    /// The number of requests in earlier parts: calls are numbered through a recording, and per file everywhere else.
    before: u64,
    last: u64,
}

impl Requests {
    fn begin_part(&mut self, part: usize) {
        self.part = part;
        self.before = self.last;
    }
}

/// Where the request of a call is.
#[derive(Debug, Default)]
struct Origin {
    part: usize,
    requests_before: u64,
    at_us: i64,
}

impl Analysis for Requests {
    type PerCall = Origin;

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Origin>) {
        let Meaning::Request { number } = seen.meaning else { return };
        self.last = self.last.max(number);
        if let Some(origin) = own {
            *origin = Origin { part: self.part, requests_before: self.before, at_us: seen.line.at_us };
        }
    }

    fn closed(&mut self, _: &Closed<'_, '_>, _: Origin) {}
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]
mod tests {
    use super::*;
    use crate::liveness::mark_live;
    use std::fs::File;
    use std::io::Write as _;

    const STARTED: &str = "2026-05-12T23:00:00.000Z";

    struct Recorder {
        dir: tempfile::TempDir,
        file: File,
    }

    impl Recorder {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let file = create(&dir.path().join("a.jsonl"));
            let mut recorder = Recorder { dir, file };
            recorder.line(&meta("a", ""));
            recorder
        }

        fn line(&mut self, line: &str) {
            writeln!(self.file, "{line}").unwrap();
        }

        fn message(&mut self, dir: &str, raw: &str) {
            self.line(&format!(r#"{{"t":"{STARTED}","us":5,"dir":"{dir}","raw":{raw}}}"#));
        }

        fn ask(&mut self, id: u64) {
            self.message(
                "in",
                &format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{id}"}}}}"#
                ),
            );
        }

        fn answer(&mut self, id: u64) {
            self.message("out", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }

        fn rotate(&mut self, from: &str, to: &str, index: u64) {
            self.line(&format!(r#"{{"type":"rotated","next":"{to}.jsonl"}}"#));
            self.file = create(&self.dir.path().join(format!("{to}.jsonl")));
            self.line(&meta(
                to,
                &format!(r#","part":{{"index":{index},"of":"a","previous":"{from}.jsonl"}}"#),
            ));
        }

        fn in_flight(&self, pending: &mut PendingCalls) -> Vec<String> {
            let snapshot = pending.now(&Catalog::read(self.dir.path()).unwrap());
            assert!(snapshot.unreadable.is_empty(), "{:?}", snapshot.unreadable);
            let of = |pending: &PendingCall| {
                let tool = pending.call.tool.as_deref().unwrap();
                format!("{tool} is call {} of {}", pending.call.number, pending.entry.id())
            };
            let mut calls: Vec<String> = snapshot.calls.iter().map(of).collect();
            calls.sort();
            calls
        }
    }

    fn create(path: &Path) -> File {
        let file = crate::private::create_file(path).unwrap();
        mark_live(&file);
        file
    }

    fn meta(id: &str, part: &str) -> String {
        format!(
            r#"{{"v":1,"type":"meta","startedAt":"{STARTED}","id":"{id}","label":"l","producer":{{"name":"wiretape","version":"0"}}{part}}}"#
        )
    }

    #[test]
    fn calls_of_earlier_parts_are_in_flight_until_they_are_answered() {
        let mut recorder = Recorder::new();
        let mut follower = PendingCalls::default();
        recorder.ask(1);
        recorder.ask(2);
        recorder.ask(3);
        recorder.answer(1);
        assert_eq!(recorder.in_flight(&mut follower), ["t2 is call 2 of a", "t3 is call 3 of a"]);
        recorder.answer(3);
        recorder.rotate("a", "b", 2);
        recorder.ask(4);
        let both = ["t2 is call 2 of a", "t4 is call 1 of b"];
        assert_eq!(recorder.in_flight(&mut follower), both);
        assert_eq!(recorder.in_flight(&mut PendingCalls::default()), both, "read from the beginning");
        recorder.rotate("b", "c", 3);
        recorder.answer(2);
        assert_eq!(recorder.in_flight(&mut follower), ["t4 is call 1 of b"]);
        assert_eq!(
            recorder.in_flight(&mut PendingCalls::default()),
            ["t4 is call 1 of b"],
            "read from the beginning"
        );
        recorder.answer(4);
        assert!(recorder.in_flight(&mut follower).is_empty());
    }

    #[test]
    fn a_call_ages_while_nothing_is_written() {
        let mut recorder = Recorder::new();
        recorder.ask(1);
        let catalog = Catalog::read(recorder.dir.path()).unwrap();
        let snapshot = PendingCalls::default().now(&catalog);
        assert_eq!(snapshot.recordings, 1);
        // The request was sent years ago.
        assert!(snapshot.calls[0].call.duration_us.unwrap() > 1_000_000);
        drop(recorder.file);
        assert_eq!(PendingCalls::default().now(&catalog).recordings, 0);
    }
}
