//! `assay-v2`: an episode of steps and tool calls, one object per line. Every member is always present and in the same
//! order, and the same trace gives the same bytes.

use super::json::{optional, raw, string};
use super::{ExportAnalysis, ExportFormat, ExportOptions, Output, Survey};
use crate::call::Outcome;
use crate::reading::{Analysis, Closed, LineView, Seen};
use std::io::{self, Write};
use wiretape_trace::message::{Direction, Envelope, Id, MessageKind};
use wiretape_trace::protocol::method;
use wiretape_trace::value::Value;

pub(super) static ASSAY_V2: ExportFormat = ExportFormat {
    name: "assay-v2",
    about: "episodes of steps and tool calls",
    make: |options, survey| super::exporter(Assay::new(options, survey)),
};

struct Assay {
    options: ExportOptions,
    discovery: super::Discovery,
    start_ms: i64,
    /// The latest time so far: the output must not run backwards.
    now_ms: i64,
    /// The time that the message itself has.
    said_ms: Option<i64>,
    steps: u64,
    final_output: Option<String>,
    out: Output,
}

/// A call of a tool.
struct ToolCall {
    step: u64,
    at_ms: i64,
    name: String,
    args: String,
}

/// The end of a call.
struct Ending<'a> {
    at_ms: i64,
    result: &'a str,
    error: Option<&'a str>,
}

impl Assay {
    fn new(options: &ExportOptions, survey: &Survey) -> Self {
        // If the source has no time, none is invented.
        let start_ms = survey.first_ms.unwrap_or(0);
        Assay {
            options: options.clone(),
            discovery: survey.discovery,
            start_ms,
            now_ms: start_ms,
            said_ms: None,
            steps: 0,
            final_output: None,
            out: Output::default(),
        }
    }

    /// Handles a client request. Returns its tool call, if it is one.
    fn start_tool_call(&mut self, envelope: &Envelope<'_>) -> Option<ToolCall> {
        match envelope.method.as_deref() {
            Some(method::LIST_TOOLS) => {
                self.step("tools/list", Some("{}"), &meta_of(envelope.id.as_ref()));
                None
            }
            Some(method::CALL_TOOL) => Some(self.tool(envelope)),
            _ => None,
        }
    }

    fn tool(&mut self, envelope: &Envelope<'_>) -> ToolCall {
        let name = envelope.name.as_deref().unwrap_or("unknown_tool").to_owned();
        let params = envelope.params.and_then(|params| Value::parse(params).ok());
        let args = params.and_then(|params| params.get("arguments"));
        let args = args.map_or_else(|| "null".to_owned(), |args| raw(args.raw).into_owned());
        let step = self.step(&name, None, &meta_of(envelope.id.as_ref()));
        ToolCall { step, at_ms: self.said_ms.unwrap_or(self.now_ms), name, args }
    }

    fn list(&mut self, envelope: &Envelope<'_>) {
        let result = envelope.result.and_then(|result| Value::parse(result).ok());
        let Some(tools) = result.and_then(|result| result.get("tools")) else { return };
        let mut listed = Vec::new();
        tools.elements(|tool| {
            let text = |name: &str| tool.get(name).and_then(Value::string);
            let schema = tool.get("inputSchema").or_else(|| tool.get("input_schema"));
            listed.push(format!(
                "{{\"name\":{},\"description\":{},\"input_schema\":{},\"tool_identity\":null}}",
                string(text("name").as_deref().unwrap_or("unknown")),
                optional(text("description").as_deref()),
                schema.map_or("null".into(), |schema| raw(schema.raw)),
            ));
        });
        let content = format!("{{\"tools\":[{}]}}", listed.join(","));
        self.step("tools/list.result", Some(&content), &meta_of(envelope.id.as_ref()));
    }

    fn step(&mut self, name: &str, content: Option<&str>, meta: &str) -> u64 {
        let (episode, step, now) = (string(&self.options.episode_id), self.steps, self.now_ms);
        self.steps += 1;
        let (name, content) = (string(name), optional(content));
        self.out.write(|out| {
            writeln!(
                out,
                "{{\"type\":\"step\",\"episode_id\":{episode},\"step_id\":\"step_{step:03}\",\"idx\":{step},\
                 \"timestamp\":{now},\"kind\":\"tool\",\"name\":{name},\"content\":{content},\
                 \"content_sha256\":null,\"truncations\":[],\"meta\":{meta}}}"
            )
        });
        step
    }

    fn tool_call(&mut self, call: &ToolCall, ending: &Ending<'_>) {
        let (episode, step) = (string(&self.options.episode_id), call.step);
        self.out.write(|out| {
            writeln!(
                out,
                "{{\"type\":\"tool_call\",\"episode_id\":{episode},\"step_id\":\"step_{step:03}\",\"timestamp\":{},\
                 \"tool_name\":{},\"call_index\":0,\"args\":{},\"args_sha256\":null,\"result\":{},\"result_sha256\":null,\
                 \"error\":{},\"truncations\":[]}}",
                ending.at_ms,
                string(&call.name),
                call.args,
                ending.result,
                optional(ending.error),
            )
        });
    }

