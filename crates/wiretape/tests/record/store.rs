//! A recording feeds the store, and the store never harms it.

use crate::session::{Home, echo, shell, traces_in, wait_until};
use serde_json::Value;
use std::fs;
use wiretape_events::store::query::Order;
use wiretape_events::store::{Filter, Store};
use wiretape_testkit::payload;

/// A session of three calls, which an echo does not answer.
fn session(home: &Home, options: &[&str]) -> crate::session::Ended {
    let mut session = home.start(options, &echo(&["--exit", "7"]));
    (1..=3).for_each(|id| session.round_trip(payload::small_call(id)));
    session.end()
}

#[test]
fn calls_are_in_the_store_when_the_session_has_ended() {
    let home = Home::new();
    let ended = session(&home, &["--label", "echoing"]);
    assert_eq!(ended.code, Some(7));
    assert_eq!(ended.warnings(), [""; 0], "{}", ended.stderr);
    let store = Store::open_read(&home.data_dir().join("store.db")).unwrap();
    let calls = store.calls(&Filter::default(), Order::Oldest, 100).unwrap();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call.server == "echoing"), "{calls:?}");
    let sessions = store.sessions(&Filter::default(), 100).unwrap();
    assert_eq!(sessions.len(), 1);
    assert!(sessions[0].ended.is_some());
}

#[test]
fn the_store_may_be_elsewhere_or_nowhere() {
    let home = Home::new();
    let elsewhere = home.path("elsewhere.db");
    session(&home, &["--store", elsewhere.to_str().unwrap()]);
    assert_eq!(Store::open_read(&elsewhere).unwrap().info().unwrap().rows.calls, 3);
    session(&home, &["--no-store"]);
    assert!(!home.data_dir().join("store.db").exists());
}

#[test]
fn a_store_that_can_t_be_written_costs_one_warning() {
    let home = Home::new();
    fs::write(home.path("file"), "no folder").unwrap();
    let store = home.path("file/store.db");
    let ended = session(&home, &["--store", store.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stdout.as_slice()), (Some(7), &b""[..]));
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.warnings()[0].contains("wiretape: store: "), "{}", ended.stderr);
    assert_eq!(home.trace().messages(wiretape_trace::message::Direction::ClientToServer).len(), 3);
}

#[test]
fn what_never_was_a_store_is_left_alone() {
    let home = Home::new();
    let diary = home.path("diary.txt");
    fs::write(&diary, "dear diary").unwrap();
    let ended = session(&home, &["--store", diary.to_str().unwrap()]);
    assert_eq!((ended.code, ended.warnings().len()), (Some(7), 1), "{}", ended.stderr);
    assert!(ended.stderr.contains("diary.txt is not a store"), "{}", ended.stderr);
    assert_eq!(fs::read(&diary).unwrap(), b"dear diary");
}

#[test]
fn calls_in_flight_are_listed_with_their_age() {
    let home = Home::new();
    let mut session = home.start(&["--label", "hanging"], &shell("cat > /dev/null", [""; 0]));
    session.send(payload::small_call(1));
    let query = |args: &[&str]| {
        let output = home.wiretape().args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let rows = |args: &[&str]| -> Vec<Value> {
        query(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    wait_until("the call is recorded", || !rows(&["logs", "--pending", "--json"]).is_empty());
    // No line is written while the server hangs, but the call gets older.
    let aged = |args: &[&str], field: &str| rows(args)[0][field].as_u64().is_some_and(|us| us >= 20_000);
    wait_until("the call gets older", || aged(&["logs", "--pending", "--json"], "ageUs"));
    wait_until("everywhere", || aged(&["calls", "latest", "--json"], "latencyUs"));
    let listed = rows(&["logs", "--pending", "--json"]);
    assert_eq!((&listed[0]["label"], &listed[0]["status"]), (&"hanging".into(), &"pending".into()));
    assert!(query(&["logs", "--pending"]).contains("hanging"));
    session.end();
    assert_eq!(rows(&["logs", "--pending", "--json"]), [Value::Null; 0]);
}

#[test]
fn a_call_in_flight_survives_the_rotation_of_its_recording() {
    let home = Home::new();
    let options = ["--label", "rotated", "--max-bytes", "2kB"];
    let mut session = home.start(&options, &shell("cat > /dev/null", [""; 0]));
    session.send(payload::small_call(1));
    let files = || traces_in(&home.traces_dir());
    let pad = "x".repeat(900);
    let recorded =
        || files().iter().map(|file| fs::read_to_string(file).unwrap().matches(&pad).count()).sum::<usize>();
    for count in 1..=6 {
        session.send(format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"data\":\"{pad}\"}}}}\n"
        ));
        // One at a time: messages that are read together are written to the same file.
        wait_until("the message is recorded", || recorded() == count);
    }
    assert!(files().len() >= 3, "{:?}", files());
    let output = home.wiretape().args(["logs", "--pending", "--json"]).output().unwrap();
    let rows: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&row["label"], &row["status"]), (&"rotated".into(), &"pending".into()));
    // The call is where its request is: in the first file.
    let shown =
        home.wiretape().args(["call", "1", row["traceId"].as_str().unwrap(), "--json"]).output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    session.end();
}
