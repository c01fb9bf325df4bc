//! The page in a real browser: a script of `ui/tests/browser` for each subject.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};
use wiretape_testkit::parts::{Parts, VARIABLE};

/// A script gives up after this, and clears away what it started.
const LIMIT: Duration = Duration::from_secs(120);
/// One that reads a million messages in a program that isn't optimized.
const LONG_LIMIT: Duration = Duration::from_secs(300);
/// So much longer a script has to clear away.
const CLEARING: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(20);

/// Pages that are measured get the machine to themselves, as far as we can tell.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn views() {
    check("views", LIMIT);
}

#[test]
fn filters() {
    check("filters", LIMIT);
}

#[test]
fn keyboard() {
    check("keyboard", LIMIT);
}

#[test]
fn live() {
    check("live", LIMIT);
}

#[test]
#[cfg(unix)]
fn crash() {
    check("crash", LIMIT);
}

#[test]
#[cfg(unix)]
fn pending() {
    check("pending", LIMIT);
}

#[test]
fn merge() {
    check("merge", LIMIT);
}

#[test]
fn diff() {
    check("diff", LIMIT);
}

#[test]
fn drop() {
    check("drop", LIMIT);
}

#[test]
fn report() {
    check("report", LIMIT);
}

#[test]
fn hostile() {
    check("hostile", LIMIT);
}

#[test]
fn million() {
    check("million", LONG_LIMIT);
}

#[test]
fn origins() {
    check("origins", LIMIT);
}

#[test]
fn axe() {
    check("axe", LONG_LIMIT);
}

#[test]
fn screenshots() {
    check("screenshots", LIMIT);
}

/// Runs a script; what it printed is shown, for it measures.
fn check(subject: &str, limit: Duration) {
    if let Some(why) = reason_to_skip() {
        say(&format!("SKIPPED {subject}: {why}\n"));
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let output = home.path().join("output");
    let mut child = script(subject, home.path(), &File::create(&output).unwrap(), limit).spawn().unwrap();
    let end = Instant::now() + limit + CLEARING;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(MOMENT),
            None => child.kill().unwrap(),
        }
    };
    let printed = fs::read_to_string(&output).unwrap();
    assert!(status.success(), "{subject}: {status}\n{printed}");
    say(&printed);
}

fn script(subject: &str, home: &Path, output: &File, limit: Duration) -> Command {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    let mut command = Command::new("node");
    command.arg(format!("tests/browser/{subject}.mjs")).current_dir(ui);
    command.env("WIRETAPE_BINARY", env!("CARGO_BIN_EXE_wiretape")).env("WIRETAPE_DATA_DIR", home);
    command.env("WIRETAPE_TEST_SECONDS", limit.as_secs().to_string());
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
    command
}

fn reason_to_skip() -> Option<String> {
    if cfg!(not(feature = "page")) {
        return Some("this was built without the page".to_owned());
    }
    let is_there = Parts::from_environment().is_some();
    (!is_there).then(|| format!("{VARIABLE} is not set; `cargo xtask test` runs this with a real browser"))
}

fn say(words: &str) {
    std::io::stderr().write_all(words.as_bytes()).unwrap();
}