    fn end_tool_call(&mut self, call: &ToolCall, outcome: Outcome, answer: Option<&Envelope<'_>>) {
        let error = error_of(outcome);
        let result = match answer.map(|answer| (answer.error, answer.result)) {
            Some((Some(error), _)) => format!("{{\"error\":{}}}", raw(error)),
            Some((None, Some(result))) => raw(result).into_owned(),
            _ => "null".to_owned(),
        };
        // A missing answer has no time; it gets the time of its request.
        let at_ms = if answer.is_some() { self.now_ms } else { call.at_ms };
        self.tool_call(call, &Ending { at_ms, result: &result, error });
    }
}

/// The format's name for an outcome. A tool error counts as a result there.
fn error_of(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Ok | Outcome::ToolError => None,
        Outcome::ProtocolError => Some("mcp_error"),
        Outcome::HttpError => Some("http_error"),
        Outcome::Cancelled => Some("cancelled"),
        Outcome::Disconnected => Some("disconnected"),
        Outcome::Crashed => Some("server_crashed"),
        Outcome::TimedOut | Outcome::Unanswered | Outcome::Pending => Some("timeout/no_response"),
    }
}

impl Analysis for Assay {
    type PerCall = Option<Box<ToolCall>>;

    fn begin_line(&mut self, view: &LineView<'_, '_>) {
        if let wiretape_trace::format::Record::Message(message) = &view.line.record {
            self.said_ms = message.stamp.wall_ms();
            self.now_ms = self.now_ms.max(self.said_ms.unwrap_or(i64::MIN));
        }
    }

    fn seen(&mut self, seen: &Seen<'_, '_>, own: Option<&mut Self::PerCall>) {
        let envelope = seen.envelope;
        match (seen.direction, envelope.kind) {
            (Some(Direction::ClientToServer), MessageKind::Request | MessageKind::Notification) => {
                let call = self.start_tool_call(envelope);
                match (call, own) {
                    (Some(call), Some(own)) => *own = Some(Box::new(call)),
                    // Without a usable id, no answer was expected.
                    (Some(call), None) => {
                        let at_ms = self.now_ms;
                        self.tool_call(&call, &Ending { at_ms, result: "null", error: None });
                    }
                    (None, _) => {}
                }
            }
            (Some(Direction::ServerToClient), MessageKind::Response) => {
                let output = envelope.error.or(envelope.result);
                // The last answer of the session, whatever it answers; the format has no other notion of a result.
                self.final_output =
                    output.map(|output| raw(output).into_owned()).or(self.final_output.take());
            }
            _ => {}
        }
    }

    fn closed(&mut self, closed: &Closed<'_, '_>, own: Self::PerCall) {
        let call = closed.call;
        if let Some(tool_call) = own {
            self.end_tool_call(&tool_call, call.outcome, closed.answer);
        } else if &*call.method == method::LIST_TOOLS
            && call.direction == Direction::ClientToServer
            && let Some(answer) = closed.answer
        {
            self.list(answer);
        }
    }
}

impl ExportAnalysis for Assay {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let episode = string(&self.options.episode_id);
        let discovery = self.discovery;
        let kind = if discovery.is_visible() { "www_authenticate" } else { "unknown" };
        let test = self.options.test_id.as_deref().map(|id| format!(",\"test_id\":{}", string(id)));
        writeln!(
            out,
            "{{\"type\":\"episode_start\",\"episode_id\":{episode},\"timestamp\":{},\"input\":{{\"prompt\":{}}},\
             \"meta\":{{\"source\":\"mcp_import\",\"episode_id\":{episode},\"mcp\":{{\"authorization_discovery\":\
             {{\"visible\":{},\"source_kind\":\"{kind}\",\"resource_metadata_visible\":{},\
             \"authorization_servers_visible\":false,\"scope_challenge_visible\":{}}}}}{}}}}}",
            self.start_ms,
            string(&self.options.prompt),
            discovery.is_visible(),
            discovery.resource_metadata,
            discovery.scope,
            test.unwrap_or_default(),
        )
    }

    fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    fn finish(&mut self) {
        let episode = string(&self.options.episode_id);
        let (now, output) = (self.now_ms, optional(self.final_output.as_deref()));
        self.out.write(|out| {
            writeln!(
                out,
                "{{\"type\":\"episode_end\",\"episode_id\":{episode},\"timestamp\":{now},\"outcome\":null,\"final_output\":{output}}}"
            )
        });
    }
}

fn meta_of(id: Option<&Id<'_>>) -> String {
    format!("{{\"jsonrpc_id\":{}}}", optional(id.map(Id::text)))
}
