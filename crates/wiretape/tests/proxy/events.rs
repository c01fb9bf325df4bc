//! The events of the proxy, against what its peers did.

use crate::proxy::{Proxy, Stopped, wait_until};
use crate::wire::{Peer, Upstream, ok, post};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;
use wiretape_events::Outcome;
use wiretape_events::store::query::Order;
use wiretape_events::store::{Filter, Store, Writer};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"probe","version":"1.2"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"demo","version":"3"}}}"#;
const SESSION: &str = "Mcp-Session-Id: s1\r\n";

fn call(id: u32, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

/// A client and a server, with the proxy between them.
struct Pair {
    proxy: Proxy,
    upstream: Upstream,
    client: Peer,
    server: Option<Peer>,
}

impl Pair {
    fn new(options: &[&str]) -> Self {
        let upstream = Upstream::listen();
        let proxy = Proxy::before(&upstream, &[&["--events", "events.ndjson"], options].concat());
        let client = proxy.connect();
        Pair { proxy, upstream, client, server: None }
    }

    /// One exchange; the server takes so long.
    fn exchange(&mut self, request: &str, response: &str, time: Duration) -> u16 {
        self.client.send(request);
        let server = self.server.get_or_insert_with(|| self.upstream.accept());
        server.receive();
        std::thread::sleep(time);
        server.send(response);
        self.client.receive().0.status()
    }

    fn post(&mut self, message: &str, response: &str) -> u16 {
        self.exchange(&post(SESSION, message), response, Duration::ZERO)
    }

    fn initialize(&mut self) {
        self.exchange(&post("", INITIALIZE), &ok(SESSION, INITIALIZED), Duration::ZERO);
    }

    fn stop(self) -> Told {
        let Pair { proxy, client, server, .. } = self;
        drop((client, server));
        Told::by(&proxy.stop())
    }
}

/// The emitted events.
struct Told {
    lines: Vec<Value>,
    store: Store,
}

impl Told {
    fn by(stopped: &Stopped) -> Self {
        let text = fs::read_to_string(stopped.home().join("events.ndjson")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Told { lines, store: Store::open_read(&stopped.home().join("data/store.db")).unwrap() }
    }

    fn lines(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }
}

#[test]
fn a_session_is_told_of_as_it_was() {
    let mut pair = Pair::new(&[]);
    pair.initialize();
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let tools = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add"},{"name":"old"}]}}"#;
    pair.post(list, &ok("", tools));
    let fine = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#;
    let slow = Duration::from_millis(60);
    pair.exchange(&post(SESSION, &call(2, "add")), &ok("", fine), slow);
    let failed =
        r#"{"jsonrpc":"2.0","id":3,"result":{"isError":true,"content":[{"type":"text","text":"no file"}]}}"#;
    pair.post(&call(3, "add"), &ok("", failed));
    let error = r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"bad"}}"#;
    pair.post(&call(4, "gone"), &ok("", error));
    let broken = "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(pair.post(&call(5, "add"), broken), 500);
    let changed =
        r#"{"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"add","title":"Add"},{"name":"new"}]}}"#;
    pair.post(&list.replace(":1,", ":6,"), &ok("", changed));
    let end = format!("DELETE /mcp HTTP/1.1\r\nHost: x\r\n{SESSION}\r\n");
    pair.exchange(&end, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Duration::ZERO);
    let told = pair.stop();

    let kinds: Vec<&str> = told.lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let calls = ["tool_call"; 4];
    let expected = [&["session_start", "tool_list"][..], &calls, &["tool_list", "session_end"]].concat();
    assert_eq!(kinds, expected);
    let codes: Vec<Option<i64>> =
        told.lines("tool_call").iter().map(|line| line["error_code"].as_i64()).collect();
    assert_eq!(codes, [None, Some(0), Some(-32602), Some(500)]);
    assert!(told.lines("tool_call")[0]["latency_ms"].as_f64().unwrap() >= 60.0);
    assert!(told.lines.iter().all(|line| line["session"] == "s1"));

    let rows = told.store.calls(&Filter::default(), Order::Newest, 100).unwrap();
    let mut statuses: Vec<(String, Outcome)> =
        rows.iter().map(|row| (row.request_id.clone(), row.status)).filter(|(id, _)| id.len() == 1).collect();
    statuses.sort_by(|a, b| a.0.cmp(&b.0));
    use Outcome::{HttpError, Ok, ProtocolError, ToolError};
    let statuses: Vec<Outcome> = statuses.into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Ok, Ok, Ok, ToolError, ProtocolError, HttpError, Ok]);
    let of = |id: &str| rows.iter().find(|row| row.request_id == id).unwrap();
    assert!(of("2").latency_us.unwrap() >= 60_000 && of("2").upstream_us.unwrap() >= 60_000);
    assert!(of("2").first_byte_us.unwrap() <= of("2").latency_us.unwrap());
    assert_eq!(
        (of("2").request_bytes, of("2").response_bytes),
        (call(2, "add").len() as u64, fine.len() as u64)
    );
    assert_eq!((of("4").error_code, of("4").error_message.as_deref()), (Some(-32602), Some("bad")));
    assert_eq!(of("3").error_message.as_deref(), Some("no file"));

    let sessions = told.store.sessions(&Filter::default(), 10).unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].client_name.as_deref(), Some("probe"));
    assert!(sessions[0].ended.is_some() && sessions[0].trace.is_some());
    let changes = told.store.schema_changes(&Filter::default(), 100).unwrap();
    let mut changes: Vec<String> =
        changes.iter().map(|change| format!("{} {}", change.change, change.key)).collect();
    changes.sort();
    assert_eq!(changes, ["added new", "initial add", "initial old", "modified add", "removed old"]);
}

