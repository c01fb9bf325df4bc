//! The traces of a directory, newest first.
//!
//! The first and the last line of a trace are enough to sort, name and select it. More is read only of the traces that are shown
//! ([`Catalog::digests`]). Both are kept in an index, so that listing again reads only what is new.

use crate::digest::TraceDigest;
pub use crate::index::TraceFacts;
use crate::index::{FileStamp, IndexRow, RowHandle, TraceIndex};
use crate::liveness::{Liveness, Writer, liveness, recorder_of};
use crate::open::{self, TraceFileError};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A trace in a directory.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// The path of the file.
    pub path: PathBuf,
    /// What its first and last lines say.
    pub facts: TraceFacts,
    /// Size and time of the file when these were read.
    pub stamp: FileStamp,
    /// Where the index has its digest.
    handle: Option<RowHandle>,
}

impl CatalogEntry {
    /// The trace's id; the name of its file if it has none.
    pub fn id(&self) -> &str {
        &self.facts.id
    }

    /// The label, or the name of the file: a short name for people.
    pub fn label(&self) -> &str {
        &self.facts.label
    }

    /// The size of the file in bytes, when it was listed.
    pub fn bytes(&self) -> u64 {
        self.stamp.size
    }

    /// When the file was last written.
    pub fn modified(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.stamp.modified_ns).unwrap_or_default())
    }

    /// Whether a recorder is still writing the trace.
    pub fn recorder(&self) -> Liveness {
        recorder_of(&self.path, if self.facts.is_ours { Writer::Wiretape } else { Writer::Other })
    }

    /// Whether it is being recorded.
    pub fn is_running(&self) -> bool {
        // Without an end: a recorder holds its lock for a moment after writing `end`.
        self.facts.is_open && liveness(&self.path) == Liveness::Running
    }

    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// A file's name without the extensions of traces.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    TRACE_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name).to_owned()
}

const TRACE_SUFFIXES: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

/// Why a directory could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("can't list {}", dir.display())]
pub struct CatalogError {
    /// The directory that was listed.
    pub dir: PathBuf,
    /// The operating system's error.
    pub source: io::Error,
}

/// The traces of a directory, newest first.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The traces, newest first.
    pub entries: Vec<CatalogEntry>,
    /// Files that are named like traces and can't be read as such.
    pub unreadable: Vec<TraceFileError>,
    index: Arc<TraceIndex>,
}

/// The minimum length of a shortened id.
const SHORTEST_ID: usize = 4;

/// Smaller directories are not indexed: reading the first and last lines of a few traces is faster than
/// maintaining an index.
const WORTH_AN_INDEX: usize = 64;

/// The age below which a file is not indexed: it may change again without getting another modification time.
/// File systems store times to a few milliseconds, some to two seconds.
const SETTLED: Duration = Duration::from_secs(2);

impl Catalog {
    /// Lists a directory without an index; one that does not exist has no traces.
    pub fn read(dir: &Path) -> Result<Self, CatalogError> {
        Self::list(dir, &Arc::default(), &[])
    }

    /// Lists a directory with the index in `index_dir`, which has what any process has read of it before. New
    /// traces are added to the index.
    pub fn open(dir: &Path, index_dir: &Path) -> Result<Self, CatalogError> {
        let mut catalog = Self::list(dir, &TraceIndex::load(dir, index_dir).into(), &[])?;
        // Saved here only if many traces are new, so that the first listing of a large directory pays off
        // even if nothing is shown. Otherwise `digests` saves them along with the counts.
        if catalog.entries.iter().filter(|entry| entry.handle.is_none()).count() >= WORTH_AN_INDEX {
            catalog.save(&HashMap::new());
            // Loaded again, because handles point into the saved file, and another process may have replaced
            // it meanwhile.
            catalog.use_index(TraceIndex::load(dir, index_dir));
        }
        Ok(catalog)
    }

    /// Switches to an index that another process has written in the meantime.
    fn use_index(&mut self, index: TraceIndex) {
        for entry in &mut self.entries {
            let found = index.find(entry.name().as_encoded_bytes(), entry.stamp);
            entry.handle = found.map(|(_, handle)| handle);
        }
        self.index = index.into();
    }

    /// Lists the directory once more, and reads only what has changed since.
    pub fn again(&self, dir: &Path) -> Result<Self, CatalogError> {
        Self::list(dir, &self.index, &self.entries)
    }

