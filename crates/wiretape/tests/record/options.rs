//! What the options and the configuration change.

use crate::session::{Ended, Home, echo, server, shell, traces_in, wait_until};
use crate::trace::{Trace, What};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use wiretape_testkit::payload;
use wiretape_trace::message::Direction::{ClientToServer, ServerToClient};

/// Put together here, so that no scanner takes this file for a leak.
fn secret() -> String {
    ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

/// A session that echoes these lines, and its result.
fn echoed(home: &Home, options: &[&str], lines: &[&str]) -> Ended {
    let mut session = home.start(options, &echo(&[]));
    lines.iter().for_each(|line| session.round_trip(format!("{line}\n")));
    session.end()
}

/// The trace's text.
fn text(home: &Home) -> String {
    fs::read_to_string(&traces_in(&home.traces_dir())[0]).unwrap()
}

/// The marker that replaces a member's value.
fn marker(trace: &Trace, name: &str) -> String {
    let message: serde_json::Value = serde_json::from_slice(trace.messages(ClientToServer)[0]).unwrap();
    let marker = message[name].as_str().unwrap().to_owned();
    assert!(marker.starts_with("[REDACTED:"), "{marker}");
    marker
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn files_are_named_by_start_and_label() {
    let home = Home::new();
    echoed(&home, &["--label", "My files, 2nd!"], &["{}"]).check_quiet();
    let path = traces_in(&home.traces_dir()).remove(0);
    let trace = Trace::open_sound(&path);
    assert_eq!(trace.meta.label, "My-files-2nd");
    let start = trace.meta.started_at.replace([':', '.'], "-");
    assert_eq!(file_name(&path), format!("{start}-My-files-2nd.jsonl"));
}

#[test]
fn a_label_is_made_from_the_command() {
    let home = Home::new();
    let npx = home.path("npx");
    fs::write(&npx, "#!/bin/sh\nexec cat\n").unwrap();
    fs::set_permissions(&npx, fs::Permissions::from_mode(0o755)).unwrap();
    let npx = npx.to_str().unwrap();
    for (command, label) in [
        (vec![npx, "-y", "@modelcontextprotocol/server-filesystem", "/home/me"], "server-filesystem"),
        (vec!["cat"], "cat"),
        (vec!["sh", "-c", "exec cat"], "cat"),
    ] {
        let home = Home::new();
        home.start(&[], &server(&command)).end().check_quiet();
        let trace = home.trace();
        assert_eq!(trace.meta.label, label);
        assert_eq!(trace.meta.command, command);
    }
}

#[test]
fn meta_says_what_is_recorded() {
    let home = Home::new();
    echoed(&home, &[], &["{}"]).check_quiet();
    let meta = home.trace().meta;
    assert_eq!((meta.v, meta.transport.as_deref(), meta.redacted), (1, Some("stdio"), Some(true)));
    let producer = meta.producer.unwrap();
    assert_eq!((producer.name.as_str(), producer.version.as_str()), ("wiretape", env!("CARGO_PKG_VERSION")));
    assert_eq!(meta.id.unwrap().len(), 36);
    assert_eq!(meta.part, None);
}

#[test]
fn traces_go_where_they_are_asked_to() {
    let home = Home::new();
    echoed(&home, &["--out", "here/and/there"], &["{}"]).check_quiet();
    Trace::open_sound(&traces_in(&home.path("here/and/there"))[0]).check_ended(0);
    assert!(!home.traces_dir().exists());
}

/// Not in the client's working directory.
#[cfg(target_os = "linux")]
#[test]
fn traces_go_to_the_users_data_directory() {
    let home = Home::new();
    let mut command = home.record(&[], &server(["cat"]));
    command.env_remove("WIRETAPE_DATA_DIR").env_remove("XDG_DATA_HOME").env("HOME", home.path("user"));
    home.start_command(command).end().check_quiet();
    assert_eq!(traces_in(&home.path("user/.local/share/wiretape/traces")).len(), 1);
}

const COMPLAINTS: &str = "printf 'one\\ntwo \\377\\nthree' >&2";

#[test]
fn standard_error_passes_and_is_recorded() {
    let home = Home::new();
    let ended = home.start(&[], &shell(COMPLAINTS, [""; 0])).end();
    assert_eq!(ended.stderr, "one\ntwo \u{fffd}\nthree");
    assert_eq!(home.trace().stderr(), ["one", "two \u{fffd}", "three"]);
    assert!(text(&home).contains("\"base64\":\"dHdvIP8=\""));
}

#[test]
fn standard_error_can_be_left_out() {
    let home = Home::new();
    let ended = home.start(&["--no-stderr"], &shell(COMPLAINTS, [""; 0])).end();
    assert_eq!(ended.stderr, "one\ntwo \u{fffd}\nthree");
    assert_eq!(home.trace().stderr(), [""; 0]);
}

#[test]
fn secrets_reach_the_peer_and_not_the_trace() {
    let home = Home::new();
    let secret = secret();
    let call = format!("{{\"id\":1,\"params\":{{\"arguments\":{{\"note\":\"it is {secret}\",\"n\":1.0}}}}}}");
    let mut words = echo(&["--stderr", &format!("my token is {secret}")]);
    words.insert(0, "env".into());
    words.insert(1, OsString::from(format!("API_KEY={secret}")));
    let mut session = home.start(&[], &words);
    session.round_trip(format!("{call}\nGitHub says {secret}\n"));
    let ended = session.end();
    // The server's own words pass; ours hold no secret.
    let ours = ended.stderr.replace(&format!("my token is {secret}\n"), "");
    assert!(ours.contains("is not JSON") && !ours.contains(&secret), "{ours}");
    let trace = text(&home);
    assert!(!trace.contains(&secret), "{trace}");
    let around = trace.lines().filter(|line| {
        line.contains("{\"id\":1,\"params\":{\"arguments\":{\"note\":\"it is [REDACTED:github:")
            && line.contains("]\",\"n\":1.0}}}}")
    });
    assert_eq!(around.count(), 2, "only the secret is replaced: {trace}");
    let trace = home.trace();
    assert_eq!(trace.texts().len(), 2);
    assert!(trace.stderr()[0].starts_with("my token is [REDACTED:"));
    assert!(trace.meta.command[1].starts_with("API_KEY=[REDACTED:"), "{:?}", trace.meta.command);
}

#[test]
fn a_label_holds_no_secret() {
    let home = Home::new();
    let ended = home.start(&[], &server(["/no/such/node", "--login", &secret(), "server.js"])).end();
    assert_eq!(ended.code, Some(127));
    let path = traces_in(&home.traces_dir()).remove(0);
    assert!(!file_name(&path).contains(&secret()), "{}", path.display());
    assert!(!text(&home).contains(&secret()), "{}", text(&home));
}

#[test]
fn a_given_label_is_redacted_like_the_command() {
    let home = Home::new();
    let label = format!("run {}", secret());
    echoed(&home, &["--label", &label], &["{}"]).check_quiet();
    let trace = home.trace();
    assert!(trace.meta.label.starts_with("run-REDACTED-github-"), "{}", trace.meta.label);
    let path = traces_in(&home.traces_dir()).remove(0);
    assert!(!file_name(&path).contains(&secret()), "{}", path.display());
    assert!(!text(&home).contains(&secret()), "{}", text(&home));
}

#[test]
fn a_pattern_of_the_users_is_taken_out_too() {
    let home = Home::new();
    let call = "{\"note\":\"customer ACME-12345678, order 7\"}";
    echoed(&home, &["--redact", "ACME-[0-9]{8}", "--redact", "order [0-9]"], &[call]).check_quiet();
    let text = text(&home);
    assert!(!text.contains("ACME-12345678") && !text.contains("order 7"), "{text}");
    assert_eq!(text.matches("\"note\":\"customer [REDACTED:custom:").count(), 2, "{text}");
}

#[test]
fn a_bad_pattern_is_explained_and_nothing_is_created() {
    let home = Home::new();
    let ended = home.start(&["--redact", "(oops"], &server(["cat"])).end();
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("not a regular expression"), "{}", ended.stderr);
    assert!(ended.stderr.contains("unclosed group"), "{}", ended.stderr);
    assert!(!home.data_dir().exists());
}

#[test]
fn redaction_can_be_turned_off_and_the_trace_says_so() {
    let home = Home::new();
    let call = format!("{{\"password\":\"hunter2\",\"note\":\"{}\"}}", secret());
    echoed(&home, &["--no-redact"], &[&call]).check_quiet();
    let trace = home.trace();
    assert_eq!(trace.meta.redacted, Some(false));
    trace.check_echoed(&[call.as_bytes()]);
    assert!(!home.data_dir().join("redaction.key").exists(), "without redaction no key is needed");
}

#[test]
fn the_configuration_adds_and_removes_rules() {
    let home = Home::new();
    home.configure(
        "[redact]\ndisable = [\"github\"]\nkeys = [\"ssn\", \"x-acme-*\"]\nallow-keys = [\"csrf_token\"]\n\
         [[redact.patterns]]\nname = \"card\"\nregex = '\\b4\\d{15}\\b'\n",
    );
    let call = format!(
        "{{\"ssn\":\"078-05-1120\",\"x-acme-id\":\"q1w2\",\"csrf_token\":\"kept\",\"note\":\"{} 4111111111111111\"}}",
        secret()
    );
    echoed(&home, &[], &[&call]).check_quiet();
    let text = text(&home);
    for gone in ["078-05-1120", "q1w2", "4111111111111111"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert!(text.contains("\"csrf_token\":\"kept\"") && text.contains(&secret()), "{text}");
    assert!(text.contains("[REDACTED:card:"), "{text}");
}

#[test]
fn another_configuration_can_be_named() {
    let home = Home::new();
    home.configure("[redact]\ndisable = [\"password\"]\n");
    fs::write(home.path("other.toml"), "").unwrap();
    echoed(&home, &["--config", "other.toml"], &["{\"password\":\"hunter2\"}"]).check_quiet();
    assert!(!text(&home).contains("hunter2"));
}

/// Exit 2, these words, and nothing new in the data directory.
fn check_bad_configuration(config: &str, words: &[&str]) {
    let home = Home::new();
    home.configure(config);
    let ended = home.start(&[], &server(["cat"])).end();
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(2), &b""[..]), "{config}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word}: {}", ended.stderr);
    }
    let there: Vec<_> =
        fs::read_dir(home.data_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, ["config.toml"], "{config}");
}

