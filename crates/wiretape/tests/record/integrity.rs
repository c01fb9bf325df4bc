//! Recordings carry check values, and `wiretape integrity` reports whether they still fit.

use crate::session::{Home, echo, traces_in, wait_until};
use std::fs;
use std::path::Path;
use wiretape_testkit::payload;

/// What the command prints of a file, without its name, and its exit code.
fn integrity(home: &Home, path: &Path) -> (String, Option<i32>) {
    let output = home.wiretape().arg("integrity").arg(path).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let name = format!("{}: ", path.display());
    (printed.replace(&name, "").trim_end().to_owned(), output.status.code())
}

fn recorded(home: &Home, options: &[&str]) -> Vec<std::path::PathBuf> {
    let mut session = home.start(options, &echo(&[]));
    (1..=20).for_each(|id| session.round_trip(payload::small_call(id)));
    // Longer than what is copied: it goes to the file from where it lies.
    session.round_trip([b"{\"id\":99,\"x\":\"", "y".repeat(100_000).as_bytes(), b"\"}\n"].concat());
    session.end().check_quiet();
    traces_in(&home.traces_dir())
}

#[test]
fn a_recording_is_intact_until_it_is_changed() {
    let home = Home::new();
    let trace = recorded(&home, &[]).remove(0);
    let (printed, code) = integrity(&home, &trace);
    assert!(printed.starts_with("intact, 44 lines, sha256 "), "{printed}");
    assert_eq!(code, Some(0));

    let whole = fs::read_to_string(&trace).unwrap();
    fs::write(&trace, whole.replacen("\"id\":7,", "\"id\":8,", 1)).unwrap();
    let (printed, code) = integrity(&home, &trace);
    let changed = 1 + whole.lines().position(|line| line.contains("\"id\":7,")).unwrap();
    assert_eq!((printed, code), (format!("modified at line {changed}"), Some(1)));

    let cut = whole.lines().take(10).map(|line| format!("{line}\n")).collect::<String>();
    fs::write(&trace, cut).unwrap();
    let (printed, code) = integrity(&home, &trace);
    assert_eq!(
        (printed.as_str(), code),
        ("cut off after line 10; everything up to there is intact", Some(1))
    );
}

#[test]
fn a_signature_covers_the_file_and_its_head() {
    let home = Home::new();
    let trace = recorded(&home, &[]).remove(0);
    let keys = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let secret = home.data_dir().join("minisign.key");
    fs::write(&secret, keys.sk.to_box(None).unwrap().into_string()).unwrap();
    let run = |option: &str, key: &str| {
        let output = home.wiretape().arg("integrity").arg(&trace).args([option, key]).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    let public = keys.pk.to_base64();
    assert_eq!(run("--public-key", &public).1, Some(1), "there is no signature yet");
    let (printed, code) = run("--sign", secret.to_str().unwrap());
    assert!(printed.contains("signature: valid"), "{printed}");
    assert_eq!(code, Some(0));
    assert_eq!(run("--public-key", &public).1, Some(0));

    let other = minisign::KeyPair::generate_unencrypted_keypair().unwrap().pk.to_base64();
    let (printed, code) = run("--public-key", &other);
    assert!(printed.contains("signature: INVALID"), "{printed}");
    assert_eq!(code, Some(1));

    // Another recording, intact in itself, in the place of the one that was signed.
    fs::copy(&recorded(&Home::new(), &[])[0], &trace).unwrap();
    let (printed, code) = run("--public-key", &public);
    assert!(printed.contains(": intact") && printed.contains("signature: INVALID"), "{printed}");
    assert_eq!(code, Some(1));
    assert_eq!(run("--public-key", "no key").1, Some(2));
}

#[test]
fn a_running_recording_is_intact_so_far() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    session.round_trip(payload::small_call(1));
    wait_until("both lines are there", || home.trace().entries.len() >= 2);
    let (printed, code) = integrity(&home, &traces_in(&home.traces_dir())[0]);
    assert_eq!((printed.as_str(), code), ("intact so far, 3 lines; still being recorded", Some(0)));
    session.end().check_quiet();
}

#[test]
fn the_parts_of_a_recording_vouch_for_each_other() {
    let home = Home::new();
    let parts = recorded(&home, &["--max-bytes", "2kB"]);
    assert!(parts.len() > 2, "{parts:?}");
    let check = || {
        let output = home.wiretape().args(["integrity", "--json"]).arg(&parts[0]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let states: Vec<String> = printed
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["state"].to_string())
            .collect();
        (states, output.status.code())
    };
    let (states, code) = check();
    assert_eq!(states, vec!["\"intact\""; parts.len()], "all parts are found and checked");
    assert_eq!(code, Some(0));

    // A part that is whole in itself, but of another recording.
    let other = Home::new();
    fs::copy(&recorded(&other, &["--max-bytes", "2kB"])[1], &parts[1]).unwrap();
    let (states, code) = check();
    assert!(states.contains(&"\"modified\"".to_owned()), "{states:?}");
    assert_eq!(code, Some(1));

    // All parts but the first are gone.
    parts[1..].iter().for_each(|part| fs::remove_file(part).unwrap());
    assert_eq!(check(), (vec!["\"intact\"".to_owned(), "\"missing\"".to_owned()], Some(1)));
}
