//! The programs that are measured, and those that measure: built for speed, all of them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::{Context, Result};
use crate::sh::{cargo, run, target_directory};

pub(super) struct Programs {
    stand_in: Option<PathBuf>,
}

impl Programs {
    /// Builds all in release, but for `wiretape` if another program stands in for it.
    pub(super) fn build(stand_in: Option<&Path>) -> Result<Self> {
        run(&mut cargo(["build", "--release", "--package", "wiretape-testkit", "--bins"]))?;
        if stand_in.is_none() {
            run(&mut cargo(["build", "--release", "--package", "wiretape", "--bins"]))?;
        }
        Ok(Self { stand_in: stand_in.map(Path::to_owned) })
    }

    /// The path of the measured program.
    pub(super) fn subject(&self) -> PathBuf {
        self.stand_in.clone().unwrap_or_else(|| built("wiretape"))
    }

    /// One of the testkit's binaries.
    pub(super) fn testkit(&self, name: &str) -> PathBuf {
        built(name)
    }

    /// A place for what they write. Not in the system's directory for such, which may be in memory.
    pub(super) fn scratch(&self) -> Result<TempDir> {
        TempDir::with_prefix_in("bench-", target_directory()).context("a directory for traces")
    }
}

fn built(name: &str) -> PathBuf {
    target_directory().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
