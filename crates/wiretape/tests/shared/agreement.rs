//! Every command, export, report, tape and the store say the same of a trace: the same calls, with the same outcomes, durations,
//! sizes, names and sessions. `calls` is the reference for calls and `show` for messages; nothing here knows what a call is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use wiretape_analyze::replay::{Matching, StepKind, Tape, TapeBuilder};
use wiretape_trace::format::{Line, TraceReader};

/// Outcomes that count as errors, by the documentation.
const ERRORS: [&str; 5] = ["tool-error", "protocol-error", "http-error", "timed-out", "crashed"];

/// All outcomes that are counted, by the documentation. What is left is `ok`.
const COUNTED: [&str; 9] = [
    "tool-error",
    "protocol-error",
    "http-error",
    "timed-out",
    "cancelled",
    "disconnected",
    "crashed",
    "unanswered",
    "pending",
];

/// Checks a trace. `source` is its name in failures.
pub(crate) fn check(trace: &[u8], source: &Path) {
    let commands = Commands::new(&[("trace.jsonl".to_owned(), trace)], source);
    let expected = Expected::of(&commands);
    let of_client = expected.of_client();
    check_counts(&commands, &of_client);
    check_csv(&commands, &expected.calls);
    check_perfetto(&commands, &expected.calls);
    check_har(&commands, &expected);
    check_assay(&commands, &expected);
    check_store(&commands, &of_client);
    check_report(&commands, &expected.calls);
    check_tape(&commands, &of_client);
}

/// Checks each of these files.
#[allow(dead_code, reason = "not every test binary has files")]
pub(crate) fn check_files(traces: &[PathBuf]) {
    assert!(!traces.is_empty(), "there is nothing to compare");
    traces.iter().for_each(|trace| check(&std::fs::read(trace).unwrap(), trace));
}

