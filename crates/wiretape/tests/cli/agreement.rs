//! Every command, export, report, tape and the store say the same of a trace: the same calls, with the same outcomes, durations,
//! sizes, names and sessions. `calls` is the reference; nothing here knows what a call is.

use crate::environment::TestEnvironment;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use wiretape_analyze::replay::{Matching, StepKind, Tape, TapeBuilder};
use wiretape_trace::format::{Line, TraceReader};

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

/// The files of a rotated recording are one recording to everything that takes several files, and each is a trace of its own.
#[test]
fn the_parts_of_a_recording_are_the_same_as_the_whole() {
    let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
    let steps = prop::collection::vec((0u8..15, 0u8..5, 1u32..9000), 1..40);
    let strategy = (steps, 0u8..5, any::<bool>(), prop::collection::btree_set(1usize..40, 1..4));
    runner
        .run(&strategy, |(steps, end, is_http, cuts)| {
            let whole = generate(&steps, end, is_http);
            let parts = rotate(&whole, cuts.into_iter());
            for part in &parts {
                check(part.as_bytes(), Path::new("part.jsonl"));
            }
            check_parts(&whole, &parts);
            Ok(())
        })
        .unwrap();
}

/// The same recording in several files: a new one begins before each of these lines.
fn rotate(whole: &str, cuts: impl Iterator<Item = usize>) -> Vec<String> {
    let lines: Vec<&str> = whole.lines().collect();
    let cuts: Vec<usize> = cuts.map(|cut| cut + 1).filter(|cut| *cut < lines.len()).collect();
    let mut parts = Vec::new();
    let mut from = 1;
    for (index, to) in (1..).zip(cuts.iter().copied().chain([lines.len()])) {
        let mut part = vec![meta_of_part(lines[0], index)];
        part.extend(lines[from..to].iter().map(|line| (*line).to_owned()));
        if to < lines.len() {
            part.push(format!(r#"{{"type":"rotated","next":"{}"}}"#, part_name(index + 1)));
        }
        parts.push(part.join("\n") + "\n");
        from = to;
    }
    parts
}

fn meta_of_part(meta: &str, index: usize) -> String {
    if index == 1 {
        return meta.to_owned();
    }
    let part = format!(r#""part":{{"index":{index},"of":"5eed0000","previous":"{}"}}"#, part_name(index - 1));
    meta.replace(r#""id":"5eed0000""#, &format!(r#""id":"5eed000{index}",{part}"#))
}

fn part_name(index: usize) -> String {
    format!("part-{index}.jsonl")
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
    session: Option<String>,
}

impl Call {
    /// A call of `calls --json` or of a report, which use the same names.
    fn of(call: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Call {
            line: call["line"].as_u64().unwrap(),
            is_client: call.get("dir").or(call.get("direction")).unwrap() == "in",
            method: text(&call["method"]).unwrap(),
            tool: text(&call["tool"]),
            outcome: text(&call["status"]).unwrap(),
            us: call["latencyUs"].as_u64(),
            request_bytes: call["requestBytes"].as_u64().unwrap(),
            response_bytes: call["responseBytes"].as_u64(),
            has_id: !call["id"].is_null(),
            session: text(&call["session"]),
        }
    }

    fn is_error(&self) -> bool {
        ERRORS.contains(&self.outcome.as_str())
    }
}

struct Commands {
    env: TestEnvironment,
    /// The trace, or the parts of it.
    files: Vec<PathBuf>,
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
        let files: Vec<&str> = self.files.iter().map(|file| file.to_str().unwrap()).collect();
        self.text(&[args, &files].concat())
    }

    fn lines(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn calls(&self) -> Vec<Call> {
        Self::lines(&self.of_trace(&["calls", "--json"])).iter().map(Call::of).collect()
    }
}

fn check(trace: &[u8], source: &Path) {
    let env = TestEnvironment::new();
    let trace = env.file("trace.jsonl", trace);
    let commands = Commands { env, files: vec![trace], source: source.to_owned() };
    let calls = commands.calls();
    let of_client: Vec<&Call> = calls.iter().filter(|call| call.is_client).collect();
    check_counts(&commands, &of_client);
    check_csv(&commands, &calls);
    check_perfetto(&commands, &calls);
    check_har(&commands, &of_client);
    check_assay(&commands, &of_client);
    check_store(&commands, &of_client);
    check_report(&commands, &calls);
    check_tape(&commands, &of_client);
}

/// What takes several files says the same of the parts as of the whole. Lines are numbered by file, so they are left out.
fn check_parts(whole: &str, parts: &[String]) {
    let commands = |contents: &[(String, &str)]| {
        let env = TestEnvironment::new();
        let files = contents.iter().map(|(name, content)| env.file(name, content)).collect();
        Commands { env, files, source: PathBuf::from("parts") }
    };
    let expected = without_lines(commands(&[(part_name(1), whole)]).calls());
    let parts: Vec<(String, &str)> = (1..).map(part_name).zip(parts.iter().map(String::as_str)).collect();
    let commands = commands(&parts);
    assert_eq!(without_lines(commands.calls()), expected, "calls");
    let of_client: Vec<&Call> = expected.iter().filter(|call| call.is_client).collect();
    check_stats(&commands, &of_client);
    check_store(&commands, &of_client);
    check_sessions(&commands, &expected);
    assert_eq!(without_lines(report_calls(&report(&commands))), expected, "report");
    check_tape(&commands, &of_client);
}

fn without_lines(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().map(|call| Call { line: 0, ..call }).collect()
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
    let listed = Commands::lines(&commands.text(&["ls", "--json"]));
    let of_ls = &listed[0]["calls"];
    assert_eq!(of_ls["total"], calls.len(), "{source}: ls");
    check_outcomes(commands, of_ls, calls);
    check_stats(commands, calls);
}

fn check_stats(commands: &Commands, calls: &[&Call]) {
    let source = commands.source.display();
    let stats: Value = serde_json::from_str(&commands.of_trace(&["stats", "--json"])).unwrap();
    let totals = &stats["totals"];
    assert_eq!(totals["calls"], calls.len(), "{source}: stats");
    check_outcomes(commands, totals, calls);
    let bytes: u64 = calls.iter().map(|call| call.request_bytes).sum();
    assert_eq!(totals["requestBytes"], bytes, "{source}: stats");
    let bytes: u64 = calls.iter().filter_map(|call| call.response_bytes).sum();
    assert_eq!(totals["responseBytes"], bytes, "{source}: stats");
}

fn check_outcomes(commands: &Commands, counts: &Value, calls: &[&Call]) {
    let source = commands.source.display();
    let errors = calls.iter().filter(|call| call.is_error()).count();
    assert_eq!(counts["errors"], errors, "{source}: {counts}");
    for (outcome, count) in outcomes(calls).iter().filter(|(outcome, _)| *outcome != "ok") {
        assert_eq!(counts[&camel(outcome)], *count, "{source}: {outcome} in {counts}");
    }
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
    // The other parts of a recording are found.
    let trace = commands.files[0].to_str().unwrap();
    let output = commands.env.command(&["store", "load", trace]).output().unwrap();
    // 3: lines of the fixture are damaged, and the rest was loaded.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = Commands::lines(&commands.text(&["logs", "--json", "-n", "1000"]));
    let is_call = |row: &&Value| {
        let method = row["method"].as_str().unwrap();
        row["kind"] != "http" && !method.is_empty() && !method.starts_with("notifications/")
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    // Over HTTP, the store has the sizes of bodies: all events of a stream, not just the answer.
    let is_http = rows.iter().any(|row| row["transport"] == "http");
    // The store has no duration of a server that can't be reached (docs/json-output.md).
    let duration = |outcome: &str, us: Option<u64>| us.filter(|_| !is_http || outcome != "http-error");
    let mut stored: Vec<_> = rows
        .iter()
        .filter(is_call)
        .map(|row| {
            let response_bytes = if is_http { 0 } else { number(&row["responseBytes"]) };
            let sizes = (number(&row["requestBytes"]), response_bytes);
            let tool = row["tool"].as_str().map(str::to_owned);
            let status = text(&row["status"]);
            let us = duration(&status, row["latencyUs"].as_u64());
            (text(&row["method"]), tool, status, us, sizes)
        })
        .collect();
    let mut expected: Vec<_> = calls
        .iter()
        .map(|call| {
            let response_bytes = call.response_bytes.filter(|_| !is_http);
            let sizes = (call.request_bytes, response_bytes.unwrap_or(0));
            let us = duration(&call.outcome, call.us);
            (call.method.clone(), call.tool.clone(), call.outcome.clone(), us, sizes)
        })
        .collect();
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected, "{}: store", commands.source.display());
    let sessions = Commands::lines(&commands.text(&["sessions", "--json"]));
    let counted: u64 = sessions.iter().map(|session| session["calls"].as_u64().unwrap()).sum();
    assert_eq!(counted, calls.len() as u64, "{}: sessions", commands.source.display());
}

/// The contents of `export html`: the same objects that the page gets from its server.
fn report(commands: &Commands) -> Value {
    let html = commands.of_trace(&["export", "html", "-o", "-"]);
    let (_, rest) = html.split_once(r#"id="wiretape-report">"#).unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let mut json = String::new();
    GzDecoder::new(&*STANDARD.decode(data).unwrap()).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn report_calls(report: &Value) -> Vec<Call> {
    report["calls"].as_array().unwrap().iter().map(Call::of).collect()
}

fn check_report(commands: &Commands, calls: &[Call]) {
    let source = commands.source.display();
    let report = report(commands);
    assert_eq!(report_calls(&report), calls, "{source}: report");
    let info = &report["set"]["traces"][0];
    let of_client: Vec<&Call> = calls.iter().filter(|call| call.is_client).collect();
    assert_eq!(info["calls"], of_client.len(), "{source}: report");
    let errors = of_client.iter().filter(|call| call.is_error()).count();
    assert_eq!(info["errors"], errors, "{source}: report");
    check_sessions_of_report(commands, &report, calls);
    check_sessions(commands, calls);
}

/// The calls and errors of each session, by its id.
fn sessions(calls: &[Call]) -> BTreeMap<Option<String>, (u64, u64)> {
    let mut sessions = BTreeMap::new();
    for call in calls.iter().filter(|call| call.is_client) {
        let (all, errors) = sessions.entry(call.session.clone()).or_default();
        *all += 1;
        *errors += u64::from(call.is_error());
    }
    sessions
}

fn check_sessions_of_report(commands: &Commands, report: &Value, calls: &[Call]) {
    let rows = report["sessions"].as_array().unwrap();
    let shown: BTreeMap<Option<String>, (u64, u64)> = rows
        .iter()
        .map(|row| {
            let counts = (row["calls"].as_u64().unwrap(), row["errors"].as_u64().unwrap());
            (row["session"].as_str().map(str::to_owned), counts)
        })
        .filter(|(_, (calls, _))| *calls > 0)
        .collect();
    assert_eq!(shown, sessions(calls), "{}: sessions of the report", commands.source.display());
}

fn check_sessions(commands: &Commands, calls: &[Call]) {
    let rows = Commands::lines(&commands.of_trace(&["sessions", "--json"]));
    let mut shown: Vec<(u64, u64)> =
        rows.iter().map(|row| (row["calls"].as_u64().unwrap(), row["errors"].as_u64().unwrap())).collect();
    shown.retain(|(calls, _)| *calls > 0);
    // Not by id: a session without one of its own has that of its trace here.
    let mut expected: Vec<(u64, u64)> = sessions(calls).into_values().collect();
    shown.sort_unstable();
    expected.sort_unstable();
    assert_eq!(shown, expected, "{}: sessions", commands.source.display());
}

fn check_tape(commands: &Commands, calls: &[&Call]) {
    let source = commands.source.display();
    let matching = Matching::default();
    let tape = tape(&commands.files, &matching);
    let mut taped = Vec::new();
    let mut expected = Vec::new();
    assert_eq!(tape.calls().len(), calls.len(), "{source}: tape");
    for (recorded, call) in tape.calls().iter().zip(calls) {
        let kind = tape.kind(recorded);
        let steps = tape.steps(recorded);
        let answer = steps.iter().position(|step| step.kind == StepKind::Answer);
        let bytes = answer.map(|at| u64::from(steps[at].span.len));
        let before = &steps[..answer.map_or(0, |at| at + 1)];
        let us: u64 = before.iter().map(|step| u64::from(step.gap_us)).sum();
        // Time in which the client was asked is not replayed; an answer to a cancelled call is, though the call was over.
        let has_question = before.iter().any(|step| step.kind == StepKind::Question);
        let is_over = matches!(call.outcome.as_str(), "cancelled" | "timed-out");
        let is_timed = answer.is_some() && !has_question && !is_over && call.us.is_some();
        let name = kind.name.as_deref().filter(|_| &*kind.method == "tools/call").map(str::to_owned);
        taped.push((
            (kind.method.to_string(), name, recorded.outcome.name().to_owned()),
            (is_timed.then_some(us), u64::from(recorded.request.len), bytes),
        ));
        expected.push((
            (call.method.clone(), call.tool.clone(), call.outcome.clone()),
            (call.us.filter(|_| is_timed), call.request_bytes, call.response_bytes),
        ));
    }
    assert_eq!(taped, expected, "{source}: tape");
}

fn tape(files: &[PathBuf], matching: &Matching) -> Tape {
    let mut builder = TapeBuilder::new(matching);
    let mut start = 0;
    for file in files {
        let bytes = std::fs::read(file).unwrap();
        let mut reader = TraceReader::new(&*bytes);
        while let Some(line) = reader.next_line().unwrap() {
            builder.observe(&Line { offset: start + line.offset, ..line });
        }
        start += bytes.len() as u64;
    }
    builder.finish()
}
