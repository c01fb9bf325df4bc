//! The checks and the tests, and their order in CI.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use wiretape_testkit::parts as test_parts;

use crate::failure::{Context, Result};
use crate::sh::{capture, cargo, command, root, run, succeeds, target_directory};
use crate::{cross, modules, parts};

/// How long each fuzz target runs by default, in seconds.
pub(crate) const FUZZ_SECONDS: u32 = 10;

const DENY_VERSION: &str = "0.20.2";
const FUZZ_VERSION: &str = "0.13.2";

type Step = (&'static str, fn() -> Result);

pub(crate) fn ci() -> Result {
    // Quick checks first, so that a simple mistake fails soon.
    let steps: [Step; 7] = [
        ("fmt", fmt),
        ("modules", modules::check),
        ("clippy", clippy),
        ("doc", doc),
        ("deny", deny),
        ("cross", cross::check),
        ("test", test),
    ];
    let mut summary = String::from("ci passed:");
    for (name, step) in steps {
        eprintln!("== {name}");
        let start = Instant::now();
        step()?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("== {name} passed in {seconds:.1} s");
        summary.push_str(&format!(" {name} {seconds:.1} s,"));
    }
    println!("{}", summary.trim_end_matches(','));
    Ok(())
}

pub(crate) fn fmt() -> Result {
    run(&mut cargo(["fmt", "--all", "--check"]))?;
    if has_fuzz_targets() {
        run(&mut cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    }
    Ok(())
}

pub(crate) fn clippy() -> Result {
    run(&mut cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"]))
}

pub(crate) fn doc() -> Result {
    run(cargo(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

pub(crate) fn deny() -> Result {
    if !succeeds(&mut cargo(["deny", "--version"])) {
        run(&mut cargo(["install", "--locked", "cargo-deny", "--version", DENY_VERSION]))?;
    }
    // The layering lists allowed dependencies; an unused permission is not worth a warning.
    let check = ["deny", "--all-features", "check", "--allow", "unused-wrapper"];
    run(cargo(check).args(["bans", "licenses", "sources"]))?;
    if succeeds(&mut cargo(["deny", "fetch", "db"])) {
        run(cargo(check).args(["--disable-fetch", "advisories"]))
    } else {
        eprintln!("note: advisories were NOT checked: their database can't be fetched from here");
        Ok(())
    }
}

/// All tests: documentation examples, the page, a short run of each fuzz target, and the workspace.
pub(crate) fn test() -> Result {
    let parts = parts::install()?;
    // Tests of other crates run these binaries; Cargo builds them only for the tests of their own package.
    run(&mut cargo(["build", "--package", "wiretape-testkit", "--all-features", "--bins"]))?;
    // nextest doesn't run documentation tests, so these are run separately below.
    let runner: &[&str] = if succeeds(&mut cargo(["nextest", "--version"])) {
        &["nextest", "run", "--workspace", "--all-features"]
    } else {
        &["test", "--workspace", "--all-features", "--all-targets"]
    };
    run(&mut cargo(["test", "--workspace", "--all-features", "--doc"]))?;
    page()?;
    fuzz(FUZZ_SECONDS)?;
    // Last, so that its summary is at the end of the output. The testing examples find the program on the PATH, as
    // they do for users.
    let path = search_path(&target_directory().join("debug"))?;
    run(cargo(runner).env(test_parts::VARIABLE, parts.root()).env("PATH", path))
}

/// The PATH, with a directory before all others.
fn search_path(first: &Path) -> Result<OsString> {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(first.to_owned()).chain(env::split_paths(&inherited));
    env::join_paths(folders).context(first.display())
}

/// The tests of the page that need no browser. Its npm packages were installed by `wiretape-view/build.rs`.
fn page() -> Result {
    let ui = root().join("ui");
    run(command(parts::NPM_PROGRAM).args(["run", "--silent", "check"]).current_dir(&ui))?;
    run(command(parts::NPM_PROGRAM).args(["test", "--silent"]).current_dir(&ui))
}

/// Builds every fuzz target and runs it briefly: enough to see that it works, not to find deep bugs.
pub(crate) fn fuzz(seconds: u32) -> Result {
    if !has_fuzz_targets() {
        eprintln!("note: fuzz/ does not exist; nothing to run");
        return Ok(());
    }
    install_fuzzer()?;
    run(&mut cargo(["+nightly", "fuzz", "build"]))?;
    let limit = format!("-max_total_time={seconds}");
    for target in capture(&mut cargo(["+nightly", "fuzz", "list"]))?.lines() {
        // A fixed seed, so that CI is deterministic: what a longer, random run finds becomes a test of its own.
        run(&mut cargo(["+nightly", "fuzz", "run", target, "--", &limit, "-seed=1"]))?;
    }
    Ok(())
}

fn has_fuzz_targets() -> bool {
    root().join("fuzz/Cargo.toml").is_file()
}

fn install_fuzzer() -> Result {
    if !succeeds(&mut cargo(["+nightly", "--version"])) {
        run(command("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    if !succeeds(&mut cargo(["fuzz", "--version"])) {
        run(&mut cargo(["install", "--locked", "cargo-fuzz", "--version", FUZZ_VERSION]))?;
    }
    Ok(())
}
