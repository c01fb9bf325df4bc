//! Files that are written beside their place, and moved there when they are whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wiretape_proxy::platform;

/// A file that isn't there yet. It is deleted unless it is published.
#[derive(Debug)]
pub(crate) struct Draft {
    file: File,
    path: PathBuf,
    target: PathBuf,
    published: bool,
}

impl Draft {
    /// Begins a file that is to stand at `target`, for the user's eyes only.
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().ok_or_else(|| io::Error::other("this is no file name"))?;
        let mut attempt = 0;
        loop {
            let id = std::process::id();
            let path = dir.join(format!(".{}.{id}.{attempt}.draft", name.to_string_lossy()));
            match platform::create_private_file(&path) {
                Ok(file) => {
                    return Ok(Draft { file, path, target: target.to_owned(), published: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it lies now.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is to stand.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Moves it to its place.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.path, &self.target)?;
        self.published = true;
        Ok(())
    }
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
        if !self.published {
            // Nothing more can be done about it here.
            let _ = fs::remove_file(&self.path);
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
}
