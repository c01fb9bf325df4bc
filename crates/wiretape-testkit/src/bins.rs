//! The paths of the testkit's own binaries, for tests of other crates: Cargo sets `CARGO_BIN_EXE_…` only for the
//! binaries of a test's own package.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of one of this crate's binaries, built now if it isn't there yet.
///
/// # Panics
///
/// If it can't be built: no test that needs it can continue.
pub fn path(name: &str) -> PathBuf {
    let directory = profile_directory();
    let binary = directory.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        build(name, &directory);
    }
    assert!(binary.is_file(), "{} was not built", binary.display());
    binary
}

/// Test executables are in `<target>/<profile>/deps`, binaries in `<target>/<profile>`.
fn profile_directory() -> PathBuf {
    let executable = env::current_exe().expect("a running test knows its own path");
    let directory = executable.parent().expect("a path to an executable has a parent");
    match directory.file_name() {
        Some(name) if name == "deps" => {
            directory.parent().expect("cargo creates `deps` in a profile's directory").to_owned()
        }
        _ => directory.to_owned(),
    }
}

fn build(name: &str, profile_directory: &Path) {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "wiretape-testkit", "--bin", name]);
    // A feature, because the official SDK is a large dependency that only these two binaries need.
    if name.starts_with("wt-conformance") {
        cargo.args(["--features", "conformance"]);
    }
    if profile_directory.ends_with("release") {
        cargo.arg("--release");
    }
    if let Some(target_directory) = profile_directory.parent() {
        // The directory of the running test, which may not be the default one.
        cargo.arg("--target-dir").arg(target_directory);
    }
    let status = cargo.status().expect("cargo started this test, so it can be started");
    assert!(status.success(), "building {name} failed");
}
