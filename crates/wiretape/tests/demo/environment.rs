//! A data directory of its own for each test, and the binary to run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_wiretape");

/// A data directory that vanishes with the test.
pub(crate) struct Environment {
    dir: tempfile::TempDir,
}

impl Environment {
    pub(crate) fn new() -> Self {
        Environment { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The binary, with this data directory.
    pub(crate) fn wiretape(&self, args: &[&str]) -> Command {
        let mut command = self.prepared(BINARY);
        command.args(args);
        command
    }

    /// Any program, with this data directory, run in it.
    pub(crate) fn prepared(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("WIRETAPE_DATA_DIR", self.path()).current_dir(self.path()).stdin(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    /// Every file below the data directory.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files
    }
}
