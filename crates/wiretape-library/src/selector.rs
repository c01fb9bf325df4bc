//! Which trace a user means: named by path, by a prefix of its id, or as `latest`.

use crate::catalog::{Catalog, CatalogEntry, CatalogError};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What a user typed to name a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceSelector {
    /// `latest`, or `latest~N`: the N-th before it.
    Latest {
        /// The number of newer traces to skip.
        back: usize,
    },
    /// A path, or a prefix of an id.
    Named(PathBuf),
}

/// No trace, or more than one, matches a selector.
#[derive(Debug, thiserror::Error)]
pub enum SelectorError {
    /// The directory can't be listed.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// There is no file at a path that can't be an id.
    #[error("file {} does not exist", .0.display())]
    NoFile(PathBuf),
    /// `latest`, where there are no traces.
    #[error("no traces in {}", .0.display())]
    NoTraces(PathBuf),
    /// `latest~N`, where there are fewer.
    #[error("latest~{back} does not exist: there {}", are_traces(*.count))]
    TooFarBack {
        /// The N that was typed.
        back: usize,
        /// How many traces there are.
        count: usize,
    },
    /// Neither a file nor an id.
    #[error("no trace `{prefix}`: no such file, and no id in {} starts with it", dir.display())]
    NoId {
        /// The selector as it was typed.
        prefix: String,
        /// The directory with the traces.
        dir: PathBuf,
    },
    /// Several ids begin like this.
    #[error("`{prefix}` matches {} traces", candidates.len())]
    Ambiguous {
        /// The selector as it was typed.
        prefix: String,
        /// The traces whose ids begin like that, those of exactly this id first.
        candidates: Vec<CatalogEntry>,
    },
}

fn are_traces(count: usize) -> String {
    if count == 1 { "is 1 trace".to_owned() } else { format!("are {count} traces") }
}

impl From<OsString> for TraceSelector {
    fn from(typed: OsString) -> Self {
        let after_latest = typed.to_str().and_then(|text| text.strip_prefix("latest"));
        let back = match after_latest {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|back| back.parse().ok()),
            None => None,
        };
        match back {
            Some(back) => TraceSelector::Latest { back },
            None => TraceSelector::Named(typed.into()),
        }
    }
}

impl TraceSelector {
    /// The file that it names, if there is one. It wins over an id, which can always be given with more of its characters.
    pub fn file(&self) -> Option<&Path> {
        match self {
            TraceSelector::Named(path) if path.exists() => Some(path),
            _ => None,
        }
    }

    /// Resolves the selector. `dir` has the traces that are selected by id or age, `index_dir` their index.
    pub fn resolve(&self, dir: &Path, index_dir: &Path) -> Result<PathBuf, SelectorError> {
        if let Some(file) = self.file() {
            return Ok(file.to_owned());
        }
        match self {
            TraceSelector::Latest { back } => latest(Catalog::open(dir, index_dir)?, dir, *back),
            TraceSelector::Named(path) => match path.to_str() {
                Some(prefix) if looks_like_an_id(path) => by_id(Catalog::open(dir, index_dir)?, dir, prefix),
                _ => Err(SelectorError::NoFile(path.clone())),
            },
        }
    }
}

/// Whether this may be a prefix of an id, and not only a path.
fn looks_like_an_id(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_none_or(|extension| !is_trace_extension(extension))
}

fn is_trace_extension(extension: &OsStr) -> bool {
    ["jsonl", "gz", "zst"].iter().any(|known| extension == *known)
}

fn latest(catalog: Catalog, dir: &Path, back: usize) -> Result<PathBuf, SelectorError> {
    let mut entries = catalog.entries;
    match entries.len() {
        count if back < count => Ok(entries.swap_remove(back).path),
        0 => Err(SelectorError::NoTraces(dir.to_owned())),
        count => Err(SelectorError::TooFarBack { back, count }),
    }
}

fn by_id(catalog: Catalog, dir: &Path, prefix: &str) -> Result<PathBuf, SelectorError> {
    let begins = |entry: &CatalogEntry| {
        // Case-insensitively: people type ids by hand.
        entry.id().get(..prefix.len()).is_some_and(|id| id.eq_ignore_ascii_case(prefix))
    };
    let mut candidates: Vec<CatalogEntry> = catalog.entries.into_iter().filter(begins).collect();
    if candidates.len() > 1 {
        // A complete id wins over longer ones that begin with it.
        candidates.sort_by_key(|entry| entry.id().len() != prefix.len());
        let whole = candidates.iter().filter(|entry| entry.id().len() == prefix.len()).count();
        if whole != 1 {
            return Err(SelectorError::Ambiguous { prefix: prefix.to_owned(), candidates });
        }
    }
    let no_id = || SelectorError::NoId { prefix: prefix.to_owned(), dir: dir.to_owned() };
    candidates.into_iter().next().map(|entry| entry.path).ok_or_else(no_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_is_understood() {
        let check = |text: &str, expected| assert_eq!(TraceSelector::from(OsString::from(text)), expected);
        check("latest", TraceSelector::Latest { back: 0 });
        check("latest~3", TraceSelector::Latest { back: 3 });
        check("latest~x", TraceSelector::Named("latest~x".into()));
        check("latest.jsonl", TraceSelector::Named("latest.jsonl".into()));
        check("0197", TraceSelector::Named("0197".into()));
    }

    #[test]
    fn traces_are_found_by_age_and_by_id() {
        let dir = tempfile::tempdir().expect("a directory");
        for (id, hour) in [("abc1", 1), ("abc12", 2), ("xyz", 3)] {
            let meta = format!(
                r#"{{"v":1,"type":"meta","id":"{id}","label":"l","startedAt":"2026-05-12T0{hour}:00:00.000Z"}}"#
            );
            std::fs::write(dir.path().join(format!("{id}.jsonl")), meta + "\n").expect("a trace");
        }
        let check = |typed: &str, expected: &str| {
            let found = match TraceSelector::from(OsString::from(typed))
                .resolve(dir.path(), &dir.path().join("index"))
            {
                Ok(path) => path.file_stem().expect("a name").to_string_lossy().into_owned(),
                Err(error) => error.to_string().replace(&dir.path().display().to_string(), "DIR"),
            };
            assert_eq!(found, expected, "{typed}");
        };
        check("latest", "xyz");
        check("latest~2", "abc1");
        check("latest~3", "latest~3 does not exist: there are 3 traces");
        check("X", "xyz");
        check("abc12", "abc12");
        // A complete id wins over longer ones that begin with it.
        check("abc1", "abc1");
        check("ab", "`ab` matches 2 traces");
        check("q", "no trace `q`: no such file, and no id in DIR starts with it");
        check("q.jsonl", "file q.jsonl does not exist");
    }
}
