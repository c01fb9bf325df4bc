//! A small MCP server, so that `wiretape demo` needs nothing else on the machine.
//!
//! It implements the stdio transport of revision 2025-11-25 by hand: one message per line, answered in order. Its data is
//! made up. It exists to be recorded.

use crate::error::CommandError;
use clap::Args;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

/// Run a small MCP server on standard input and output
#[derive(Debug, Args)]
pub(crate) struct SampleServerArgs {}

/// The version offered to a client that asks for an unknown one.
const NEWEST: &str = "2025-11-25";

/// The versions that don't differ in anything that this server does.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST];

/// A delay per note: without it, all calls would take microseconds, and the demo's durations would show nothing.
const READING: Duration = Duration::from_millis(30);

const NOTES: [(&str, &str); 3] = [
    ("Lisbon", "Tram 28 is full after nine. Pastéis first."),
    ("Packing", "Umbrella, passport, the good camera."),
    ("Rust", "Borrow, don't clone. Lisbon meetup on Thursday."),
];

/// The JSON-RPC error codes used here.
#[derive(Debug, Clone, Copy)]
enum ErrorCode {
    NotJson = -32700,
    NotARequest = -32600,
    UnknownMethod = -32601,
    BadParams = -32602,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Serialize)]
struct Outgoing<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    body: Body,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    Result { result: Value },
    Error { error: RpcError },
    Notification { method: &'static str, params: Value },
}

#[derive(Serialize)]
struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RpcError { code: code as i32, message: message.into() }
    }
}

pub(crate) fn run() -> Result<(), CommandError> {
    let ready = writeln!(io::stderr(), "sample server ready: weather, search_notes, login, divide");
    ready.and_then(|()| serve(io::stdin().lock(), io::stdout().lock())).map_err(CommandError::from)
}

/// Answers every line until the input ends.
fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut server = SampleServer { output };
    for line in input.split(b'\n') {
        let line = line?;
        if !line.trim_ascii().is_empty() {
            server.line(&line)?;
        }
    }
    Ok(())
}

struct SampleServer<W> {
    output: W,
}