/// What takes several files says the same of the parts as of the whole. Lines are numbered by file, so they are left out.
#[allow(dead_code, reason = "not every test binary has parts")]
pub(crate) fn check_parts(whole: &str, parts: &[(String, &str)]) {
    let source = Path::new("parts");
    let whole = Commands::new(&[(parts[0].0.clone(), whole)], source);
    let expected = Expected::of(&whole).without_lines();
    let parts: Vec<(String, &[u8])> =
        parts.iter().map(|(name, content)| (name.clone(), content.as_bytes())).collect();
    let commands = Commands { lines: Lines::Ignored, ..Commands::new(&parts, source) };
    assert_eq!(without_lines(commands.calls()), expected.calls, "calls");
    let of_client = expected.of_client();
    check_stats(&commands, &of_client);
    check_csv(&commands, &expected.calls);
    check_perfetto(&commands, &expected.calls);
    check_har(&commands, &expected);
    check_assay(&commands, &expected);
    check_store(&commands, &of_client);
    let report = report(&commands);
    assert_eq!(without_lines(report_calls(&report)), expected.calls, "report");
    check_tape(&commands, &of_client);
    let sessions = |commands: &Commands| Commands::lines(&commands.of_trace(&["sessions", "--json"]));
    assert_eq!(sessions(&commands), sessions(&whole), "sessions");
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

/// What everything else is compared with.
struct Expected {
    calls: Vec<Call>,
    /// The calls of tools, as `assay-v2` has them.
    tool_calls: Vec<ToolCall>,
    /// The number of messages and failed exchanges that are not calls: entries of their own in a HAR archive.
    besides: usize,
}

/// Name, error, arguments and result.
type ToolCall = (String, Value, String, String);

impl Expected {
    fn of(commands: &Commands) -> Self {
        let rows = Commands::lines(&commands.of_trace(&["calls", "--json"]));
        let shown = Commands::lines(&commands.of_trace(&["show", "--json"]));
        let of_tools = |row: &&Value| row["dir"] == "in" && row["method"] == "tools/call";
        Expected {
            calls: rows.iter().map(Call::of).collect(),
            tool_calls: rows.iter().filter(of_tools).map(|row| tool_call(row, &shown)).collect(),
            besides: besides(&shown),
        }
    }

    fn of_client(&self) -> Vec<&Call> {
        self.calls.iter().filter(|call| call.is_client).collect()
    }

    fn without_lines(self) -> Self {
        Expected { calls: without_lines(self.calls), ..self }
    }
}

fn without_lines(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().map(|call| Call { line: 0, ..call }).collect()
}

/// The payloads of a line of `show`, with what it says about each.
fn payloads(line: &Value) -> Vec<(Value, Value)> {
    match (line["elements"].as_array(), line["raw"].as_array()) {
        (Some(elements), Some(raws)) => elements.iter().cloned().zip(raws.iter().cloned()).collect(),
        _ => vec![(line.clone(), line["raw"].clone())],
    }
}

/// The payload with the id of a call on a line.
fn payload(shown: &[Value], line: &Value, id: &Value) -> Option<Value> {
    let line = shown.iter().find(|shown| shown["line"] == *line)?;
    let mut payloads: Vec<Value> = payloads(line).into_iter().map(|(_, raw)| raw).collect();
    // By value: `calls` has ids as they are compared, not as they are written.
    let value = |id: &Value| {
        let text = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        text.parse().map_or(text, |number: f64| number.to_string())
    };
    let is_same = |raw: &Value| value(&raw["id"]) == value(id);
    let at = if payloads.len() == 1 { 0 } else { payloads.iter().position(is_same)? };
    Some(payloads.swap_remove(at))
}

fn tool_call(row: &Value, shown: &[Value]) -> ToolCall {
    let request = payload(shown, &row["line"], &row["id"]).unwrap();
    let answer = payload(shown, &row["responseLine"], &row["id"]).unwrap_or_default();
    let answer = |member: &str| answer.get(member).filter(|_| !row["id"].is_null());
    let result = match (answer("error"), answer("result")) {
        (Some(error), _) => json!({"error": error}),
        (None, Some(result)) => result.clone(),
        (None, None) => Value::Null,
    };
    let error = match row["status"].as_str().unwrap() {
        _ if row["id"].is_null() => Value::Null,
        "ok" | "tool-error" => Value::Null,
        "protocol-error" => "mcp_error".into(),
        "http-error" => "http_error".into(),
        "cancelled" => "cancelled".into(),
        "disconnected" => "disconnected".into(),
        "crashed" => "server_crashed".into(),
        _ => "timeout/no_response".into(),
    };
    let name = row["tool"].as_str().unwrap_or("unknown_tool").to_owned();
    (name, error, request["params"]["arguments"].to_string(), result.to_string())
}

/// The messages and failed exchanges that are not part of a call of the client.
fn besides(shown: &[Value]) -> usize {
    let mut requests = BTreeSet::new();
    let mut count = 0;
    for line in shown {
        let x = line["http"]["x"].as_u64().or(line["record"]["http"]["x"].as_u64());
        if line["type"] == "message" {
            for (about, raw) in payloads(line) {
                // A request without an id that an answer could repeat is not paired with anything.
                let is_request = line["dir"] == "in" && about["kind"] == "request" && !raw["id"].is_null();
                let is_answer = line["dir"] == "out" && about["answers"].is_u64();
                if is_request {
                    requests.extend(x);
                } else if !is_answer {
                    count += 1;
                }
            }
        }
        let failed =
            line["record"]["http"]["response"]["status"].as_u64().is_some_and(|status| status >= 400);
        if line["type"] == "http" && failed && x.is_none_or(|x| !requests.contains(&x)) {
            count += 1;
        }
    }
    count
}

/// A data directory with a trace, or the parts of one, and the binary.
struct Commands {
    home: tempfile::TempDir,
    files: Vec<PathBuf>,
    lines: Lines,
    /// A part of a rotated recording by itself: sessions and handshakes may have begun before it, or end after it.
    is_part: bool,
    source: PathBuf,
}

/// Whether the numbers of lines are compared.
#[derive(Clone, Copy, PartialEq)]
enum Lines {
    Compared,
    Ignored,
}

impl Commands {
    fn new(contents: &[(String, impl AsRef<[u8]>)], source: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let traces = home.path().join("traces");
        std::fs::create_dir(&traces).unwrap();
        let files = contents.iter().map(|(name, content)| {
            let path = traces.join(name);
            std::fs::write(&path, content).unwrap();
            path
        });
        let trace = String::from_utf8_lossy(contents[0].1.as_ref());
        let marks = [r#""part":{"index""#, r#""type":"rotated""#];
        let is_part = contents.len() == 1 && marks.iter().any(|mark| trace.contains(mark));
        Commands { files: files.collect(), home, lines: Lines::Compared, is_part, source: source.to_owned() }
    }

    fn output(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wiretape"));
        command.args(args).env("WIRETAPE_DATA_DIR", self.home.path()).current_dir(self.home.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {args:?}: {stderr}", self.source.display());
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

    /// A line number, if they are compared.
    fn line(&self, number: u64) -> u64 {
        if self.lines == Lines::Compared { number } else { 0 }
    }
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
    for outcome in COUNTED {
        let count = calls.iter().filter(|call| call.outcome == outcome).count();
        assert_eq!(counts[&camel(outcome)], count, "{source}: {outcome} in {counts}");
    }
}

fn check_csv(commands: &Commands, calls: &[Call]) {
    let text = commands.of_trace(&["export", "--to", "csv"]);
    let mut rows: Vec<Vec<String>> = text.lines().skip(1).map(fields).collect();
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
        row[0] = commands.line(row[0].parse().unwrap()).to_string();
    }
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected, "{}: csv", commands.source.display());
}

/// The fields of a row. Quoted ones may contain commas; none contains a line break, which is escaped.
fn fields(row: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for letter in row.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            letter => fields.last_mut().unwrap().push(letter),
        }
    }
    fields
}

