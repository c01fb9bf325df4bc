//! Recordings carry check values, and `wiretape integrity` reports whether they still fit.

use crate::session::{Home, echo, traces_in, wait_until};
use std::fs;
use std::path::Path;
use wiretape_testkit::payload;
use wiretape_trace::format::{Context, Encoder, LineEnd, Moment, Record, parse_line};
use wiretape_trace::message::Direction;

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

/// Replaces a trace by another session with the same id, intact in itself.
fn forge(trace: &Path) {
    let Record::Meta(meta) =
        parse_line(fs::read_to_string(trace).unwrap().lines().next().unwrap().as_bytes())
    else {
        panic!("no meta in {}", trace.display())
    };
    let mut encoder = Encoder::chained();
    let mut out = Vec::new();
    let at = |us| Moment { wall_ms: 1_778_626_800_123, us };
    encoder.meta(&mut out, at(0), &meta);
    let forged = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"password":"forgedpassw0rd"}}"#;
    encoder.message(&mut out, at(1), Direction::ClientToServer, Context::default(), forged);
    encoder.end(&mut out, at(2), &LineEnd::default());
    fs::write(trace, out).unwrap();
}

/// The SHA-256 that the command prints.
fn sha256_of(printed: &str) -> &str {
    let (_, rest) = printed.split_once("sha256 ").unwrap();
    &rest[..64]
}

#[test]
fn a_trace_that_was_replaced_differs_from_the_store() {
    let home = Home::new();
    let trace = recorded(&home, &[]).remove(0);
    let (recorded, code) = integrity(&home, &trace);
    assert!(recorded.ends_with("; same as in the store"), "{recorded}");
    assert_eq!(code, Some(0));

    forge(&trace);
    let (printed, code) = integrity(&home, &trace);
    let stored = &sha256_of(&recorded)[..8];
    let own = printed.strip_prefix("differs from the store: sha256 ").unwrap();
    assert_eq!((&own[8..], code), (&*format!(", the store has {stored}"), Some(1)));
    let json = home.wiretape().args(["integrity", "--json"]).arg(&trace).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&report["state"], &report["storedSha256"]),
        (&"differs".into(), &sha256_of(&recorded).into())
    );
    assert!(report["sha256"].as_str().unwrap().starts_with(&own[..8]), "{report}");

    // Loading the forged trace doesn't change the store.
    let load = home.wiretape().args(["store", "load"]).arg(&trace).output().unwrap();
    assert!(load.status.success(), "{load:?}");
    assert_eq!(integrity(&home, &trace), (printed, Some(1)));

    // It is not signed either.
    let key = home.data_dir().join("minisign.key");
    let keys = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    fs::write(&key, keys.sk.to_box(None).unwrap().into_string()).unwrap();
    home.wiretape().arg("integrity").arg(&trace).arg("--sign").arg(&key).output().unwrap();
    assert!(!trace.with_extension("jsonl.minisig").exists());
}