impl<W: Write> SampleServer<W> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        // JSON-RPC 2.0, section 5: the id is null where it could not be read.
        let Ok(message) = serde_json::from_slice::<Incoming<'_>>(line) else {
            let error = RpcError::new(ErrorCode::NotJson, "not a JSON-RPC message");
            return self.send(Some(RawValue::NULL), Body::Error { error });
        };
        match (message.method.as_deref(), message.id) {
            (Some(method), Some(id)) => {
                let body = match self.request(method, &message.params)? {
                    Ok(result) => Body::Result { result },
                    Err(error) => Body::Error { error },
                };
                self.send(Some(id), body)
            }
            (None, Some(id)) if message.result.is_none() && message.error.is_none() => {
                let error = RpcError::new(ErrorCode::NotARequest, "missing method");
                self.send(Some(id), Body::Error { error })
            }
            // Notifications and responses get no answer.
            _ => Ok(()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<Result<Value, RpcError>> {
        let result = match method {
            "initialize" => initialize(params),
            // Accepted because the capability `logging` is declared; the level is ignored.
            "ping" | "logging/setLevel" => json!({}),
            "tools/list" => json!({ "tools": tools() }),
            "tools/call" => return self.call(params),
            "resources/list" => json!({ "resources": [resource()] }),
            "resources/read" => return Ok(read_resource(params)),
            "prompts/list" => json!({ "prompts": [prompt()] }),
            "prompts/get" => return Ok(get_prompt(params)),
            _ => {
                return Ok(Err(RpcError::new(
                    ErrorCode::UnknownMethod,
                    format!("there is no method {method}"),
                )));
            }
        };
        Ok(Ok(result))
    }

    fn call(&mut self, params: &Value) -> io::Result<Result<Value, RpcError>> {
        let arguments = &params["arguments"];
        let result = match params["name"].as_str().unwrap_or_default() {
            "weather" => weather(arguments),
            "search_notes" => self.search_notes(arguments, &params["_meta"]["progressToken"])?,
            "login" => self.login(arguments)?,
            "divide" => divide(arguments),
            unknown => {
                return Ok(Err(RpcError::new(
                    ErrorCode::BadParams,
                    format!("there is no tool named `{unknown}`"),
                )));
            }
        };
        Ok(Ok(result))
    }

    fn search_notes(&mut self, arguments: &Value, progress_token: &Value) -> io::Result<Value> {
        let query = arguments["query"].as_str().unwrap_or_default().to_lowercase();
        let mut found = Vec::new();
        for (number, (title, text)) in (1..).zip(NOTES) {
            thread::sleep(READING);
            if title.to_lowercase().contains(&query) || text.to_lowercase().contains(&query) {
                found.push(format!("{title}: {text}"));
            }
            // Progress may be sent only for a token that the request carries (2025-11-25, basic/utilities/progress).
            if !progress_token.is_null() {
                let progress = json!({
                    "progressToken": progress_token,
                    "progress": number,
                    "total": NOTES.len(),
                    "message": format!("looked into {title}"),
                });
                self.notify("notifications/progress", progress)?;
            }
        }
        Ok(text_result(if found.is_empty() { "nothing found".to_owned() } else { found.join("\n") }))
    }

    fn login(&mut self, arguments: &Value) -> io::Result<Value> {
        let user = arguments["user"].as_str().unwrap_or("stranger");
        let logged =
            json!({ "level": "info", "logger": "sample-server", "data": format!("{user} logged in") });
        self.notify("notifications/message", logged)?;
        Ok(text_result(format!("Your token is {}. Welcome back, {user}.", sample_token())))
    }

    fn notify(&mut self, method: &'static str, params: Value) -> io::Result<()> {
        self.send(None, Body::Notification { method, params })
    }

    fn send(&mut self, id: Option<&RawValue>, body: Body) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, &Outgoing { jsonrpc: "2.0", id, body })?;
        self.output.write_all(b"\n")?;
        // Standard output is block-buffered in a pipe, and the client waits for this message.
        self.output.flush()
    }
}

/// A token in the format of a real one, which grants nothing.
pub(crate) fn sample_token() -> String {
    // Assembled at run time, so that secret scanners don't report this source file.
    format!("ghp_{}", "0dEm0T0kEn".repeat(4).get(..36).unwrap_or_default())
}

fn initialize(params: &Value) -> Value {
    let requested = params["protocolVersion"].as_str().unwrap_or(NEWEST);
    let version = VERSIONS.into_iter().find(|version| *version == requested).unwrap_or(NEWEST);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {}, "resources": {}, "prompts": {}, "logging": {} },
        "serverInfo": { "name": "sample-server", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": { "type": "object", "properties": properties, "required": required },
        })
    };
    let text = json!({ "type": "string" });
    let number = json!({ "type": "number" });
    let mut weather = tool("weather", "The weather in a city", json!({ "city": text }), &["city"]);
    weather["outputSchema"] = json!({
        "type": "object",
        "properties": { "city": text, "celsius": number, "sky": text },
        "required": ["city", "celsius", "sky"],
    });
    let reads = |mut tool: Value| {
        tool["annotations"] = json!({ "readOnlyHint": true });
        tool
    };
    let login = json!({ "user": text, "password": { "type": "string", "format": "password" } });
    json!([
        reads(weather),
        reads(tool("search_notes", "Notes that have a word in them", json!({ "query": text }), &["query"])),
        tool("login", "Log in, and get a token", login, &["user", "password"]),
        reads(tool("divide", "Divide two numbers", json!({ "a": number, "b": number }), &["a", "b"])),
    ])
}

