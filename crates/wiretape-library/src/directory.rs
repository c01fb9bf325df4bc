//! The traces of a directory, for a program that asks again and again, as the page does several times a second: what a
//! file's first lines say doesn't change, and how it ends only when it grows, so nothing is read twice.

use crate::catalog::{Catalog, CatalogEntry, KnownHeads};
use crate::open;
use crate::state::TraceState;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wiretape_analyze::summary::Ending;

/// How long a listing is good for.
const FRESH: Duration = Duration::from_millis(200);

/// The traces of a directory.
#[derive(Debug)]
pub struct TraceDirectory {
    dir: PathBuf,
    latest: Mutex<LatestListing>,
    /// How files of a length end.
    endings: Mutex<HashMap<PathBuf, (u64, Ending)>>,
}

#[derive(Debug, Default)]
struct LatestListing {
    at: Option<Instant>,
    listing: Arc<Listing>,
    heads: KnownHeads,
}

/// What a directory has.
#[derive(Debug, Default)]
pub struct Listing {
    /// The traces, newest first.
    pub traces: Vec<CatalogEntry>,
    /// Files that can't be read, in words.
    pub unreadable: Vec<String>,
}

impl TraceDirectory {
    /// The traces of `dir`, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        TraceDirectory { dir, latest: Mutex::default(), endings: Mutex::default() }
    }

    /// All traces, newest first. An answer may be a moment old.
    pub fn traces(&self) -> Arc<Listing> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.at.is_none_or(|at| at.elapsed() >= FRESH) {
            latest.listing = Arc::new(match Catalog::read_again(&self.dir, &mut latest.heads) {
                Ok(catalog) => Listing {
                    traces: catalog.entries,
                    unreadable: catalog.unreadable.iter().map(ToString::to_string).collect(),
                },
                Err(error) => {
                    Listing { traces: Vec::new(), unreadable: vec![format!("{error}: {}", error.source)] }
                }
            });
            latest.at = Some(Instant::now());
        }
        Arc::clone(&latest.listing)
    }

    /// The state of a trace, here or elsewhere.
    pub fn state(&self, path: &Path) -> TraceState {
        TraceState::new(path, &self.ending(path))
    }

    fn ending(&self, path: &Path) -> Ending {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ending)) = endings.get(path).filter(|(of, _)| *of == length) {
            return ending.clone();
        }
        let ending = open::ending(path).unwrap_or(Ending::Missing);
        endings.insert(path.to_owned(), (length, ending.clone()));
        ending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::TraceStateKind;

    #[test]
    fn a_directory_says_which_traces_have_ended() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let meta = r#"{"v":1,"type":"meta","label":"a","startedAt":"2026-05-12T23:00:00.000Z"}"#;
        let ended = file("a.jsonl", &format!("{meta}\n{{\"type\":\"end\",\"exitCode\":1}}\n"));
        let torn = file("b.jsonl", &format!("{meta}\n"));
        file("c.jsonl", "noise\n");
        let traces = TraceDirectory::new(dir.path().to_owned());
        let listing = traces.traces();
        assert_eq!((listing.traces.len(), listing.unreadable.len()), (2, 1));
        assert_eq!(traces.state(&ended).describe(), "exit 1");
        assert_eq!(traces.state(&torn).kind(), TraceStateKind::NoEnd);
        std::fs::write(&torn, format!("{meta}\n{{\"type\":\"end\",\"exitCode\":0}}\n")).expect("a file");
        assert_eq!(traces.state(&torn).kind(), TraceStateKind::Ended);
    }
}
