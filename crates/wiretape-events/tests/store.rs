//! The store under real trouble: locks, damage, full disks, a killed writer; and what its queries answer.

#![allow(clippy::unwrap_used, reason = "a test may")]

use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wiretape_analyze::call::Outcome;
use wiretape_events::event::{
    ChangeType, Event, EventIds, LoggedCall, LoggedRequest, LoggedResponse, RequestEvent, SchemaEvent,
    SchemaItem, SessionEvent, VERSION,
};
use wiretape_events::line::{Line, LineWhat};
use wiretape_events::raw::Raw;
use wiretape_events::store::query::Order;
use wiretape_events::store::row::{Progress, Row};
use wiretape_events::store::sink::rows;
use wiretape_events::store::{
    Filter, LiveTrace, Loaded, Loader, Retention, Store, StoreError, StoreSink, Writer, load,
};
use wiretape_events::{Signal, Sink};
use wiretape_trace::format::{
    Context, CopyChain, Encoder, Integrity, LineEnd, Meta, Moment, TraceReader, check_integrity,
};
use wiretape_trace::message::Direction;

const SERVER: &str = "http://127.0.0.1:3000";
const NOON: i64 = 1_780_000_000_000;

/// A directory with a store in it, or none yet.
struct Place {
    directory: tempfile::TempDir,
    ids: EventIds,
}