fn weather(arguments: &Value) -> Value {
    let Some(city) = arguments["city"].as_str() else { return tool_error("`city` is missing") };
    thread::sleep(READING / 2);
    let report = json!({ "city": city, "celsius": 18.5, "sky": "light rain" });
    let mut result = text_result(report.to_string());
    // Also as text, for clients that don't know structured content (2025-11-25, server/tools: structured content).
    result["structuredContent"] = report;
    result
}

fn divide(arguments: &Value) -> Value {
    match (arguments["a"].as_f64(), arguments["b"].as_f64()) {
        (Some(_), Some(0.0)) => tool_error("can't divide by zero"),
        (Some(a), Some(b)) => text_result((a / b).to_string()),
        _ => tool_error("`a` and `b` must be numbers"),
    }
}

fn text_result(text: impl Into<String>) -> Value {
    json!({ "content": [{ "type": "text", "text": text.into() }] })
}

/// A tool error, which a model should see; protocol errors are [`RpcError`]s.
fn tool_error(text: &str) -> Value {
    let mut result = text_result(text);
    result["isError"] = json!(true);
    result
}

const RESOURCE_URI: &str = "notes://today";

fn resource() -> Value {
    json!({ "uri": RESOURCE_URI, "name": "today", "mimeType": "text/plain" })
}

fn read_resource(params: &Value) -> Result<Value, RpcError> {
    match params["uri"].as_str() {
        Some(RESOURCE_URI) => {
            let text = NOTES.map(|(title, text)| format!("{title}: {text}")).join("\n");
            Ok(json!({ "contents": [{ "uri": RESOURCE_URI, "mimeType": "text/plain", "text": text }] }))
        }
        uri => Err(RpcError::new(
            ErrorCode::BadParams,
            format!("there is no resource {}", uri.unwrap_or_default()),
        )),
    }
}

const PROMPT: &str = "plan_day";

fn prompt() -> Value {
    json!({ "name": PROMPT, "description": "Plan a day", "arguments": [{ "name": "city", "required": true }] })
}

fn get_prompt(params: &Value) -> Result<Value, RpcError> {
    match (params["name"].as_str(), params["arguments"]["city"].as_str()) {
        (Some(PROMPT), Some(city)) => {
            let text = format!("Plan a day in {city}. Look at the weather first.");
            Ok(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] }))
        }
        (Some(PROMPT), None) => Err(RpcError::new(ErrorCode::BadParams, "`city` is missing")),
        _ => Err(RpcError::new(ErrorCode::BadParams, "there is no such prompt")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str) -> Vec<Value> {
        let mut output = Vec::new();
        serve(input.as_bytes(), &mut output).unwrap();
        let lines = std::str::from_utf8(&output).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_known_version_is_answered_and_an_unknown_one_replaced() {
        let check = |asked: &str, expected: &str| {
            let answers = answers(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{asked}\"}}}}"
            ));
            assert_eq!(answers[0]["result"]["protocolVersion"], expected);
        };
        check("2025-06-18", "2025-06-18");
        check("2025-11-25", "2025-11-25");
        check("2099-01-01", "2025-11-25");
    }

    #[test]
    fn ids_come_back_as_they_were_written() {
        let mut output = Vec::new();
        serve(&br#"{"id":12345678901234567890.0,"method":"ping"}"#[..], &mut output).unwrap();
        assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890.0,\"result\":{}}\n");
    }

    #[test]
    fn trouble_has_its_codes_and_notifications_no_answer() {
        let input = "nonsense\n{\"id\":1}\n{\"id\":2,\"method\":\"x\"}\n\
            {\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"x\"}}\n\
            {\"method\":\"notifications/initialized\"}\n\n{\"id\":4,\"result\":{}}\n";
        let codes: Vec<i64> =
            answers(input).iter().filter_map(|answer| answer["error"]["code"].as_i64()).collect();
        assert_eq!(codes, [-32700, -32600, -32601, -32602]);
    }
}
