//! Files that are written next to their destination and renamed when they are complete, so that readers never see half a file.

use crate::private;
use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An unfinished file. It is deleted on drop unless it was published.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
    target: PathBuf,
    state: DraftState,
}

#[derive(Debug, PartialEq, Eq)]
enum DraftState {
    /// The draft is a file next to its destination.
    Beside,
    /// The destination is a device or a pipe, which is written directly: nothing can be renamed to it.
    InPlace,
    Published,
}

/// The drafts to delete when a signal terminates the process.
static UNPUBLISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Draft {
    /// Begins a private file (mode 0600) for the path `target`. Symbolic links are followed.
    pub fn beside(target: &Path) -> io::Result<Self> {
        // Renaming onto a symbolic link would replace the link, and leave the file it points to as it was.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        if fs::metadata(&target).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(&target)?;
            return Ok(Draft { file, path: target.clone(), target, state: DraftState::InPlace });
        }
        if let Some(prepare) = BEFORE_EACH.get() {
            prepare();
        }
        let (file, path) = create_beside(&target)?;
        // Registered after it was created: a signal in between leaves a hidden file behind, but never deletes
        // a foreign one.
        unpublished().push(path.clone());
        Ok(Draft { file, path, target, state: DraftState::Beside })
    }

    /// Checks that a draft can be created, for a command that writes one at its end. Leaves nothing behind.
    pub fn check_beside(target: &Path) -> io::Result<()> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        if fs::metadata(&target).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Ok(());
        }
        let (_, path) = create_beside(&target)?;
        fs::remove_file(path)
    }

    /// The current path of the draft.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the draft to its destination.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        if self.state == DraftState::Beside {
            fs::rename(&self.path, &self.target)?;
            forget(&self.path);
            self.state = DraftState::Published;
        }
        Ok(())
    }
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().ok_or_else(|| io::Error::other("not a file name"))?.to_string_lossy();
    if target.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut attempt = 0;
    loop {
        // Hidden and with our process id, so that no other process or listing picks it up. A leftover of a
        // killed process with the same id is skipped by the next number.
        let path = dir.join(format!(".{name}.{}.{attempt}.draft", std::process::id()));
        match private::create_file(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn unpublished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNPUBLISHED.lock()
}

fn forget(path: &Path) {
    unpublished().retain(|one| one != path);
}

/// Deletes all drafts, for a process that a signal terminates.
pub fn delete_unpublished() {
    for path in unpublished().iter() {
        // Best effort: the process is ending.
        let _ = fs::remove_file(path);
    }
}

/// The function to call before each draft.
static BEFORE_EACH: OnceLock<fn()> = OnceLock::new();

/// Has `prepare` called before each draft: a program that cleans up on signals catches them only once there is something
/// to clean up. Only the first `prepare` counts.
pub fn before_each(prepare: fn()) {
    BEFORE_EACH.get_or_init(|| prepare);
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.state == DraftState::Beside {
            // Best effort: the process is ending.
            let _ = fs::remove_file(&self.path);
            forget(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_there_as_a_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let mut draft = Draft::beside(&target).unwrap();
        draft.write_all(b"half").unwrap();
        assert!(!target.exists() && draft.path().exists());
        drop(draft);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        let mut draft = Draft::beside(&target).unwrap();
        draft.write_all(b"whole").unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("x"), dir.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut draft = Draft::beside(&link).unwrap();
        draft.write_all(b"new").unwrap();
        draft.publish().unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let mut draft = Draft::beside(Path::new("/dev/null")).unwrap();
        draft.write_all(b"gone").unwrap();
        draft.publish().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
