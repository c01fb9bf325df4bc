//! The spool's directory: its lock, its files, and directories left by processes that have ended.
//!
//! ```text
//! SPOOL/lock               held by the process that owns the directory
//! SPOOL/*.ndjson.gz        its sealed segments
//! SPOOL/*.open             its open segment, or one that a killed process has left
//! SPOOL/*.torn             segments that were damaged
//! SPOOL/extra-1/…          the same for a second process, and so on
//! ```
//!
//! Lock files are never removed: another process may have the file open already, and would then lock a file
//! that the next process can't see.

use super::segment::{OpenName, SegmentName, complete_lines, pack};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wiretape_library::private;

const LOCK: &str = "lock";
const EXTRA: &str = "extra-";
const TEMPORARY: &str = "tmp";
const TORN: &str = "torn";

/// A limit for the search for a free directory; no machine runs that many proxies on one spool.
const MAX_EXTRAS: u32 = 1000;

/// A directory locked by this process: no other process writes to it or sends from it.
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

/// The result of listing a directory.
#[derive(Default)]
pub(super) struct Contents {
    /// In the order in which they were sealed, with the length of each file in bytes.
    pub(super) segments: Vec<(SegmentName, u64)>,
    /// Segments that a killed process has left open.
    pub(super) open: Vec<OpenName>,
    /// Files that Wiretape did not write, which are never touched.
    pub(super) foreign: Vec<PathBuf>,
}

impl Contents {
    /// The highest number of a segment.
    pub(super) fn last_number(&self) -> Option<u64> {
        let sealed = self.segments.iter().map(|(name, _)| name.number);
        sealed.chain(self.open.iter().map(|name| name.number)).max()
    }
}

/// What was found in a segment that a killed process has left open.
pub(super) struct RecoveredSegment {
    /// The segment that it was sealed as, and the length of that in bytes; `None` if it has no complete event.
    pub(super) sealed: Option<(SegmentName, u64)>,
    /// Whether its last event was cut off.
    pub(super) is_torn: bool,
}

impl Directory {
    /// Locks the directory itself, or the first free one within it if another process owns it. Two proxies
    /// can share a configured spool that way, without sending each other's segments.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        if let Some(directory) = Self::try_open(root)? {
            return Ok(directory);
        }
        for number in 1..=MAX_EXTRAS {
            if let Some(directory) = Self::try_open(&root.join(format!("{EXTRA}{number}")))? {
                return Ok(directory);
            }
        }
        Err(io::Error::other("too many other processes are using it"))
    }

    /// Locks the directories within `root` whose processes have ended.
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

    /// `None` if another process owns it.
    fn try_open(path: &Path) -> io::Result<Option<Self>> {
        private::create_dir(path)?;
        // An advisory lock of the kernel is released even if the process is killed; a pid file would have to
        // be checked for staleness.
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

    /// Lists the directory, and removes files that were not written completely.
    pub(super) fn contents(&self) -> io::Result<Contents> {
        let mut contents = Contents::default();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let path = entry.path();
            let is_file = entry.file_type()?.is_file();
            let file_name = entry.file_name();
            let file_name = file_name.to_str().filter(|_| is_file).unwrap_or_default();
            if let Some(open) = OpenName::parse(file_name) {
                contents.open.push(open);
                continue;
            }
            match SegmentName::parse(file_name) {
                Some(name) => contents.segments.push((name, entry.metadata()?.len())),
                _ if is_temporary(&path) => fs::remove_file(&path)?,
                _ if is_ours(&entry) => {}
                _ => contents.foreign.push(path),
            }
        }
        contents.segments.sort_by_key(|(name, _)| name.number);
        contents.open.sort_by_key(|name| name.number);
        contents.foreign.sort();
        Ok(contents)
    }

    /// Writes a segment. The file gets its name only when it is complete, so a crash never leaves a truncated
    /// segment to be sent.
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
            // On a full disk, half a file must not take up the rest of the space. If removing fails too, the
            // next start does it.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Creates the file of an open segment.
    pub(super) fn create_open(&self, name: OpenName) -> io::Result<File> {
        private::options().write(true).create(true).truncate(true).open(self.path.join(name.to_string()))
    }

    /// Seals a segment that a killed process has left open. Its name and token are those that it would have got from
    /// that process.
    pub(super) fn recover(&self, name: OpenName) -> io::Result<RecoveredSegment> {
        let content = fs::read(self.path.join(name.to_string()))?;
        let (lines, events) = complete_lines(&content);
        let is_torn = lines.len() < content.len();
        let mut sealed = None;
        if events > 0 {
            let (segment, body) = (name.sealed(events), pack(lines));
            self.write(segment, &body)?;
            sealed = Some((segment, body.len() as u64));
        }
        self.remove_open(name)?;
        Ok(RecoveredSegment { sealed, is_torn })
    }

    /// Removes the file of an open segment that was sealed or given up.
    pub(super) fn remove_open(&self, name: OpenName) -> io::Result<()> {
        remove_if_there(&self.path.join(name.to_string()))
    }

    pub(super) fn read(&self, name: SegmentName) -> io::Result<Vec<u8>> {
        fs::read(self.file(name))
    }

    /// Removes a segment's file. It is fine if a person has already removed it.
    pub(super) fn remove(&self, name: SegmentName) -> io::Result<()> {
        remove_if_there(&self.file(name))
    }

    /// Renames a damaged segment so that it is kept for inspection but not read again.
    pub(super) fn set_aside(&self, name: SegmentName) -> io::Result<PathBuf> {
        let torn = self.file(name).with_extension(TORN);
        fs::rename(self.file(name), &torn)?;
        Ok(torn)
    }

    /// Moves a segment here from another directory that we have locked.
    pub(super) fn adopt(&self, from: &Directory, old: SegmentName, new: SegmentName) -> io::Result<()> {
        fs::rename(from.file(old), self.file(new))
    }

    pub(super) fn file(&self, name: SegmentName) -> PathBuf {
        self.path.join(name.to_string())
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn is_extra(entry: &fs::DirEntry) -> bool {
    let number = entry.file_name().to_str().and_then(|name| name.strip_prefix(EXTRA)?.parse::<u32>().ok());
    number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Whether a path is a segment's name with `ending` instead of `gz`, which is what `with_extension` makes of
/// it.
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
