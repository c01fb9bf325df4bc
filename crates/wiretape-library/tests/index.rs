//! The index of a directory: nothing is read twice, nothing stale is shown, and nothing depends on it.

#![allow(clippy::unwrap_used, reason = "a test that can't go on should say so at once")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wiretape_library::{Catalog, TraceDigest};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A directory of `count` traces, with one call each.
    fn with_traces(count: u64) -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(place.traces()).unwrap();
        (0..count).for_each(|number| place.write(number, &trace(number, 1)));
        place
    }

    fn traces(&self) -> PathBuf {
        self.dir.path().join("traces")
    }

    fn index_dir(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn file(&self, number: u64) -> PathBuf {
        self.traces().join(format!("{number:04}.jsonl"))
    }

    /// Writes a trace as if an hour ago: what was written just now is not yet taken into the index.
    fn write(&self, number: u64, content: &str) {
        fs::write(self.file(number), content).unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        set_modified(&self.file(number), hour_ago);
    }

    /// Writes other bytes of the same number, at the same time: only a look inside can tell.
    fn make_unreadable(&self, number: u64) {
        let metadata = fs::metadata(self.file(number)).unwrap();
        fs::write(self.file(number), "?".repeat(usize::try_from(metadata.len()).unwrap())).unwrap();
        set_modified(&self.file(number), metadata.modified().unwrap());
    }

    fn open(&self) -> Catalog {
        Catalog::open(&self.traces(), &self.index_dir()).unwrap()
    }

    /// Label, messages and calls of each trace.
    fn list(&self) -> Vec<String> {
        let catalog = self.open();
        let digests = catalog.digests(&catalog.entries);
        let show = |digest: &TraceDigest| format!("{} {}", digest.messages(), digest.calls.calls);
        let mut list: Vec<String> = catalog
            .entries
            .iter()
            .zip(&digests)
            .map(|(entry, digest)| {
                format!("{} {}", entry.label(), digest.as_ref().map_or("?".to_owned(), show))
            })
            .collect();
        list.extend(catalog.unreadable.iter().map(|_| "unreadable".to_owned()));
        list
    }

    fn index_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(self.index_dir()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }
}

fn set_modified(path: &Path, time: SystemTime) {
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn trace(number: u64, calls: u64) -> String {
    let mut lines = format!(
        "{{\"v\":1,\"type\":\"meta\",\"id\":\"id-{number}\",\"label\":\"trace {number}\",\"startedAt\":\"2026-05-12T23:00:{:02}.{:03}Z\",\"command\":[]}}\n",
        59 - number / 1000,
        999 - number % 1000
    );
    for id in 0..calls {
        lines += &format!(
            "{{\"t\":\"2026-05-12T23:10:00.000Z\",\"dir\":\"in\",\"raw\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}}}\n"
        );
        lines += &format!(
            "{{\"t\":\"2026-05-12T23:10:00.000Z\",\"dir\":\"out\",\"raw\":{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}}}\n"
        );
    }
    lines + "{\"type\":\"end\",\"exitCode\":0,\"durationMs\":5}\n"
}

fn expected(count: u64) -> Vec<String> {
    (0..count).map(|number| format!("trace {number} 2 1")).collect()
}

#[test]
fn a_second_look_reads_nothing() {
    let place = Place::with_traces(100);
    assert_eq!(place.list(), expected(100));
    (0..100).for_each(|number| place.make_unreadable(number));
    assert_eq!(place.list(), expected(100));
}

#[test]
fn what_has_changed_is_read_again() {
    let place = Place::with_traces(100);
    assert_eq!(place.list(), expected(100));
    // It has grown; it was written again with the same size; it was deleted; it is new.
    fs::write(place.file(3), trace(3, 2)).unwrap();
    fs::write(place.file(5), trace(5, 1).replace("\"label\":\"trace 5\"", "\"label\":\"TRACE 5\"")).unwrap();
    fs::remove_file(place.file(7)).unwrap();
    place.write(100, &trace(100, 1));
    let mut changed = expected(101);
    changed[3] = "trace 3 4 2".to_owned();
    changed[5] = "TRACE 5 2 1".to_owned();
    changed.remove(7);
    assert_eq!(place.list(), changed);
    assert_eq!(place.list(), changed);
    // A trace that is written all the time is never taken from the index.
    fs::write(place.file(3), trace(3, 9)).unwrap();
    changed[3] = "trace 3 18 9".to_owned();
    assert_eq!(place.list(), changed);
}

#[test]
fn a_few_changes_are_written_to_a_small_file() {
    let place = Place::with_traces(2000);
    assert_eq!(place.list(), expected(2000));
    let base = place.index_files();
    assert_eq!(base.len(), 1);
    let written = fs::metadata(&base[0]).unwrap();
    (2000..2003).for_each(|number| place.write(number, &trace(number, 1)));
    assert_eq!(place.list(), expected(2003));
    let files = place.index_files();
    assert_eq!(files.len(), 2);
    assert_eq!(fs::metadata(&base[0]).unwrap().modified().unwrap(), written.modified().unwrap());
    assert!(fs::metadata(&files[1]).unwrap().len() * 100 < written.len());
    (0..2003).for_each(|number| place.make_unreadable(number));
    assert_eq!(place.list(), expected(2003));
}

#[test]
fn an_index_that_is_damaged_or_foreign_is_written_again() {
    let place = Place::with_traces(100);
    assert_eq!(place.list(), expected(100));
    let [file] = &place.index_files()[..] else { panic!("one file") };
    let good = fs::read(file).unwrap();
    let mut damaged: Vec<Vec<u8>> =
        vec![Vec::new(), good[..good.len() / 2].to_vec(), b"something else".to_vec()];
    // Any byte of it: the magic, the version, the lengths, a row, a digest.
    for at in [0, 8, 12, 16, 24, 33, 44, 60, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        damaged.push(bytes);
    }
    for (number, bytes) in damaged.iter().enumerate() {
        fs::write(file, bytes).unwrap();
        assert_eq!(place.list(), expected(100), "{number}");
    }
    // It is whole again: nothing has to be read.
    (0..100).for_each(|number| place.make_unreadable(number));
    assert_eq!(place.list(), expected(100));
}

#[test]
fn an_index_that_cannot_be_written_is_done_without() {
    let place = Place::with_traces(100);
    // A file where the directory would be.
    fs::write(place.index_dir(), "in the way").unwrap();
    assert_eq!(place.list(), expected(100));
    place.make_unreadable(99);
    let mut list = expected(99);
    list.push("unreadable".to_owned());
    assert_eq!(place.list(), list);
}

#[test]
fn processes_that_list_at_the_same_time_do_no_harm() {
    let place = Place::with_traces(200);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| (0..4).for_each(|_| assert_eq!(place.list(), expected(200))));
        }
    });
    assert!(place.index_files().len() <= 2, "{:?}", place.index_files());
    assert_eq!(place.list(), expected(200));
}

#[test]
fn a_few_traces_need_no_index() {
    let place = Place::with_traces(10);
    assert_eq!(place.list(), expected(10));
    assert!(!place.index_dir().exists());
}

#[cfg(unix)]
#[test]
fn the_index_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with_traces(100);
    place.list();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.index_dir()), 0o700);
    assert_eq!(mode(&place.index_files()[0]), 0o600);
}