#[test]
fn each_part_of_a_recording_is_compared_with_the_store() {
    let home = Home::new();
    let parts = recorded(&home, &["--max-bytes", "2kB"]);
    let compared = || {
        let output = home.wiretape().arg("integrity").arg(&parts[0]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        (printed.matches("same as in the store").count(), printed, output.status.code())
    };
    let (count, printed, code) = compared();
    assert_eq!((count, code), (parts.len(), Some(0)), "{printed}");
    // Of another part, the next one would name the wrong digest.
    let is_last = |part: &&std::path::PathBuf| fs::read_to_string(part).unwrap().contains("\"type\":\"end\"");
    forge(parts.iter().find(is_last).unwrap());
    let (count, printed, code) = compared();
    assert_eq!((count, code), (parts.len() - 1, Some(1)), "{printed}");
    assert!(printed.contains("differs from the store"), "{printed}");
}

#[test]
fn loading_an_old_trace_stores_its_hash() {
    let home = Home::new();
    let trace = recorded(&home, &["--no-store"]).remove(0);
    let (alone, code) = integrity(&home, &trace);
    assert_eq!((alone.len(), code), ("intact, 44 lines, sha256 ".len() + 64, Some(0)), "{alone}");
    let store = home.path("other.db");
    let run = |args: &[&str]| {
        let output = home.wiretape().args(args).arg(&trace).arg("--store").arg(&store).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };
    assert_eq!(run(&["integrity"]).1, Some(2), "a store that is named must exist");
    for _ in 0..2 {
        assert_eq!(run(&["store", "load"]).1, Some(0));
        let (printed, code) = run(&["integrity"]);
        assert!(printed.contains(&format!("{alone}; same as in the store")), "{printed}");
        assert_eq!(code, Some(0));
    }
    assert_eq!(integrity(&home, &trace), (alone, Some(0)), "the default store does not have it");
}

#[test]
fn a_redacted_copy_does_not_differ_from_the_store() {
    let home = Home::new();
    let mut session = home.start(&["--no-redact"], &echo(&[]));
    session.round_trip(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"password\":\"s3cretpassw0rd\"}}\n",
    );
    session.end().check_quiet();
    let trace = traces_in(&home.traces_dir()).remove(0);
    let redact = |args: &[&str]| {
        let output = home.wiretape().arg("redact").arg(&trace).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    redact(&["-o", "clean"]);
    let copy = home.path("clean").join(trace.file_name().unwrap());
    let (printed, code) = integrity(&home, &copy);
    assert!(
        printed.ends_with("; says that it is a redacted copy of the recording in the store"),
        "{printed}"
    );
    assert_eq!(code, Some(0));
    let (printed, code) = integrity(&home, &trace);
    assert!(printed.ends_with("; same as in the store"), "{printed}");
    assert_eq!(code, Some(0));

    redact(&["--in-place"]);
    assert_eq!(fs::read(&trace).unwrap(), fs::read(&copy).unwrap());
    redact(&["--in-place"]);
    assert_eq!(fs::read(&trace).unwrap(), fs::read(&copy).unwrap(), "a copy of a copy is the same");

    // A copy of a trace that was replaced.
    forge(&trace);
    redact(&["-o", "forged"]);
    let copy = home.path("forged").join(trace.file_name().unwrap());
    let (printed, code) = integrity(&home, &copy);
    assert!(printed.starts_with("differs from the store: copied from sha256 "), "{printed}");
    assert_eq!(code, Some(1));
}

#[test]
fn without_a_readable_store_a_trace_is_checked_on_its_own() {
    let home = Home::new();
    let trace = recorded(&home, &["--no-store"]).remove(0);
    fs::write(home.data_dir().join("store.db"), "not a database").unwrap();
    let output = home.wiretape().arg("integrity").arg(&trace).output().unwrap();
    let (printed, warned) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains(": intact, ") && !printed.contains("store"), "{printed}");
    assert!(warned.contains("traces are not compared with the store"), "{warned}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_damaged_table_of_the_default_store_does_not_stop_the_check() {
    let home = Home::new();
    let trace = recorded(&home, &[]).remove(0);
    let (before, _) = integrity(&home, &trace);
    let store = home.data_dir().join("store.db");
    let mut bytes = fs::read(&store).unwrap();
    // Only the page with the digest: the store can still be opened.
    let digest = sha256_of(&before).as_bytes();
    let at = bytes.windows(digest.len()).position(|window| window == digest).unwrap();
    let page_size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    bytes[at / page_size * page_size..][..8].fill(0xff);
    fs::write(&store, bytes).unwrap();

    let run = |options: &[&str]| {
        let output = home.wiretape().arg("integrity").arg(&trace).args(options).output().unwrap();
        let texts = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (texts, output.status.code())
    };
    let ([printed, warned], code) = run(&[]);
    assert!(printed.contains(": intact, ") && !printed.contains("store"), "{printed}");
    assert_eq!(warned.matches("traces are not compared with the store").count(), 1, "{warned}");
    assert_eq!(code, Some(0));
    let ([_, failed], code) = run(&["--store", store.to_str().unwrap()]);
    assert!(failed.contains("is damaged"), "{failed}");
    assert_eq!(code, Some(2), "a store that is named must be readable");
}
