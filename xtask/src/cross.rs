//! Type-checking for platforms that aren't here.
//!
//! `cargo check` needs no linker, but crates that bring C (zstd-sys) compile it in their build scripts, and there is no
//! C compiler for these targets on a Linux machine. Nothing is linked either, so what the compiler and the archiver
//! would produce is never looked at: `true` stands in for both. With one exception: for MSVC the `cc` crate afterwards
//! makes a hard link to the archive, which must therefore exist; there the archiver is a script that creates an empty
//! one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Result};
use crate::sh::{cargo, command, run, target_directory};

const TARGETS: [&str; 2] = ["x86_64-pc-windows-msvc", "aarch64-apple-darwin"];

const ARCHIVER: &str = r#"#!/bin/sh
# Stands in for an archiver where nothing is linked: creates what `-out:FILE` names, empty.
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
        stand_in_for_c(&mut cargo, target, &archiver);
        run(&mut cargo)?;
    }
    Ok(())
}

fn stand_in_for_c(cargo: &mut Command, target: &str, archiver: &Path) {
    // On Windows there is no `true`, and a real compiler instead.
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