#[test]
fn ten_sessions_with_the_same_ids_are_ten_rows() {
    let mut pair = Pair::new(&[]);
    for n in 0..10 {
        let session = format!("Mcp-Session-Id: s{n}\r\n");
        pair.exchange(&post("", INITIALIZE), &ok(&session, INITIALIZED), Duration::ZERO);
        let fine = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        pair.exchange(&post(&session, &call(1, "add")), &ok("", fine), Duration::ZERO);
    }
    let told = pair.stop();
    let rows =
        told.store.calls(&Filter { tool: Some("add".to_owned()), ..Filter::default() }, Order::Newest, 100);
    assert_eq!(rows.unwrap().len(), 10);
    assert_eq!(told.store.sessions(&Filter::default(), 100).unwrap().len(), 10);
    assert_eq!(told.lines("session_end").len(), 10, "the proxy's end is theirs");
}

#[test]
fn a_server_that_is_away_and_a_client_that_leaves_are_told_apart() {
    let mut pair = Pair::new(&["--admin", "127.0.0.1:0"]);
    pair.initialize();
    pair.client.send(post(SESSION, &call(1, "slow")));
    pair.server.as_mut().unwrap().receive();
    pair.client = pair.proxy.connect();
    wait_until("the client is gone", || pair.proxy.ask("/status").1["ended"]["client-closed"] == 1);
    pair.server = None;
    pair.upstream = Upstream::listen();
    pair.client.send(post(SESSION, &call(2, "away")));
    assert_eq!(pair.client.receive().0.status(), 502);
    let told = pair.stop();
    let rows = told.store.calls(&Filter::default(), Order::Newest, 100).unwrap();
    let status = |id: &str| rows.iter().find(|row| row.request_id == id).unwrap().status;
    assert_eq!((status("1"), status("2")), (Outcome::Disconnected, Outcome::HttpError));
}

#[test]
fn an_error_without_an_id_is_told_as_what_it_is() {
    let mut pair = Pair::new(&[]);
    let body =
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session"},"id":null}"#;
    let response = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    pair.exchange(&post("", &call(1, "add")), &response, Duration::ZERO);
    let told = pair.stop();
    let line = &told.lines("tool_call")[0];
    assert_eq!((&line["error_code"], &line["status"]), (&(-32000).into(), &"error".into()));
    assert_eq!(line["error_message"], "Bad Request: No valid session");
}