    fn list(dir: &Path, index: &Arc<TraceIndex>, known: &[CatalogEntry]) -> Result<Self, CatalogError> {
        let failed = |source| CatalogError { dir: dir.to_owned(), source };
        let files = match trace_files(dir) {
            Ok(files) => files,
            // Before the first recording there is no directory yet, which isn't an error.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Catalog::default()),
            Err(error) => return Err(failed(error)),
        };
        let known: HashMap<&OsStr, &CatalogEntry> = known.iter().map(|entry| (entry.name(), entry)).collect();
        let mut catalog = Catalog { index: Arc::clone(index), ..Catalog::default() };
        for found in in_parallel(&files, |file| entry(file, index, &known)) {
            match found {
                Ok(entry) => catalog.entries.push(entry),
                Err(error) => catalog.unreadable.push(error),
            }
        }
        catalog
            .entries
            // By name among equal times, so that the order is the same in every run.
            .sort_by(|a, b| b.facts.started_ms.cmp(&a.facts.started_ms).then_with(|| b.name().cmp(a.name())));
        catalog.unreadable.sort_by_key(ToString::to_string);
        Ok(catalog)
    }

    /// For each of `shown`, the shortest prefix of its id that no other entry has.
    pub fn short_ids(&self, shown: &[CatalogEntry]) -> Vec<String> {
        let ids = self.entries.iter().map(CatalogEntry::id);
        let shown: Vec<&str> = shown.iter().map(CatalogEntry::id).collect();
        shortest_prefixes(&shown, ids, SHORTEST_ID)
    }

    /// What the index knows of a trace, without reading the trace.
    pub fn known_digest(&self, entry: &CatalogEntry) -> Option<TraceDigest> {
        self.index.digest(entry.handle?)
    }

    /// The digests of `shown`. Traces that the index doesn't know are read, several at a time, and added to it.
    pub fn digests(&self, shown: &[CatalogEntry]) -> Vec<Result<TraceDigest, TraceFileError>> {
        let digests = in_parallel(shown, |entry| match self.known_digest(entry) {
            Some(digest) => (Ok(digest), false),
            None => (TraceDigest::read(&entry.path), true),
        });
        if self.entries.len() >= WORTH_AN_INDEX {
            let read = shown.iter().zip(&digests).filter(|(_, (_, is_new))| *is_new);
            let read = read.filter_map(|(entry, (digest, _))| Some((entry.name(), digest.as_ref().ok()?)));
            self.save(&read.collect());
        }
        digests.into_iter().map(|(digest, _)| digest).collect()
    }

    /// Saves what the index doesn't have yet: newly read entries, and these digests.
    pub fn save(&self, digests: &HashMap<&OsStr, &TraceDigest>) {
        let is_settled = |entry: &CatalogEntry| entry.modified().elapsed().is_ok_and(|age| age >= SETTLED);
        let is_new = |entry: &CatalogEntry| entry.handle.is_none() || digests.contains_key(entry.name());
        let new = self.entries.iter().filter(|entry| is_new(entry) && is_settled(entry));
        let rows = new.map(|entry| IndexRow {
            name: entry.name().as_encoded_bytes().to_vec(),
            stamp: entry.stamp,
            facts: entry.facts.clone(),
            digest: digests
                .get(entry.name())
                .and_then(|digest| serde_json::to_vec(digest).ok())
                .unwrap_or_default(),
        });
        let unchanged = self.entries.iter().filter(|entry| !is_new(entry)).filter_map(|entry| {
            Some((entry.name().as_encoded_bytes(), entry.stamp, &entry.facts, entry.handle?))
        });
        self.index.save(rows.collect(), unchanged);
    }
}

/// A file that is named like a trace.
struct TraceFile {
    entry: DirEntry,
    path: PathBuf,
}

fn trace_files(dir: &Path) -> io::Result<Vec<TraceFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if TRACE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix.as_bytes())) {
            let path = entry.path();
            files.push(TraceFile { entry, path });
        }
    }
    Ok(files)
}

impl TraceFile {
    /// The size and time of the file. `DirEntry::metadata` doesn't resolve the path again, which saves a
    /// third of the time of a listing (`cargo xtask bench --only library`).
    fn metadata(&self) -> io::Result<Metadata> {
        let metadata = self.entry.metadata()?;
        // That doesn't follow symbolic links, and the size of a link is not that of its trace.
        if metadata.is_symlink() { fs::metadata(&self.path) } else { Ok(metadata) }
    }
}

