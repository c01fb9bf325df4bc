//! The spool's directory: its lock, its files, and those of processes that are gone.
//!
//! ```text
//! SPOOL/lock               held by the process that the directory belongs to
//! SPOOL/*.ndjson.gz        its segments
//! SPOOL/*.torn             segments that were found damaged
//! SPOOL/extra-1/…          the same for a second process, and so on
//! ```
//!
//! Lock files are never removed: whoever has one open could lock a file that the next process can't see.

use super::segment::SegmentName;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wiretape_library::private;

const LOCK: &str = "lock";
const EXTRA: &str = "extra-";
const TEMPORARY: &str = "tmp";
const TORN: &str = "torn";

/// More processes than this don't share a spool.
const MAX_EXTRAS: u32 = 1000;

/// A directory that nobody else writes to or sends from while we have it.
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

/// What was found in a directory.
#[derive(Default)]
pub(super) struct Contents {
    /// In order, with the length of each file.
    pub(super) segments: Vec<(SegmentName, u64)>,
    /// What isn't ours.
    pub(super) foreign: Vec<PathBuf>,
}

impl Directory {
    /// The directory itself, or one within it if another process has it.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        if let Some(directory) = Self::try_open(root)? {
            return Ok(directory);
        }
        for number in 1..=MAX_EXTRAS {
            if let Some(directory) = Self::try_open(&root.join(format!("{EXTRA}{number}")))? {
                return Ok(directory);
            }
        }
        Err(io::Error::other("too many other processes use it"))
    }

    /// Those within `root` that belonged to processes that are gone.
    pub(super) fn orphans(root: &Path) -> io::Result<Vec<Self>> {
        let mut orphans = Vec::new();
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            if is_extra(&entry) {
                orphans.extend(Self::try_open(&entry.path())?);
            }
        }
        orphans.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(orphans)
    }

    /// `None` if another process has it.
    fn try_open(path: &Path) -> io::Result<Option<Self>> {
        private::create_dir(path)?;
        let lock = private::options().write(true).create(true).truncate(false).open(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Directory { path: path.to_owned(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at what is there, and clears away what was not written to its end.
    pub(super) fn contents(&self) -> io::Result<Contents> {
        let mut contents = Contents::default();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name().to_str().and_then(SegmentName::parse);
            match name {
                Some(name) if entry.file_type()?.is_file() => {
                    contents.segments.push((name, entry.metadata()?.len()));
                }
                _ if is_temporary(&path) => fs::remove_file(&path)?,
                _ if is_ours(&entry) => {}
                _ => contents.foreign.push(path),
            }
        }
        contents.segments.sort_by_key(|(name, _)| name.number);
        contents.foreign.sort();
        Ok(contents)
    }

    /// The file has its name when it is complete, and not before.
    pub(super) fn write(&self, name: SegmentName, body: &[u8]) -> io::Result<()> {
        let path = self.file(name);
        let temporary = path.with_extension(TEMPORARY);
        let written = private::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)
            .and_then(|mut file| file.write_all(body))
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            // On a full disk the half of it must not stay; if it does, the next start clears it away.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    pub(super) fn read(&self, name: SegmentName) -> io::Result<Vec<u8>> {
        fs::read(self.file(name))
    }

    /// What is gone already is fine, too.
    pub(super) fn remove(&self, name: SegmentName) -> io::Result<()> {
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Puts a damaged segment where it isn't sent again.
    pub(super) fn set_aside(&self, name: SegmentName) -> io::Result<PathBuf> {
        let torn = self.file(name).with_extension(TORN);
        fs::rename(self.file(name), &torn)?;
        Ok(torn)
    }

    /// Takes a segment of another directory that is ours as well.
    pub(super) fn adopt(&self, from: &Directory, old: SegmentName, new: SegmentName) -> io::Result<()> {
        fs::rename(from.file(old), self.file(new))
    }

    pub(super) fn file(&self, name: SegmentName) -> PathBuf {
        self.path.join(name.to_string())
    }
}

fn is_extra(entry: &fs::DirEntry) -> bool {
    let number = entry.file_name().to_str().and_then(|name| name.strip_prefix(EXTRA)?.parse::<u32>().ok());
    number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// A segment's name without its last ending, as `with_extension` leaves it, and another ending.
fn has_segment_name_and(path: &Path, ending: &str) -> bool {
    let segment = path.with_extension("gz");
    path.extension().is_some_and(|extension| extension == ending)
        && segment.file_name().and_then(|name| name.to_str()).and_then(SegmentName::parse).is_some()
}

fn is_temporary(path: &Path) -> bool {
    has_segment_name_and(path, TEMPORARY)
}

fn is_ours(entry: &fs::DirEntry) -> bool {
    entry.file_name() == LOCK || is_extra(entry) || has_segment_name_and(&entry.path(), TORN)
}