fn check_perfetto(commands: &Commands, calls: &[Call]) {
    let export: Value = serde_json::from_str(&commands.of_trace(&["export", "--to", "perfetto"])).unwrap();
    let slices = export["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "call");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    // A slice needs a duration, so a call without times has one, too: that is not compared.
    let timed: BTreeSet<u64> = calls.iter().filter(|call| call.us.is_some()).map(|call| call.line).collect();
    let mut shown: Vec<_> = slices
        .map(|slice| {
            let args = &slice["args"];
            let line = commands.line(args["requestLine"].as_u64().unwrap());
            let us = slice["dur"].as_u64().unwrap();
            let sizes = (args["requestBytes"].as_u64(), args["responseBytes"].as_u64());
            let us = timed.contains(&line).then_some(us);
            (line, text(&slice["name"]), text(&args["outcome"]), us, sizes)
        })
        .collect();
    let with_id = calls.iter().filter(|call| call.has_id);
    let mut expected: Vec<_> = with_id
        .map(|call| {
            let name = call.tool.clone().unwrap_or_else(|| call.method.clone());
            let sizes = (Some(call.request_bytes), call.response_bytes);
            (call.line, name, call.outcome.clone(), call.us, sizes)
        })
        .collect();
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "{}: perfetto", commands.source.display());
}

fn check_har(commands: &Commands, expected: &Expected) {
    let source = commands.source.display();
    let export: Value = serde_json::from_str(&commands.of_trace(&["export", "--to", "har"])).unwrap();
    let entries = export["log"]["entries"].as_array().unwrap();
    let (of_calls, besides): (Vec<&Value>, Vec<&Value>) =
        entries.iter().partition(|entry| entry["_outcome"].is_string());
    let mut shown: Vec<(String, u64, u64)> = of_calls
        .iter()
        .map(|entry| {
            let us = (entry["time"].as_f64().unwrap() * 1000.0).round() as u64;
            (
                entry["_outcome"].as_str().unwrap().to_owned(),
                us,
                entry["request"]["bodySize"].as_u64().unwrap(),
            )
        })
        .collect();
    let with_id = expected.calls.iter().filter(|call| call.is_client && call.has_id);
    let mut calls: Vec<(String, u64, u64)> =
        with_id.map(|call| (call.outcome.clone(), call.us.unwrap_or(0), call.request_bytes)).collect();
    shown.sort();
    calls.sort();
    assert_eq!(shown, calls, "{source}: har");
    assert_eq!(besides.len(), expected.besides, "{source}: har: {besides:#?}");
}

