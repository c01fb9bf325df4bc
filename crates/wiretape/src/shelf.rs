//! The traces of this machine, for the page.
//!
//! The page asks several times a second, so that nothing is read twice: what a file's first lines say doesn't change,
//! and how it ends only when it grows.

use crate::catalog::{Catalog, CatalogEntry, KnownHeads, TraceState};
use crate::trace_file;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wiretape_analyze::summary::Ending;
use wiretape_view::api::types::TraceState as Shown;
use wiretape_view::{Shelf, ShelfEntry, ShelfList, Standing};

/// How long a look at the directory is good.
const FRESH: Duration = Duration::from_millis(200);

/// The traces of a directory.
pub(crate) struct DirectoryShelf {
    dir: PathBuf,
    listed: Mutex<Listed>,
    /// How files of a length end.
    endings: Mutex<HashMap<PathBuf, (u64, Ending)>>,
}

/// What was listed last, and when.
#[derive(Default)]
struct Listed {
    at: Option<Instant>,
    list: ShelfList,
    heads: KnownHeads,
}

impl DirectoryShelf {
    pub(crate) fn new(dir: PathBuf) -> Self {
        DirectoryShelf { dir, listed: Mutex::default(), endings: Mutex::default() }
    }

    fn ending(&self, path: &Path) -> Ending {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ending)) = endings.get(path).filter(|(of, _)| *of == length) {
            return ending.clone();
        }
        let ending = trace_file::ending(path).unwrap_or(Ending::Missing);
        endings.insert(path.to_owned(), (length, ending.clone()));
        ending
    }
}

impl Shelf for DirectoryShelf {
    fn traces(&self) -> ShelfList {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if listed.at.is_some_and(|at| at.elapsed() < FRESH) {
            return listed.list.clone();
        }
        listed.list = match Catalog::read_again(&self.dir, &mut listed.heads) {
            Ok(catalog) => ShelfList {
                traces: catalog.entries.iter().map(entry).collect(),
                unreadable: catalog.unreadable.iter().map(ToString::to_string).collect(),
            },
            Err(error) => ShelfList { traces: Vec::new(), unreadable: vec![error.to_string()] },
        };
        listed.at = Some(Instant::now());
        listed.list.clone()
    }

    fn standing(&self, path: &Path) -> Standing {
        let state = TraceState::new(path, &self.ending(path));
        let shown = match &state {
            TraceState::Ended(_) => Shown::Ended,
            TraceState::Rotated { .. } => Shown::Rotated,
            TraceState::Running => Shown::Running,
            TraceState::NoEnd => Shown::NoEnd,
        };
        Standing { state: shown, text: state.describe() }
    }
}

fn entry(entry: &CatalogEntry) -> ShelfEntry {
    ShelfEntry {
        id: entry.id(),
        label: entry.label(),
        path: entry.path.clone(),
        started_ms: entry.head.started_ms,
        bytes: entry.bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shelf_tells_how_traces_stand() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let meta = r#"{"v":1,"type":"meta","label":"a","startedAt":"2026-05-12T23:00:00.000Z"}"#;
        let ended = file("a.jsonl", &format!("{meta}\n{{\"type\":\"end\",\"exitCode\":1}}\n"));
        let torn = file("b.jsonl", &format!("{meta}\n"));
        file("c.jsonl", "noise\n");
        let shelf = DirectoryShelf::new(dir.path().to_owned());
        let list = shelf.traces();
        assert_eq!((list.traces.len(), list.unreadable.len()), (2, 1));
        assert_eq!(shelf.standing(&ended), Standing { state: Shown::Ended, text: "exit 1".to_owned() });
        assert_eq!(shelf.standing(&torn).state, Shown::NoEnd);
        std::fs::write(&torn, format!("{meta}\n{{\"type\":\"end\",\"exitCode\":0}}\n")).unwrap();
        assert_eq!(shelf.standing(&torn).state, Shown::Ended);
    }
}