#[test]
fn a_bad_configuration_is_explained_and_nothing_is_created() {
    check_bad_configuration(
        "[redact]\nkyes = []\n",
        &["config.toml:2:1: unknown key `kyes` in [redact]; did you mean `keys`?", "hint:"],
    );
    check_bad_configuration("[redact]\nkeys = 7\n", &["config.toml:2:8: `keys` must be a list of strings"]);
    check_bad_configuration("[redact\n", &["config.toml:1:8: unclosed table"]);
    check_bad_configuration(
        "[redact]\ndisable = [\"gihub\"]\n",
        &["config.toml:2:12: unknown redaction rule `gihub`; did you mean `github`?"],
    );
    check_bad_configuration(
        "[[redact.patterns]]\nname = \"card\"\nregex = '('\n",
        &["config.toml:3:9: the redaction pattern `card` is not a regular expression: unclosed group"],
    );
    check_bad_configuration(
        "admin = false\n[redact]\nkyes = []\n",
        &[
            "config.toml has 2 problems",
            "config.toml:1:1: `admin` has no effect in this file; it belongs in a file for `wiretape proxy --config`",
            "config.toml:3:1:",
        ],
    );
}

#[test]
fn pollution_is_named_once() {
    let home = Home::new();
    let script = "echo '{}'; echo; echo 'Listening on stdio'; echo 'Ready'; echo '{\"id\":1}'; echo 'Bye'";
    let ended = home.start(&[], &shell(script, [""; 0])).end();
    assert_eq!(ended.stdout, b"{}\n\nListening on stdio\nReady\n{\"id\":1}\nBye\n");
    let [warning] = ended.warnings()[..] else { panic!("{}", ended.stderr) };
    assert!(warning.contains("line 3 of the server's stdout is not JSON"), "{warning}");
    assert!(warning.contains("Listening on stdio"), "{warning}");
    assert_eq!(ended.stderr.lines().count(), 1);
    let trace = home.trace();
    assert_eq!(trace.messages(ServerToClient).len(), 2);
    assert_eq!(trace.texts().len(), 4);
}

