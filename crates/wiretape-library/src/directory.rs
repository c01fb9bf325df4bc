//! The traces of a directory for a long-running program that lists them repeatedly, as the page does several times a second.
//! Nothing is read twice unless it has changed.

use crate::catalog::{Catalog, CatalogEntry};
use crate::digest::TraceDigest;
use crate::index::FileStamp;
use crate::open;
use crate::state::TraceState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_analyze::summary::Ending;

/// The minimum time for which a listing is cached.
const FRESH: Duration = Duration::from_millis(200);

/// A listing is cached for this many times its own duration, so that a directory of 100,000 traces is not walked all the time.
const FRESH_FOR_COST: u32 = 10;

/// The traces of a directory.
#[derive(Debug)]
pub struct TraceDirectory {
    dir: PathBuf,
    index_dir: PathBuf,
    latest: Mutex<LatestListing>,
    /// Digests of files that were read by this process.
    digests: Mutex<HashMap<PathBuf, (FileStamp, TraceDigest)>>,
    /// The ending of each file, valid for one length of the file.
    endings: Mutex<HashMap<PathBuf, (u64, Ending)>>,
}

#[derive(Debug, Default)]
struct LatestListing {
    good_until: Option<Instant>,
    listing: Option<Arc<Listing>>,
}

/// The traces of a directory at one moment.
#[derive(Debug, Default)]
pub struct Listing {
    /// The traces, newest first.
    pub catalog: Catalog,
    /// Why the directory can't be listed.
    pub failure: Option<String>,
}

impl Listing {
    /// The traces, newest first.
    pub fn traces(&self) -> &[CatalogEntry] {
        &self.catalog.entries
    }

    /// The files that can't be read, as messages for people.
    pub fn unreadable(&self) -> Vec<String> {
        self.catalog.unreadable.iter().map(ToString::to_string).chain(self.failure.clone()).collect()
    }
}

impl TraceDirectory {
    /// The traces of `dir`, which need not exist; what was read of them is kept in `index_dir`.
    pub fn new(dir: PathBuf, index_dir: PathBuf) -> Self {
        TraceDirectory {
            dir,
            index_dir,
            latest: Mutex::default(),
            digests: Mutex::default(),
            endings: Mutex::default(),
        }
    }

    /// All traces, newest first. An answer may be a moment old.
    pub fn traces(&self) -> Arc<Listing> {
        // Held while listing: concurrent requests wait for the one listing instead of starting their own.
        let mut latest = self.latest.lock();
        if let Some(listing) = &latest.listing
            && latest.good_until.is_some_and(|until| Instant::now() < until)
        {
            return Arc::clone(listing);
        }
        let began = Instant::now();
        let listed = match &latest.listing {
            Some(before) if before.failure.is_none() => before.catalog.again(&self.dir),
            _ => Catalog::open(&self.dir, &self.index_dir),
        };
        let listing = Arc::new(match listed {
            Ok(catalog) => Listing { catalog, failure: None },
            Err(error) => {
                Listing { catalog: Catalog::default(), failure: Some(format!("{error}: {}", error.source)) }
            }
        });
        let cost = began.elapsed();
        *latest = LatestListing {
            good_until: Some(Instant::now() + FRESH.max(cost * FRESH_FOR_COST)),
            listing: Some(Arc::clone(&listing)),
        };
        listing
    }

    /// The digest of a trace if it is already known; nothing is read.
    pub fn known_digest(&self, listing: &Listing, entry: &CatalogEntry) -> Option<TraceDigest> {
        let read = self.digests.lock();
        match read.get(&entry.path) {
            Some((stamp, digest)) if *stamp == entry.stamp => Some(digest.clone()),
            _ => {
                // Released before the index is read from disk.
                drop(read);
                listing.catalog.known_digest(entry)
            }
        }
    }

    /// Remembers the digest of a trace for this stamp of its file.
    pub fn remember(&self, path: PathBuf, stamp: FileStamp, digest: TraceDigest) {
        self.digests.lock().insert(path, (stamp, digest));
    }

    /// Adds new digests to the index.
    pub fn save(&self) {
        let listing = self.traces();
        let read = self.digests.lock();
        let is_current =
            |entry: &&CatalogEntry| read.get(&entry.path).is_some_and(|(of, _)| *of == entry.stamp);
        let digests: HashMap<&OsStr, &TraceDigest> = listing
            .traces()
            .iter()
            .filter(is_current)
            .filter_map(|entry| Some((entry.path.file_name()?, &read.get(&entry.path)?.1)))
            .collect();
        listing.catalog.save(&digests);
    }

    /// The state of a trace, here or elsewhere.
    pub fn state(&self, path: &Path) -> TraceState {
        TraceState::new(path, &self.ending(path))
    }

    fn ending(&self, path: &Path) -> Ending {
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        // The length is enough: a trace only grows, and its last line changes only when it does.
        if let Some((_, ending)) = self.endings.lock().get(path).filter(|(of, _)| *of == length) {
            return ending.clone();
        }
        let ending = open::ending(path).unwrap_or(Ending::Missing);
        self.endings.lock().insert(path.to_owned(), (length, ending.clone()));
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
        let traces = TraceDirectory::new(dir.path().to_owned(), dir.path().join("index"));
        let listing = traces.traces();
        assert_eq!((listing.traces().len(), listing.unreadable().len()), (2, 1));
        assert_eq!(traces.state(&ended).describe(), "crashed (exit 1)");
        assert_eq!(traces.state(&torn).kind(), TraceStateKind::NoEnd);
        std::fs::write(&torn, format!("{meta}\n{{\"type\":\"end\",\"exitCode\":0}}\n")).expect("a file");
        assert_eq!(traces.state(&torn).kind(), TraceStateKind::Ended);
    }
}