impl Place {
    fn new() -> Self {
        Place { directory: tempfile::tempdir().unwrap(), ids: EventIds::new() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store.db")
    }

    fn sink(&self) -> StoreSink {
        StoreSink::new(&self.path(), Retention::default())
    }

    fn store(&self) -> Store {
        Store::open_read(&self.path()).unwrap()
    }

    fn request(&self, session: &str, id: &str, tool: &str, time: i64) -> RequestEvent {
        let json = || Raw::from(b"{}".to_vec());
        RequestEvent {
            v: VERSION,
            event_id: self.ids.next(),
            request_id: id.to_owned(),
            ts: time,
            request: LoggedRequest::Mcp {
                method: Arc::from("POST"),
                path: "/mcp".to_owned(),
                mcp_method: Arc::from("tools/call"),
                tool: Some(Arc::from(tool)),
                parts: None,
                message: json(),
            },
            response: Some(LoggedResponse::Mcp { status: 200, result: "ok", parts: None, message: json() }),
            latency_us: 1000,
            call_us: 1000,
            upstream_us: 900,
            spans: Vec::new(),
            openai: None,
            started_at: time,
            first_byte_us: Some(950),
            status: Outcome::Ok,
            error_code: None,
            error_message: None,
            request_bytes: 10,
            response_bytes: 20,
            session: Some(Arc::from(session)),
            protocol_version: None,
            listener: Arc::from("main"),
            upstream: Arc::from(SERVER),
            csp_applied: false,
            trace: Some(Arc::from("trace-1")),
        }
    }

    fn call(&self, session: &str, id: &str, tool: &str, time: i64) -> Arc<Signal> {
        signal(self.request(session, id, tool, time))
    }

    fn session(&self, id: &str, client: &str, time: i64) -> Arc<Signal> {
        Arc::new(Signal::event(Event::Session(SessionEvent {
            v: VERSION,
            event_id: self.ids.next(),
            ts: time,
            started_at: time,
            session_id: Arc::from(id),
            client_name: Some(client.to_owned()),
            client_version: Some("1.0".to_owned()),
            client_platform: None,
            upstream: Arc::from(SERVER),
            protocol_version: Some(Arc::from("2025-06-18")),
            server_name: Some("demo".to_owned()),
            server_version: None,
            listener: Arc::from("main"),
            trace: Some(Arc::from("trace-1")),
        })))
    }

    fn tools(&self, change_type: ChangeType, tools: &[(&str, &str)], time: i64) -> Arc<Signal> {
        let item = |(key, definition): &(&str, &str)| SchemaItem {
            key: (*key).to_owned(),
            definition: Raw::from(definition.as_bytes().to_vec()),
        };
        Arc::new(Signal::event(Event::Schema(SchemaEvent {
            v: VERSION,
            event_id: self.ids.next(),
            ts: time,
            mcp_method: "tools/list",
            upstream: Arc::from(SERVER),
            items: tools.iter().map(item).collect(),
            change_type,
            session: None,
        })))
    }

    /// Writes signals, all of them, without a complaint.
    fn write(&self, signals: &[Arc<Signal>]) {
        let mut sink = self.sink();
        sink.take(signals).unwrap();
        sink.finish().unwrap();
    }

    /// The ids of all calls, in the order of their times.
    fn ids(&self) -> Vec<String> {
        let calls = self.store().calls(&Filter::default(), Order::Oldest, 1000).unwrap();
        calls.into_iter().map(|call| call.request_id).collect()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn signal(request: RequestEvent) -> Arc<Signal> {
    Arc::new(Signal::event(Event::Request(Box::new(request))))
}

fn rows_of(signals: &[Arc<Signal>]) -> Vec<Row> {
    let mut all = Vec::new();
    signals.iter().for_each(|signal| rows(signal, |row| all.push(row)));
    all
}

fn line(what: LineWhat, session: &str) -> Arc<Signal> {
    Arc::new(Signal::line(Line {
        ts: "2026-05-28T20:26:50.000Z".to_owned(),
        what,
        session: Arc::from(session),
        upstream: Arc::from(SERVER),
        csp_applied: false,
    }))
}

/// Wakes a sink, as the bus does, until it says something or has nothing more to do.
fn wake_until_told(sink: &mut StoreSink) -> Option<String> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Some(wait) = sink.wake_in() {
        assert!(Instant::now() < deadline, "the sink says nothing");
        std::thread::sleep(wait);
        if let Err(error) = sink.wake() {
            return Some(error.message);
        }
    }
    None
}

#[test]
fn ten_sessions_that_all_use_id_1_are_ten_rows() {
    let place = Place::new();
    let calls: Vec<_> = (0..10).map(|n| place.call(&format!("s{n}"), "1", "add", NOON + n)).collect();
    place.write(&calls);
    let store = place.store();
    assert_eq!(store.calls(&Filter::default(), Order::Newest, 100).unwrap().len(), 10);
    let sessions = store.sessions(&Filter::default(), 100).unwrap();
    assert_eq!(sessions.len(), 10);
    assert!(sessions.iter().all(|session| session.calls == 1 && session.trace.as_deref() == Some("trace-1")));
    assert_eq!(store.stats(&Filter::default()).unwrap().totals.calls, 10);
}

#[test]
fn a_row_says_what_the_event_said() {
    let place = Place::new();
    let mut request = place.request("s", "7", "add", NOON);
    request.status = Outcome::ProtocolError;
    request.error_code = Some(-32602);
    request.error_message = Some("é".repeat(1000));
    let event_id = request.event_id;
    place.write(&[place.session("s", "cli", NOON), signal(request)]);
    let calls = place.store().calls(&Filter::default(), Order::Newest, 1).unwrap();
    let call = &calls[0];
    assert_eq!((call.time, call.request_id.as_str(), call.tool.as_deref()), (NOON, "7", Some("add")));
    assert_eq!((call.server.as_str(), call.listener.as_deref()), (SERVER, Some("main")));
    assert_eq!(
        (call.transport.as_str(), call.kind.as_str(), call.method.as_str()),
        ("http", "mcp", "tools/call")
    );
    assert_eq!((call.latency_us, call.upstream_us, call.first_byte_us), (Some(1000), Some(900), Some(950)));
    assert_eq!((call.request_bytes, call.response_bytes, call.http_status), (10, 20, Some(200)));
    assert_eq!((call.status, call.error_code), (Outcome::ProtocolError, Some(-32602)));
    assert_eq!(call.error_message.as_deref(), Some("é".repeat(250).as_str()));
    assert_eq!((call.session.as_deref(), call.client.as_deref()), (Some("s"), Some("cli")));
    assert_eq!((call.trace.as_deref(), call.event_id), (Some("trace-1"), Some(event_id)));
}

#[test]
fn each_message_of_a_batch_is_a_row() {
    let place = Place::new();
    let mut request = place.request("s", "1", "", NOON);
    let one = |id: Option<&str>, tool: &str, status| LoggedCall {
        request_id: id.map(str::to_owned),
        mcp_method: Arc::from("tools/call"),
        tool: Some(Arc::from(tool)),
        status,
        error_code: None,
        error_message: None,
        message: Raw::from(b"{}".to_vec()),
        request_bytes: 30,
        response_bytes: 40,
    };
    request.request = LoggedRequest::McpBatch {
        method: Arc::from("POST"),
        path: "/mcp".to_owned(),
        parts: None,
        messages: vec![one(Some("1"), "add", Outcome::Ok), one(None, "sub", Outcome::ToolError)],
    };
    place.write(&[signal(request)]);
    let calls = place.store().calls(&Filter::default(), Order::Oldest, 10).unwrap();
    let told: Vec<_> =
        calls.iter().map(|call| (call.tool.as_deref(), call.status, call.kind.as_str())).collect();
    assert_eq!(told, [(Some("add"), Outcome::Ok, "batch"), (Some("sub"), Outcome::ToolError, "batch")]);
    assert!(calls.iter().all(|call| (call.request_bytes, call.response_bytes) == (30, 40)));
    let ids = calls.iter().map(|call| serde_json::to_value(call).unwrap()["requestId"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), ["1".into(), serde_json::Value::Null]);
}

#[test]
fn a_call_has_its_own_trace() {
    let place = Place::new();
    let in_trace = |session: Option<&str>, id: &str, trace: Option<&str>| {
        let mut request = place.request("s", id, "add", NOON);
        (request.session, request.trace) = (session.map(Arc::from), trace.map(Arc::from));
        signal(request)
    };
    place.write(&[
        in_trace(Some("s"), "1", Some("first")),
        in_trace(Some("s"), "2", Some("second")),
        in_trace(None, "3", Some("third")),
        in_trace(None, "4", None),
    ]);
    // The session is begun again, in another trace.
    place.write(&[place.session("s", "cli", NOON), in_trace(Some("s"), "5", Some("trace-1"))]);
    let calls = place.store().calls(&Filter::default(), Order::Oldest, 10).unwrap();
    let traces: Vec<_> = calls.iter().map(|call| call.trace.as_deref()).collect();
    assert_eq!(traces, [Some("first"), Some("second"), Some("third"), None, Some("trace-1")]);
    assert_eq!(place.store().session("s").unwrap().session.trace.as_deref(), Some("first"));
}

#[test]
fn requests_of_http_have_their_path_without_the_query() {
    let place = Place::new();
    let mut request = place.request("s", "1", "", NOON);
    request.session = None;
    request.request =
        LoggedRequest::Http { method: Arc::from("GET"), uri: "/login?code=1".to_owned(), body_size: 0 };
    place.write(&[signal(request)]);
    let calls = place.store().calls(&Filter::default(), Order::Oldest, 10).unwrap();
    assert_eq!((calls[0].method.as_str(), calls[0].path.as_deref()), ("GET", Some("/login")));
    assert_eq!((calls[0].session.as_deref(), calls[0].tool.as_deref()), (None, None));
}

#[test]
fn filters_narrow_what_is_told() {
    let place = Place::new();
    let mut failed = place.request("abd", "3", "sub", NOON + 2);
    failed.status = Outcome::ToolError;
    failed.call_us = 9000;
    place.write(&[
        place.session("abc", "cli", NOON),
        place.session("abd", "ide", NOON),
        place.call("abc", "1", "add", NOON),
        place.call("abc", "2", "add", NOON + 1),
        signal(failed),
    ]);
    let store = place.store();
    let ids = |filter: &Filter| {
        let calls = store.calls(filter, Order::Newest, 100).unwrap();
        calls.into_iter().map(|call| call.request_id).collect::<String>()
    };
    let all = Filter::default();
    assert_eq!(ids(&all), "321");
    assert_eq!(ids(&Filter { since_ms: Some(NOON + 1), ..all.clone() }), "32");
    assert_eq!(ids(&Filter { until_ms: Some(NOON + 1), ..all.clone() }), "1");
    assert_eq!(ids(&Filter { tool: Some("add".into()), ..all.clone() }), "21");
    assert_eq!(ids(&Filter { method: Some("ping".into()), ..all.clone() }), "");
    assert_eq!(ids(&Filter { server: Some(SERVER.into()), ..all.clone() }), "321");
    assert_eq!(ids(&Filter { client: Some("ide".into()), ..all.clone() }), "3");
    assert_eq!(ids(&Filter { session: Some("ab".into()), ..all.clone() }), "321");
    assert_eq!(ids(&Filter { session: Some("abc".into()), ..all.clone() }), "21");
    assert_eq!(ids(&Filter { errors_only: true, ..all.clone() }), "3");
    assert_eq!(ids(&Filter { statuses: vec![Outcome::Ok, Outcome::TimedOut], ..all.clone() }), "21");
    let slowest = store.calls(&all, Order::Slowest, 1).unwrap();
    assert_eq!(slowest[0].request_id, "3");
    let with_errors = store.sessions(&Filter { errors_only: true, ..all.clone() }, 10).unwrap();
    assert_eq!(with_errors.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["abd"]);
    let clients = store.clients(&all).unwrap();
    let told: Vec<_> = clients
        .iter()
        .map(|client| (client.name.as_deref(), client.sessions, client.calls, client.errors))
        .collect();
    assert_eq!(told, [(Some("ide"), 1, 1, 1), (Some("cli"), 1, 2, 0)]);
}

#[test]
fn statistics_are_by_server_method_and_tool() {
    let place = Place::new();
    let timed = |id: u64| {
        let mut request = place.request("s", &id.to_string(), "add", NOON);
        request.call_us = id;
        request.status = if id == 100 { Outcome::TimedOut } else { Outcome::Ok };
        signal(request)
    };
    let mut calls: Vec<_> = (1..=100).map(timed).collect();
    calls.push(place.call("s", "x", "sub", NOON));
    place.write(&calls);
    let stats = place.store().stats(&Filter::default()).unwrap();
    assert_eq!(stats.rows.len(), 2);
    let add = &stats.rows[0];
    assert_eq!((add.tool.as_deref(), add.calls, add.errors, add.counts.timed_out), (Some("add"), 100, 1, 1));
    assert_eq!((add.p50_us, add.p95_us, add.p99_us), (Some(50), Some(95), Some(99)));
    assert_eq!((add.mean_us, add.max_us, add.request_bytes), (Some(50), Some(99), 1000));
    assert_eq!((stats.totals.calls, stats.totals.max_us), (101, Some(1000)));
}

#[test]
fn what_was_not_answered_is_in_no_percentile() {
    let place = Place::new();
    let waited = |status, us| {
        let mut request = place.request("s", "1", "add", NOON);
        (request.status, request.call_us, request.response) = (status, us, None);
        signal(request)
    };
    // An HTTP error, even with a response, says how fast a gateway refuses, not how fast the server is.
    let unanswered = [Outcome::Cancelled, Outcome::TimedOut, Outcome::Disconnected, Outcome::HttpError];
    let mut calls: Vec<_> = (1000..).zip(unanswered).map(|(us, status)| waited(status, us)).collect();
    let mut answered = place.request("s", "1", "add", NOON);
    (answered.status, answered.call_us) = (Outcome::ToolError, 5);
    calls.push(signal(answered));
    place.write(&calls);
    let store = place.store();
    let add = store.stats(&Filter::default()).unwrap().rows.remove(0);
    assert_eq!((add.calls, add.measured, add.p99_us, add.max_us), (5, 1, Some(5), Some(5)));
    let slow = store.calls(&Filter::default(), Order::Slowest, 10).unwrap();
    let told: Vec<_> = slow.iter().map(|call| (call.status, call.latency_us.unwrap())).collect();
    assert_eq!(
        told,
        [
            (Outcome::HttpError, 1003),
            (Outcome::Disconnected, 1002),
            (Outcome::TimedOut, 1001),
            (Outcome::Cancelled, 1000),
            (Outcome::ToolError, 5)
        ]
    );
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let place = Place::new();
    place.write(&[
        place.call("abc", "2", "add", NOON + 5),
        place.call("abd", "9", "add", NOON),
        place.call("abc", "1", "add", NOON),
        place.session("abc", "cli", NOON),
        line(LineWhat::SessionEnd, "abc"),
    ]);
    let store = place.store();
    let found = store.session("abc").unwrap();
    assert_eq!(found.calls.iter().map(|call| call.request_id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!((found.session.calls, found.session.client_name.as_deref()), (2, Some("cli")));
    assert_eq!(found.session.ended, Some(1_780_000_010_000));
    assert!(matches!(store.session("x"), Err(StoreError::UnknownSession { .. })));
    let Err(StoreError::AmbiguousSession { candidates, .. }) = store.session("ab") else { panic!() };
    assert_eq!(candidates.len(), 2);
}

#[test]
fn what_servers_offer_is_kept_and_its_changes_are_logged() {
    let place = Place::new();
    place.write(&[
        place.tools(ChangeType::Initial, &[("add", r#"{"name":"add"}"#), ("sub", r#"{"name":"sub"}"#)], NOON),
        place.tools(ChangeType::Modified, &[("add", r#"{"name":"add","x":1}"#)], NOON + 1),
        place.tools(ChangeType::Added, &[("mul", r#"{"name":"mul"}"#)], NOON + 2),
        place.tools(ChangeType::Removed, &[("sub", r#"{"name":"sub"}"#)], NOON + 3),
        place.call("s", "1", "add", NOON + 4),
        line(LineWhat::CspViolation { blocked_uri: "https://x".into(), directive: "img-src".into() }, "s"),
    ]);
    let store = place.store();
    let lists = store.schema(Some(SERVER)).unwrap();
    let items: Vec<_> = lists[0]
        .items
        .iter()
        .map(|item| (item.key.as_str(), item.first_seen - NOON, item.changed - NOON))
        .collect();
    assert_eq!(items, [("add", 0, 1), ("mul", 2, 2)]);
    assert!(store.schema(Some("another")).unwrap().is_empty());
    let changes = store.schema_changes(&Filter::default(), 100).unwrap();
    let told: Vec<_> = changes.iter().map(|change| (change.change.as_str(), change.key.as_str())).collect();
    assert_eq!(
        told,
        [("removed", "sub"), ("added", "mul"), ("modified", "add"), ("initial", "sub"), ("initial", "add")]
    );
    let unused = store.unused_tools(&Filter::default()).unwrap();
    assert_eq!(unused.iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["mul"]);
    let long_ago = Filter { until_ms: Some(NOON), ..Filter::default() };
    assert_eq!(store.unused_tools(&long_ago).unwrap().len(), 2);
    let snapshots = store.snapshots().unwrap();
    assert_eq!((snapshots.len(), snapshots[0].items.len()), (1, 2));
    assert_eq!(store.violations(&Filter::default(), 10).unwrap()[0].directive, "img-src");
}

/// A proxy that was killed ends no sessions.
#[test]
fn a_session_of_a_killed_proxy_ends_after_thirty_idle_minutes() {
    let place = Place::new();
    let now = jiff::Timestamp::now().as_millisecond();
    let (old, recent) = (now - 40 * 60_000, now - 20 * 60_000);
    place.write(&[place.call("old", "1", "add", old), place.call("recent", "1", "add", recent)]);
    let store = place.store();
    let ended = |id: &str| store.session(id).unwrap().session.ended;
    assert_eq!((ended("old"), ended("recent")), (Some(old + 1 + 30 * 60_000), None));
}

/// A session lasts until its last activity ends, also if it is used again after its idle end.
#[test]
fn a_session_lasts_until_its_last_call_has_ended() {
    let place = Place::new();
    let started = jiff::Timestamp::now().as_millisecond() - 120_000;
    let long = |time, us| {
        let mut request = place.request("s", "1", "add", time);
        // The stream stays open for half a second after the answer.
        (request.call_us, request.latency_us) = (us - 500_000, us);
        signal(request)
    };
    let end = |time| {
        let ts = jiff::Timestamp::from_millisecond(time).unwrap().to_string();
        let upstream = Arc::from(SERVER);
        let what = LineWhat::SessionEnd;
        Arc::new(Signal::line(Line { ts, what, session: "s".into(), upstream, csp_applied: false }))
    };
    let told = || {
        let session = place.store().session("s").unwrap().session;
        (session.last_seen - started, session.ended.map(|ended| ended - started))
    };
    place.write(&[place.session("s", "cli", started), long(started + 1_000, 1_500_000)]);
    assert_eq!(told(), (2_500, None));
    place.write(&[end(started + 30_000)]);
    assert_eq!(told(), (2_500, Some(30_000)));
    place.write(&[long(started + 60_000, 2_000_000)]);
    assert_eq!(told(), (62_000, None), "it is used again");
    place.write(&[end(started + 90_000)]);
    assert_eq!(told(), (62_000, Some(90_000)));
}

#[test]
fn an_initial_list_that_is_known_already_changes_nothing() {
    let place = Place::new();
    let list = || place.tools(ChangeType::Initial, &[("add", "{}"), ("sub", "{}")], NOON);
    place.write(&[list()]);
    place.write(&[list()]);
    assert_eq!(place.store().schema_changes(&Filter::default(), 100).unwrap().len(), 2);
    place.write(&[place.tools(ChangeType::Initial, &[("add", "{}")], NOON)]);
    let changes = place.store().schema_changes(&Filter::default(), 100).unwrap();
    assert_eq!((changes.len(), changes[0].change.as_str(), changes[0].key.as_str()), (3, "removed", "sub"));
}

#[test]
fn a_clock_that_steps_back_loses_nothing() {
    let place = Place::new();
    place.write(&[place.call("s", "1", "add", NOON), place.call("s", "2", "add", NOON - 3_600_000)]);
    assert_eq!(place.ids(), ["2", "1"]);
    let store = place.store();
    let session = store.session("s").unwrap();
    assert_eq!((session.calls.len(), session.session.last_seen), (2, NOON + 1));
    let after = store.calls_after(1, &Filter::default(), 10).unwrap();
    assert_eq!(after.iter().map(|call| call.request_id.as_str()).collect::<Vec<_>>(), ["2"]);
}

#[test]
fn following_sees_what_comes_and_a_store_that_was_emptied() {
    let place = Place::new();
    place.write(&[place.call("s", "1", "add", NOON), place.call("s", "2", "add", NOON)]);
    let store = place.store();
    let (newest, version) = (store.newest_row().unwrap(), store.data_version().unwrap());
    assert!(store.calls_after(newest, &Filter::default(), 10).unwrap().is_empty());
    assert_eq!(store.data_version().unwrap(), version);
    place.write(&[place.call("s", "3", "add", NOON)]);
    assert_ne!(store.data_version().unwrap(), version);
    let come = store.calls_after(newest, &Filter::default(), 10).unwrap();
    assert_eq!((come.len(), come[0].request_id.as_str()), (1, "3"));
    assert_eq!(store.calls_after(1000, &Filter::default(), 10).unwrap().len(), 3);
}

#[test]
fn there_is_a_word_for_a_store_that_is_not_there() {
    let place = Place::new();
    let error = Store::open_read(&place.path()).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    std::fs::write(place.path(), b"").unwrap();
    assert!(matches!(Store::open_read(&place.path()), Err(StoreError::Missing { .. })));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_any_of_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let path = place.directory.path().join("new").join("store.db");
    let mut sink = StoreSink::new(&path, Retention::default());
    sink.open().unwrap();
    sink.take(&[place.call("s", "1", "add", NOON)]).unwrap();
    assert_eq!(wake_until_told(&mut sink), None);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "the store, its log and its index");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

#[test]
fn rows_are_kept_while_another_program_holds_the_store() {
    let place = Place::new();
    place.write(&[place.call("s", "1", "add", NOON)]);
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut sink = place.sink();
    sink.take(&[place.call("s", "2", "add", NOON + 1)]).unwrap();
    let told = wake_until_told(&mut sink).unwrap();
    assert!(told.contains("locked by another program"), "{told}");
    // The same error is reported once.
    sink.take(&[place.call("s", "3", "add", NOON + 2)]).unwrap();
    std::thread::sleep(sink.wake_in().unwrap());
    sink.wake().unwrap();
    assert_eq!(place.ids(), ["1"], "a reader reads all the same");
    other.execute_batch("COMMIT").unwrap();
    let told = wake_until_told(&mut sink).unwrap();
    assert!(told.contains("writable again") && told.contains("nothing was lost"), "{told}");
    assert_eq!(place.ids(), ["1", "2", "3"]);
    assert_eq!(wake_until_told(&mut sink), None, "and then nothing is left to do");
}

#[test]
fn what_is_pending_at_the_end_of_a_locked_store_counts_as_lost() {
    let place = Place::new();
    place.write(&[place.call("s", "1", "add", NOON)]);
    let other = Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut sink = place.sink();
    sink.take(&[place.call("s", "2", "add", NOON)]).unwrap();
    assert_eq!(sink.finish().unwrap_err().lost, 1);
}

#[test]
fn a_damaged_store_is_moved_aside_and_a_new_one_begun() {
    let place = Place::new();
    place.write(&[place.call("s", "0", "add", NOON)]);
    let mut damaged = std::fs::read(place.path()).unwrap();
    damaged[16..].fill(7);
    std::fs::write(place.path(), &damaged).unwrap();
    let mut sink = place.sink();
    sink.take(&[place.call("s", "1", "add", NOON)]).unwrap();
    let told = wake_until_told(&mut sink).unwrap();
    assert!(told.contains("was damaged") && told.contains("store.corrupt-"), "{told}");
    assert_eq!(place.ids(), ["1"]);
    sink.take(&[place.call("s", "2", "add", NOON)]).unwrap();
    sink.finish().unwrap();
    assert_eq!(place.ids(), ["1", "2"]);
    let aside = place.names().into_iter().find(|name| name.starts_with("store.corrupt-")).unwrap();
    assert_eq!(std::fs::read(place.directory.path().join(aside)).unwrap(), damaged);
}

#[test]
fn what_never_was_a_store_is_left_alone() {
    for content in [&b"my diary"[..], &[7u8; 10_000], &[0u8; 4096]] {
        let place = Place::new();
        std::fs::write(place.path(), content).unwrap();
        let mut sink = place.sink();
        sink.take(&[place.call("s", "1", "add", NOON)]).unwrap();
        let told = wake_until_told(&mut sink).unwrap();
        assert!(told.contains("store.db is not a store") && told.contains("move this one away"), "{told}");
        std::thread::sleep(sink.wake_in().unwrap());
        sink.wake().unwrap();
        let error = Store::open_read(&place.path()).unwrap_err();
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error}");
        assert_eq!(std::fs::read(place.path()).unwrap(), content);
        assert_eq!(place.names(), ["store.db"]);
        std::fs::remove_file(place.path()).unwrap();
        assert!(wake_until_told(&mut sink).unwrap().contains("writable again"));
        assert_eq!(place.ids(), ["1"]);
    }
}

#[test]
fn a_directory_is_said_to_be_one() {
    let place = Place::new();
    std::fs::create_dir(place.path()).unwrap();
    let told = place.sink().open().unwrap_err().message;
    assert!(told.contains("store.db is a directory"), "{told}");
    assert!(matches!(Store::open_read(&place.path()), Err(StoreError::Directory { .. })));
}

#[test]
fn a_store_damaged_inside_is_moved_aside() {
    let place = Place::new();
    let many: Vec<_> = (0..5000).map(|n| place.call("s", &n.to_string(), "add", NOON + n)).collect();
    place.write(&many);
    // Everything but the header and the list of tables.
    let mut bytes = std::fs::read(place.path()).unwrap();
    bytes[4096 * 3..].fill(0xff);
    std::fs::write(place.path(), bytes).unwrap();
    let mut sink = place.sink();
    sink.take(&[place.call("t", "new", "add", NOON)]).unwrap();
    let told = wake_until_told(&mut sink).unwrap();
    assert!(told.contains("was damaged"), "{told}");
    sink.finish().unwrap();
    assert_eq!(place.ids(), ["new"]);
}

#[test]
fn a_newer_store_is_refused_and_left_where_it_is() {
    let place = Place::new();
    place.write(&[place.call("s", "1", "add", NOON)]);
    Connection::open(place.path()).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let error = Store::open_read(&place.path()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { version: 99, .. }), "{error}");
    let error = place.sink().open().unwrap_err();
    assert!(error.message.contains("newer wiretape"), "{error}");
    assert!(place.names().iter().all(|name| !name.contains("corrupt")));
}

#[test]
fn another_programs_database_is_left_alone() {
    let place = Place::new();
    Connection::open(place.path()).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    let error = place.sink().open().unwrap_err();
    assert!(error.message.contains("another program"), "{error}");
    assert_eq!(place.names(), ["store.db"]);
}

#[test]
fn a_store_of_version_1_is_read_and_written() {
    let place = Place::new();
    let old = Connection::open(place.path()).unwrap();
    old.execute_batch(include_str!("../src/store/version1.sql")).unwrap();
    old.execute_batch(
        "PRAGMA application_id = 0x77746170; PRAGMA user_version = 1; \
         INSERT INTO operation VALUES (1, 'http://old', NULL, 'http', 'mcp', 'ping', NULL, 1); \
         INSERT INTO session (id, server, name, transport, started, last_seen, calls, first_call, last_call) \
         VALUES (1, 'http://old', 'old', 'http', 5, 5, 1, 1, 1); \
         INSERT INTO call (time, operation, session, status, request_bytes, response_bytes, request_id) \
         VALUES (5, 1, 1, 0, 0, 0, 'old');",
    )
    .unwrap();
    drop(old);
    assert_eq!(place.ids(), ["old"]);
    place.write(&[place.call("s", "new", "add", NOON)]);
    assert_eq!(place.ids(), ["old", "new"]);
}

/// What runs in a process that may not do everything: a store that may not be written for a while.
#[cfg(unix)]
#[test]
fn child_that_may_not_write() {
    use std::os::unix::fs::PermissionsExt;
    let Ok(path) = std::env::var("WIRETAPE_TEST_READ_ONLY") else { return };
    let place = Place { directory: tempfile::tempdir_in(&path).unwrap(), ids: EventIds::new() };
    place.write(&[place.call("s", "1", "add", NOON)]);
    let permit =
        |mode| std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    permit(0o400);
    let forbidden = std::fs::OpenOptions::new().append(true).open(place.path()).is_err();
    assert!(forbidden, "nothing is forbidden to this user");
    let mut sink = place.sink();
    sink.take(&[place.call("s", "2", "add", NOON)]).unwrap();
    let told = wake_until_told(&mut sink).unwrap();
    assert!(told.contains("can't be written"), "{told}");
    assert_eq!(place.ids(), ["1"]);
    permit(0o600);
    assert!(wake_until_told(&mut sink).unwrap().contains("writable again"));
    assert_eq!(place.ids(), ["1", "2"]);
    std::fs::write(format!("{path}/done"), b"").unwrap();
}

/// Root ignores permissions, so the child runs as the user `nobody`.
#[cfg(unix)]
#[test]
fn a_store_that_may_not_be_written_costs_no_rows_if_that_ends() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    // The user `nobody` may not be able to read the build directory.
    let program = directory.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", "child_that_may_not_write"]).env("WIRETAPE_TEST_READ_ONLY", directory.path());
    child.env("TMPDIR", directory.path());
    if std::fs::metadata(directory.path()).unwrap().uid() == 0 {
        child.current_dir("/").uid(NOBODY).gid(NOBODY);
    }
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(directory.path().join("done").exists(), "the child had nothing to do");
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_made_is_told_once() {
    let place = Place::new();
    let in_the_way = place.directory.path().join("file");
    std::fs::write(&in_the_way, b"").unwrap();
    let path = in_the_way.join("store.db");
    let mut sink = StoreSink::new(&path, Retention::default());
    sink.take(&[place.call("s", "1", "add", NOON)]).unwrap();
    assert!(wake_until_told(&mut sink).unwrap().contains("can't open"));
    std::thread::sleep(sink.wake_in().unwrap());
    sink.wake().unwrap();
    std::fs::remove_file(&in_the_way).unwrap();
    assert!(wake_until_told(&mut sink).unwrap().contains("writable again"));
    assert_eq!(Store::open_read(&path).unwrap().info().unwrap().rows.calls, 1);
}

#[cfg(unix)]
#[test]
fn a_store_that_was_deleted_is_begun_anew() {
    let place = Place::new();
    let mut sink = place.sink();
    sink.take(&[place.call("s", "1", "add", NOON)]).unwrap();
    assert_eq!(wake_until_told(&mut sink), None);
    for name in place.names() {
        std::fs::remove_file(place.directory.path().join(name)).unwrap();
    }
    sink.take(&[place.call("s", "2", "add", NOON)]).unwrap();
    sink.finish().unwrap();
    assert_eq!(place.ids(), ["2"]);
}

#[test]
fn two_writers_share_a_store() {
    let place = Place::new();
    let write = |name: &'static str| {
        let path = place.path();
        let calls: Vec<_> = (0..300).map(|n| place.call(name, &n.to_string(), name, NOON + n)).collect();
        std::thread::spawn(move || {
            let mut sink = StoreSink::new(&path, Retention::default());
            // A store that is just being made by the other may be locked for a moment; nothing is lost by that.
            let nothing_lost = |result: Result<(), wiretape_events::SinkError>| {
                assert_eq!(result.err().map_or(0, |error| error.lost), 0);
            };
            for chunk in calls.chunks(10) {
                nothing_lost(sink.take(chunk));
            }
            while let Some(wait) = sink.wake_in() {
                std::thread::sleep(wait);
                nothing_lost(sink.wake());
            }
            sink.finish().unwrap();
        })
    };
    [write("one"), write("two")].into_iter().for_each(|writer| writer.join().unwrap());
    let stats = place.store().stats(&Filter::default()).unwrap();
    assert_eq!(stats.rows.iter().map(|row| row.calls).collect::<Vec<_>>(), [300, 300]);
}

#[test]
fn a_writer_does_not_refer_to_what_another_has_pruned() {
    let place = Place::new();
    let mut first = Writer::open(&place.path()).unwrap();
    first.write(&rows_of(&[place.call("s", "1", "add", NOON)])).unwrap();
    let mut second = Writer::open(&place.path()).unwrap();
    let age = Retention { max_age: Some(Duration::from_secs(1)), max_bytes: None };
    let gone = second.prune(age, NOON + 10_000).unwrap();
    assert_eq!((gone.calls, gone.sessions, gone.operations), (1, 1, 1));
    first.write(&rows_of(&[place.call("s", "1", "add", NOON + 10_000)])).unwrap();
    let calls = place.store().calls(&Filter::default(), Order::Newest, 10).unwrap();
    assert_eq!((calls[0].tool.as_deref(), calls[0].session.as_deref()), (Some("add"), Some("s")));
}

#[test]
fn what_is_old_goes_from_every_table() {
    let place = Place::new();
    let mut signals: Vec<_> =
        (0..5000).map(|n| place.call("old", &n.to_string(), "old", NOON - 100_000)).collect();
    signals.push(place.tools(ChangeType::Initial, &[("old", "{}")], NOON - 100_000));
    signals.push(line(LineWhat::CspViolation { blocked_uri: "x".into(), directive: "y".into() }, "old"));
    signals.push(place.call("new", "1", "new", NOON + 20_000));
    place.write(&signals);
    let before = place.store().info().unwrap();
    let mut writer = Writer::open(&place.path()).unwrap();
    let age = Retention { max_age: Some(Duration::from_secs(5)), max_bytes: None };
    let gone = writer.prune(age, NOON + 20_000).unwrap();
    assert_eq!((gone.calls, gone.sessions, gone.operations), (5000, 1, 1));
    assert_eq!((gone.schema_changes, gone.violations), (1, 1));
    let info = place.store().info().unwrap();
    assert_eq!((info.rows.calls, info.rows.sessions, info.rows.operations), (1, 1, 1));
    assert_eq!((info.rows.schema_changes, info.rows.violations), (0, 0));
    assert_eq!(info.rows.schema_items, 1, "what a server offers now is kept while the server is in use");
    assert!(info.bytes < before.bytes / 2 && info.free_bytes == 0, "{info:?}");
    assert!(std::fs::metadata(place.path()).unwrap().len() <= info.bytes, "the file itself has shrunk");
    assert!(gone.bytes_freed >= before.bytes - info.bytes);
}

#[test]
fn what_is_too_much_goes_oldest_first() {
    let place = Place::new();
    let signals: Vec<_> =
        (0..20_000).map(|n| place.call(&format!("s{}", n / 1000), &n.to_string(), "add", NOON + n)).collect();
    place.write(&signals);
    let mut writer = Writer::open(&place.path()).unwrap();
    let max = 1_000_000;
    let gone = writer.prune(Retention { max_age: None, max_bytes: Some(max) }, NOON).unwrap();
    let info = place.store().info().unwrap();
    assert!(info.bytes <= max, "{info:?}");
    assert_eq!(info.rows.calls + gone.calls, 20_000);
    assert!(info.rows.calls > 0 && gone.sessions > 0);
    assert_eq!((info.newest, info.oldest), (Some(NOON + 19_999), Some(NOON + gone.calls as i64)));
    let sessions = place.store().sessions(&Filter::default(), 100).unwrap();
    assert_eq!(sessions.iter().map(|session| session.calls).sum::<u64>(), info.rows.calls);
}

#[test]
fn a_sink_prunes_by_itself() {
    let place = Place::new();
    place.write(&[place.call("old", "1", "add", 5)]);
    let age = Retention { max_age: Some(Duration::from_secs(3600)), max_bytes: None };
    let mut sink = StoreSink::new(&place.path(), age);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    sink.take(&[place.call("new", "2", "add", now as i64)]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while sink.wake_in().unwrap() < Duration::from_secs(60) {
        assert!(Instant::now() < deadline);
        std::thread::sleep(sink.wake_in().unwrap());
        sink.wake().unwrap();
    }
    assert_eq!(place.ids(), ["2"]);
}

const TRACE: &str = include_str!("../../../fixtures/traces/wiretape.jsonl");

fn loaded(place: &Place) -> Loaded {
    load(TraceReader::new(TRACE.as_bytes()), &mut Writer::open(&place.path()).unwrap()).unwrap()
}

#[test]
fn a_trace_is_loaded_once() {
    let place = Place::new();
    let Loaded::Loaded { trace, calls } = loaded(&place) else { panic!() };
    assert!(calls > 0);
    let store = place.store();
    assert_eq!(store.info().unwrap().rows.calls, calls);
    let sessions = store.sessions(&Filter::default(), 10).unwrap();
    assert_eq!((sessions.len(), sessions[0].trace.as_deref()), (1, Some(trace.as_str())));
    assert!(sessions[0].client_name.is_some() && sessions[0].ended.is_some(), "{sessions:?}");
    assert_eq!(loaded(&place), Loaded::AlreadyThere { trace });
    assert_eq!(store.info().unwrap().rows.calls, calls);
}

#[test]
fn a_trace_of_which_a_part_was_loaded_is_loaded_anew() {
    let place = Place::new();
    let mut live = LiveTrace::new(&place.path(), Retention::default());
    let lines: Vec<&str> = TRACE.lines().collect();
    lines[..lines.len() / 2].iter().for_each(|line| live.line(line.as_bytes()).unwrap());
    while let Some(wait) = live.wake_in() {
        std::thread::sleep(wait);
        live.wake().unwrap();
    }
    drop(live);
    let some = place.store().info().unwrap().rows.calls;
    let Loaded::Loaded { calls, .. } = loaded(&place) else { panic!() };
    assert!(0 < some && some < calls, "{some} of {calls}");
    assert_eq!(place.store().info().unwrap().rows.calls, calls);
    assert_eq!(place.ids().len() as u64, calls);
}

#[test]
fn a_live_trace_becomes_the_same_rows_as_a_loaded_one() {
    let (live_place, loaded_place) = (Place::new(), Place::new());
    let mut live = LiveTrace::new(&live_place.path(), Retention::default());
    TRACE.lines().for_each(|line| live.line(line.as_bytes()).unwrap());
    live.finish().unwrap();
    loaded(&loaded_place);
    let calls = |place: &Place| place.store().calls(&Filter::default(), Order::Oldest, 1000).unwrap();
    assert_eq!(calls(&live_place), calls(&loaded_place));
}

#[test]
fn every_fixture_can_be_loaded() {
    let place = Place::new();
    let mut writer = Writer::open(&place.path()).unwrap();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            load(TraceReader::new(std::fs::File::open(&path).unwrap()), &mut writer).unwrap();
        }
    }
    assert!(place.store().info().unwrap().rows.calls > 10);
}

/// What runs in a process of its own, if the variable says where to write.
#[test]
fn child_that_writes() {
    let Ok(path) = std::env::var("WIRETAPE_TEST_STORE") else { return };
    let place = Place::new();
    let mut writer = Writer::open(Path::new(&path)).unwrap();
    for batch in 0.. {
        let calls: Vec<_> = (0..50).map(|n| place.call("s", &format!("{batch}-{n}"), "add", NOON)).collect();
        writer.write(&rows_of(&calls)).unwrap();
        std::fs::write(format!("{path}.acknowledged"), format!("{batch}\n")).unwrap();
    }
}

#[test]
fn a_writer_that_is_killed_loses_nothing_that_was_acknowledged() {
    let place = Place::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_writes"])
        .env("WIRETAPE_TEST_STORE", place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let note = place.directory.path().join("store.db.acknowledged");
    let acknowledged = || std::fs::read_to_string(&note).ok()?.strip_suffix('\n')?.parse::<u64>().ok();
    let mut last = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while last < 20 {
        assert!(Instant::now() < deadline && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
        last = acknowledged().unwrap_or(last);
    }
    kill(&mut child);
    // The note itself may be cut off.
    let last = acknowledged().unwrap_or(last);
    place.write(&[place.call("s", "after", "add", NOON)]);
    let rows = place.store().info().unwrap().rows.calls - 1;
    assert!(rows >= (last + 1) * 50, "{rows} rows, though batch {last} was acknowledged");
    assert_eq!(rows % 50, 0, "a batch is there in full, or not at all");
    assert_eq!(integrity(&place), "ok");
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn integrity(place: &Place) -> String {
    let connection = Connection::open(place.path()).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// What runs in a process that may write no large files: a sink that goes on, and notes what it says.
#[test]
fn child_without_room() {
    let Ok(path) = std::env::var("WIRETAPE_TEST_NO_ROOM") else { return };
    let place = Place::new();
    let mut sink = StoreSink::new(Path::new(&path), Retention::default());
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut n = 0;
    let error = loop {
        assert!(Instant::now() < deadline);
        let calls: Vec<_> = (n..n + 500).map(|n| place.call("s", &n.to_string(), "add", NOON)).collect();
        n += 500;
        if let Err(error) = sink.take(&calls).and_then(|()| sink.wake()) {
            break error;
        }
    };
    std::fs::write(format!("{path}.told"), format!("{} {}", error.lost, error.message)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_sink_without_room_goes_on_and_says_so() {
    let place = Place::new();
    let status = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 400; exec "$0" --exact child_without_room"#])
        .arg(std::env::current_exe().unwrap())
        .env("WIRETAPE_TEST_NO_ROOM", place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let told = std::fs::read_to_string(place.directory.path().join("store.db.told")).unwrap();
    assert!(told.starts_with("0 ") && told.contains("calls are buffered"), "{told}");
    place.write(&[place.call("s", "after", "add", NOON)]);
    assert_eq!(integrity(&place), "ok");
}

fn load_text(place: &Place, trace: &str) -> Loaded {
    load(TraceReader::new(trace.as_bytes()), &mut Writer::open(&place.path()).unwrap()).unwrap()
}

fn recorded(id: &str, part: &str) -> String {
    format!(
        "{{\"v\":1,\"type\":\"meta\",\"startedAt\":\"2026-05-12T23:00:00.000Z\",\"label\":\"demo\",\"command\":[\"{SERVER}\"],\"id\":\"{id}\",\"transport\":\"http\"{part}}}\n\
         {{\"t\":\"2026-05-12T23:00:01.000Z\",\"dir\":\"in\",\"us\":10,\"session\":\"s\",\"raw\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}}}\n\
         {{\"t\":\"2026-05-12T23:00:01.001Z\",\"dir\":\"out\",\"us\":52,\"session\":\"s\",\"raw\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}}}\n"
    )
}

/// A session may continue in another trace, and a trace in further parts: the proxy has reported all of it.
#[test]
fn what_a_proxy_has_told_is_not_loaded_again() {
    let place = Place::new();
    let second = RequestEvent { trace: Some(Arc::from("trace-2")), ..place.request("s", "2", "add", 2000) };
    place.write(&[place.call("s", "1", "add", 1000), signal(second)]);
    let part = r#","part":{"index":2,"of":"trace-2","previous":"x.jsonl","us":5}"#;
    for (id, part) in [("trace-1", ""), ("trace-2", ""), ("trace-3", part)] {
        let trace = id.to_owned();
        assert_eq!(load_text(&place, &recorded(id, part)), Loaded::AlreadyThere { trace }, "{id}");
    }
    assert_eq!(place.store().info().unwrap().rows.calls, 2);
    assert!(matches!(load_text(&place, &recorded("other", "")), Loaded::Loaded { calls: 1, .. }));
}

/// A proxy that was killed may have reported more than it has stored.
#[test]
fn what_a_killed_proxy_did_not_store_is_loaded() {
    let place = Place::new();
    let second = RequestEvent { trace: Some(Arc::from("trace-2")), ..place.request("s", "2", "add", 2000) };
    place.write(&[place.call("s", "1", "add", 1000), signal(second)]);
    let mut writer = Writer::open(&place.path()).unwrap();
    let mut loader = Loader::new(&mut writer);
    loader.forget_if_fewer(&["trace-1"], 1).unwrap();
    assert!(loader.is_reported_by_proxy(&["trace-1"]).unwrap(), "all of it is there");
    loader.forget_if_fewer(&["trace-1"], 2).unwrap();
    assert!(!loader.is_reported_by_proxy(&["trace-1"]).unwrap());
    assert!(loader.is_reported_by_proxy(&["trace-2"]).unwrap(), "another trace of the same session stays");
    assert_eq!(place.ids(), ["2"]);
    assert!(matches!(load_text(&place, &recorded("trace-1", "")), Loaded::Loaded { calls: 1, .. }));
    assert_eq!(place.store().sessions(&Filter::default(), 9).unwrap()[0].calls, 2);
}

/// What was pruned can be loaded again, whether all of a trace went or some of it.
#[test]
fn a_pruned_trace_is_not_taken_for_a_whole_one() {
    for (keep, progress) in [(0, None), (1, Some(Progress::Partial))] {
        let place = Place::new();
        place.write(&[place.call("s", "1", "add", NOON), place.call("s", "2", "add", NOON + 10_000)]);
        let mut writer = Writer::open(&place.path()).unwrap();
        assert_eq!(writer.trace("trace-1").unwrap(), Some(Progress::ReportedByProxy));
        let age = Duration::from_secs(if keep == 0 { 0 } else { 15 });
        writer.prune(Retention { max_age: Some(age), max_bytes: None }, NOON + 20_000).unwrap();
        assert_eq!(place.ids().len(), keep);
        assert_eq!(writer.trace("trace-1").unwrap(), progress, "{keep}");
        // The proxy still runs.
        place.write(&[place.call("s", "3", "add", NOON + 20_000)]);
        let expected = if keep == 0 { Progress::ReportedByProxy } else { Progress::Partial };
        assert_eq!(writer.trace("trace-1").unwrap(), Some(expected), "{keep}");
    }
}

/// Parts of a recording are there when the next one has begun, and are not taken for broken ones.
#[test]
fn parts_that_a_recording_has_fed_are_not_loaded_again() {
    let place = Place::new();
    let part = r#","part":{"index":2,"of":"first","previous":"x.jsonl","us":5}"#;
    let (first, second) = (recorded("first", ""), recorded("second", part));
    let mut live = LiveTrace::new(&place.path(), Retention::default());
    for line in first.lines().chain(second.lines()) {
        live.line(line.as_bytes()).unwrap();
    }
    live.finish().unwrap();
    assert_eq!(load_text(&place, &first), Loaded::AlreadyThere { trace: "first".to_owned() });
    assert_eq!(load_text(&place, &second), Loaded::AlreadyThere { trace: "second".to_owned() });
    assert_eq!(place.store().info().unwrap().rows.calls, 2);
}

/// A chained trace with one call, as a recorder writes it.
fn chained_trace(id: &str, tool: &str) -> Vec<u8> {
    let mut encoder = Encoder::chained();
    let mut out = Vec::new();
    let at = |us| Moment { wall_ms: NOON, us };
    let meta = Meta { id: Some(id.into()), label: "demo".into(), ..Meta::default() };
    encoder.meta(&mut out, at(0), &meta);
    let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
    encoder.message(&mut out, at(1), Direction::ClientToServer, Context::default(), request.as_bytes());
    encoder.end(&mut out, at(2), &LineEnd::default());
    out
}

fn load_bytes(place: &Place, trace: &[u8]) -> Loaded {
    load(TraceReader::new(trace), &mut Writer::open(&place.path()).unwrap()).unwrap()
}

fn head_of(trace: &[u8]) -> Option<String> {
    match check_integrity(trace).unwrap() {
        Integrity::Intact { head, .. } => Some(head),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_digest_of_a_trace_stays() {
    let place = Place::new();
    let digest = || place.store().trace_digest("T").unwrap();
    let (trace, forged) = (chained_trace("T", "add"), chained_trace("T", "divide"));
    assert!(matches!(load_bytes(&place, &trace), Loaded::Loaded { calls: 1, .. }));
    assert_eq!(digest(), head_of(&trace));
    for again in [&trace, &forged] {
        assert!(matches!(load_bytes(&place, again), Loaded::AlreadyThere { .. }));
        assert_eq!(digest(), head_of(&trace));
    }
    // Also if the calls have to be loaded again.
    let sql = Connection::open(place.path()).unwrap();
    sql.execute("UPDATE trace SET complete = 0", []).unwrap();
    assert!(matches!(load_bytes(&place, &forged), Loaded::Loaded { calls: 1, .. }));
    assert_eq!(digest(), head_of(&trace));
}

#[test]
fn a_trace_that_was_loaded_without_its_digest_gets_it_when_it_is_loaded_again() {
    let trace = chained_trace("T", "add");
    let place = Place::new();
    load_bytes(&place, &trace);
    let sql = Connection::open(place.path()).unwrap();
    // A store of version 4.
    sql.execute_batch("DROP TABLE trace_digest; PRAGMA user_version = 4").unwrap();
    drop(sql);
    assert_eq!(place.store().trace_digest("T").unwrap(), None);
    assert!(matches!(load_bytes(&place, &trace), Loaded::AlreadyThere { .. }));
    assert_eq!(place.store().trace_digest("T").unwrap(), head_of(&trace));
    assert_eq!(place.store().info().unwrap().rows.calls, 1);

    // Calls that a proxy has reported.
    let place = Place::new();
    let reported = Row::Trace { id: "T".into(), time: NOON, progress: Progress::ReportedByProxy };
    Writer::open(&place.path()).unwrap().write(&[reported]).unwrap();
    assert!(matches!(load_bytes(&place, &trace), Loaded::AlreadyThere { .. }));
    assert_eq!(place.store().trace_digest("T").unwrap(), head_of(&trace));
}

#[test]
fn a_redacted_copy_has_no_digest_in_the_store() {
    let place = Place::new();
    let trace = chained_trace("T", "add");
    let mut chain = CopyChain::default();
    let mut copy = Vec::new();
    for line in String::from_utf8(trace.clone()).unwrap().lines() {
        chain.push_line(&mut copy, line.as_bytes(), line.replace("add", "[REDACTED]").as_bytes());
    }
    assert_ne!(head_of(&copy), head_of(&trace));
    load_bytes(&place, &copy);
    assert_eq!(place.store().trace_digest("T").unwrap(), None);
    load_bytes(&place, &trace);
    assert_eq!(place.store().trace_digest("T").unwrap(), head_of(&trace));
}

#[test]
fn a_digest_is_deleted_with_its_trace() {
    let place = Place::new();
    load_bytes(&place, &chained_trace("T", "add"));
    let sql = Connection::open(place.path()).unwrap();
    let mut writer = Writer::open(&place.path()).unwrap();
    let mut prune = |now: i64| {
        let max_age = Some(Duration::from_secs(3600));
        writer.prune(Retention { max_age, max_bytes: None }, now).unwrap();
        sql.query_row("SELECT count(*) FROM trace_digest", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(prune(NOON), 1);
    assert_eq!(prune(i64::MAX), 0);
}
