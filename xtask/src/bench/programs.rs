//! The programs that are measured, and those that measure: all of them release builds.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::{Context, Result};
use crate::sh::{cargo, run, target_directory};

pub(super) struct Programs {
    replacement: Option<PathBuf>,
}

impl Programs {
    /// Builds everything in release mode, except `wiretape` if another program is measured in its place.
    pub(super) fn build(replacement: Option<&Path>) -> Result<Self> {
        run(&mut cargo(["build", "--release", "--package", "wiretape-testkit", "--bins"]))?;
        if replacement.is_none() {
            run(&mut cargo(["build", "--release", "--package", "wiretape", "--bins"]))?;
        }
        Ok(Self { replacement: replacement.map(Path::to_owned) })
    }

    /// The path of the measured program.
    pub(super) fn subject(&self) -> PathBuf {
        self.replacement.clone().unwrap_or_else(|| built("wiretape"))
    }

    /// One of the testkit's binaries.
    pub(super) fn testkit(&self, name: &str) -> PathBuf {
        built(name)
    }

    /// A temporary directory for what they write. Under the target directory, since the system's may be a RAM disk,
    /// which would make writing traces free.
    pub(super) fn scratch(&self) -> Result<TempDir> {
        TempDir::with_prefix_in("bench-", target_directory()).context("a directory for traces")
    }
}

fn built(name: &str) -> PathBuf {
    target_directory().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
