//! Where the testkit's own binaries are, for tests of other crates: Cargo tells a test only about the binaries of
//! its own package.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of one of this crate's binaries (`wt-echo`, `wt-http-echo` and so on), built now if it isn't there yet.
///
/// # Panics
///
/// If it can't be built: no test that asks for it can go on.
pub fn path(name: &str) -> PathBuf {
    let directory = profile_directory();
    let binary = directory.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        build(&directory);
    }
    assert!(binary.is_file(), "{} was not built", binary.display());
    binary
}

/// Test executables lie in `<target>/<profile>/deps`, binaries in `<target>/<profile>`.
fn profile_directory() -> PathBuf {
    let executable = env::current_exe().expect("a running test knows its own path");
    let directory = executable.parent().expect("an executable lies in a directory");
    match directory.file_name() {
        Some(name) if name == "deps" => {
            directory.parent().expect("`deps` lies in a profile's directory").to_owned()
        }
        _ => directory.to_owned(),
    }
}

fn build(profile_directory: &Path) {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "wiretape-testkit", "--bins"]);
    if profile_directory.ends_with("release") {
        cargo.arg("--release");
    }
    if let Some(target_directory) = profile_directory.parent() {
        cargo.arg("--target-dir").arg(target_directory);
    }
    let status = cargo.status().expect("cargo runs, for it runs this test");
    assert!(status.success(), "building the testkit's binaries failed");
}