#[test]
fn secrets_reach_neither_lines_nor_the_store_nor_a_trace() {
    const SECRET: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let mut pair = Pair::new(&["--print", "json"]);
    let headers = format!("Authorization: Bearer {SECRET}\r\nMcp-Session-Id: {SECRET}\r\n");
    let error =
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"token {SECRET} is bad"}}}}"#);
    let request = post(&headers, &call(1, SECRET));
    pair.exchange(&request, &ok("", &error), Duration::ZERO);
    let Pair { proxy, client, server, .. } = pair;
    drop((client, server));
    let stopped = proxy.stop();
    assert!(stopped.stderr.contains("\"type\":\"request\""), "{}", stopped.stderr);
    let traces = stopped.traces();
    assert!(traces.len() == 1 && !traces[0].text.contains(SECRET), "{traces:?}");
    for file in ["stderr", "events.ndjson", "data/store.db", "data/store.db-wal"] {
        let bytes = fs::read(stopped.home().join(file)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{file}");
    }
}

#[test]
fn figures_of_the_sinks_are_shown() {
    let mut pair = Pair::new(&["--admin", "127.0.0.1:0"]);
    pair.initialize();
    wait_until("the sinks have it", || {
        let status = pair.proxy.ask("/status").1;
        let taken = |name: &str| {
            let sinks = status["sinks"].as_array().unwrap();
            sinks.iter().find(|sink| sink["name"] == name).unwrap()["taken"].as_u64().unwrap()
        };
        taken("bus") == 1 && taken("ndjson") >= 3 && taken("sqlite") >= 3
    });
    let metrics = pair.proxy.ask_text("/metrics");
    for line in
        ["wiretape_events_dropped_total{sink=\"sqlite\"} 0", "wiretape_exchanges_total{ended=\"complete\"} 1"]
    {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
    pair.stop();
}

#[test]
fn figures_of_requests_can_feed_a_dashboard() {
    let mut pair =
        Pair::new(&["--admin", "127.0.0.1:0", "--label", "demo", "--admin-host", "metrics.example.com"]);
    pair.initialize();
    let fine = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    pair.exchange(&post(SESSION, &call(1, "add")), &ok("", fine), Duration::from_millis(30));
    let error = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"bad"}}"#;
    pair.post(&call(2, "add"), &ok("", error));
    let add = r#"server="demo",method="tools/call",tool="add""#;
    let expected = [
        format!("wiretape_requests_total{{{add},status=\"ok\"}} 1"),
        format!("wiretape_requests_total{{{add},status=\"protocol-error\"}} 1"),
        r#"wiretape_requests_total{server="demo",method="initialize",tool="",status="ok"} 1"#.to_owned(),
        format!("wiretape_request_duration_seconds_bucket{{{add},le=\"+Inf\"}} 2"),
        format!("wiretape_request_duration_seconds_count{{{add}}} 2"),
        r#"wiretape_upstream_up{server="demo"} 1"#.to_owned(),
        r#"wiretape_sessions{server="demo"} 1"#.to_owned(),
        format!("wiretape_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")),
        "# TYPE wiretape_request_duration_seconds histogram".to_owned(),
    ];
    let has = |metrics: &str, line: &String| metrics.lines().any(|found| found == line);
    wait_until("all is counted", || {
        let metrics = pair.proxy.ask_text("/metrics");
        expected.iter().all(|line| has(&metrics, line))
    });
    let metrics = pair.proxy.ask_text("/metrics");
    let of_type =
        metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(|line| line.split(' ').next());
    for family in of_type {
        let help = format!("# HELP {} ", family.unwrap());
        assert!(metrics.lines().any(|line| line.starts_with(&help)), "{help}");
    }
    assert_eq!(pair.proxy.ask_with("/status", "Host: metrics.example.com:3005\r\n").0, 200);
    pair.stop();
}

