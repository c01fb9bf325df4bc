//! The queries of `docs/grafana-dashboard.json`, run by a Prometheus that scrapes a proxy.

use crate::proxy::{Proxy, say_skipped, wait_until};
use crate::wire::{OPEN_STREAM, Peer, STREAM, Upstream, chunk, ok, post};
use serde_json::Value;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// The results of the tools, each of which is called as often as the others: a success, a tool error and a protocol error.
const RESULTS: [(&str, &str); 3] = [
    ("good", r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#),
    ("bad", r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true}}"#),
    ("broken", r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"failed"}}"#),
];
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
const SESSION: &str = "Mcp-Session-Id: 5e551011\r\n";
const JOB: &str = "mcp";

/// Answers whatever comes, until the test ends.
fn serve(upstream: Upstream) {
    std::thread::spawn(move || {
        loop {
            let mut server = upstream.accept();
            std::thread::spawn(move || {
                // Each scrape checks whether the upstream accepts connections, and sends nothing.
                while server.stream.peek(&mut [0]).is_ok_and(|length| length > 0) {
                    let (head, body) = server.receive();
                    if head.start.starts_with("GET") {
                        server.send([STREAM.as_bytes(), &chunk("data: {}\n\n")].concat());
                        continue;
                    }
                    let body = String::from_utf8(body).unwrap();
                    let call = RESULTS.iter().find(|(tool, _)| body.contains(&format!("\"{tool}\"")));
                    server.send(ok(SESSION, call.map_or(INITIALIZED, |(_, result)| result)));
                }
            });
        }
    });
}

fn call_each_tool(client: &mut Peer) {
    for (tool, result) in RESULTS {
        let params = format!("{{\"name\":\"{tool}\"}}");
        let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{params}}}");
        client.send(post(SESSION, &call));
        assert_eq!(client.receive().1, result.as_bytes());
    }
}

/// A Prometheus that scrapes one target twice a second.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _home: tempfile::TempDir,
}

impl Prometheus {
    /// `None` where it isn't installed.
    fn start(target: SocketAddr) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let (config, stderr) = (home.path().join("prometheus.yml"), home.path().join("stderr"));
        let text = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\n\
             scrape_configs: [{{job_name: {JOB}, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        fs::write(&config, text).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", home.path().join("data").display()))
            // It reports the port that it got: no other process can take a port that is already bound.
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&stderr).unwrap())
            .spawn();
        let child = match child {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            child => child.unwrap(),
        };
        // Set below; made first, so that a failure while waiting ends the process.
        let mut prometheus = Prometheus { child, address: target, _home: home };
        let mut address = None;
        wait_until("Prometheus is ready", || {
            let log = fs::read_to_string(&stderr).unwrap();
            assert!(prometheus.child.try_wait().unwrap().is_none(), "{log}");
            address = log.lines().find_map(|line| {
                let (_, rest) = line.split_once("msg=\"Listening on\"")?;
                rest.split_once("address=")?.1.trim().parse().ok()
            });
            address.is_some() && log.contains("ready to receive web requests")
        });
        prometheus.address = address.unwrap();
        Some(prometheus)
    }

    /// The `data` of a response of its API, whose status has to be `success`.
    fn get(&self, path: &str, parameter: &str, value: &str) -> Value {
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let mut peer = Peer::connect(self.address);
        peer.send(format!("GET /api/v1/{path}?{parameter}={value} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let body: Value = serde_json::from_slice(&peer.receive().1).unwrap();
        assert_eq!(body["status"], "success", "{path}: {body}");
        body["data"].clone()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What Grafana does with `label_values(METRIC, LABEL)`.
fn label_values(prometheus: &Prometheus, query: &str) -> Vec<String> {
    let arguments = query.strip_prefix("label_values(").unwrap().strip_suffix(')').unwrap();
    let (metric, label) = arguments.split_once(", ").unwrap();
    let values = prometheus.get(&format!("label/{label}/values"), "match[]", metric);
    serde_json::from_value(values).unwrap()
}

/// Whether a result has a point that Grafana can draw, with the labels that the legend shows.
fn is_drawn(result: &Value, legend: &str) -> bool {
    let labels = legend.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap());
    let labels: Vec<&str> = labels.collect();
    result["result"].as_array().unwrap().iter().any(|series| {
        let value: f64 = series["value"][1].as_str().unwrap().parse().unwrap();
        // The share or the quantile of nothing is NaN, and not drawn.
        value.is_finite() && labels.iter().all(|label| series["metric"].get(label).is_some())
    })
}

#[test]
fn each_query_has_a_result() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../docs/grafana-dashboard.json")).unwrap();
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0", "--label", "demo"]);
    serve(upstream);
    let mut stream = proxy.connect();
    stream.send(OPEN_STREAM);
    stream.receive_head();
    let mut client = proxy.connect();
    client.send(post("", INITIALIZE));
    client.receive();
    call_each_tool(&mut client);
    let Some(prometheus) = Prometheus::start(proxy.admin()) else {
        return say_skipped("there is no prometheus (Debian's package `prometheus`)");
    };
    // Grafana's own: at least four scrapes. A minute, as this machine may be busy.
    let mut variables = vec![("$__rate_interval".to_owned(), "1m".to_owned())];
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let (name, query) = (variable["name"].as_str().unwrap(), variable["query"].as_str().unwrap());
        if variable["type"] == "query" {
            let mut values = Vec::new();
            wait_until("the variable has values", || {
                values = label_values(&prometheus, query);
                !values.is_empty()
            });
            let expected = if name == "job" { JOB } else { "demo" };
            assert_eq!(values, [expected], "{name}");
            variables.push((format!("${name}"), format!("({})", values.join("|"))));
        }
    }
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let mut queries = 0;
    for target in panels.flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let mut query = target["expr"].as_str().unwrap().to_owned();
        for (variable, value) in &variables {
            query = query.replace(variable, value);
        }
        assert!(!query.contains('$'), "a variable without a value: {query}");
        queries += 1;
        // Rates need two scrapes with traffic between them.
        wait_until(&query, || {
            call_each_tool(&mut client);
            is_drawn(&prometheus.get("query", "query", &query), target["legendFormat"].as_str().unwrap())
        });
    }
    assert!(queries > 20, "{queries}");
}