/// What the client says is not the server's fault.
#[test]
fn only_the_server_can_pollute() {
    let home = Home::new();
    let mut session = home.start(&[], &shell("cat >/dev/null", [""; 0]));
    session.send("hello?\n");
    session.end().check_quiet();
    assert_eq!(home.trace().texts().len(), 1);
}

/// The server's words can't play tricks on the user's terminal in ours.
#[test]
fn pollution_is_shown_printable() {
    let home = Home::new();
    let ended = home.start(&[], &shell("printf '\\033[2Jboo\\000\\007\\n'", [""; 0])).end();
    assert_eq!(ended.stdout, b"\x1b[2Jboo\0\x07\n");
    let [warning] = ended.warnings()[..] else { panic!("{}", ended.stderr) };
    assert!(warning.contains("boo") && !warning.contains(char::is_control), "{warning:?}");
}

#[test]
fn equal_secrets_have_equal_markers_in_all_traces() {
    let home = Home::new();
    let call = "{\"password\":\"hunter2\"}";
    for out in ["a", "b"] {
        echoed(&home, &["--out", out], &[call]).check_quiet();
    }
    let markers =
        ["a", "b"].map(|out| marker(&Trace::open_sound(&traces_in(&home.path(out))[0]), "password"));
    assert_eq!(markers[0], markers[1]);
    let elsewhere = Home::new();
    echoed(&elsewhere, &[], &[call]).check_quiet();
    assert_ne!(marker(&elsewhere.trace(), "password"), markers[0], "another installation has another key");
}