fn check_assay(commands: &Commands, expected: &Expected) {
    let lines = Commands::lines(&commands.of_trace(&["export", "--to", "assay-v2"]));
    let shown = lines.iter().filter(|line| line["type"] == "tool_call");
    let mut shown: Vec<_> = shown
        .map(|call| {
            let name = call["tool_name"].as_str().unwrap().to_owned();
            (name, call["error"].to_string(), call["args"].to_string(), call["result"].to_string())
        })
        .collect();
    let of_expected = |(name, error, args, result): &ToolCall| {
        (name.clone(), error.to_string(), args.clone(), result.clone())
    };
    let mut expected: Vec<_> = expected.tool_calls.iter().map(of_expected).collect();
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "{}: assay-v2", commands.source.display());
}

/// Method, tool, status, duration, and the sizes of request and response.
type StoredCall = (String, Option<String>, String, Option<u64>, (u64, u64));

fn check_store(commands: &Commands, calls: &[&Call]) {
    // The other parts of a recording are found.
    let trace = commands.files[0].to_str().unwrap();
    let output = commands.output(&["store", "load", trace]);
    // 3: lines of the fixture are damaged, and the rest was loaded.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = Commands::lines(&commands.text(&["logs", "--json", "-n", "100000"]));
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
    let mut stored: Vec<StoredCall> = rows
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
    if commands.is_part {
        // The head of the stream on which a call was resumed may be in an earlier part. Without it, the store doesn't know
        // the stream's session, and the call has no response.
        let resumed = Commands::lines(&commands.of_trace(&["calls", "--json"]));
        for call in resumed.iter().filter(|call| call["resumed"] == true) {
            let is_it =
                |row: &StoredCall| row.0 == call["method"] && row.4.0 == number(&call["requestBytes"]);
            let lost = stored.iter().position(|row| is_it(row) && row.2 == "unanswered");
            let found = expected.iter().position(|row| is_it(row) && row.2 == call["status"]);
            if let (Some(lost), Some(found)) = (lost, found)
                && !stored.contains(&expected[found])
            {
                stored.remove(lost);
                expected.remove(found);
            }
        }
    }
    assert_eq!(stored, expected, "{}: store", commands.source.display());
    let sessions = Commands::lines(&commands.text(&["sessions", "--json"]));
    let counted: u64 = sessions.iter().map(|session| session["calls"].as_u64().unwrap()).sum();
    let expected = if commands.is_part { counted.min(calls.len() as u64) } else { calls.len() as u64 };
    assert_eq!(counted, expected, "{}: sessions", commands.source.display());
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
    if !commands.is_part {
        check_sessions(commands, &report);
    }
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
    let mut shown: BTreeMap<Option<String>, (u64, u64)> = BTreeMap::new();
    for row in report["sessions"].as_array().unwrap() {
        let (all, errors) = shown.entry(row["session"].as_str().map(str::to_owned)).or_default();
        *all += row["calls"].as_u64().unwrap();
        *errors += row["errors"].as_u64().unwrap();
    }
    shown.retain(|_, (calls, _)| *calls > 0);
    assert_eq!(shown, sessions(calls), "{}: sessions of the report", commands.source.display());
}

/// A session: its id, client, server, revision, start and end in milliseconds, and its calls and errors.
type Session = (Option<String>, Option<String>, Option<String>, Option<String>, (i64, i64), (u64, u64));