/// A client of an earlier proxy, which was killed, ends its session.
#[test]
fn a_session_of_an_earlier_run_can_be_ended() {
    let mut pair = Pair::new(&[]);
    pair.initialize();
    let store = pair.proxy.home().join("data/store.db");
    let rows =
        || Store::open_read(&store).map_or(0, |store| store.sessions(&Filter::default(), 9).unwrap().len());
    wait_until("it is stored", || rows() == 1);
    let Pair { proxy, upstream, .. } = pair;
    proxy.signal(crate::proxy::SIGKILL);
    let home = proxy.wait().into_home();
    let proxy = Proxy::start_with(home, &["--upstream", &upstream.url()], &[]);
    let mut client = proxy.connect();
    client.send(format!("DELETE /mcp HTTP/1.1\r\nHost: x\r\n{SESSION}\r\n"));
    let _served = upstream.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    client.receive();
    let stopped = proxy.stop();
    let store = Store::open_read(&stopped.home().join("data/store.db")).unwrap();
    let sessions = store.sessions(&Filter::default(), 9).unwrap();
    assert_eq!(sessions.len(), 1);
    assert!(sessions[0].ended.is_some());
}

/// One that can't be written costs nothing but itself, and is counted as that happens.
#[test]
fn lost_lines_are_counted_while_the_proxy_runs() {
    let mut pair = Pair::new(&["--admin", "127.0.0.1:0", "--traces", "traces"]);
    let traces = pair.proxy.home().join("traces");
    fs::remove_dir_all(&traces).unwrap();
    fs::write(&traces, "no directory").unwrap();
    pair.initialize();
    wait_until("it is counted", || pair.proxy.ask("/status").1["traces"]["lostLines"].as_u64() > Some(0));
    pair.stop();
}

#[test]
fn people_are_told_which_server_and_how_long() {
    let upstream = Upstream::listen();
    let file = format!(
        "print = \"pretty\"\n[[upstream]]\nname = \"one\"\nurl = \"{}\"\nlisten = \"127.0.0.1:0\"\n\
         [[upstream]]\nname = \"two\"\nurl = \"http://127.0.0.1:1/mcp\"\nlisten = \"127.0.0.1:0\"\n",
        upstream.url()
    );
    let proxy = Proxy::by_file(&file);
    let mut client = proxy.connect();
    client.send(post("", INITIALIZE));
    let _served = upstream.answer(ok(SESSION, INITIALIZED));
    client.receive();
    let stderr = proxy.stop().stderr;
    let line =
        stderr.lines().find(|line| line.contains(" initialize ")).unwrap_or_else(|| panic!("{stderr}"));
    assert!(line.contains(" one initialize ok ") && line.ends_with('s'), "{line}");
    assert!(!line.contains('\x1b'), "no colors into a file: {line:?}");
}

