//! Every command, export and the store say the same of a trace: the same calls, with the same outcomes, durations, sizes and
//! names. `calls` is the reference; nothing here knows what a call is.

use crate::environment::TestEnvironment;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Outcomes that count as errors, by the documentation.
const ERRORS: [&str; 5] = ["tool-error", "protocol-error", "http-error", "timed-out", "crashed"];

#[test]
fn every_fixture_is_the_same_wherever_it_is_shown() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = [
        "traces",
        "view",
        "lint/server-crashed",
        "lint/cancel-unknown-request",
        "lint/request-without-response",
    ];
    for folder in folders {
        for entry in std::fs::read_dir(fixtures.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                check(&std::fs::read(&path).unwrap(), &path);
            }
        }
    }
}

#[test]
fn generated_sessions_are_the_same_wherever_they_are_shown() {
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    let strategy = (prop::collection::vec((0u8..15, 0u8..5, 1u32..9000), 1..40), 0u8..5, any::<bool>());
    runner
        .run(&strategy, |(steps, end, is_http)| {
            check(generate(&steps, end, is_http).as_bytes(), Path::new("generated.jsonl"));
            Ok(())
        })
        .unwrap();
}

/// A session: requests, answers of all kinds, batches, progress, cancellation, the server's own requests, HTTP failures, and
/// one of several endings.
fn generate(steps: &[(u8, u8, u32)], end: u8, is_http: bool) -> String {
    let mut session = Session::new(is_http);
    for &(what, which, pause) in steps {
        session.us += u64::from(pause);
        session.step(what, u64::from(which));
    }
    session.end(end)
}

struct Session {
    lines: Vec<String>,
    us: u64,
    is_http: bool,
    next_id: u64,
    next_exchange: u64,
    /// The ids and exchanges of the client's open requests.
    open: Vec<(u64, u64)>,
    asked: Vec<u64>,
}

impl Session {
    fn new(is_http: bool) -> Self {
        let transport = if is_http { "http" } else { "stdio" };
        let meta = format!(
            r#"{{"v":1,"type":"meta","startedAt":"2026-05-12T23:00:00.000Z","label":"made","command":["http://127.0.0.1:1/mcp"],"id":"5eed0000","producer":{{"name":"wiretape","version":"0"}},"transport":"{transport}"}}"#
        );
        Session {
            lines: vec![meta],
            us: 0,
            is_http,
            next_id: 1,
            next_exchange: 1,
            open: Vec::new(),
            asked: Vec::new(),
        }
    }

    fn stamp(&self) -> String {
        let ms = self.us / 1000;
        format!(
            r#""t":"2026-05-12T23:{:02}:{:02}.{:03}Z","seq":{},"us":{}"#,
            ms / 60_000,
            ms / 1000 % 60,
            ms % 1000,
            self.lines.len(),
            self.us
        )
    }

