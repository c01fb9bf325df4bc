//! The program to give to others: a release build that carries the list of its dependencies, and no path of the machine
//! it was built on.
//!
//! Both are checked in the finished binary. The list (crate names, versions, where they come from) is in the
//! section that `cargo audit bin` and other scanners read. Paths get into a binary by panics, assertions in
//! C, and `file!()`; Cargo's own `trim-paths` is not stable yet, so the compilers are configured to replace
//! them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::failure::{Context, Failure, Result};
use crate::sh::{cargo, root, run, succeeds, target_directory};

const AUDITABLE_VERSION: &str = "0.7.7";

/// The section with the list of dependencies.
const SECTION: &[u8] = b".dep-v0";

pub(crate) fn build() -> Result {
    if !succeeds(&mut cargo(["auditable", "--version"])) {
        run(&mut cargo(["install", "--locked", "cargo-auditable", "--version", AUDITABLE_VERSION]))?;
    }
    let homes = private_paths()?;
    // A directory of its own: other flags would otherwise compile everything again for each task in turn.
    let directory = target_directory().join("dist");
    let mut build =
        cargo(["auditable", "build", "--release", "--locked", "--package", "wiretape", "--target-dir"]);
    build.arg(&directory);
    build.env("CARGO_ENCODED_RUSTFLAGS", encoded_flags("--remap-path-prefix=", &homes));
    // A path may contain a blank, which ends a flag unless the flags are read as a shell does.
    build.env("CFLAGS", quoted_flags("-ffile-prefix-map=", &homes)).env("CC_SHELL_ESCAPED_FLAGS", "1");
    run(&mut build)?;
    let program = directory.join("release").join(format!("wiretape{}", env::consts::EXE_SUFFIX));
    check(&program, &homes)
}

/// Directories that must not be named in the program, and what takes their place. The innermost come last: a compiler
/// applies the last rule that matches.
fn private_paths() -> Result<Vec<(PathBuf, &'static str)>> {
    let home = env::home_dir().ok_or_else(|| Failure::new("there is no home directory"))?;
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    Ok(vec![(home, "~"), (root().to_owned(), "wiretape"), (cargo_home, "cargo")])
}

/// Flags as in `CARGO_ENCODED_RUSTFLAGS`. In `RUSTFLAGS` they are separated by blanks, which a path may contain.
fn encoded_flags(option: &str, paths: &[(PathBuf, &str)]) -> OsString {
    let flags: Vec<OsString> = paths.iter().map(|(path, name)| flag(option, path, name)).collect();
    flags.join(OsStr::new("\u{1f}"))
}

/// Flags as on a shell's command line.
fn quoted_flags(option: &str, paths: &[(PathBuf, &str)]) -> String {
    let quoted = |(path, name): &(PathBuf, &str)| {
        format!("'{}'", flag(option, path, name).to_string_lossy().replace('\'', r"'\''"))
    };
    paths.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn flag(option: &str, path: &Path, name: &str) -> OsString {
    let mut flag = OsString::from(option);
    flag.push(path);
    flag.push("=");
    flag.push(name);
    flag
}

/// Checks the finished program, and prints its size and SHA-256.
fn check(program: &Path, homes: &[(PathBuf, &str)]) -> Result {
    let bytes = fs::read(program).context(program.display())?;
    for (path, _) in homes {
        let prefix = format!("{}{}", path.display(), std::path::MAIN_SEPARATOR);
        if let Some(at) = memchr::memmem::find(&bytes, prefix.as_bytes()) {
            let end =
                bytes[at..].iter().position(|byte| !byte.is_ascii_graphic()).map_or(bytes.len(), |n| at + n);
            let found = String::from_utf8_lossy(&bytes[at..end.min(at + 200)]).into_owned();
            return Err(Failure::new(format!(
                "{} contains a path of this machine: {found}",
                program.display()
            )));
        }
    }
    if memchr::memmem::find(&bytes, SECTION).is_none() {
        return Err(Failure::new(format!("{} doesn't list its dependencies", program.display())));
    }
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{}: {:.1} MB, SHA-256 {digest}", program.display(), bytes.len() as f64 / 1e6);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_blank_is_one_flag() {
        let paths = [(PathBuf::from("/home/Ada L"), "~"), (PathBuf::from("/o'neil"), "x")];
        assert_eq!(encoded_flags("-p=", &paths), "-p=/home/Ada L=~\u{1f}-p=/o'neil=x");
        assert_eq!(quoted_flags("-p=", &paths), r"'-p=/home/Ada L=~' '-p=/o'\''neil=x'");
    }
}