#[test]
fn recorders_that_start_at_once_do_not_meet() {
    const TOGETHER: usize = 8;
    let home = Home::new();
    let mut sessions: Vec<_> = (0..TOGETHER).map(|_| home.start(&["--label", "same"], &echo(&[]))).collect();
    for (number, session) in sessions.iter_mut().enumerate() {
        session.round_trip(format!("{{\"number\":{number},\"password\":\"hunter2\"}}\n"));
    }
    sessions.into_iter().for_each(|session| session.end().check_quiet());
    let traces: Vec<Trace> =
        traces_in(&home.traces_dir()).iter().map(|path| Trace::open_sound(path)).collect();
    assert_eq!(traces.len(), TOGETHER);
    assert!(traces.iter().all(|trace| trace.messages(ServerToClient).len() == 1));
    assert!(traces.iter().all(|trace| marker(trace, "password") == marker(&traces[0], "password")));
    let ids: BTreeMap<_, _> = traces.iter().map(|trace| (trace.meta.id.clone(), ())).collect();
    assert_eq!(ids.len(), TOGETHER);
    let names = fs::read_dir(home.data_dir()).unwrap().map(|file| file.unwrap().file_name());
    let kept = names.filter(|name| !name.to_string_lossy().starts_with("store.db")).count();
    assert_eq!(kept, 2, "the traces and one key, and no draft of a key, beside the store");
}

/// The parts of a rotated recording, in their order.
fn parts(home: &Home) -> Vec<(PathBuf, Trace)> {
    let paths = traces_in(&home.traces_dir()).into_iter();
    let mut parts: Vec<_> = paths.map(|path| (path.clone(), Trace::open_sound(&path))).collect();
    parts.sort_by_key(|(_, trace)| trace.meta.part.as_ref().map_or(1, |part| part.index));
    parts
}