/// `sessions` and the report list the same sessions.
fn check_sessions(commands: &Commands, report: &Value) {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let ms = |value: &Value| value.as_i64().unwrap().div_euclid(1000);
    let counts = |row: &Value| (row["calls"].as_u64().unwrap(), row["errors"].as_u64().unwrap());
    let reported = report["sessions"].as_array().unwrap();
    let mut expected: Vec<Session> = reported
        .iter()
        .map(|row| {
            let times = (ms(&row["fromUs"]), ms(&row["toUs"]));
            let peers = (text(&row["client"]), text(&row["server"]), text(&row["revision"]));
            (text(&row["session"]), peers.0, peers.1, peers.2, times, counts(row))
        })
        .collect();
    let ids: BTreeSet<String> = expected.iter().filter_map(|session| session.0.clone()).collect();
    let program = |row: &Value, name: &str, version: &str| {
        let words: Vec<&str> = [name, version].iter().filter_map(|member| row[member].as_str()).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let rows = Commands::lines(&commands.of_trace(&["sessions", "--json"]));
    // A proxy ends sessions when they were idle for long, which is no activity.
    let has_ended = |row: &Value| !row["ended"].is_null() && row["listener"].is_null();
    // In the store, a cancelled call is over, and a response that comes all the same is not stored.
    let is_cancelled = |call: &Value| call["status"] == "cancelled";
    let has_late_end = report["calls"].as_array().unwrap().iter().any(is_cancelled);
    let has_end = !has_late_end && (reported.len() > 1 || rows.iter().any(has_ended));
    let mut shown: Vec<Session> = rows
        .iter()
        .map(|row| {
            // The only session of a trace ends with it. Of several, each lasted until something last happened in it.
            let is_over = reported.len() == 1 && has_ended(row);
            let end = if is_over { &row["ended"] } else { &row["lastSeen"] };
            let times = (time_ms(&row["started"]), time_ms(end));
            let client = program(row, "clientName", "clientVersion");
            let server = program(row, "serverName", "serverVersion");
            // A session without an id has a name here, and none in the report.
            let id = text(&row["id"]).filter(|id| ids.contains(id));
            (id, client, server, text(&row["protocolVersion"]), times, counts(row))
        })
        .collect();
    for sessions in [&mut shown, &mut expected] {
        sessions.retain(|session| session.5.0 > 0);
        sessions.sort();
    }
    if !expected.is_empty() && shown.len() > expected.len() {
        // Clients without sessions: the store groups them by program, and the report has one row for all.
        shown = merge_unnamed(shown);
        expected = merge_unnamed(expected);
    }
    for (shown, expected) in shown.iter_mut().zip(&expected) {
        // The store adds microseconds to a time in whole milliseconds, which may be 1 ms off.
        let is_same = |shown: i64, expected: i64| shown.abs_diff(expected) <= 1;
        // A session whose end was not seen lasts until the last line on the page, and until the last call in the store.
        let is_open_end = !has_end && shown.4.1 <= expected.4.1;
        if is_same(shown.4.0, expected.4.0) && (is_open_end || is_same(shown.4.1, expected.4.1)) {
            shown.4 = expected.4;
        }
    }
    assert_eq!(shown, expected, "{}: sessions, and those of the report", commands.source.display());
}

/// All sessions without an id as one, whose client and server are left out.
fn merge_unnamed(sessions: Vec<Session>) -> Vec<Session> {
    let (unnamed, mut merged): (Vec<Session>, Vec<Session>) =
        sessions.into_iter().partition(|session| session.0.is_none());
    merged.extend(unnamed.into_iter().reduce(|one, other| {
        let times = (one.4.0.min(other.4.0), one.4.1.max(other.4.1));
        (None, None, None, None, times, (one.5.0 + other.5.0, one.5.1 + other.5.1))
    }));
    merged.iter_mut().filter(|session| session.0.is_none()).for_each(|session| {
        (session.1, session.2, session.3) = (None, None, None);
    });
    merged.sort();
    merged
}

fn time_ms(time: &Value) -> i64 {
    time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
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
        // The body of an HTTP error is not a message.
        let response_bytes = call.response_bytes.filter(|_| call.outcome != "http-error");
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
            (call.us.filter(|_| is_timed), call.request_bytes, response_bytes),
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
