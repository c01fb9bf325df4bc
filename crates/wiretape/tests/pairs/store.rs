//! What the store knows of a run, against what the traces have.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wiretape_events::Outcome;
use wiretape_events::store::query::Order;
use wiretape_events::store::{Filter, Store};

/// Requests of the client by method and status, counted.
type Calls = BTreeMap<(String, String), usize>;

/// Each request of the client is a row, with the status and the size of its answer; each session that was begun is one, with the
/// name of its client.
pub(crate) fn check(home: &Path, traces: &[PathBuf]) {
    let store = Store::open_read(&home.join("store.db")).unwrap();
    let rows = store.calls(&Filter::default(), Order::Newest, 10_000).unwrap();
    let mut stored = Calls::new();
    for row in &rows {
        assert!(row.latency_us.unwrap() > 0, "{row:?}");
        assert!(row.upstream_us.unwrap() <= row.latency_us.unwrap(), "{row:?}");
        if row.kind == "mcp" && !row.method.is_empty() && !row.method.starts_with("notifications/") {
            let answered = matches!(row.status, Outcome::Ok | Outcome::ToolError | Outcome::ProtocolError);
            let status = if answered { row.status.name() } else { "unanswered" };
            assert!(row.session.is_some() || row.method == "server/discover", "{row:?}");
            assert!(row.response_bytes > 0 || !answered, "{row:?}");
            *stored.entry((row.method.clone(), status.to_owned())).or_default() += 1;
        }
    }
    let (recorded, sessions) = recorded_in(traces);
    let odd: Vec<_> = rows.iter().filter(|row| row.kind == "mcp" && row.status != Outcome::Ok).collect();
    assert_eq!(stored, recorded, "{odd:#?}");
    let known = store.sessions(&Filter::default(), 1000).unwrap();
    assert_eq!(known.len(), sessions);
    assert!(
        known.iter().all(|session| session.client_name.is_some() && session.ended.is_some()),
        "{known:?}"
    );
    let lists = store.schema(None).unwrap();
    let has_tools = recorded.keys().any(|(method, _)| method == "tools/list");
    assert_eq!(lists.iter().any(|list| list.method == "tools/list" && list.items.len() > 5), has_tools);
}

/// The same from the traces, and how many handshakes are in them.
fn recorded_in(traces: &[PathBuf]) -> (Calls, usize) {
    let (mut calls, mut handshakes) = (Calls::new(), 0);
    for trace in traces {
        let text = fs::read_to_string(trace).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut open: BTreeMap<String, String> = BTreeMap::new();
        let mut exchanges: BTreeMap<u64, String> = BTreeMap::new();
        for line in lines.filter(|line| line.get("raw").is_some()) {
            let (raw, id) = (&line["raw"], line["raw"]["id"].to_string());
            match (line["dir"].as_str(), raw["method"].as_str()) {
                (Some("in"), Some(method)) if raw.get("id").is_some() => {
                    handshakes += usize::from(method == "initialize");
                    exchanges.extend(line["http"]["x"].as_u64().map(|x| (x, id.clone())));
                    open.insert(id, method.to_owned());
                }
                (Some("out"), None) => {
                    // Servers that refuse a request before they read it can't repeat its id.
                    let of_exchange = line["http"]["x"].as_u64().and_then(|x| exchanges.get(&x));
                    let id = of_exchange
                        .filter(|_| raw.get("error").is_some() && !open.contains_key(&id))
                        .unwrap_or(&id);
                    if let Some(method) = open.remove(id) {
                        *calls.entry((method, status(raw).to_owned())).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        for method in open.into_values() {
            *calls.entry((method, "unanswered".to_owned())).or_default() += 1;
        }
    }
    (calls, handshakes)
}

fn status(answer: &Value) -> &'static str {
    if answer.get("error").is_some() {
        "protocol-error"
    } else if answer["result"]["isError"] == true {
        "tool-error"
    } else {
        "ok"
    }
}
