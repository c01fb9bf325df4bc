//! The checks and the tests, and their order in CI.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use wiretape_testkit::parts as test_parts;

use crate::failure::{Context, Failure, Result};
use crate::sh::{capture, cargo, command, root, run, succeeds, target_directory};
use crate::{cross, modules, parts};

/// How long each fuzz target runs by default, in seconds.
pub(crate) const FUZZ_SECONDS: u32 = 10;

const DENY_VERSION: &str = "0.20.2";
const FUZZ_VERSION: &str = "0.13.2";

/// A step may pass without having checked everything, and then says what is missing.
/// Proptest's variable for the seed of all random cases.
const PROPTEST_SEED: &str = "PROPTEST_RNG_SEED";

type Step = (&'static str, fn() -> Result<Option<String>>);

pub(crate) fn ci() -> Result {
    // Quick checks first, so that a simple mistake fails soon.
    let steps: [Step; 7] = [
        ("fmt", || fmt().map(|()| None)),
        ("modules", || modules::check().map(|()| None)),
        ("clippy", || clippy().map(|()| None)),
        ("doc", || doc().map(|()| None)),
        ("deny", deny),
        ("cross", || cross::check().map(|()| None)),
        ("test", || test().map(|()| None)),
    ];
    let mut summary = String::from("ci passed:");
    for (name, step) in steps {
        eprintln!("== {name}");
        let start = Instant::now();
        let note = step()?.map(|note| format!(" ({note})")).unwrap_or_default();
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("== {name} passed in {seconds:.1} s{note}");
        summary.push_str(&format!(" {name} {seconds:.1} s{note},"));
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

/// Returns what was not checked, if anything.
pub(crate) fn deny() -> Result<Option<String>> {
    if !succeeds(&mut cargo(["deny", "--version"])) {
        run(&mut cargo(["install", "--locked", "cargo-deny", "--version", DENY_VERSION]))?;
    }
    // The layering lists allowed dependencies; an unused permission is not worth a warning.
    let check = ["deny", "--all-features", "check", "--allow", "unused-wrapper"];
    run(cargo(check).args(["bans", "licenses", "sources"]))?;
    let fetched = run(&mut cargo(["deny", "fetch", "db"]));
    let is_required = env::var_os(REQUIRE_ADVISORIES).is_some_and(|value| !value.is_empty() && value != "0");
    let state = AdvisoryDatabase::after(fetched, advisories_date());
    if let AdvisoryDatabase::Missing = state {
        eprintln!("note: advisories were NOT checked: their database can't be fetched from here");
    } else {
        // In every state: a match always fails.
        run(cargo(check).args(["--disable-fetch", "advisories"]))?;
    }
    state.note(is_required)
}

/// Makes it an error if the newest advisories can't be fetched.
const REQUIRE_ADVISORIES: &str = "WIRETAPE_REQUIRE_ADVISORIES";

/// The database of known vulnerabilities that dependencies are checked against.
#[derive(Debug, PartialEq)]
enum AdvisoryDatabase {
    Current,
    /// Fetched earlier. Its last change was on this day.
    Of(String),
    Missing,
}

impl AdvisoryDatabase {
    fn after(fetched: Result, date: Option<String>) -> Self {
        match (fetched, date) {
            (Ok(()), _) => AdvisoryDatabase::Current,
            (Err(_), Some(date)) => AdvisoryDatabase::Of(date),
            (Err(_), None) => AdvisoryDatabase::Missing,
        }
    }

    /// What the summary says about a check against this database.
    fn note(&self, is_required: bool) -> Result<Option<String>> {
        let note = match self {
            AdvisoryDatabase::Current => return Ok(None),
            AdvisoryDatabase::Of(date) => format!("advisories of {date}"),
            AdvisoryDatabase::Missing => "advisories NOT checked".to_owned(),
        };
        if is_required {
            return Err(Failure::new(format!(
                "{note}: the database can't be fetched, and {REQUIRE_ADVISORIES} is set"
            )));
        }
        Ok(Some(note))
    }
}

/// The date of a database that was fetched earlier. `None` if it is older than cargo-deny accepts.
fn advisories_date() -> Option<String> {
    let home = env::home_dir()?;
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let databases = fs::read_dir(cargo_home.join("advisory-dbs")).ok()?;
    let directories = databases.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    let date = |path: PathBuf| {
        // The default of `maximum-db-staleness`.
        let mut log = command("git");
        log.arg("-C").arg(path).args(["log", "-1", "--since=90 days ago", "--format=%cs"]);
        capture(&mut log).ok().map(|date| date.trim().to_owned()).filter(|date| !date.is_empty())
    };
    directories.filter_map(date).max()
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
    let mut tests = cargo(runner);
    tests.env(test_parts::VARIABLE, parts.root()).env("PATH", path);
    if env::var_os(PROPTEST_SEED).is_none() {
        // As with fuzzing: a change must not fail because of a case that another change has made possible. Unset, as in
        // `cargo test`, each run tries other cases.
        tests.env(PROPTEST_SEED, "1");
    }
    run(&mut tests)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advisories_that_were_not_checked_are_in_the_summary() {
        let note = |fetched: Result, date: Option<&str>, is_required| {
            AdvisoryDatabase::after(fetched, date.map(str::to_owned)).note(is_required).ok()
        };
        let failed = || Err(Failure::new("no network"));
        assert_eq!(note(Ok(()), Some("2026-11-01"), true), Some(None));
        assert_eq!(note(failed(), Some("2026-11-01"), false), Some(Some("advisories of 2026-11-01".into())));
        assert_eq!(note(failed(), None, false), Some(Some("advisories NOT checked".into())));
        assert_eq!(note(failed(), Some("2026-11-01"), true), None);
        assert_eq!(note(failed(), None, true), None);
    }
}
