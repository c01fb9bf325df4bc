//! Files that are written beside their place, and moved there when they are whole.

use crate::private;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A file that isn't there yet. It is deleted unless it is published.
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
    target: PathBuf,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// It lies beside its place.
    Beside,
    /// Its place is no file: a device, a pipe. There is nothing to be moved there.
    InPlace,
    Published,
}

/// Drafts that are to be deleted when a signal ends us.
static UNPUBLISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Draft {
    /// Begins a file that is to stand at `target`, for the user's eyes only. A link leads to its end.
    pub fn beside(target: &Path) -> io::Result<Self> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        if fs::metadata(&target).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            let file = File::options().write(true).open(&target)?;
            return Ok(Draft { file, path: target.clone(), target, state: State::InPlace });
        }
        if let Some(prepare) = BEFORE_EACH.get() {
            prepare();
        }
        let (file, path) = create_beside(&target)?;
        unpublished().push(path.clone());
        Ok(Draft { file, path, target, state: State::Beside })
    }

    /// Whether one could be begun: for who is going to need one at the end. Nothing stays.
    pub fn check_beside(target: &Path) -> io::Result<()> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        if fs::metadata(&target).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Ok(());
        }
        let (_, path) = create_beside(&target)?;
        fs::remove_file(path)
    }

    /// Where it lies now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves it to its place.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        if self.state == State::Beside {
            fs::rename(&self.path, &self.target)?;
            forget(&self.path);
            self.state = State::Published;
        }
        Ok(())
    }
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().ok_or_else(|| io::Error::other("this is no file name"))?.to_string_lossy();
    if target.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut attempt = 0;
    loop {
        let path = dir.join(format!(".{name}.{}.{attempt}.draft", std::process::id()));
        match private::create_file(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn unpublished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNPUBLISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forget(path: &Path) {
    unpublished().retain(|one| one != path);
}

/// Deletes all drafts: for a process that a signal ends.
pub fn delete_unpublished() {
    for path in unpublished().iter() {
        // Nothing more can be done about it here.
        let _ = fs::remove_file(path);
    }
}

/// What to call before a draft is begun.
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
        if self.state == State::Beside {
            // Nothing more can be done about it here.
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