    fn message(&mut self, dir: &str, http: &str, raw: &str) {
        let http = if self.is_http { format!(r#","http":{http}"#) } else { String::new() };
        let session = if self.is_http { r#","session":"s-1""# } else { "" };
        self.lines.push(format!(r#"{{{},"dir":"{dir}"{session}{http},"raw":{raw}}}"#, self.stamp()));
    }

    fn post(&mut self) -> (u64, String) {
        let x = self.next_exchange;
        self.next_exchange += 1;
        (
            x,
            format!(
                r#"{{"x":{x},"request":{{"method":"POST","target":"/mcp","version":"1.1","headers":{{"mcp-session-id":"s-1"}}}}}}"#
            ),
        )
    }

    fn request(&mut self, which: u64) -> String {
        let id = self.next_id;
        self.next_id += 1;
        let params = match which {
            0 => r#""method":"tools/list""#.to_owned(),
            1 => r#""method":"prompts/get","params":{"name":"p"}"#.to_owned(),
            _ => format!(
                r#""method":"tools/call","params":{{"name":"tool-{which}","arguments":{{}},"_meta":{{"progressToken":{id}}}}}"#
            ),
        };
        format!(r#"{{"jsonrpc":"2.0","id":{id},{params}}}"#)
    }

    fn step(&mut self, what: u8, which: u64) {
        match what {
            0..=3 => {
                let (x, http) = self.post();
                let id = self.next_id;
                let raw = self.request(which);
                self.message("in", &http, &raw);
                self.open.push((id, x));
            }
            4 if !self.is_http => {
                let (first, second) = (self.next_id, self.next_id + 1);
                let raw = format!("[{},{}]", self.request(which), self.request(which));
                self.message("in", "", &raw);
                self.open.extend([(first, 0), (second, 0)]);
            }
            5..=8 => self.answer(which),
            9 => {
                if let Some((id, _)) = self.open.last().copied() {
                    let (x, http) = self.post();
                    let reason = if which == 0 { "Request timed out" } else { "changed my mind" };
                    self.message("in", &http, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"{reason}"}}}}"#));
                    if self.is_http {
                        let stamp = self.stamp();
                        let accepted =
                            r#""response":{"status":202,"version":"1.1","headers":{}},"ended":"complete""#;
                        self.lines.push(format!(
                            r#"{{{stamp},"type":"http","session":"s-1","http":{{"x":{x},{accepted}}}}}"#
                        ));
                    }
                }
            }
            10 => {
                if let Some((id, x)) = self.open.last().copied() {
                    self.message("out", &format!(r#"{{"x":{x},"sse":{{}}}}"#), &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#));
                }
            }
            11 if !self.is_http => {
                let id = 1000 + self.next_id;
                self.next_id += 1;
                self.asked.push(id);
                self.message(
                    "out",
                    "",
                    &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage"}}"#),
                );
            }
            12 if !self.is_http => {
                if let Some(id) = self.asked.pop() {
                    self.message("in", "", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
                }
            }
            13 if self.is_http => self.exchange_fails(which),
            14 if self.is_http => self.resume(which),
            _ => {}
        }
    }

    fn answer(&mut self, which: u64) {
        if self.open.is_empty() {
            return;
        }
        let (id, x) = self.open.remove(0);
        let outcome = match which {
            0 => r#""error":{"code":-32602,"message":"no"}"#,
            1 => r#""result":{"content":[],"isError":true}"#,
            _ => r#""result":{"content":[{"type":"text","text":"yes"}]}"#,
        };
        let http = format!(
            r#"{{"x":{x},"response":{{"status":200,"version":"1.1","headers":{{"content-type":"application/json"}}}}}}"#
        );
        self.message("out", &http, &format!(r#"{{"jsonrpc":"2.0","id":{id},{outcome}}}"#));
    }

    /// The stream of a call ends before its answer, which comes on the stream that resumes it, or never.
    fn resume(&mut self, which: u64) {
        if self.open.is_empty() {
            return;
        }
        let (id, x) = self.open.remove(0);
        let stream =
            r#""response":{"status":200,"version":"1.1","headers":{"content-type":"text/event-stream"}}"#;
        let priming = format!(r#""http":{{"x":{x},{stream},"sse":{{"id":"e-{x}"}}}},"text":"""#);
        let stamp = self.stamp();
        self.lines.push(format!(r#"{{{stamp},"type":"text","dir":"out","session":"s-1",{priming}}}"#));
        let ended = if which == 0 { "client-closed" } else { "complete" };
        self.exchange_line(&format!(r#""x":{x},"ended":"{ended}""#));
        let get = self.next_exchange;
        self.next_exchange += 1;
        let headers = format!(r#"{{"mcp-session-id":"s-1","last-event-id":"e-{x}"}}"#);
        let head =
            format!(r#""request":{{"method":"GET","target":"/mcp","version":"1.1","headers":{headers}}}"#);
        self.exchange_line(&format!(r#""x":{get},{head},{stream},"ended":"open""#));
        if which < 4 {
            let raw = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#);
            self.message("out", &format!(r#"{{"x":{get},"sse":{{"id":"f-{x}"}}}}"#), &raw);
        }
        self.exchange_line(&format!(r#""x":{get},"ended":"complete""#));
    }

    fn exchange_line(&mut self, http: &str) {
        let stamp = self.stamp();
        self.lines.push(format!(r#"{{{stamp},"type":"http","session":"s-1","http":{{{http}}}}}"#));
    }

    fn exchange_fails(&mut self, which: u64) {
        if self.open.is_empty() {
            return;
        }
        let (_, x) = self.open.remove(0);
        let end = match which {
            0 => r#""response":{"status":500,"version":"1.1","headers":{}},"ended":"complete""#,
            1 => r#""ended":"timeout""#,
            2 => r#""ended":"client-closed""#,
            3 => r#""ended":"upstream-closed""#,
            _ => r#""response":{"status":502,"version":"1.1","headers":{}},"own":true,"ended":"unreachable""#,
        };
        self.lines
            .push(format!(r#"{{{},"type":"http","session":"s-1","http":{{"x":{x},{end}}}}}"#, self.stamp()));
    }

    fn end(mut self, end: u8) -> String {
        self.us += 5_000;
        if self.is_http {
            return self.stop_proxy();
        }
        let exit = match end {
            0 => r#""exitCode":0"#,
            1 => r#""exitCode":1"#,
            2 => r#""exitCode":137,"signal":9"#,
            3 => r#""exitCode":143,"signal":15,"reason":"stopped by SIGTERM""#,
            _ => return self.lines.join("\n") + "\n",
        };
        self.lines.push(format!(
            r#"{{{},"type":"end",{exit},"durationMs":{}}}"#,
            self.stamp(),
            self.us / 1000
        ));
        self.lines.join("\n") + "\n"
    }
}

impl Session {
    /// A proxy says of every exchange how it ended, and has no exit code of a server.
    fn stop_proxy(mut self) -> String {
        for (_, x) in std::mem::take(&mut self.open) {
            let stamp = self.stamp();
            self.lines.push(format!(
                r#"{{{stamp},"type":"http","session":"s-1","http":{{"x":{x},"ended":"stopped"}}}}"#
            ));
        }
        let stamp = self.stamp();
        self.lines.push(format!(r#"{{{stamp},"type":"end","exitCode":0,"durationMs":{}}}"#, self.us / 1000));
        self.lines.join("\n") + "\n"
    }
}

/// A call, as `calls --json` has it.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    line: u64,
    is_client: bool,
    method: String,
    tool: Option<String>,
    outcome: String,
    us: Option<u64>,
    request_bytes: u64,
    response_bytes: Option<u64>,
    has_id: bool,
}

struct Commands {
    env: TestEnvironment,
    trace: PathBuf,
    source: PathBuf,
}

impl Commands {
    fn text(&self, args: &[&str]) -> String {
        let output = self.env.command(args).output().unwrap();
        assert!(
            output.status.success(),
            "{}: {args:?}: {}",
            self.source.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn of_trace(&self, args: &[&str]) -> String {
        let trace = self.trace.to_str().unwrap();
        self.text(&[args, &[trace]].concat())
    }

    fn lines(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn calls(&self) -> Vec<Call> {
        let of = |call: &Value| Call {
            line: call["line"].as_u64().unwrap(),
            is_client: call["dir"] == "in",
            method: call["method"].as_str().unwrap().to_owned(),
            tool: call["tool"].as_str().map(str::to_owned),
            outcome: call["status"].as_str().unwrap().to_owned(),
            us: call["latencyUs"].as_u64(),
            request_bytes: call["requestBytes"].as_u64().unwrap(),
            response_bytes: call["responseBytes"].as_u64(),
            has_id: !call["id"].is_null(),
        };
        Self::lines(&self.of_trace(&["calls", "--json"])).iter().map(of).collect()
    }
}

fn check(trace: &[u8], source: &Path) {
    let env = TestEnvironment::new();
    let trace = env.file("trace.jsonl", trace);
    let commands = Commands { env, trace, source: source.to_owned() };
    let calls = commands.calls();
    let of_client: Vec<&Call> = calls.iter().filter(|call| call.is_client).collect();
    check_counts(&commands, &of_client);
    check_csv(&commands, &calls);
    check_perfetto(&commands, &calls);
    check_har(&commands, &of_client);
    check_assay(&commands, &of_client);
    check_store(&commands, &of_client);
}

fn outcomes<'c>(calls: impl IntoIterator<Item = &'c &'c Call>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    calls.into_iter().for_each(|call| *counts.entry(call.outcome.clone()).or_default() += 1);
    counts
}

fn camel(outcome: &str) -> String {
    let counted = match outcome {
        "tool-error" => "tool-errors",
        "protocol-error" => "protocol-errors",
        "http-error" => "http-errors",
        other => other,
    };
    let mut words = counted.split('-');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |text, word| text + &word[..1].to_uppercase() + &word[1..])
}

fn check_counts(commands: &Commands, calls: &[&Call]) {
    let source = commands.source.display();
    let errors = calls.iter().filter(|call| ERRORS.contains(&call.outcome.as_str())).count() as u64;
    let listed = Commands::lines(&commands.text(&["ls", "--json"]));
    let stats: Value = serde_json::from_str(&commands.of_trace(&["stats", "--json"])).unwrap();
    let [of_ls, of_stats] = [&listed[0]["calls"], &stats["totals"]];
    assert_eq!(of_ls["total"], calls.len(), "{source}: ls");
    assert_eq!(of_stats["calls"], calls.len(), "{source}: stats");
    for counts in [of_ls, of_stats] {
        assert_eq!(counts["errors"], errors, "{source}: {counts}");
        for (outcome, count) in outcomes(calls).iter().filter(|(outcome, _)| *outcome != "ok") {
            assert_eq!(counts[&camel(outcome)], *count, "{source}: {outcome} in {counts}");
        }
    }
    let bytes: u64 = calls.iter().map(|call| call.request_bytes).sum();
    assert_eq!(of_stats["requestBytes"], bytes, "{source}: stats");
}

fn check_csv(commands: &Commands, calls: &[Call]) {
    let text = commands.of_trace(&["export", "--to", "csv"]);
    let mut rows: Vec<Vec<String>> =
        text.lines().skip(1).map(|row| row.split(',').map(str::to_owned).collect()).collect();
    let ms = |us: u64| format!("{}.{:03}", us / 1000, us % 1000);
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut expected: Vec<Vec<String>> = calls
        .iter()
        .map(|call| {
            let from = if call.is_client { "client" } else { "server" };
            vec![
                call.line.to_string(),
                from.to_owned(),
                call.method.clone(),
                call.tool.clone().unwrap_or_default(),
                call.outcome.clone(),
                call.us.map(ms).unwrap_or_default(),
                call.request_bytes.to_string(),
                number(call.response_bytes),
            ]
        })
        .collect();
    for row in &mut rows {
        *row = [0, 3, 4, 5, 7, 9, 10, 11].map(|column: usize| row[column].clone()).to_vec();
    }
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected, "{}: csv", commands.source.display());
}

fn check_perfetto(commands: &Commands, calls: &[Call]) {
    let export: Value = serde_json::from_str(&commands.of_trace(&["export", "--to", "perfetto"])).unwrap();
    let slices = export["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "call");
    let mut shown: Vec<(u64, String, String)> = slices
        .map(|slice| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (
                slice["args"]["requestLine"].as_u64().unwrap(),
                text(&slice["name"]),
                text(&slice["args"]["outcome"]),
            )
        })
        .collect();
    let mut expected: Vec<(u64, String, String)> = calls
        .iter()
        .filter(|call| call.has_id)
        .map(|call| {
            (call.line, call.tool.clone().unwrap_or_else(|| call.method.clone()), call.outcome.clone())
        })
        .collect();
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "{}: perfetto", commands.source.display());
}

fn check_har(commands: &Commands, calls: &[&Call]) {
    let export: Value = serde_json::from_str(&commands.of_trace(&["export", "--to", "har"])).unwrap();
    let entries =
        export["log"]["entries"].as_array().unwrap().iter().filter(|entry| entry["_outcome"].is_string());
    let mut shown: Vec<(String, u64, u64)> = entries
        .map(|entry| {
            let us = (entry["time"].as_f64().unwrap() * 1000.0).round() as u64;
            (
                entry["_outcome"].as_str().unwrap().to_owned(),
                us,
                entry["request"]["bodySize"].as_u64().unwrap(),
            )
        })
        .collect();
    let with_id = calls.iter().filter(|call| call.has_id);
    let mut expected: Vec<(String, u64, u64)> =
        with_id.map(|call| (call.outcome.clone(), call.us.unwrap_or(0), call.request_bytes)).collect();
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "{}: har", commands.source.display());
}

fn check_assay(commands: &Commands, calls: &[&Call]) {
    let lines = Commands::lines(&commands.of_trace(&["export", "--to", "assay-v2"]));
    let shown = lines.iter().filter(|line| line["type"] == "tool_call");
    let mut shown: Vec<(String, bool)> =
        shown.map(|call| (call["tool_name"].as_str().unwrap().to_owned(), call["error"].is_null())).collect();
    let tools = calls.iter().filter(|call| call.method == "tools/call");
    let mut expected: Vec<(String, bool)> = tools
        .map(|call| {
            let is_fine = !call.has_id || matches!(call.outcome.as_str(), "ok" | "tool-error");
            (call.tool.clone().unwrap_or_else(|| "unknown_tool".to_owned()), is_fine)
        })
        .collect();
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "{}: assay-v2", commands.source.display());
}

fn check_store(commands: &Commands, calls: &[&Call]) {
    let trace = commands.trace.to_str().unwrap();
    let output = commands.env.command(&["store", "load", trace]).output().unwrap();
    // 3: lines of the fixture are damaged, and the rest was loaded.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = Commands::lines(&commands.text(&["logs", "--json", "-n", "1000"]));
    let is_call = |row: &&Value| {
        let method = row["method"].as_str().unwrap();
        row["kind"] != "http" && !method.is_empty() && !method.starts_with("notifications/")
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut stored: Vec<(String, Option<String>, String)> = rows
        .iter()
        .filter(is_call)
        .map(|row| (text(&row["method"]), row["tool"].as_str().map(str::to_owned), text(&row["status"])))
        .collect();
    let mut expected: Vec<(String, Option<String>, String)> =
        calls.iter().map(|call| (call.method.clone(), call.tool.clone(), call.outcome.clone())).collect();
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected, "{}: store", commands.source.display());
    let sessions = Commands::lines(&commands.text(&["sessions", "--json"]));
    let counted: u64 = sessions.iter().map(|session| session["calls"].as_u64().unwrap()).sum();
    assert_eq!(counted, calls.len() as u64, "{}: sessions", commands.source.display());
}
