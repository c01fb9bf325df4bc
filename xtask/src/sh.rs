//! Running commands: each is printed before it runs in the project's root, and a nonzero exit status is a
//! [`Failure`].

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure, Result};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a directory in the project's root")
}

/// Cargo's target directory, which may be outside the repository.
pub(crate) fn target_directory() -> PathBuf {
    // Absolute, because commands run in the root, and the variable is relative to the current directory.
    env::var_os("CARGO_TARGET_DIR")
        .and_then(|directory| std::path::absolute(directory).ok())
        .unwrap_or_else(|| root().join("target"))
}

/// A command that runs in the project's root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    if env::var_os("CARGO_TARGET_DIR").is_some() {
        command.env("CARGO_TARGET_DIR", target_directory());
    }
    command
}

/// `cargo ARGUMENTS`. From the PATH rather than from the variable `CARGO`, which names a toolchain's own binary: that
/// one doesn't understand `+nightly`.
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut cargo = command("cargo");
    cargo.args(arguments);
    cargo
}

/// Runs a command and waits for it.
pub(crate) fn run(command: &mut Command) -> Result {
    let shown = shown(command);
    eprintln!("$ {shown}");
    // Without input: a command that asks a question would hang in CI.
    let status = command.stdin(Stdio::null()).status().context(&shown)?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{shown}` failed: {status}"))) }
}

/// Runs a command and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(&shown)?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{shown}` failed: {}", output.status)));
    }
    String::from_utf8(output.stdout).context(&shown)
}

/// Whether a command runs and succeeds. Nothing is shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
