//! The traces of a directory.

use crate::open::{self, Head, TraceFileError};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A trace in a directory.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// Where it lies.
    pub path: PathBuf,
    /// What its first lines say.
    pub head: Head,
    /// The file's size.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

impl CatalogEntry {
    /// The trace's id; other programs' traces have none, and go by their file's name.
    pub fn id(&self) -> String {
        let id = self.head.meta.as_ref().and_then(|meta| meta.id.clone()).filter(|id| !id.is_empty());
        id.unwrap_or_else(|| stem(&self.path))
    }

    /// A short name for people.
    pub fn label(&self) -> String {
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

/// A directory could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("can't list {}", dir.display())]
pub struct CatalogError {
    /// The directory.
    pub dir: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

/// The traces of a directory, the newest first.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The traces.
    pub entries: Vec<CatalogEntry>,
    /// Files that are named like traces and can't be read as such.
    pub unreadable: Vec<TraceFileError>,
}

impl Catalog {
    /// How short an id may get.
    const SHORTEST_ID: usize = 4;

    /// Looks through a directory; one that does not exist has no traces.
    pub fn read(dir: &Path) -> Result<Self, CatalogError> {
        Self::read_again(dir, &mut KnownHeads::default())
    }

    /// The same, without reading what is known already.
    pub fn read_again(dir: &Path, known: &mut KnownHeads) -> Result<Self, CatalogError> {
        let mut catalog = Catalog::default();
        let failed = |source| CatalogError { dir: dir.to_owned(), source };
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
    pub fn short_ids(&self) -> Vec<String> {
        let ids: Vec<String> = self.entries.iter().map(CatalogEntry::id).collect();
        shortest_prefixes(&ids, Self::SHORTEST_ID)
    }
}

fn is_named_like_a_trace(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    TRACE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// What the first lines of traces say, which doesn't change while they grow; with the size of the file then.
pub type KnownHeads = HashMap<PathBuf, (u64, Head)>;

fn entry(path: PathBuf, known: &mut KnownHeads) -> Result<CatalogEntry, TraceFileError> {
    let metadata = fs::metadata(&path);
    let failed = |source| TraceFileError::Open { path: path.clone(), source };
    let metadata = metadata.map_err(failed)?;
    let head = match known.get(&path) {
        Some((bytes, head)) if *bytes <= metadata.len() => head.clone(),
        _ => open::head(&path)?,
    };
    known.insert(path.clone(), (metadata.len(), head.clone()));
    let modified = metadata.modified().map_err(failed)?;
    Ok(CatalogEntry { head, bytes: metadata.len(), modified, path })
}

/// The shortest beginning of each id that no other has, but no shorter than `shortest`.
pub fn shortest_prefixes(ids: &[String], shortest: usize) -> Vec<String> {
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