#[test]
fn what_a_browser_reports_is_told() {
    let upstream = Upstream::listen();
    let file = format!(
        "events = \"events.ndjson\"\n[[upstream]]\nurl = \"{}\"\nlisten = \"127.0.0.1:0\"\n\
         [[upstream.csp]]\nmode = \"replace\"\nscript-src = [\"'self'\"]\n",
        upstream.url()
    );
    let proxy = Proxy::by_file(&file);
    let mut client = proxy.connect();
    client.send("GET /widget/clock.html?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>";
    let _server = upstream.answer(page);
    let (head, _) = client.receive();
    let policy = head.get("content-security-policy").unwrap();
    let (_, report) = policy.split_once("report-uri ").unwrap();
    let report = report.split(';').next().unwrap().trim();
    let body =
        r#"{"csp-report":{"blocked-uri":"https://cdn.example.com/x.js","effective-directive":"script-src"}}"#;
    client.send(format!(
        "POST {report} HTTP/1.1\r\nHost: x\r\nContent-Type: application/csp-report\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_eq!(client.receive_head().status(), 204);
    drop(client);
    let told = Told::by(&proxy.stop());
    let served = told.lines("widget_serve");
    assert_eq!((&served[0]["path"], &served[0]["csp_applied"]), (&"/widget/clock.html".into(), &true.into()));
    let violated = told.lines("csp_violation");
    assert_eq!(violated[0]["blocked_uri"], "https://cdn.example.com/x.js");
    assert_eq!(violated[0]["directive"], "script-src");
    assert_eq!(told.store.violations(&Filter::default(), 10).unwrap().len(), 1);
}

#[test]
fn events_arrive_at_the_webhook() {
    let hook = Upstream::listen();
    let url = format!("http://{}/in?key=hidden", hook.address());
    let home = tempfile::tempdir().unwrap();
    let upstream = Upstream::listen();
    let environment = [("WIRETAPE_WEBHOOK_TOKEN", "sesame")];
    let options = ["--upstream", &upstream.url(), "--webhook", &url];
    let proxy = Proxy::start_with(home, &options, &environment);
    let mut client = proxy.connect();
    client.send(post("", INITIALIZE));
    let _server = upstream.answer(ok(SESSION, INITIALIZED));
    client.receive();
    drop(client);
    proxy.signal(crate::proxy::SIGTERM);
    let (_, head, body) = hook.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(head.get("authorization").as_deref(), Some("Bearer sesame"));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&body[..]), &mut text).unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["session", "request"]);
    let stopped = proxy.wait();
    assert!(stopped.status.success());
    assert!(!stopped.stderr.contains("hidden") && !stopped.stderr.contains("sesame"), "{}", stopped.stderr);
}

/// The store is damaged, not a store, or a directory: the user is warned, and traffic continues.
#[test]
fn trouble_with_the_store_costs_the_store_only() {
    let damage = |store: &Path| {
        drop(Writer::open(store).unwrap());
        let mut bytes = fs::read(store).unwrap();
        bytes[16..].fill(0xff);
        fs::write(store, bytes).unwrap();
    };
    let diary = |store: &Path| fs::write(store, "my diary").unwrap();
    let directory = |store: &Path| fs::create_dir(store).unwrap();
    let damage: fn(&Path) = damage;
    for (word, trouble) in
        [("was moved to", damage), ("is not a store", diary), ("is a directory", directory)]
    {
        let home = tempfile::tempdir().unwrap();
        let store = home.path().join("data/store.db");
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        trouble(&store);
        let upstream = Upstream::listen();
        let proxy = Proxy::start_with(home, &["--upstream", &upstream.url()], &[]);
        let mut client = proxy.connect();
        client.send(post("", &call(1, "add")));
        let _server = upstream.answer(ok("", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        assert_eq!(client.receive().0.status(), 200);
        drop(client);
        let stopped = proxy.stop();
        let warnings = stopped.warnings().join("\n");
        assert!(warnings.contains("sqlite: "), "{warnings}");
        assert_eq!(warnings.matches(word).count(), 1, "{warnings}");
        assert_eq!(stopped.trace().messages().len(), 2);
    }
}

#[test]
fn a_second_signal_does_not_wait_for_a_webhook() {
    let (hook, upstream) = (Upstream::listen(), Upstream::listen());
    let url = format!("http://{}/", hook.address());
    let proxy = Proxy::before(&upstream, &["--webhook", &url]);
    let mut client = proxy.connect();
    client.send(post("", &call(1, "add")));
    let _server = upstream.answer(ok("", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    client.receive();
    drop(client);
    proxy.signal(crate::proxy::SIGTERM);
    // It is being sent, and will never be answered.
    let mut stalled = hook.accept();
    stalled.receive();
    proxy.signal(crate::proxy::SIGTERM);
    let stopped = proxy.wait();
    assert_eq!(stopped.status.code(), Some(143), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("stopped before all events"), "{}", stopped.stderr);
}
