//! The store's files: made for their owner only, recognized again, and moved aside.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use wiretape_library::private;

/// Makes the file, and its directory, if they are missing. Only their owner may read them; SQLite gives the files beside
/// it the same mode.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        private::create_dir(directory)?;
    }
    if path.exists() {
        return Ok(());
    }
    match private::create_file(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// Which file stands at a path: another one has another identity. Unknown where the system has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// The identity of the file at a path.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some(Identity(metadata.dev(), metadata.ino()))
}

/// The identity of the file at a path: an open file can't be moved or deleted here, so it is always the same.
#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    Some(Identity(0, 0))
}

/// The files that SQLite has beside a database.
pub(super) fn companions(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|suffix| with_suffix(path, suffix))
}

/// Moves a damaged store aside, with what stands beside it, and tells where to.
pub(super) fn move_aside(path: &Path, now_ms: i64) -> io::Result<PathBuf> {
    let aside = free_name(path, now_ms);
    fs::rename(path, &aside)?;
    for (from, to) in companions(path).iter().zip(companions(&aside)) {
        // They hold what was not yet brought into the file; where there is none, there is nothing to keep.
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

/// Whether the directory of a file can't be written: then SQLite can't make the files that a reader needs.
pub(super) fn has_companions(path: &Path) -> bool {
    companions(path).iter().any(|companion| companion.exists())
}

/// Whether nobody may write the file.
pub(super) fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

/// Whether the file can be opened for reading. Closing it gives up all locks that this process holds on it, so this is only for
/// files that SQLite can't use.
pub(super) fn readable(path: &Path) -> io::Result<()> {
    File::open(path).map(drop)
}

/// Whether a file begins as every database of SQLite does. One that can't be read may. The same as for [`readable`] holds.
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
