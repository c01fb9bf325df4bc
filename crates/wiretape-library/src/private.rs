//! Files and directories that only their owner may read: 0600 and 0700 on Unix.
//!
//! On Windows the data directory is in the user's profile, whose access list keeps others out, so the mode is
//! left to it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options that create a private file where there is none. The mode of a file that exists is not changed.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a private file for appending; fails if there is one.
pub fn create_file(path: &Path) -> io::Result<File> {
    options().append(true).create_new(true).open(path)
}

/// Creates a private directory, and the missing ones above it.
pub fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Whether only its owner may read or write an open file.
#[cfg(unix)]
pub fn is_private(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(file.metadata()?.mode() & 0o077 == 0)
}

/// Whether only its owner may read or write an open file: by the access list of its directory.
#[cfg(not(unix))]
pub fn is_private(_: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn files_and_directories_are_for_their_owner_only() {
        let dir = tempfile::tempdir().expect("a directory");
        let inner = dir.path().join("a/b");
        create_dir(&inner).expect("a private directory");
        let file = create_file(&inner.join("x")).expect("a private file");
        let mode = |path: &Path| path.metadata().expect("it exists").permissions().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&inner.join("x"))), (0o700, 0o600));
        assert_eq!(mode(&dir.path().join("a")), 0o700);
        assert!(is_private(&file).expect("metadata"));
        assert!(create_file(&inner.join("x")).is_err());
    }
}
