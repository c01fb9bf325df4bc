//! The store's files: created for their owner only, recognized, and moved aside when damaged.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use wiretape_library::private;

/// Creates the file and its directory if they are missing, readable only by their owner. SQLite gives its
/// `-wal` and `-shm` files the same mode.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        private::create_dir(directory)?;
    }
    if path.exists() {
        return Ok(());
    }
    match private::create_file(path) {
        // Another process may have created it between the check and here.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// Identifies a file: after a file is replaced or deleted, its path has another identity, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// The identity of the file at a path: its device and inode.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some(Identity(metadata.dev(), metadata.ino()))
}

/// Constant, because on Windows an open file can't be moved or deleted, so the path always names the same
/// file.
#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    Some(Identity(0, 0))
}

/// The files that SQLite keeps next to a database.
pub(super) fn companions(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|suffix| with_suffix(path, suffix))
}

/// Renames a damaged store and its companions, and returns the new path. Nothing is deleted, so that the data
/// may be recovered.
pub(super) fn move_aside(path: &Path, now_ms: i64) -> io::Result<PathBuf> {
    let aside = free_name(path, now_ms);
    fs::rename(path, &aside)?;
    for (from, to) in companions(path).iter().zip(companions(&aside)) {
        // The WAL has changes that are not in the main file yet. If there is none, there is nothing to keep.
        match fs::rename(from, to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

fn free_name(path: &Path, now_ms: i64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let seconds = now_ms / 1000;
    (0..)
        .map(|count: u32| match count {
            0 => format!("{stem}.corrupt-{seconds}.{extension}"),
            count => format!("{stem}.corrupt-{seconds}-{count}.{extension}"),
        })
        .map(|name| path.with_file_name(name))
        .find(|name| !name.exists())
        .unwrap_or_else(|| with_suffix(path, ".corrupt"))
}

/// Whether SQLite's companion files exist. If they don't and the directory isn't writable, SQLite can't
/// create what a reader needs.
pub(super) fn has_companions(path: &Path) -> bool {
    companions(path).iter().any(|companion| companion.exists())
}

/// Whether the file has no write permission for anyone.
pub(super) fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

/// Whether the file can be opened for reading. Only for files that SQLite can't use: closing any descriptor
/// of a file drops all POSIX locks of this process on it, also those of SQLite.
pub(super) fn readable(path: &Path) -> io::Result<()> {
    File::open(path).map(drop)
}

/// Whether a file has the header of an SQLite database. An unreadable file is assumed to. With the same
/// restriction as [`readable`].
pub(super) fn looks_like_sqlite(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; MAGIC.len()];
    match File::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Ok(()) => head == *MAGIC,
        Err(error) => error.kind() != io::ErrorKind::UnexpectedEof,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