/// Each part names its neighbors, and no line is missing between them.
fn check_chain(parts: &[(PathBuf, Trace)]) {
    for pair in parts.windows(2) {
        let [(path, trace), (next_path, next)] = pair else { unreachable!("windows of two") };
        let place = next.meta.part.as_ref().unwrap();
        assert_eq!(trace.next_part(), Some(file_name(next_path)));
        assert_eq!(place.previous, file_name(path));
        assert_eq!(place.index, trace.meta.part.as_ref().map_or(1, |part| part.index) + 1);
        assert_eq!(next.entries[0].seq, trace.entries.last().unwrap().seq + 1);
        assert_ne!(next.meta.id, trace.meta.id);
        assert_eq!((&next.meta.label, &next.meta.command), (&trace.meta.label, &trace.meta.command));
    }
    for (_, trace) in parts {
        assert!(trace.entries.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1), "no line is missing");
    }
}

fn rotate(home: &Home, options: &[&str], count: u64) -> Vec<(PathBuf, Trace)> {
    let mut session = home.start(options, &echo(&[]));
    (1..=count).for_each(|id| session.round_trip(payload::small_call(id)));
    session.end().check_quiet();
    let parts = parts(home);
    check_chain(&parts);
    parts
}

#[test]
fn a_recording_is_rotated_without_loss() {
    let home = Home::new();
    let parts = rotate(&home, &["--max-bytes", "8KiB"], 200);
    assert!(parts.len() > 10, "{}", parts.len());
    let (first, (_, last)) = (&parts[0].1, parts.last().unwrap());
    last.check_ended(0);
    for (path, trace) in &parts {
        assert!(fs::metadata(path).unwrap().len() <= 8 * 1024 + 512, "{}", path.display());
        assert!(trace.meta.part.as_ref().is_none_or(|part| Some(&part.of) == first.meta.id.as_ref()));
    }
    // What a v1 reader takes for the file's length.
    let place = last.meta.part.as_ref().unwrap();
    let end = last.end().unwrap();
    assert_eq!(end.duration_ms, Some((end.stamp.us.unwrap() - place.us) / 1000));
    let recorded: Vec<&[u8]> = parts.iter().flat_map(|(_, trace)| trace.messages(ServerToClient)).collect();
    let sent: Vec<Vec<u8>> = (1..=200).map(payload::small_call).collect();
    assert!(recorded.iter().eq(sent.iter().map(|call| call.trim_ascii_end()).collect::<Vec<_>>().iter()));
}

#[test]
fn only_the_newest_parts_are_kept() {
    let home = Home::new();
    let parts = rotate(&home, &["--max-bytes", "8KiB", "--max-files", "3"], 200);
    assert_eq!(parts.len(), 3);
    let (_, last) = parts.last().unwrap();
    last.check_ended(0);
    let kept: Vec<&[u8]> = parts.iter().flat_map(|(_, trace)| trace.messages(ServerToClient)).collect();
    assert!(kept.len() > 20, "{}", kept.len());
    for (raw, id) in kept.iter().rev().zip((1..=200).rev()) {
        assert_eq!(*raw, payload::small_call(id).trim_ascii_end());
    }
}

#[test]
fn a_message_larger_than_a_part_is_kept_whole() {
    let home = Home::new();
    let large = payload::large_message(1, payload::Texture::Json, 100_000);
    let mut session = home.start(&["--max-bytes", "8KiB"], &echo(&[]));
    for _ in 0..3 {
        session.round_trip(&large);
        session.round_trip("{}\n");
    }
    session.end().check_quiet();
    let parts = parts(&home);
    check_chain(&parts);
    let recorded: Vec<&[u8]> = parts.iter().flat_map(|(_, trace)| trace.messages(ServerToClient)).collect();
    assert_eq!(recorded, [large.trim_ascii_end(), b"{}"].repeat(3));
}

#[test]
fn a_trace_can_be_read_while_it_grows() {
    let home = Home::new();
    let mut session = home.start(&[], &echo(&[]));
    for id in 1..=5 {
        session.round_trip(payload::small_call(id));
        let trace = home.trace();
        assert!(matches!(trace.entries.last().unwrap().what, What::Message { .. }));
        assert_eq!(trace.messages(ServerToClient).len() as u64, id);
    }
    let list = home.wiretape().arg("ls").output().unwrap();
    assert!(list.status.success());
    session.end().check_quiet();
    wait_until("the end is written", || home.trace().end().is_some());
}
