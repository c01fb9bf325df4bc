//! How a user names a trace: by path, by a prefix of its id, or as `latest`.

use crate::catalog::{Catalog, CatalogEntry};
use crate::error::CommandError;
use crate::{dirs, text, units};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a user typed to name a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TraceSelector {
    /// `latest`, or `latest~N`: the N-th before it.
    Latest {
        /// How many newer ones there are.
        back: usize,
    },
    /// A path, or a prefix of an id.
    Named(PathBuf),
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
    /// The trace that is meant.
    pub(crate) fn resolve(&self) -> Result<PathBuf, CommandError> {
        match self {
            TraceSelector::Latest { back } => latest(&dirs::traces_dir()?, *back),
            TraceSelector::Named(path) if path.exists() => Ok(path.clone()),
            TraceSelector::Named(path) => match path.to_str() {
                Some(prefix) if looks_like_an_id(path) => by_id(&dirs::traces_dir()?, prefix),
                _ => {
                    let message = format!("there is no file {}", path.display());
                    Err(CommandError::failure(message).hint(LIST_HINT))
                }
            },
        }
    }
}

/// Whether it may be the prefix of an id, and not only a path.
fn looks_like_an_id(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_none_or(|extension| !is_trace_extension(extension))
}

fn is_trace_extension(extension: &std::ffi::OsStr) -> bool {
    ["jsonl", "gz", "zst"].iter().any(|known| extension == *known)
}

const LIST_HINT: &str = "`wiretape ls` lists the traces there are";

fn latest(dir: &Path, back: usize) -> Result<PathBuf, CommandError> {
    let mut entries = Catalog::read(dir)?.entries;
    if back < entries.len() {
        return Ok(entries.swap_remove(back).path);
    }
    let message = match entries.len() as u64 {
        0 => format!("there are no traces in {}", dir.display()),
        n => format!(
            "latest~{back} goes too far back: there {}",
            if n == 1 { "is 1 trace".to_owned() } else { format!("are {n} traces") }
        ),
    };
    Err(CommandError::failure(message)
        .hint("`wiretape record -- COMMAND` makes one, `wiretape ls` lists them"))
}

fn by_id(dir: &Path, prefix: &str) -> Result<PathBuf, CommandError> {
    let wanted = prefix.to_ascii_lowercase();
    let entries = Catalog::read(dir)?.entries;
    let mut candidates: Vec<CatalogEntry> =
        entries.into_iter().filter(|entry| entry.id().to_ascii_lowercase().starts_with(&wanted)).collect();
    if candidates.len() > 1 {
        // A whole id is meant, though another begins with it.
        candidates.sort_by_key(|entry| entry.id().len() != prefix.len());
        let whole = candidates.iter().filter(|entry| entry.id().len() == prefix.len()).count();
        if whole != 1 {
            return Err(ambiguous(prefix, &candidates));
        }
    }
    match candidates.into_iter().next() {
        Some(entry) => Ok(entry.path),
        None => {
            let message = format!(
                "there is no trace `{prefix}`: no such file, and no id that begins like that in {}",
                dir.display()
            );
            Err(CommandError::failure(message).hint(LIST_HINT))
        }
    }
}

/// How many candidates are worth listing.
const SHOWN_CANDIDATES: usize = 8;

fn ambiguous(prefix: &str, candidates: &[CatalogEntry]) -> CommandError {
    let mut message = format!("`{prefix}` could be any of {} traces:", candidates.len());
    for entry in candidates.iter().take(SHOWN_CANDIDATES) {
        let started = entry.head.started_ms.and_then(units::iso).unwrap_or_else(|| "unknown time".to_owned());
        let label = entry.label();
        message.push_str(&format!(
            "\n  {}  {started}  {}",
            text::printable(&entry.id()),
            text::printable(&label)
        ));
    }
    if candidates.len() > SHOWN_CANDIDATES {
        message.push_str("\n  …");
    }
    CommandError::failure(message).hint("write more of the id, or the file's path")
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
}
