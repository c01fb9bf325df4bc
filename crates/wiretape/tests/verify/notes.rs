//! A server whose new version is another in one place.

use crate::session::{Home, parts};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wiretape_testkit::parts::Parts;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(path)
}

/// The server, as words.
fn server(parts: &Parts) -> Vec<String> {
    let words = [parts.python_v1(), here("servers/notes.py")];
    words.map(|word| word.to_str().unwrap().to_owned()).to_vec()
}

/// Records a session with the server.
fn record(home: &Home, parts: &Parts) -> PathBuf {
    let mut command = Command::new(parts.python_v1());
    command
        .arg(here("clients/notes.py"))
        .args(home.wiretape(&["record", "--no-store", "--"]))
        .args(server(parts));
    command.env("WIRETAPE_DATA_DIR", home.path("data")).env("WRITTEN", home.path("recorded"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    home.trace()
}

/// The output of `verify`, and its exit status.
fn verify(home: &Home, parts: &Parts, trace: &Path, options: &[&str], changed: &str) -> (String, i32) {
    let words = home.wiretape(&["verify", trace.to_str().unwrap()]);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(options).arg("--").args(server(parts));
    command.env("WIRETAPE_DATA_DIR", home.path("data")).current_dir(home.path(""));
    command.env("CHANGED", changed).env("WRITTEN", home.path("written"));
    let output = command.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (told, output.status.code().unwrap())
}

#[test]
fn the_unchanged_server_is_clean() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let trace = record(&home, &parts);
    for _ in 0..10 {
        let (told, status) = verify(&home, &parts, &trace, &[], "");
        assert!(told.contains("8 calls: 7 same, 1 skipped\n"), "{told}");
        assert_eq!(status, 0, "{told}");
    }
    assert!(!home.path("written").exists(), "a tool that writes was called");
    let (told, status) = verify(&home, &parts, &trace, &["--allow-writes"], "");
    assert!(told.contains("8 calls: 8 same\n") && status == 0, "{told}");
    assert_eq!(fs::read_to_string(home.path("written")).unwrap(), "x");
}

#[test]
fn what_has_changed_is_named_and_nothing_else() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let trace = record(&home, &parts);
    let check = |changed: &str, expected: &[&str]| {
        let (told, status) = verify(&home, &parts, &trace, &[], changed);
        assert_eq!(status, 1, "{told}");
        for words in expected {
            assert!(told.contains(words), "{changed} lacks {words:?}: {told}");
        }
        let named = told.lines().filter(|line| line.starts_with(['~', '!', '?']) && line.contains("line "));
        assert!(
            named.clone().count() == 1 && named.clone().all(|line| line.contains("tools/call greet")),
            "{told}"
        );
    };
    check("greet", &["6 same, 1 changed, 1 skipped", "Hello, Ada", "Good day, Ada"]);
    check("broken", &["6 same, 1 new error, 1 skipped", "nobody is here"]);
    check(
        "schema",
        &["6 same, 1 new error, 1 skipped", "! breaking", "the argument `title` is new and required"],
    );
}

#[test]
fn a_new_trace_is_a_good_test() {
    let Some(parts) = parts() else { return };
    let home = Home::new();
    let trace = record(&home, &parts);
    let (told, status) = verify(&home, &parts, &trace, &["--update", "new.jsonl"], "greet");
    assert!(status == 1 && told.contains("wrote the new responses to new.jsonl"), "{told}");
    let (told, status) = verify(&home, &parts, &home.path("new.jsonl"), &["--concurrency", "4"], "greet");
    assert!(status == 0 && told.contains("7 same, 1 skipped"), "{told}");
}
