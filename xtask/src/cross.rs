//! Type-checking for other platforms.
//!
//! `cargo check` needs no linker, but crates with C code (zstd-sys) compile it in their build scripts, and a Linux
//! machine has no C compiler for these targets. Nothing is linked, so the output of the compiler and the archiver is
//! never used, and both can be replaced by `true`. The exception is MSVC: the `cc` crate makes a hard link to the
//! archive afterwards, which must therefore exist, so the archiver is a script that creates an empty one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Result};
use crate::sh::{cargo, command, run, target_directory};

const TARGETS: [&str; 2] = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

const ARCHIVER: &str = r#"#!/bin/sh
# A placeholder for an archiver where nothing is linked: creates what `-out:FILE` names, empty.
for argument; do
    case $argument in
        -out:* | /out:*) : >"${argument#?out:}" ;;
    esac
done
"#;

pub(crate) fn check() -> Result {
    let archiver = write_archiver()?;
    for target in TARGETS {
        run(command("rustup").args(["target", "add", target]))?;
        let mut cargo =
            cargo(["check", "--workspace", "--exclude", "xtask", "--exclude", "wiretape-testkit"]);
        cargo.args(["--all-features", "--target", target]);
        replace_c_compiler(&mut cargo, target, &archiver);
        run(&mut cargo)?;
    }
    Ok(())
}

fn replace_c_compiler(cargo: &mut Command, target: &str, archiver: &Path) {
    // Windows has no `true`, but a real compiler.
    if cfg!(windows) {
        return;
    }
    let suffix = target.replace('-', "_");
    cargo.env(format!("CC_{suffix}"), "true").env(format!("CXX_{suffix}"), "true");
    if target.ends_with("msvc") {
        cargo.env(format!("AR_{suffix}"), archiver);
    } else {
        cargo.env(format!("AR_{suffix}"), "true");
    }
}

fn write_archiver() -> Result<PathBuf> {
    let directory = target_directory().join("xtask");
    fs::create_dir_all(&directory).context(directory.display())?;
    let path = directory.join("no-archiver");
    fs::write(&path, ARCHIVER).context(path.display())?;
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .context(path.display())?;
    Ok(path)
}