fn entry(
    file: &TraceFile,
    index: &TraceIndex,
    known: &HashMap<&OsStr, &CatalogEntry>,
) -> Result<CatalogEntry, TraceFileError> {
    let path = file.path.clone();
    let failed = |source| TraceFileError::Open { path: path.clone(), source };
    let stamp = FileStamp::of(&file.metadata().map_err(failed)?);
    let name = path.file_name().unwrap_or_default();
    // In the order of their cost: memory, the index, the file.
    if let Some(entry) = known.get(name).filter(|entry| entry.stamp == stamp) {
        return Ok((*entry).clone());
    }
    if let Some((facts, handle)) = index.find(name.as_encoded_bytes(), stamp) {
        return Ok(CatalogEntry { path, facts, stamp, handle: Some(handle) });
    }
    Ok(CatalogEntry { facts: facts(&path)?, path, stamp, handle: None })
}

/// Reads the first and the last line of a trace.
fn facts(path: &Path) -> Result<TraceFacts, TraceFileError> {
    let head = open::head(path)?;
    let meta = head.meta.as_ref();
    let id = meta.and_then(|meta| meta.id.clone()).filter(|id| !id.is_empty());
    let label = meta.map(|meta| meta.label.clone()).filter(|label| !label.is_empty());
    Ok(TraceFacts {
        id: id.unwrap_or_else(|| stem(path)),
        label: label.unwrap_or_else(|| stem(path)),
        started_ms: head.started_ms,
        has_meta: meta.is_some(),
        is_later_part: meta.is_some_and(|meta| meta.part.is_some()),
        is_ours: Writer::of(meta) == Writer::Wiretape,
        is_open: open::is_open(path)?,
    })
}

/// Calls `work` for all items, on several threads if there are many, and keeps their order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    /// More threads don't make the file system faster.
    const MOST_THREADS: usize = 8;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    // Small pieces: one trace may take longer than a thousand others.
    let piece = (items.len() / (threads * 16)).clamp(1, 1024);
    if threads == 1 || items.len() <= 1 {
        return items.iter().map(work).collect();
    }
    let next = parking_lot::Mutex::new(items.chunks(piece).enumerate());
    let take = || next.lock().next();
    let mut done: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let run = || {
            let mut done = Vec::new();
            while let Some((number, piece)) = take() {
                done.push((number, piece.iter().map(&work).collect()));
            }
            done
        };
        let workers: Vec<_> = (0..threads.min(items.len())).map(|_| scope.spawn(run)).collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker.join().expect("a worker only panics on a bug, which must not be hidden")
            })
            .collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().flat_map(|(_, piece)| piece).collect()
}

/// The shortest prefix of each shown id that no other id has, but no shorter than `shortest`. The shown ids are among `ids`.
pub fn shortest_prefixes<'i>(
    shown: &[&str],
    ids: impl Iterator<Item = &'i str>,
    shortest: usize,
) -> Vec<String> {
    let mut sorted: Vec<&str> = shown.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    // How many characters each shown id has in common with any other. Its neighbors in the order have the most, so each id
    // is compared with two.
    let mut common_with_others = vec![0; sorted.len()];
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let mut compare = |at: usize, id: &str| {
        if let Some(shown) = sorted.get(at) {
            common_with_others[at] = common_with_others[at].max(common(shown, id));
        }
    };
    let mut seen = vec![false; sorted.len()];
    for id in ids {
        let at = sorted.partition_point(|other| *other < id);
        let is_shown = sorted.get(at) == Some(&id);
        // An id that two traces have can't be shortened.
        if is_shown && std::mem::replace(&mut seen[at], true) {
            compare(at, id);
        }
        compare(if is_shown { at + 1 } else { at }, id);
        if let Some(before) = at.checked_sub(1) {
            compare(before, id);
        }
    }
    let prefix = |id: &&str| {
        let at = sorted.partition_point(|other| other < id);
        id.chars().take((common_with_others[at] + 1).max(shortest)).collect()
    };
    shown.iter().map(prefix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_short_as_they_can_be() {
        let check = |ids: &[&str], expected: &[&str]| {
            assert_eq!(shortest_prefixes(ids, ids.iter().copied(), 4), expected);
            for (id, expected) in ids.iter().zip(expected) {
                assert_eq!(shortest_prefixes(&[id], ids.iter().copied(), 4), [*expected], "{id}");
            }
        };
        check(&["abcdef", "abcxyz", "b"], &["abcd", "abcx", "b"]);
        check(&["abcdef12", "abcdef34", "abcd"], &["abcdef1", "abcdef3", "abcd"]);
        check(&[], &[]);
    }

    #[test]
    fn equal_ids_stay_as_they_are() {
        let ids = ["same-id", "same-id"];
        assert_eq!(shortest_prefixes(&ids, ids.iter().copied(), 4), ids);
    }

    #[test]
    fn work_in_parallel_keeps_its_order() {
        let items: Vec<u32> = (0..5000).collect();
        assert_eq!(
            in_parallel(&items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(in_parallel(&[0; 0], |item| *item).is_empty());
    }
}
