//! `/metrics`: the text that Prometheus reads.

use crate::proxy::{Proxy, say_skipped, wait_until};
use crate::wire::{OPEN_STREAM, STREAM, Upstream, chunk, ok, post};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a\"\\\n"}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A proxy that has served a call and serves a stream, and what it exports.
fn scrape() -> String {
    let upstream = Upstream::listen();
    let proxy = Proxy::before(&upstream, &["--admin", "127.0.0.1:0", "--label", "demo"]);
    let mut client = proxy.connect();
    client.send(post("", CALL));
    let (mut server, ..) = upstream.answer(ok("", RESULT));
    client.receive();
    client.send(OPEN_STREAM);
    server.receive_head();
    server.send([STREAM.as_bytes(), &chunk("data: {}\n\n")].concat());
    client.receive_head();
    client.receive_chunk();
    wait_until("the call is counted", || proxy.ask_text("/metrics").contains("method=\"tools/call\""));
    proxy.ask_text("/metrics")
}

/// The name and the value of each sample; its labels are part of the name.
fn samples(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut samples = BTreeMap::new();
    for line in lines {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(samples.insert(series, value.parse().unwrap()).is_none(), "{series} is there twice");
    }
    samples
}

fn family<'a>(series: &'a str, histograms: &BTreeSet<&'a str>) -> &'a str {
    let name = series.split(['{', ' ']).next().unwrap();
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
    base.filter(|base| histograms.contains(base)).unwrap_or(name)
}

#[test]
fn the_figures_are_those_of_the_traffic() {
    let text = scrape();
    let samples = samples(&text);
    let value = |series: &str| *samples.get(series).unwrap_or_else(|| panic!("no {series} in {text}"));
    assert_eq!(value("wiretape_streams") as u64, 1);
    assert_eq!(value("wiretape_requests_in_flight") as u64, 0);
    assert_eq!(value("wiretape_upstream_up{server=\"demo\"}") as u64, 1);
    assert!(value("wiretape_trace_lines_total") >= 4.0 && value("wiretape_trace_bytes_total") > 500.0);
    assert_eq!(value("wiretape_trace_lines_lost_total") as u64, 0);
    let labels = r#"{server="demo",method="tools/call",tool="a\"\\\n"}"#;
    for histogram in ["wiretape_request_duration_seconds", "wiretape_upstream_duration_seconds"] {
        assert_eq!(value(&format!("{histogram}_count{labels}")) as u64, 1);
    }
    #[cfg(target_os = "linux")]
    for process in ["process_cpu_seconds_total", "process_open_fds", "process_start_time_seconds"] {
        value(process);
    }
    #[cfg(target_os = "linux")]
    assert!(value("process_resident_memory_bytes") > 1e6);
}

/// The rules of the text format: help and type before a family's samples, families in one piece, histograms that add up.
#[test]
fn the_text_is_as_prometheus_wants_it() {
    let text = scrape();
    let types: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let helps: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' '))
        .map(|(name, help)| {
            assert!(help.ends_with('.'), "{name}: {help}");
            name
        })
        .collect();
    assert_eq!(helps, types.keys().copied().collect());
    let histograms = types.iter().filter(|(_, kind)| **kind == "histogram").map(|(name, _)| *name).collect();
    let mut current = "";
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        match line.strip_prefix("# HELP ") {
            Some(rest) => {
                current = rest.split(' ').next().unwrap();
                assert!(seen.insert(current), "{current} is in two pieces");
            }
            None if line.starts_with('#') => assert!(line.starts_with(&format!("# TYPE {current} "))),
            None => assert_eq!(family(line, &histograms), current),
        }
    }
    for (name, kind) in &types {
        assert_eq!(name.ends_with("_total"), *kind == "counter", "{name} is a {kind}");
    }
    let samples = samples(&text);
    for histogram in &histograms {
        let prefix = format!("{histogram}_bucket{{");
        for (series, all) in
            samples.iter().filter(|(series, _)| series.starts_with(&format!("{histogram}_count")))
        {
            let labels = series.split_once('{').unwrap().1.trim_end_matches('}');
            let infinite = samples[format!("{prefix}{labels},le=\"+Inf\"}}").as_str()];
            assert!((infinite - all).abs() < f64::EPSILON, "{series}");
        }
    }
}

#[test]
fn promtool_has_nothing_to_say() {
    let is_there =
        Command::new("promtool").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        return say_skipped("there is no promtool (Debian's package `prometheus`)");
    }
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(scrape().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && told.is_empty(), "{}", String::from_utf8_lossy(&told));
}

/// Each name in a query of the dashboard is one that is exported, or a word of PromQL.
#[test]
fn the_dashboard_asks_for_what_there_is() {
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/grafana-dashboard.json")).unwrap();
    let text = scrape();
    let names: BTreeSet<&str> =
        samples(&text).keys().map(|series| series.split('{').next().unwrap()).collect();
    let types: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let texts =
        queries.map(|query| &query["expr"]).chain(variables.iter().map(|variable| &variable["query"]));
    let mut asked = 0;
    for text in texts.map(|text| text.as_str().unwrap()) {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for word in words.filter(|word| word.starts_with("wiretape_") || word.starts_with("process_")) {
            asked += 1;
            let is_exported = names.contains(word) || types.contains(word);
            // Only Linux tells the figures of a process.
            assert!(is_exported || (word.starts_with("process_") && !cfg!(target_os = "linux")), "{word}");
        }
    }
    assert!(asked > 20, "{asked}");
}
