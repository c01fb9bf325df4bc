//! The traces of a directory.

use crate::error::CommandError;
use crate::trace_file::{self, Head, TraceFileError};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
pub(crate) use wiretape_analyze::glance::describe_end;
use wiretape_analyze::summary::Ending;
use wiretape_proxy::platform::{Liveness, liveness};
use wiretape_trace::format::End;

/// A trace in a directory.
#[derive(Debug, Clone)]
pub(crate) struct CatalogEntry {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// What its first lines say.
    pub(crate) head: Head,
    /// The file's size.
    pub(crate) bytes: u64,
    /// When it was last written.
    pub(crate) modified: SystemTime,
}

impl CatalogEntry {
    /// The trace's id; other programs' traces have none, and go by their file's name.
    pub(crate) fn id(&self) -> String {
        let id = self.head.meta.as_ref().and_then(|meta| meta.id.clone()).filter(|id| !id.is_empty());
        id.unwrap_or_else(|| stem(&self.path))
    }

    /// A short name for people.
    pub(crate) fn label(&self) -> String {
        let label = self.head.meta.as_ref().map(|meta| meta.label.clone()).filter(|label| !label.is_empty());
        label.unwrap_or_else(|| stem(&self.path))
    }
}

/// A file's name without what says that it is a trace.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    TRACE_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(&name).to_owned()
}

const TRACE_SUFFIXES: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

/// The traces of a directory, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// The traces.
    pub(crate) entries: Vec<CatalogEntry>,
    /// Files that are named like traces and can't be read as such.
    pub(crate) unreadable: Vec<TraceFileError>,
}

impl Catalog {
    /// How short an id may get.
    const SHORTEST_ID: usize = 4;

    /// Looks through a directory; one that does not exist has no traces.
    pub(crate) fn read(dir: &Path) -> Result<Self, CommandError> {
        Self::read_again(dir, &mut KnownHeads::default())
    }

    /// The same, without reading what is known already.
    pub(crate) fn read_again(dir: &Path, known: &mut KnownHeads) -> Result<Self, CommandError> {
        let mut catalog = Catalog::default();
        let failed = |error| CommandError::because(format!("can't list {}", dir.display()), error);
        let files = match fs::read_dir(dir) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(catalog),
            Err(error) => return Err(failed(error)),
        };
        for file in files {
            let path = file.map_err(failed)?.path();
            if is_named_like_a_trace(&path) {
                match entry(path, known) {
                    Ok(entry) => catalog.entries.push(entry),
                    Err(error) => catalog.unreadable.push(error),
                }
            }
        }
        catalog.entries.sort_by(|a, b| {
            b.head
                .started_ms
                .cmp(&a.head.started_ms)
                .then_with(|| b.path.file_name().cmp(&a.path.file_name()))
        });
        catalog.unreadable.sort_by_key(ToString::to_string);
        Ok(catalog)
    }

    /// The shortest prefix of each entry's id that no other entry has, in the order of the entries.
    pub(crate) fn short_ids(&self) -> Vec<String> {
        let ids: Vec<String> = self.entries.iter().map(CatalogEntry::id).collect();
        shortest_prefixes(&ids, Self::SHORTEST_ID)
    }
}

fn is_named_like_a_trace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    TRACE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// What the first lines of traces say, which doesn't change while they grow; with the size of the file then.
pub(crate) type KnownHeads = HashMap<PathBuf, (u64, Head)>;

fn entry(path: PathBuf, known: &mut KnownHeads) -> Result<CatalogEntry, TraceFileError> {
    let metadata = fs::metadata(&path);
    let failed = |source| TraceFileError::Open { path: path.clone(), source };
    let metadata = metadata.map_err(failed)?;
    let head = match known.get(&path) {
        Some((bytes, head)) if *bytes <= metadata.len() => head.clone(),
        _ => trace_file::head(&path)?,
    };
    known.insert(path.clone(), (metadata.len(), head.clone()));
    let modified = metadata.modified().map_err(failed)?;
    Ok(CatalogEntry { head, bytes: metadata.len(), modified, path })
}

/// The shortest beginning of each id that no other has, but no shorter than `shortest`.
pub(crate) fn shortest_prefixes(ids: &[String], shortest: usize) -> Vec<String> {
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let prefix = |id: &String| {
        let at = sorted.partition_point(|other| *other < id.as_str());
        let before = at.checked_sub(1).map_or(0, |before| common(sorted[before], id));
        let after = sorted.get(at + 1).map_or(0, |after| common(after, id));
        id.chars().take((before.max(after) + 1).max(shortest)).collect()
    };
    ids.iter().map(prefix).collect()
}

/// Whether a recorder is at work on a trace. Only Wiretape marks its files while it writes them, so of others'
/// nothing is known.
pub(crate) fn recorder(path: &Path, head: &Head) -> Liveness {
    let producer = head.meta.as_ref().and_then(|meta| meta.producer.as_ref());
    match liveness(path) {
        Liveness::Stopped if producer.is_none_or(|producer| producer.name != "wiretape") => Liveness::Unknown,
        known => known,
    }
}

/// Where a recording stands, told from its end and from whether a recorder is at work on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TraceState {
    /// It has ended.
    Ended(End),
    /// It goes on in another file.
    Rotated {
        /// The name of that file.
        next: String,
    },
    /// It is being recorded.
    Running,
    /// Its recorder is gone, or may be, and wrote no end.
    NoEnd,
}

impl TraceState {
    /// The state of the trace at `path` that ends like this.
    pub(crate) fn new(path: &Path, ending: &Ending) -> Self {
        match ending {
            Ending::End(end) => TraceState::Ended(end.clone()),
            Ending::Rotated { next } => TraceState::Rotated { next: next.clone() },
            Ending::Missing if liveness(path) == Liveness::Running => TraceState::Running,
            Ending::Missing => TraceState::NoEnd,
        }
    }

    /// One word for programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            TraceState::Ended(_) => "ended",
            TraceState::Rotated { .. } => "rotated",
            TraceState::Running => "running",
            TraceState::NoEnd => "no-end",
        }
    }

    /// A few words for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            TraceState::Ended(end) => describe_end(end),
            TraceState::Rotated { .. } => "continued".to_owned(),
            TraceState::Running => "running".to_owned(),
            TraceState::NoEnd => "no end (crashed?)".to_owned(),
        }
    }

    /// Whether something went wrong, or may have.
    pub(crate) fn is_trouble(&self) -> bool {
        match self {
            TraceState::Ended(end) => end.signal.is_some() || end.exit_code.is_some_and(|code| code != 0),
            TraceState::NoEnd => true,
            TraceState::Rotated { .. } | TraceState::Running => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_as_short_as_they_can_be() {
        let check = |ids: &[&str], expected: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            assert_eq!(shortest_prefixes(&ids, 4), expected);
        };
        check(&["abcdef", "abcxyz", "b"], &["abcd", "abcx", "b"]);
        check(&["abcdef12", "abcdef34", "abcd"], &["abcdef1", "abcdef3", "abcd"]);
        check(&["same-id", "same-id"], &["same-id", "same-id"]);
        check(&[], &[]);
    }
}
